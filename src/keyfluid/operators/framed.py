"""A field's values laid out for interpolation: each component with a frame (kernels/frame.py)."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from keyfluid.boundary import Boundary
from keyfluid.grid import Grid, Kind
from keyfluid.operators.kernels import frame as kernels

_SLABS = 16


@dataclass(frozen=True, eq=False)
class FramedLayout:
    """Sizes of the components of one kind of field, without and with the frame, in the kernels' layout."""

    shapes: np.ndarray
    frames: np.ndarray
    rims: np.ndarray
    periods: np.ndarray
    parts: tuple[slice, ...]
    """Where each component lies in the framed array."""

    @property
    def size(self) -> int:
        """Length of the framed array."""
        return self.parts[-1].stop

    def put_on(self, values: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        """The framed values, in `out` if that is given."""
        out = np.empty(self.size, values.dtype) if out is None else out
        kernels.frame(values, self.shapes, self.frames, self.rims, self.periods, out, _SLABS)
        return out

    def fold(self, framed: np.ndarray) -> np.ndarray:
        """Transpose of `put_on`."""
        out = np.empty(int(self.shapes.prod(axis=1).sum()), framed.dtype)
        kernels.fold(framed, self.shapes, self.frames, self.rims, self.periods, out, _SLABS)
        return out


@lru_cache(maxsize=64)
def frame_of(grid: Grid, kind: Kind) -> FramedLayout:
    """The frame of a kind of field; centred ones have a rim of zeros on open axes."""
    open_rim = [int(kind is Kind.CENTRES and side is Boundary.OPEN) for side in grid.boundary]
    periods = [n if grid.is_periodic(axis) else 0 for axis, n in enumerate(grid.cells)]
    shapes = np.array([grid.shape(place) for place in kind.places(grid.dim)], np.int64)
    rims = np.array(open_rim, np.int64)
    frames = shapes + 2 * rims + 1
    if grid.dim == 2:
        shapes, frames = np.insert(shapes, 1, 1, axis=1), np.insert(frames, 1, 1, axis=1)
        rims, periods = np.insert(rims, 1, 0), [periods[0], 0, periods[1]]
    ends = np.cumsum([0, *frames.prod(axis=1)])
    parts = tuple(slice(int(start), int(stop)) for start, stop in pairwise(ends))
    return FramedLayout(shapes, frames, rims, np.array(periods, np.int64), parts)
