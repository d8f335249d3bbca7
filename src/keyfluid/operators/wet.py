"""Which cells and faces belong to a liquid.

A cell is wet if phi < 0 at its centre and it is not solid; a face if one of its cells is wet and fluid may pass it.
Where the surface crosses the way between two cells, the share of it that is wet is

    theta = phi_l / (phi_l - phi_a),     phi_l < 0 <= phi_a,  at least LEAST
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.solids import Solids, free_faces

LEAST = 0.01
"""Smallest share of a way that counts as wet: keeps the pressure matrix from growing without bound."""


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


def passable(grid: Grid, solids: Solids | None) -> np.ndarray:
    """Flat bool per face: not on a wall and not part of a body."""
    return solids.free if solids is not None else free_faces(grid, np.zeros(grid.cells, bool))


@dataclass(frozen=True, eq=False)
class Wet:
    """The wet cells, and per axis the wet faces with both or one of their cells wet."""

    grid: Grid
    phi: np.ndarray
    cells: np.ndarray
    free: list[np.ndarray]
    faces: list[np.ndarray]

    @classmethod
    def of(cls, surface: Field, solids: Solids | None) -> Wet:
        grid = surface.grid
        cells = surface.array < 0
        if solids is not None:
            cells = cells & solids.fluid
        flat = passable(grid, solids)
        layout = grid.layout(Kind.FACES)
        free = [flat[part].reshape(shape) for part, shape in zip(layout.parts, layout.shapes)]
        faces = []
        for axis in range(grid.dim):
            below, above = beside_faces(grid, cells, axis, False)
            faces.append((below | above) & free[axis])
        return cls(grid, surface.array.astype(np.float64), cells, free, faces)
