"""The steps of a scene, smoke or liquid, behind one shape."""

from __future__ import annotations

from typing import Protocol

from keyfluid.controllers.liquid_steps import LiquidSteps
from keyfluid.controllers.march import Advance, Clock
from keyfluid.controllers.smoke_steps import SmokeSteps
from keyfluid.fields import Field
from keyfluid.models.model import Model
from keyfluid.models.state import State
from keyfluid.problem import Problem


class Steps(Protocol):
    """What smoke and liquid have in common. `source`: a rate of the level set, only for liquids."""

    def model(self, dt: float) -> Model: ...

    def rates(self, clock: Clock) -> dict[str, Field]: ...

    def advance(
        self, state: State, clock: Clock, force: Field | None = None, source: Field | None = None
    ) -> Advance: ...


def steps_of(problem: Problem) -> Steps:
    return SmokeSteps(problem) if problem.liquid is None else LiquidSteps(problem)
