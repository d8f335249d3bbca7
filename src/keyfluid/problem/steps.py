"""A problem's fluid step by step: when a step is, what it did, and who takes it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from keyfluid.fields import Field
from keyfluid.models.model import Model
from keyfluid.models.state import State


@dataclass(frozen=True)
class Clock:
    """Which step: `index` counts steps of length `dt` from the start, so it begins at index * dt seconds."""

    index: int
    dt: float

    @property
    def time(self) -> float:
        return self.index * self.dt


@dataclass(frozen=True, eq=False)
class Advance:
    """What a step did: the state after it, the field that advected, the force, the mass given by sources.

    cells: that the fastest air crossed, of smoke; divergence, numbers: see FrameRecord.
    """

    state: State
    carrier: Field
    force: Field | None = None
    emitted: dict[str, float] | None = None
    divergence: float | None = None
    numbers: dict[str, float] | None = None
    cells: float = 0.0


class Steps(Protocol):
    """A fluid's model with the scene's sources and bodies in place.

    rates: of what sources add in a step, as inputs of the model; source: a rate of the fluid's field that control adds,
    only for fluids whose search may use sources.
    """

    def model(self, dt: float) -> Model: ...

    def air(self, dt: float) -> Model | None:
        """The model without the fields that it carries and does not feel; None where it feels them."""
        ...

    def rates(self, clock: Clock) -> dict[str, Field]: ...

    def advance(
        self, state: State, clock: Clock, force: Field | None = None, source: Field | None = None
    ) -> Advance: ...
