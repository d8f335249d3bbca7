"""Smoke gathering: diffuses the error rho - rho*, but only where there is smoke near the target. Forward only.

Locations   rho, rho* at centres, fluxes on faces
Continuous  drho/dt = v_g div(rho b grad(rho - rho*)),   b: blurred target  [Fattal & Lischinski 2004, eq. 10]
Discrete    advection in conservation form by the speed  s = -v_g A(b) D(rho - rho*)  on faces, none on the
            sides of the box: mass is kept, density stays non-negative, rho = rho* stays as it is
            (v_g and the sign are missing in the paper's appendix)
Restriction dt <= dx^2 / (2 d v_g max rho max b), and 0.43 cells per step at most; `forward` takes as many
            sub-steps as that needs
Derivative  none, as for advect_limited.py
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.kernels import limited
from keyfluid.operators.advect_limited import AdvectLimited
from keyfluid.operators.base import Fields, ForwardOnly
from keyfluid.operators.project import layered

SAFE_CELLS = 0.43
"""Smoke may leave a cell on both sides at once; with its correction that is all of it at 0.44 cells."""


@dataclass(frozen=True, eq=False)
class Gather(ForwardOnly):
    """forward(density) -> (density,)."""

    grid: Grid
    target: Field
    weight: Field
    """Blurred target on faces, 0 where nothing may pass."""
    rate: float
    """v_g, in m^2/s per density squared."""
    dt: float
    reverse: bool = False
    correction: float = 1.0

    def forward(self, *inputs: Field) -> Fields:
        (rho,) = inputs
        rho.require(self.grid, Kind.CENTRES, "gather: density")
        still, speeds = self.weight.zeros_like(), self.weight.zeros_like()
        self.speeds(rho, still, speeds)
        count = max(1, math.ceil(self.dt / self.longest(rho)), math.ceil(self.dt / cells_per_step(speeds)))
        for index in range(count):
            if index > 0:
                self.speeds(rho, still, speeds)
            reverse = self.reverse ^ bool(index % 2)
            advect = AdvectLimited(self.grid, self.dt / count, reverse, self.correction)
            (rho,) = advect.forward(rho, speeds)
        return (rho,)

    def speeds(self, rho: Field, wind: Field, out: Field, limit: float = math.inf) -> None:
        """out = wind + s, at most `limit`. Advecting by it is advection and gathering in one sweep."""
        real = rho.dtype.type
        limited.gather_speeds(
            rho.data, self.target.data, self.weight.data, real(self.rate / self.grid.spacing), wind.data,
            real(limit), *layered(self.grid), self.grid.dim, out.data,
        )  # fmt: skip

    @cached_property
    def largest_weight(self) -> float:
        return float(self.weight.data.max())

    def longest(self, rho: Field) -> float:
        """Seconds within which the error may be diffused in one step."""
        most = float(rho.data.max()) * self.largest_weight * self.rate
        return self.grid.spacing**2 / (2 * self.grid.dim * most) if most > 0 else math.inf


def cells_per_step(speeds: Field) -> float:
    """Seconds in which these speeds cross as much of a cell as keeps densities non-negative."""
    fastest = speeds.require_finite("velocity")
    return SAFE_CELLS * speeds.grid.spacing / fastest if fastest > 0 else math.inf
