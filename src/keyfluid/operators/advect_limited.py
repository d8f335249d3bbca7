"""Advection in conservation form with a flux limiter: sharp, never negative, exact in mass. Forward only.

Locations   q at centres or on faces, v on faces, without divergence
Continuous  dq/dt = -(u q)_x - (v q)_y - (w q)_z, axis after axis    [Fattal & Lischinski 2004, sec. 4.4]
Discrete    upwind fluxes and a limited second-order correction (keyfluid/kernels/limited.py)    [appendix A]
            The speed on an interface of faces is the mean of the two velocities beside it. Sweeps of odd
            steps go through the axes in reverse, which cancels the first-order error of splitting.
Sides       nothing passes walls; through open sides smoke leaves and clean air enters at the side's velocity
Restriction no more than half a cell per step along an axis, or densities may become negative
Derivative  none: which difference the limiter takes jumps everywhere. Gradient rollouts refuse it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.kernels import limited
from keyfluid.operators.base import Fields, ForwardOnly
from keyfluid.operators.project import layered


@dataclass(frozen=True)
class AdvectLimited(ForwardOnly):
    """forward(carried..., velocity) -> (carried...,), each at centres or on faces."""

    grid: Grid
    dt: float
    reverse: bool = False
    correction: float = 1.0
    """1: second order; 0: first-order upwind, for comparison (figure 2, row C of the paper)."""

    def forward(self, *inputs: Field) -> Fields:
        *carried, v = inputs
        v.require(self.grid, Kind.FACES, "advect: velocity")
        for q in carried:
            kind = Kind.CENTRES if q.kind is Kind.EDGES else q.kind
            q.require(self.grid, kind, "advect: carried field")
        return tuple(self.carry(q, v, self.order) for q in carried)

    @property
    def order(self) -> Sequence[int]:
        """The axes, in the order of their sweeps."""
        return range(self.grid.dim)[::-1] if self.reverse else range(self.grid.dim)

    def carry(self, q: Field, v: Field, axes: Sequence[int]) -> Field:
        """q after the sweeps along these axes."""
        lead = 3 - self.grid.dim
        cells, kinds = layered(self.grid)
        layout, speeds = self.grid.layout(q.kind), self.grid.layout(Kind.FACES)
        real = q.dtype.type
        step, ghost = real(self.dt / self.grid.spacing), real(1 if q.kind is Kind.FACES else 0)
        now, spare = q.data, np.empty_like(q.data) if len(axes) > 1 else q.data
        result = np.empty_like(q.data)
        for part, (shape, where) in enumerate(zip(layout.shapes, layout.parts)):
            m = np.array([1] * lead + list(shape), np.int64)
            across = part + lead if q.kind is Kind.FACES else -1
            now = q.data
            for count, axis in enumerate(axes):
                out = result if (len(axes) - count) % 2 else spare
                p = np.array([1] * lead + list(speeds.shapes[axis]), np.int64)
                lattice = (now, where.start, m, v.data, speeds.parts[axis].start, p)
                rest = (across, cells, kinds, step, ghost, real(self.correction), out, where.start)
                if axis + lead == 2:
                    limited.sweep_along(*lattice, *rest)
                else:
                    limited.sweep_across(*lattice, axis + lead, *rest)
                now = out
        return q.like(result)
