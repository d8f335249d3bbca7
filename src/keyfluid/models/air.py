"""What thins, cools, brakes and blows: the operations of a step that act on smoke and air everywhere.

    dissipation  d rho/dt = -k rho       of every density
    cooling      dT/dt = -k T            of the temperature, kelvin above the air around
    drag         dv/dt = -k v
    wind         dv/dt = -k (v - w)      wind.py

All are relaxations (operators/relax.py), exact for any step. So is a source with a rate r of smoke that dissipates:

    d rho/dt = r - k rho,   rho1 = exp(-k dt) rho + r (1 - exp(-k dt)) / k
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from keyfluid.grid import Grid, Kind
from keyfluid.models.operation import Operation, Role
from keyfluid.models.wind import Wind
from keyfluid.operators.relax import Relax

TEMPERATURE = "temperature"
_AIR = ("velocity",)


@dataclass(frozen=True, eq=False)
class Air:
    """dissipation, cooling, drag: rates, 1/s; heat_buoyancy: m/s^2 per kelvin; winds: one after the other."""

    dissipation: float = 0.0
    cooling: float = 0.0
    drag: float = 0.0
    heat_buoyancy: float = 0.0
    winds: Sequence[Wind] = ()

    def growth(self, seconds: float) -> float:
        """What a rate of density adds in a step, over the rate: the integral of exp(-k age)."""
        k = self.dissipation
        return -math.expm1(-k * seconds) / k if k > 0 else seconds

    def operations(self, grid: Grid, carried: Iterable[str], begin: float, end: float) -> list[Operation]:
        """Those of a step from `begin` to `end` seconds, of a fluid with these fields beside its velocity."""
        seconds, operations = end - begin, []
        for name in carried:
            warm = name == TEMPERATURE
            rate = self.cooling if warm else self.dissipation
            if rate > 0:
                title, role = ("cool", Role.PLAIN) if warm else ("dissipate", Role.FADE)
                relax = Relax(grid, Kind.CENTRES, rate * seconds)
                operations.append(Operation(title, relax, (name,), (name,), role))
        if self.drag > 0:
            operations.append(Operation("drag", Relax(grid, Kind.FACES, self.drag * seconds), _AIR, _AIR))
        for wind in self.winds:
            blow = wind.relax(begin, end)
            if blow is not None:
                operations.append(Operation("wind", blow, _AIR, _AIR))
        return operations


STILL = Air()
"""Nothing thins, cools, brakes or blows."""
