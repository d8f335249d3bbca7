"""Which cells and faces belong to a liquid.

A cell is wet if phi < 0 at its centre and it is not solid; a face if one of its cells is wet and fluid may pass it.
Where the surface crosses the way between two cells, the share of it that is wet is

    theta = phi_l / (phi_l - phi_a),     phi_l < 0 <= phi_a,  at least LEAST
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators.kernels import wet as kernels
from keyfluid.solids import Solids, free_faces

LEAST = 0.01
"""Smallest share of a way that counts as wet: keeps the pressure matrix from growing without bound."""


class Across(NamedTuple):
    """The faces across one axis: where they lie in a flat buffer of all, and the box as kernels/wet.py sees it."""

    part: slice
    outer: int
    n: int
    inner: int
    wraps: bool

    @property
    def sizes(self) -> tuple[int, int, int, bool]:
        return self.outer, self.n, self.inner, self.wraps


@lru_cache(maxsize=32)
def across(grid: Grid) -> tuple[Across, ...]:
    """Axis by axis."""
    return tuple(
        Across(part, math.prod(grid.cells[:axis]), n, math.prod(grid.cells[axis + 1 :]), grid.is_periodic(axis))
        for axis, (n, part) in enumerate(zip(grid.cells, grid.layout(Kind.FACES).parts))
    )


@lru_cache(maxsize=32)
def _inside_walls(grid: Grid) -> np.ndarray:
    return free_faces(grid, np.zeros(grid.cells, bool))


@dataclass(frozen=True, eq=False)
class Wet:
    """The wet cells; of all faces, as flat arrays, which fluid may pass (not on a wall, not part of a body), and which
    of those are wet."""

    grid: Grid
    cells: np.ndarray
    free: np.ndarray
    faces: np.ndarray

    @classmethod
    def of(cls, surface: Field, solids: Solids | None) -> Wet:
        grid = surface.grid
        cells = surface.array < 0
        if solids is not None:
            cells = cells & solids.fluid
        free = solids.free if solids is not None else _inside_walls(grid)
        faces = np.empty(free.size, bool)
        for axis in across(grid):
            kernels.wet_faces(cells.ravel(), free[axis.part], *axis.sizes, faces[axis.part])
        return cls(grid, cells, free, faces)

    def components(self, faces: np.ndarray) -> list[np.ndarray]:
        """A flat array of all faces, cut into shaped views, one per axis."""
        layout = self.grid.layout(Kind.FACES)
        return [faces[part].reshape(shape) for part, shape in zip(layout.parts, layout.shapes)]
