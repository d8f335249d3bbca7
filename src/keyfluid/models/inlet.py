"""A source of driven smoke: a region that is held at a density or given more of it, and held at a velocity."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from keyfluid.fields import Field
from keyfluid.models.air import TEMPERATURE
from keyfluid.models.operation import Operation, Role
from keyfluid.operators.force import AddRate, Inflow


@dataclass(frozen=True, eq=False)
class Inlet:
    """Acts from `start` until `stop` seconds.

    field: the density it feeds, or "temperature"; mask: share of each cell inside the region; density: that the region
    is held at; rate: of density per second instead, if `density` is None; velocity_mask, velocity: of the wind, on
    faces.
    """

    field: str
    mask: Field
    density: Field | None = None
    rate: float = 0.0
    velocity_mask: Field | None = None
    velocity: Field | None = None
    start: float = 0.0
    stop: float = np.inf

    def active(self, time: float) -> bool:
        return self.start <= time < self.stop

    def constants(self, number: int) -> dict[str, Field]:
        """What its operations read, by the inlet's number."""
        fields = {f"inlet.{number}": self.mask if self.density is None else self.density}
        return fields if self.velocity is None else {**fields, f"blown.{number}": self.velocity}

    def blow(self, number: int) -> list[Operation]:
        """Its region is held at the wind."""
        if self._wind is None:
            return []
        return [Operation("blow", self._wind, ("velocity", f"blown.{number}"), ("velocity",))]

    def emit(self, number: int, growth: float) -> list[Operation]:
        """What it gives in a step; growth: of a density whose rate is 1 (the step's length, unless it dissipates)."""
        operator = AddRate(self.rate * growth) if self.density is None else self._hold
        role = Role.PLAIN if self.field == TEMPERATURE else Role.LET_IN
        return [Operation("emit", operator, (self.field, f"inlet.{number}"), (self.field,), role)]

    @cached_property
    def _hold(self) -> Inflow:
        return Inflow(self.mask)

    @cached_property
    def _wind(self) -> Inflow | None:
        return None if self.velocity is None or self.velocity_mask is None else Inflow(self.velocity_mask)
