"""A box of cells as kernels that walk from neighbour to neighbour need it (kernels/neighbours.py)."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from keyfluid.grid import Grid
from keyfluid.operators.kernels.neighbours import mark_rim


class CellBox(NamedTuple):
    """Sides of the box that each cell touches; to its neighbours, and across the box's own sides, in memory."""

    rim: np.ndarray
    jump: np.ndarray
    span: np.ndarray


@lru_cache(maxsize=32)
def box_of(grid: Grid, shape: tuple[int, ...]) -> CellBox:
    """For an array of a grid's cells, or of one component of its faces."""
    lead = 3 - grid.dim
    shape = (1,) * lead + shape
    rim = np.empty(shape, np.uint8)
    mark_rim(shape, rim)
    jump, span = np.zeros(6, np.int64), np.zeros(6, np.int64)
    for axis in range(3):
        stride = int(np.prod(shape[axis + 1 :]))
        jump[2 * axis : 2 * axis + 2] = -stride, stride
        if axis >= lead and grid.is_periodic(axis - lead):
            across = (shape[axis] - 1) * stride
            span[2 * axis : 2 * axis + 2] = across, -across
    return CellBox(rim.ravel(), jump, span)
