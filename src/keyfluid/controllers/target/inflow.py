"""What sources do in a sub-step: hold or add smoke, and blow."""

from __future__ import annotations

import numpy as np

from keyfluid.controllers.smoke_steps import mass_of
from keyfluid.fields import Field
from keyfluid.problem import Problem

_ROUNDING = 1e-6


class Inflow:
    """The scene's sources. Times are in frames: a source acts from its start until its stop."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._winds = [s.wind(problem.grid) if s.velocity is not None else None for s in problem.sources]

    def _active(self, frame: float) -> list[int]:
        sources = enumerate(self.problem.sources)
        return [i for i, s in sources if s.start - _ROUNDING <= frame < s.stop - _ROUNDING]

    def blow(self, velocity: Field, frame: float) -> Field:
        """Velocity with the air in active regions held at theirs."""
        for i in self._active(frame):
            wind = self._winds[i]
            if wind is not None:
                share, held = (field.data.astype(velocity.dtype, copy=False) for field in wind)
                velocity = velocity.like(velocity.data + share * (held - velocity.data))
        return velocity

    def emit(self, densities: dict[str, Field], frame: float, dt: float) -> dict[str, float]:
        """Replaces densities by those after the sources; mass given, per field."""
        given: dict[str, float] = {}
        for i in self._active(frame):
            source = self.problem.sources[i]
            before = densities[source.field]
            mask = np.ravel(source.mask).astype(before.dtype, copy=False)
            if source.rate is not None:
                after = before.like(before.data + mask * before.dtype.type(source.rate * dt))
            else:
                after = before.like(before.data + mask * (before.dtype.type(source.density) - before.data))
            densities[source.field] = after
            given[source.field] = given.get(source.field, 0.0) + mass_of(after) - mass_of(before)
        return given
