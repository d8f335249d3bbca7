"""Smoke gathering: diffuses the error rho - rho*, but only where there is smoke near the target. Forward only.

Locations   rho, rho* at centres, fluxes on faces
Continuous  drho/dt = v_g div(rho b grad(rho - rho*)),   b: blurred target  [Fattal & Lischinski 2004, eq. 10]
Discrete    advection in conservation form by the speed  s = -v_g A(b) D(rho - rho*)  on faces, none on the
            sides of the box: mass is kept, density stays non-negative, rho = rho* stays as it is
            (v_g and the sign are missing in the paper's appendix)
Restriction dt <= dx^2 / (2 v_g max(rho b)), since each axis sees what the one before has left; `forward`
            takes the necessary sub-steps. Speeds beyond 0.43 cells per sub-step are cut to that.
Derivative  none, as for advect_limited.py
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from keyfluid.boundary import Boundary
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators.advect_limited import AdvectLimited
from keyfluid.operators.base import Fields, ForwardOnly
from keyfluid.operators.kernels import gather as kernels
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
        still = self.weight.zeros_like()
        count = max(1, math.ceil(self.dt / self.longest(rho)))
        limit = SAFE_CELLS * self.grid.spacing * count / self.dt
        for index in range(count):
            advect = AdvectLimited(self.grid, self.dt / count, self.reverse ^ bool(index % 2), self.correction)
            rho = self.carry(rho, still, advect, limit)
        return (rho,)

    def carry(self, rho: Field, wind: Field, advect: AdvectLimited, limit: float) -> Field:
        """One step of gathering together with advection: both are conservation laws, so their speeds add.

        Axis after axis, with the error that the sweep before has left. No speed exceeds `limit`.
        """
        real = rho.dtype.type
        cells, kinds = layered(self.grid)
        starts = [part.start for part in self.grid.layout(Kind.FACES).parts]
        rate, step = real(self.rate / self.grid.spacing), real(advect.dt / self.grid.spacing)
        sizes = cells, kinds, rate, real(limit), step, real(advect.correction)
        work = np.empty(kernels.work_size(cells), rho.dtype)
        for axis in advect.order:
            fields = rho.data, self.target.data, self.weight.data, wind.data, starts[axis]
            out = np.empty_like(rho.data)
            if axis == self.grid.dim - 1:
                kernels.carry_along(*fields, *sizes, out, work)
            else:
                kernels.carry_across(*fields, axis + 3 - self.grid.dim, *sizes, out, work)
            rho = rho.like(out)
        return rho

    @cached_property
    def reach(self) -> np.ndarray:
        """The largest weight on the faces of each cell, where its smoke may leave."""
        most = np.zeros(self.grid.cells, self.weight.dtype)
        for axis, (faces, side) in enumerate(zip(self.weight.components(), self.grid.boundary)):
            cells, ends = np.moveaxis(most, axis, 0), np.moveaxis(faces, axis, 0)
            above = np.roll(ends, -1, 0) if side is Boundary.PERIODIC else ends[1:]
            np.maximum(cells, np.maximum(ends[: len(cells)], above), out=cells)
        return most.reshape(-1)

    def longest(self, rho: Field) -> float:
        """The longest step, in seconds, for diffusing the error."""
        most = float((rho.data * self.reach).max()) * self.rate
        return self.grid.spacing**2 / (2 * most) if most > 0 else math.inf


def cells_per_step(speeds: Field) -> float:
    """The longest step, in seconds, that keeps densities non-negative at these speeds."""
    fastest = speeds.require_finite("velocity")
    return SAFE_CELLS * speeds.grid.spacing / fastest if fastest > 0 else math.inf
