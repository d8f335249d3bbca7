"""A source on the grid."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from keyfluid.boundary import Boundary
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind

ROUNDING = 1e-6
"""Frames by which a source begins and ends early: a step's time is rounded, and must not fall before it."""


@dataclass(frozen=True, eq=False)
class Emission:
    """A source on the grid, acting from frame `start` until frame `stop`.

    mask: share of each cell inside the region, 0 to 1.
    rate: density added per second times mask; or density: what the region is held at. One of them is None.
    velocity: m/s that the air in the region is held at, or None.
    temperature: kelvin above the air around that the region is held at, or None.
    """

    field: str
    mask: np.ndarray
    rate: float | None
    density: float | None
    velocity: tuple[float, ...] | None
    start: int
    stop: int
    temperature: float | None = None

    def seconds(self, frame: int, fps: float) -> float:
        """How long it has acted by a frame."""
        return max(0, min(frame, self.stop) - self.start) / fps

    def span(self, fps: float) -> tuple[float, float]:
        """Seconds at which it begins and ends."""
        return (self.start - ROUNDING) / fps, (self.stop - ROUNDING) / fps

    def active(self, time: float, fps: float) -> bool:
        """Whether it acts in a step that begins at `time` seconds."""
        return self.start <= time * fps + ROUNDING < self.stop

    def wind(self, grid: Grid) -> tuple[Field, Field]:
        """Share of each face inside the region, and the velocity it is held at."""
        shares = share_of_faces(grid, self.mask, self.mask.dtype)
        held = shares.zeros_like()
        for component, speed in zip(held.components(), self.velocity or ()):
            component[...] = speed
        return shares, held

    @property
    def exact(self) -> bool:
        """Is the emitted mass known beforehand?"""
        return self.rate is not None

    def emitted(self, frame: int, fps: float, spacing: float, dissipation: float = 0.0) -> float:
        """Mass given by a frame: rate x volume x time. A held region gives its content and what its own wind
        carries out of it: density x (sum over axes of |v| x area across) x time; the smoke's own motion is
        not known beforehand.

        With a dissipation, 1/s, what is left of it: of smoke given evenly between two times, the integral of
        exp(-dissipation x age); the content of a region that is still held is whole.
        """
        time, alone = self.seconds(frame, fps), 1.0
        if dissipation > 0 and time > 0:
            alone = math.exp(-dissipation * max(frame - self.stop, 0) / fps)
            time = alone * -math.expm1(-dissipation * time) / dissipation
        volume = float(np.sum(self.mask, dtype=np.float64) * spacing**self.mask.ndim)
        if self.rate is not None:
            return self.rate * volume * time
        assert self.density is not None
        flux = 0.0
        for axis, speed in enumerate(self.velocity or ()):
            ends = np.zeros((1, *self.mask.shape[:axis], *self.mask.shape[axis + 1 :]))
            rim = np.diff(np.moveaxis(self.mask, axis, 0), axis=0, prepend=ends, append=ends)
            flux += abs(speed) * 0.5 * float(np.abs(rim).sum()) * spacing ** (self.mask.ndim - 1)
        return self.density * (alone * volume + flux * time) if time > 0 else 0.0


def share_of_faces(grid: Grid, share: np.ndarray, dtype: np.dtype) -> Field:
    """Per face the mean share of the two cells beside it; 0 outside the domain and on walls."""
    result = Field.zeros(grid, Kind.FACES, dtype)
    for axis, component in enumerate(result.components()):
        line = np.moveaxis(share, axis, 0)
        face = np.moveaxis(component, axis, 0)
        if grid.is_periodic(axis):
            face[...] = 0.5 * (line + np.roll(line, 1, 0))
            continue
        face[1:-1] = 0.5 * (line[1:] + line[:-1])
        if grid.boundary[axis] is Boundary.OPEN:
            face[0], face[-1] = 0.5 * line[0], 0.5 * line[-1]
    return result
