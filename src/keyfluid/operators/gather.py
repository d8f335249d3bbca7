"""Smoke gathering: diffuses the error rho - rho*, but only where there is smoke near the target. Forward only.

Locations   rho, rho* at centres, fluxes on faces
Continuous  drho/dt = v_g div(rho b grad(rho - rho*)),   b: blurred target  [Fattal & Lischinski 2004, eq. 10]
Discrete    advection in conservation form by the speed  s = -v_g A(b) D(rho - rho*)  on faces, none on the
            sides of the box: mass is kept, density stays non-negative, rho = rho* stays as it is
            (v_g and the sign are missing in the paper's appendix)
Restriction dt <= dx^2 / (2 d v_g max rho max b), and 0.4 cells per step at most; `forward` takes as many
            sub-steps as that needs
Derivative  none, as for advect_limited.py
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.kernels import limited
from keyfluid.operators.advect_limited import AdvectLimited
from keyfluid.operators.base import Fields, ForwardOnly
from keyfluid.operators.project import layered

CELLS_PER_STEP = 0.4


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
        speeds = self._speeds(rho)
        count = self._substeps(rho, speeds)
        for index in range(count):
            if index > 0:
                speeds = self._speeds(rho)
            reverse = self.reverse ^ bool(index % 2)
            advect = AdvectLimited(self.grid, self.dt / count, reverse, self.correction)
            (rho,) = advect.forward(rho, speeds)
        return (rho,)

    def _speeds(self, rho: Field) -> Field:
        error = rho.data - self.target.data
        out = np.zeros_like(self.weight.data)
        factor = rho.dtype.type(self.rate / self.grid.spacing)
        zero = rho.dtype.type(0)
        limited.beside_faces(
            error, self.weight.data, factor, -factor, zero, *layered(self.grid), self.grid.dim, out
        )
        return self.weight.like(out)

    def _substeps(self, rho: Field, speeds: Field) -> int:
        dx = self.grid.spacing
        most = float(rho.data.max()) * float(self.weight.data.max())
        spread = self.dt * 2 * self.grid.dim * self.rate * most / dx**2
        moved = self.dt * speeds.peak() / (CELLS_PER_STEP * dx)
        return max(1, math.ceil(spread), math.ceil(moved))
