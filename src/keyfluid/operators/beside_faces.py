"""Centred values at both sides of faces, and the other way round; whole arrays, for what is not a hot loop."""

from __future__ import annotations

import numpy as np

from keyfluid.grid import Grid


def beside_faces(grid: Grid, values: np.ndarray, axis: int, outside: float | bool) -> tuple[np.ndarray, np.ndarray]:
    """Per face across an axis the centred values below and above it; `outside` beyond the box."""
    if grid.is_periodic(axis):
        return np.roll(values, 1, axis), values
    padded = np.full([n + 2 * (a == axis) for a, n in enumerate(values.shape)], outside, values.dtype)
    padded[tuple(slice(1, -1) if a == axis else slice(None) for a in range(grid.dim))] = values
    below = tuple(slice(None, -1) if a == axis else slice(None) for a in range(grid.dim))
    above = tuple(slice(1, None) if a == axis else slice(None) for a in range(grid.dim))
    return padded[below], padded[above]


def to_cells(grid: Grid, below: np.ndarray, above: np.ndarray, axis: int) -> np.ndarray:
    """Transpose of `beside_faces`: what faces give to the cells below and above them, summed."""
    if grid.is_periodic(axis):
        return np.roll(below, -1, axis) + above
    inner_low = tuple(slice(1, None) if a == axis else slice(None) for a in range(grid.dim))
    inner_high = tuple(slice(None, -1) if a == axis else slice(None) for a in range(grid.dim))
    return below[inner_low] + above[inner_high]
