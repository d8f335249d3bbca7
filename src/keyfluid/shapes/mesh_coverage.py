"""Share of each cell inside a triangle mesh, by planes through sub-cells.

A cell that the surface passes is cut into 3^3 sub-cells (2^3 where bodies overlap and signs take longer). The surface
near a sub-cell's middle p is taken as the plane through its nearest point q, across n = (q - p) / |q - p|. The share of
a cube of side 1 behind such a plane at the distance d is, with m = (|n_x|, |n_y|, |n_z|) and t = sum(m) / 2 - d,

    (t^3 - sum_i (t - m_i)+^3 + sum_i (t - sum(m) + m_i)+^3) / (6 m_x m_y m_z)             [Scardovelli & Zaleski 2000]

Sign: p has that of a cell's middle c where |p - c| is less than both distances to the surface together (the two balls
hold no surface and cover the way between them); the winding number decides the few that are left.
"""

from __future__ import annotations

from itertools import product

import numpy as np
from scipy.ndimage import binary_dilation

from keyfluid.shapes.mesh_distance import distance_on_grid, inside

_PARTS, _PARTS_OVERLAPPING = 3, 2
_ROUNDING = 1e-6
"""Cells. On the two sides of a face, in line with its normal, both distances together are just the gap."""

_LEAST_SLOPE = 1e-3
"""Smaller parts of a normal count as this: the formula divides by them, and the share changes by less than 1e-3."""


def coverage_on_grid(
    shape: tuple[int, ...], spacing: float, vertices: np.ndarray, faces: np.ndarray, outer: np.ndarray
) -> np.ndarray:
    """Share of each cell inside the mesh, in [0, 1]; `outer` masks the faces that bound the inside."""
    import igl

    distance = distance_on_grid(shape, spacing, vertices, faces, outer, far=False) / spacing
    coverage = (distance < 0).astype(float)
    cells = np.argwhere(np.abs(distance) < np.sqrt(3) / 2)
    if not len(cells):
        return coverage
    overlapping = not np.all(outer)
    parts = _PARTS_OVERLAPPING if overlapping else _PARTS
    steps = (np.arange(parts) + 0.5) / parts - 0.5
    offsets = np.array(list(product(steps, repeat=3)))
    points = ((cells[:, None, :] + 0.5 + offsets) * spacing).reshape(-1, 3)
    squared, _, nearest = igl.point_mesh_squared_distance(points, vertices, np.ascontiguousarray(faces[outer]))
    away = np.sqrt(squared) / spacing
    free, around = away, distance
    if overlapping:
        # Faces that count as buried may still show in part: signs change there too.
        free = np.sqrt(igl.point_mesh_squared_distance(points, vertices, faces)[0]) / spacing
        around = _to_any_face(distance, cells, spacing, vertices, faces)
    sign, enclosed = _signs(around, cells, offsets, free.reshape(len(cells), -1))
    unknown = np.flatnonzero(sign == 0)
    sign.flat[unknown] = np.where(inside(points[unknown], vertices, faces), -1.0, 1.0)
    normal = (nearest - points) / spacing / np.maximum(away, 1e-12)[:, None]
    shares = share_behind_plane(sign.ravel() * away * parts, normal).reshape(len(cells), -1).mean(axis=1)
    # Near faces that are half buried in another body everything is inside.
    shares[enclosed & np.all(sign < 0, axis=1)] = 1.0
    coverage[tuple(cells.T)] = shares
    return coverage


def share_behind_plane(distance: np.ndarray, normal: np.ndarray) -> np.ndarray:
    """Share of a cube of side 1 on the inner side of a plane; distance of its middle, negative inside."""
    parts = np.maximum(np.abs(normal), _LEAST_SLOPE)
    total = parts.sum(axis=1)
    depth = np.clip(0.5 * total - distance, 0.0, total)
    volume = depth**3
    for part in parts.T:
        volume += np.maximum(depth - total + part, 0.0) ** 3 - np.maximum(depth - part, 0.0) ** 3
    return np.clip(volume / (6 * parts.prod(axis=1)), 0.0, 1.0)


def _to_any_face(
    distance: np.ndarray, cells: np.ndarray, spacing: float, vertices: np.ndarray, faces: np.ndarray
) -> np.ndarray:
    """`distance` in cells with its sign, but to the nearest of all faces, in these cells and beside them."""
    import igl

    wanted = np.zeros(distance.shape, dtype=bool)
    wanted[tuple(cells.T)] = True
    wanted = binary_dilation(wanted, np.ones((3, 3, 3)))
    squared = igl.point_mesh_squared_distance((np.argwhere(wanted) + 0.5) * spacing, vertices, faces)[0]
    result = distance.copy()
    result[wanted] = np.copysign(np.sqrt(squared) / spacing, distance[wanted])
    return result


def _signs(
    distance: np.ndarray, cells: np.ndarray, offsets: np.ndarray, away: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """(cells, parts): -1 inside, 1 outside, 0 where no cell's middle tells; and whether all cells around are inside."""
    around = np.pad(distance, 1, constant_values=np.nan)
    sign = np.zeros(away.shape)
    enclosed = np.ones(len(cells), dtype=bool)
    for step in sorted(product((-1, 0, 1), repeat=3), key=np.linalg.norm):
        there = around[tuple((cells + 1 + step).T)]
        enclosed &= ~(there >= 0)
        gap = np.linalg.norm(offsets - step, axis=1)
        told = (sign == 0) & (np.abs(there)[:, None] + away > gap + _ROUNDING)
        sign[told] = np.broadcast_to(np.sign(there)[:, None], sign.shape)[told]
    return sign, enclosed
