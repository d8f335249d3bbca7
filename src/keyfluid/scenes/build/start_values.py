"""Velocities at the start, and the values that smoke can have at a frame."""

from __future__ import annotations

import numpy as np

from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.problem import share_of_faces


def velocity_of_starts(grid: Grid, starts: list[tuple[np.ndarray, tuple[float, ...]]], dtype: np.dtype) -> Field:
    """Each start's velocity times the share of a face that it covers.

    Not divergence-free; the first projection makes it so.
    """
    result = Field.zeros(grid, Kind.FACES, dtype)
    for coverage, velocity in starts:
        shares = share_of_faces(grid, np.minimum(coverage, 1.0), dtype)
        for component, share, speed in zip(result.components(), shares.components(), velocity):
            component += dtype.type(speed) * share
    return result


def values_present(start: np.ndarray, emitted_mass: float, peak: float, spacing: float) -> np.ndarray:
    """Values the smoke can have: those of the start, and emitted smoke at its peak density in empty cells."""
    values = np.sort(start, axis=None)
    count = min(round(emitted_mass / (peak * spacing**start.ndim)), values.size)
    values[:count] = np.maximum(values[:count], peak)
    return values.reshape(start.shape)
