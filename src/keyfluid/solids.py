"""Solid bodies on the grid, given by a signed distance (negative inside, metres).

A cell is solid if its centre is. Faces of solid cells carry the body's velocity; all other faces, walls
apart, are free. The surface is thus a staircase of cell faces, and "divergence-free" means just what it does
without bodies. (Fractional faces would be smoother; they would also make divergence a different quantity.)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from keyfluid.boundary import Boundary
from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind

Distance = Callable[..., np.ndarray]
"""distance(x, y[, z]) in metres, negative inside; takes broadcastable coordinates."""


@dataclass(frozen=True, eq=False)
class Solids:
    """The bodies at one moment. `solid`: bool per cell; `motion`: body velocity on all faces, in m/s."""

    grid: Grid
    solid: np.ndarray
    motion: Field
    free: np.ndarray
    """bool per face, flat like a field's data: True where fluid may pass."""

    @classmethod
    def from_distance(
        cls,
        grid: Grid,
        distance: Distance | np.ndarray,
        velocity: Sequence[float] | Field | None = None,
        dtype: np.typing.DTypeLike = np.float32,
    ) -> Solids:
        """Bodies from a distance function or centred samples of it; `velocity` for all, or per face."""
        centre = Kind.CENTRES.places(grid.dim)[0]
        values = distance(*grid.coordinates(centre)) if callable(distance) else np.asarray(distance)
        values = np.broadcast_to(values, grid.cells)
        if not np.all(np.isfinite(values)):
            raise KeyfluidError("obstacle: its signed distance holds NaN or infinite values")
        solid = values < 0
        if solid.all():
            raise KeyfluidError("obstacle: it fills the whole box; make it smaller or turn its inside out")
        if isinstance(velocity, Field):
            velocity.require(grid, Kind.FACES, "obstacle: velocity")
            motion = velocity.astype(dtype)
        else:
            motion = Field.zeros(grid, Kind.FACES, dtype)
            for component, speed in zip(motion.components(), velocity or [0.0] * grid.dim, strict=True):
                component[...] = speed
        free = free_faces(grid, solid)
        motion = motion.like(np.where(_body_faces(grid, solid), motion.data, 0).astype(dtype))
        return cls(grid, solid, motion, free)

    @property
    def fluid(self) -> np.ndarray:
        return ~self.solid


def free_faces(grid: Grid, solid: np.ndarray) -> np.ndarray:
    """Flat bool per face: between two fluid cells, or on an open side of a fluid cell."""
    parts = []
    for axis, side in enumerate(grid.boundary):
        beyond = side is Boundary.OPEN
        parts.append(_both(grid, ~solid, axis, beyond).ravel())
    return np.concatenate(parts)


def _body_faces(grid: Grid, solid: np.ndarray) -> np.ndarray:
    """Flat bool per face: touching a solid cell, and not on a wall."""
    parts = []
    for axis, side in enumerate(grid.boundary):
        touching = ~_both(grid, ~solid, axis, True)
        if side is Boundary.WALLS:
            touching[_end(grid.dim, axis, 0)] = False
            touching[_end(grid.dim, axis, -1)] = False
        parts.append(touching.ravel())
    return np.concatenate(parts)


def _both(grid: Grid, cells: np.ndarray, axis: int, beyond: bool) -> np.ndarray:
    """Per face across `axis`: do both neighbours satisfy `cells`? Outside the box counts as `beyond`."""
    if grid.is_periodic(axis):
        return cells & np.roll(cells, 1, axis)
    pad = [(1, 1) if a == axis else (0, 0) for a in range(grid.dim)]
    padded = np.pad(cells, pad, constant_values=beyond)
    low = [slice(None)] * grid.dim
    high = [slice(None)] * grid.dim
    low[axis], high[axis] = slice(None, -1), slice(1, None)
    return padded[tuple(low)] & padded[tuple(high)]


def _end(dim: int, axis: int, index: int) -> tuple[slice | int, ...]:
    return tuple(index if a == axis else slice(None) for a in range(dim))
