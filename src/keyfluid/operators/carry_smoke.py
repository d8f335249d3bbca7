"""Smoke carried by the air and gathered to its target in the same sweeps. Forward only.

Locations   rho at centres, v on faces, without divergence
Continuous  drho/dt = -div(rho v) + v_g div(rho b grad(rho - rho*))      [Fattal & Lischinski 2004, sec. 4, eq. 10]
Discrete    advect_limited.py with the speeds of gather.py added to those of the air: both are conservation laws
Restriction sub-steps short enough for the limits of both air and gathering; where both together would be too fast,
            gathering is reduced
Sides       nothing passes bodies, and their inside is emptied
Derivative  none, as for advect_limited.py
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators.advect_limited import AdvectLimited
from keyfluid.operators.base import Fields, ForwardOnly
from keyfluid.operators.gather import SAFE_CELLS, Gather, cells_per_step
from keyfluid.solids import Solids


@dataclass(frozen=True, eq=False)
class CarrySmoke(ForwardOnly):
    """forward(density, velocity) -> (density,)."""

    grid: Grid
    dt: float
    gather: Gather | None = None
    solids: Solids | None = None
    reverse: bool = False
    correction: float = 1.0

    def forward(self, *inputs: Field) -> Fields:
        rho, u = inputs
        rho.require(self.grid, Kind.CENTRES, "carry smoke: density")
        u.require(self.grid, Kind.FACES, "carry smoke: velocity")
        solids, gather = self.solids, self.gather
        wind = u if solids is None else u.like(u.data * solids.free)
        longest = min(cells_per_step(wind), math.inf if gather is None else gather.longest(rho))
        parts = max(1, math.ceil(self.dt / longest))
        limit = SAFE_CELLS * self.grid.spacing * parts / self.dt
        for part in range(parts):
            advect = AdvectLimited(self.grid, self.dt / parts, self.reverse ^ bool(part % 2), self.correction)
            if gather is None:
                (rho,) = advect.forward(rho, wind)
            else:
                rho = gather.carry(rho, wind, advect, limit)
        return (rho if solids is None else rho.like(rho.data * ~solids.solid.ravel()),)
