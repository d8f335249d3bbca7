"""Tables of a grid for spacetime kernels: the start and the shape of each component of a face field.

A 2D grid is one layer of a 3D one, whose first axis has no component of its own (keyfluid/kernels/stencils.py).
"""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from keyfluid.boundary import PERIODIC_SIDE
from keyfluid.grid import Grid, Kind


class FaceTables(NamedTuple):
    """starts[c], shapes[c, axis] of component c; cells and kinds of side per axis; number of axes."""

    starts: np.ndarray
    shapes: np.ndarray
    cells: np.ndarray
    kinds: np.ndarray
    axes: int


@lru_cache(maxsize=64)
def face_tables(grid: Grid) -> FaceTables:
    layout = grid.layout(Kind.FACES)
    lead = 3 - grid.dim
    starts = np.zeros(3, np.int64)
    shapes = np.ones((3, 3), np.int64)
    for c, (shape, part) in enumerate(zip(layout.shapes, layout.parts)):
        starts[lead + c] = part.start
        shapes[lead + c, lead:] = shape
    cells = np.array([1] * lead + list(grid.cells), np.int64)
    kinds = np.array([PERIODIC_SIDE] * lead + [side.code for side in grid.boundary], np.int64)
    return FaceTables(starts, shapes, cells, kinds, grid.dim)
