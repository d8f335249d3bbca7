"""The surface of a level set as triangles: marching tetrahedra, watertight by construction.

Every cube between eight cell centres is cut into six tetrahedra around its long diagonal, all cubes alike, so that
neighbours share their faces' diagonals. A triangle's corner lies on an edge of a tetrahedron, where phi, taken to be
linear, is zero; edges are shared, so are corners, and every edge of a triangle belongs to two triangles. Around the box
phi counts as outside: liquid at a wall is closed there, half a cell beyond the last centres, on the wall itself.
"""

from __future__ import annotations

from itertools import permutations

import numpy as np

_NEAREST = 1e-3
"""Share of an edge that keeps a corner away from its ends: no triangle collapses to a point."""


def _tetrahedra() -> list[list[int]]:
    """Six, as corner numbers 4 x + 2 y + z of a cube, all turning the same way."""
    found = []
    for order in permutations((4, 2, 1)):
        corners = [0, order[0], order[0] + order[1], 7]
        offsets = np.array([[c >> 2 & 1, c >> 1 & 1, c & 1] for c in corners])
        if np.linalg.det((offsets[1:] - offsets[0]).astype(float)) < 0:
            corners[1], corners[2] = corners[2], corners[1]
        found.append(corners)
    return found


def _cases() -> dict[int, list[tuple[tuple[int, int], ...]]]:
    """For each set of corners inside (bits), triangles as edges (inside, outside), counter-clockwise from outside."""
    cases: dict[int, list[tuple[tuple[int, int], ...]]] = {}
    corners = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 1]], float)
    for bits in range(1, 15):
        inside = [i for i in range(4) if bits >> i & 1]
        outside = [i for i in range(4) if not bits >> i & 1]
        edges = [(i, o) for i in inside for o in outside]
        if len(inside) == 2:
            (a, b), (c, d) = inside, outside
            ring = [(a, c), (a, d), (b, d), (b, c)]
            triangles: list[tuple[tuple[int, int], ...]] = [(ring[0], ring[1], ring[2]), (ring[0], ring[2], ring[3])]
        else:
            triangles = [tuple(edges)]
        away = corners[outside].mean(0) - corners[inside].mean(0)
        turned = []
        for triangle in triangles:
            p = [0.5 * (corners[i] + corners[o]) for i, o in triangle]
            right = np.dot(np.cross(p[1] - p[0], p[2] - p[0]), away) > 0
            turned.append(triangle if right else triangle[::-1])
        cases[bits] = turned
    return cases


_CASES = _cases()


def isosurface(phi: np.ndarray, spacing: float) -> tuple[np.ndarray, np.ndarray]:
    """Vertices (n, 3) in metres and triangles (m, 3), outside to the front; empty where phi has one sign."""
    n = np.array(phi.shape)
    padded = np.pad(phi.astype(np.float64), 1, constant_values=np.inf)
    inside = padded < 0
    shape = n + 2
    strides = np.array([shape[1] * shape[2], shape[2], 1])
    mixed = _mixed_cubes(inside)
    base = np.argwhere(mixed) @ strides
    flat, values = inside.ravel(), padded.ravel()
    pairs: list[np.ndarray] = []
    for corners in _tetrahedra():
        cells = np.stack([base + np.dot([c >> 2 & 1, c >> 1 & 1, c & 1], strides) for c in corners], axis=1)
        bits = flat[cells] @ np.array([1, 2, 4, 8])
        for case, triangles in _CASES.items():
            chosen = cells[bits == case]
            for triangle in triangles if len(chosen) else []:
                pairs.append(np.stack([chosen[:, list(edge)] for edge in triangle], axis=1))
    if not pairs:
        return np.zeros((0, 3)), np.zeros((0, 3), np.int64)
    edges = np.concatenate(pairs)
    keys = edges[..., 0] * padded.size + edges[..., 1]
    unique, numbers = np.unique(keys, return_inverse=True)
    low, high = unique // padded.size, unique % padded.size
    share = np.clip(_crossing(values[low], values[high]), _NEAREST, 1 - _NEAREST)[:, None]
    ends = [np.stack(np.unravel_index(cell, tuple(shape)), axis=1) - 1.0 for cell in (low, high)]
    # Padding cells lie on the wall, half a cell beyond the outermost centres.
    points = [np.clip(end, -0.5, n - 0.5) + 0.5 for end in ends]
    vertices = (points[0] + share * (points[1] - points[0])) * spacing
    return vertices, numbers.reshape(edges.shape[:2])


def _crossing(inside: np.ndarray, outside: np.ndarray) -> np.ndarray:
    """Where phi is zero, from the end inside (0) to the other (1)."""
    beyond = np.where(np.isfinite(outside), outside, 0.0)
    return np.where(np.isfinite(outside), inside / np.minimum(inside - beyond, -1e-300), 1.0)


def _mixed_cubes(inside: np.ndarray) -> np.ndarray:
    """Cubes, by their lowest corner, with corners of both signs."""
    some, every = np.zeros(np.array(inside.shape) - 1, bool), np.ones(np.array(inside.shape) - 1, bool)
    for x in (slice(None, -1), slice(1, None)):
        for y in (slice(None, -1), slice(1, None)):
            for z in (slice(None, -1), slice(1, None)):
                some |= inside[x, y, z]
                every &= inside[x, y, z]
    return some & ~every
