"""Signed distance to a triangle mesh on a grid: negative inside, metres.

Sign: winding number above 1/2, evaluated by libigl at every cell of the mesh's box. Distance: exact in a band
of cells beside the surface; beyond it, to the surface point nearest to the nearest band cell (an upper
bound that is off by a small part of a cell).
"""

from __future__ import annotations

import numpy as np
from scipy.ndimage import distance_transform_edt

_BLOCK = 4
_BAND = 2.0
_CHUNK = 1 << 21


def inside(points: np.ndarray, vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """True where |winding number| > 1/2."""
    import igl

    parts = [points[start : start + _CHUNK] for start in range(0, len(points), _CHUNK)]
    found = [
        np.abs(igl.fast_winding_number(vertices, faces, np.ascontiguousarray(part))) > 0.5 for part in parts
    ]
    return np.concatenate(found) if found else np.zeros(0, dtype=bool)


def distance_to_points(
    points: np.ndarray, vertices: np.ndarray, faces: np.ndarray, outer: np.ndarray
) -> np.ndarray:
    """Exact signed distance from any points (n, 3); `outer` masks the faces that bound the inside."""
    import igl

    squared, _, _ = igl.point_mesh_squared_distance(points, vertices, faces[outer])
    return np.where(inside(points, vertices, faces), -1.0, 1.0) * np.sqrt(squared)


def distance_on_grid(
    shape: tuple[int, ...],
    spacing: float,
    vertices: np.ndarray,
    faces: np.ndarray,
    outer: np.ndarray,
    far: bool = True,
) -> np.ndarray:
    """Signed distance at the cell centres; without `far`, two cells with the right sign off the band."""
    import igl

    outer_faces = np.ascontiguousarray(faces[outer])
    sign = np.where(_inside_cells(shape, spacing, vertices, faces), -1.0, 1.0)
    band = np.flatnonzero(_cells_near_surface(shape, spacing, vertices, outer_faces))
    distance = np.full(int(np.prod(shape)), _BAND * spacing)
    if len(band) == 0:
        band = np.zeros(1, dtype=np.int64)
    squared, _, nearest = igl.point_mesh_squared_distance(
        _centres(band, shape, spacing), vertices, outer_faces
    )
    distance[band] = np.sqrt(squared)
    if far:
        rest = np.ones(shape, dtype=bool)
        rest.flat[band] = False
        index = distance_transform_edt(rest, return_distances=False, return_indices=True)
        where = np.flatnonzero(rest)
        slot = np.empty(distance.size, dtype=np.int64)
        slot[band] = np.arange(len(band))
        source = slot[np.ravel_multi_index([axis.ravel()[where] for axis in index], shape)]
        for start in range(0, len(where), _CHUNK):
            part = slice(start, start + _CHUNK)
            gap = _centres(where[part], shape, spacing) - nearest[source[part]]
            distance[where[part]] = np.sqrt(np.sum(gap * gap, axis=1))
    distance = distance.reshape(shape)
    _bound_by_sign(distance, sign, spacing, overlapping=not np.all(outer))
    return sign * distance


def _inside_cells(
    shape: tuple[int, ...], spacing: float, vertices: np.ndarray, faces: np.ndarray
) -> np.ndarray:
    """Cells with their centre inside; only cells in the mesh's bounding box are asked."""
    first = np.clip(np.floor(vertices.min(axis=0) / spacing - 0.5).astype(np.int64), 0, shape)
    last = np.clip(np.ceil(vertices.max(axis=0) / spacing + 0.5).astype(np.int64), 0, shape)
    result = np.zeros(shape, dtype=bool)
    box = tuple(slice(a, b) for a, b in zip(first, last))
    extent = result[box].shape
    if 0 not in extent:
        centres = _centres(np.arange(int(np.prod(extent))), extent, spacing) + first * spacing
        result[box] = inside(centres, vertices, faces).reshape(extent)
    return result


def _cells_near_surface(
    shape: tuple[int, ...], spacing: float, vertices: np.ndarray, faces: np.ndarray
) -> np.ndarray:
    """Blocks of 4^3 cells that hold every cell closer than two cells to the surface."""
    import igl

    blocks = tuple(-(-cells // _BLOCK) for cells in shape)
    centres = _centres(np.arange(int(np.prod(blocks))), blocks, _BLOCK * spacing)
    squared, _, _ = igl.point_mesh_squared_distance(centres, vertices, faces)
    reach = (_BAND + np.sqrt(3) / 2 * (_BLOCK - 1)) * spacing
    near = (squared <= reach**2).reshape(blocks)
    for axis in range(3):
        near = np.repeat(near, _BLOCK, axis=axis)
    return np.ascontiguousarray(near[tuple(slice(0, cells) for cells in shape)])


def _bound_by_sign(distance: np.ndarray, sign: np.ndarray, spacing: float, overlapping: bool) -> None:
    """Mend, in place, distances that contradict the sign: across holes, and near faces that cut into a body.

    A sign change in a hole has no face near it, so no distance may exceed the one to the other sign. A face
    that is half buried lies near cells that are deep inside, whose distance can't be much below that either.
    """
    leak = False
    for axis in range(3):
        low = [slice(None)] * 3
        high = [slice(None)] * 3
        low[axis], high[axis] = slice(None, -1), slice(1, None)
        change = sign[tuple(low)] != sign[tuple(high)]
        leak |= bool(np.any(distance[tuple(low)][change] > 1.5 * spacing))
    if leak or overlapping:
        within = spacing * distance_transform_edt(sign < 0)
        if overlapping:
            np.maximum(distance, within - np.sqrt(3) * spacing, out=distance, where=sign < 0)
        if leak:
            without = spacing * distance_transform_edt(sign > 0) if np.any(sign < 0) else np.inf
            other = np.where(sign < 0, within, without) - 0.5 * spacing
            np.minimum(distance, other, out=distance, where=distance > other + 0.5 * spacing)


def _centres(index: np.ndarray, shape: tuple[int, ...], spacing: float) -> np.ndarray:
    return (np.stack(np.unravel_index(index, shape), axis=-1) + 0.5) * spacing
