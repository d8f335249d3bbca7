"""The penalty on shear: velocities that change over a cell within a step.

    mu / 2 sum_t sum (dt dv_t / dx)^2 / N / n

The grid smears what strong shear draws out thin, and an optimiser may use the smearing to erase smoke where the
target has none. Carried by a fine flow map the same velocities then miss the target. Penalising the deformation of a
step, grad v dt, keeps flows such that the grid can follow them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from keyfluid.fields import Field
from keyfluid.models.state import State
from keyfluid.objectives.force import ForcePenalty


@dataclass(frozen=True)
class ShearPenalty:
    """mu: penalty on a mean square deformation of 1 per step; count: steps that count, after `first`; dt in seconds."""

    mu: float
    count: int
    dt: float
    first: int = 0

    def steps(self) -> Iterable[int]:
        return range(self.first + 1, self.first + self.count + 1)

    def term(self, step: int, state: State) -> tuple[float, Mapping[str, Field]]:
        velocity = state["velocity"]
        grid = velocity.grid
        scale = 0.5 * self.mu * (self.dt / grid.spacing) ** 2 / (grid.count * self.count)
        value, bar = ForcePenalty(0.0, 1.0, scale).term(velocity)
        return value, {"velocity": bar}
