"""Linear interpolation from one lattice to another, axis by axis, and its transpose."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.sparse import csr_array

from keyfluid.fields import Field
from keyfluid.grid import Grid


def line_matrix(given: np.ndarray, wanted: np.ndarray, around: float | None, dtype: np.dtype) -> csr_array:
    """From values at the positions `given` (rising, even) to those at `wanted`; constant beyond the ends, or
    periodic with length `around`."""
    step = given[1] - given[0] if given.size > 1 else 1.0
    place = (wanted - given[0]) / step
    if around is None:
        place = np.clip(place, 0.0, given.size - 1.0)
    low = np.floor(place).astype(int)
    share = place - low
    rows = np.arange(wanted.size)
    if around is None:
        columns = np.minimum(low, given.size - 1), np.minimum(low + 1, given.size - 1)
    else:
        columns = low % given.size, (low + 1) % given.size
    weights = np.concatenate([1.0 - share, share])
    both = (np.concatenate([rows, rows]), np.concatenate(columns))
    return csr_array((weights, both), shape=(wanted.size, given.size)).astype(dtype)


def apply_matrices(values: np.ndarray, matrices: Sequence[csr_array]) -> np.ndarray:
    """One matrix per axis. Sparse products run on one thread, so the bits are always the same."""
    for axis, matrix in enumerate(matrices):
        moved = np.moveaxis(values, axis, 0)
        flat = matrix @ np.ascontiguousarray(moved).reshape(moved.shape[0], -1)
        values = np.moveaxis(flat.reshape(-1, *moved.shape[1:]), 0, axis)
    return values


def to_grid(field: Field, grid: Grid) -> Field:
    """A field of a coarser or finer grid of the same domain."""
    parts = []
    for place, values in zip(field.grid.layout(field.kind).places, field.components()):
        lines = zip(field.grid.coordinates(place), grid.coordinates(place))
        matrices = [
            line_matrix(a.ravel(), b.ravel(), grid.size[axis] if grid.is_periodic(axis) else None, field.dtype)
            for axis, (a, b) in enumerate(lines)
        ]
        parts.append(apply_matrices(values, matrices))
    return Field.of(grid, field.kind, *parts, dtype=field.dtype)
