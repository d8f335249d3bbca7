"""Fields of a grid in padded rows along its last axis, for kernels/transport.py, which says what is where."""

from __future__ import annotations

from functools import lru_cache
from typing import NamedTuple

import numpy as np

from keyfluid.boundary import OPEN_SIDE, PERIODIC_SIDE, WALL_SIDE
from keyfluid.grid import Grid
from keyfluid.solvers.face_tables import face_tables


class PaddedRows(NamedTuple):
    """What kernels are told of a grid.

    sizes   cells along each axis, length of a padded row, number of axes
    starts  first row of faces of each component, one after the last of all (zeros), planes across the second axis
    kinds   of sides, by axis
    beside  [first or second axis, 2 + i]: coordinate of cell i, negative where there is none
    planes  [first or second axis, 1 + i]: face plane i, negative where nothing passes
    """

    sizes: np.ndarray
    starts: np.ndarray
    kinds: np.ndarray
    beside: np.ndarray
    planes: np.ndarray

    @property
    def cells(self) -> int:
        """Length of a padded field of cells."""
        return int((self.sizes[0] * self.sizes[1] + 1) * self.sizes[3])

    @property
    def faces(self) -> int:
        return int((self.starts[3] + 1) * self.sizes[3])


@lru_cache(maxsize=64)
def padded_rows(grid: Grid) -> PaddedRows:
    _, shapes, cells, kinds, axes = face_tables(grid)
    sizes = np.array([*cells, cells[2] + 4, axes], np.int64)
    rows = [int(shapes[c, 0] * shapes[c, 1]) if c >= 3 - axes else 0 for c in range(3)]
    starts = np.array([0, *np.cumsum(rows), shapes[1, 1]], np.int64)
    beside, planes = (np.full((2, max(cells[0], cells[1]) + 4), -1, np.int64) for _ in range(2))
    for a in range(2):
        n, i = cells[a], np.arange(-2, cells[a] + 2)
        inside = (i >= 0) & (i < n)
        beside[a, : n + 4] = {
            PERIODIC_SIDE: i % n,
            WALL_SIDE: np.clip(i, 0, n - 1),
            OPEN_SIDE: np.where(inside, i, -1),
        }[int(kinds[a])]
        i = i[1:]
        planes[a, : n + 3] = {
            PERIODIC_SIDE: i % n,
            WALL_SIDE: np.where((i > 0) & (i < n), i, -1),
            OPEN_SIDE: np.where((i >= 0) & (i <= n), i, -1),
        }[int(kinds[a])]
    return PaddedRows(sizes, starts, kinds, beside, planes)
