"""What is asked of the fluid at a frame: a density, a look, a velocity."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from keyfluid.fields import Field
from keyfluid.grid import Grid
from keyfluid.operators.glow import Glow


class TargetBody(Protocol):
    """What a keyframe is made of, for methods that need its shape and motion."""

    def signed_distance(self, cells: tuple[int, ...], spacing: float, time: float) -> np.ndarray:
        """Metres, negative inside, at the centres of cells that fill the domain."""
        ...

    def surface(self, grid: Grid, time: float) -> tuple[np.ndarray, np.ndarray] | None:
        """Vertices (n, 3) in metres and faces of an animated mesh at a time; None for what does not move."""
        ...


@dataclass(frozen=True, eq=False)
class Keyframe:
    """A target of one field at a frame.

    mask   1 where it counts, None: everywhere
    hold   frames that it keeps acting
    mass   of the target
    bound  least relative error of a rearrangement of the smoke; None for a region or a run's smoke
    path   where the scene says it, such as ``keyframe[0]``
    body   what it is made of, where it stands; the same object for all frames of one entry
    """

    frame: int
    field: str
    target: np.ndarray
    weight: float
    mask: np.ndarray | None
    hold: int
    mass: float
    bound: float | None
    path: str
    body: TargetBody

    @property
    def empty(self) -> bool:
        """Whether a region is asked to be empty."""
        return self.mask is not None and not np.any(self.mask * self.target)

    def acting(self, first: int, last: int) -> range:
        """The frames of first < f <= last at which it counts: its own and those of its hold."""
        return range(max(self.frame, first + 1), min(self.frame + self.hold, last) + 1)


@dataclass(frozen=True, eq=False)
class Picture:
    """How one field should look at a frame: brightness over the axes across `view`, in the order of the grid."""

    frame: int
    field: str
    view: Glow
    wanted: np.ndarray
    weight: float


@dataclass(frozen=True, eq=False)
class Flow:
    """A target velocity on faces at a frame; mask: how much each face counts; speed: that of a full miss, m/s."""

    frame: int
    velocity: Field
    mask: Field
    speed: float
    weight: float
