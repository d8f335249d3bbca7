"""Buoyancy: smoke lifts the air that carries it.

Locations   rho at centres, v on faces
Continuous  dv/dt = h rho e_up,   h in m/s^2 per unit of density
Discrete    v_up += dt h (rho_below + rho_above) / 2 on the faces across `up`; outside the box rho is 0, and
            faces on walls are left alone                                         [McNamara 2004, section 6.1]
Adjoint     rho_bar += dt h times the transposed average of v_up_bar
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keyfluid.boundary import Boundary
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators.base import Fields, LinearOperator


@dataclass(frozen=True)
class Heat(LinearOperator):
    """forward(density, velocity) -> (velocity,)."""

    grid: Grid
    lift: float
    """h: acceleration in m/s^2 of air filled with smoke of density 1."""
    dt: float
    up: int = 1

    def apply(self, *inputs: Field) -> Fields:
        rho, v = inputs
        rho.require(self.grid, Kind.CENTRES, "heat: density")
        v.require(self.grid, Kind.FACES, "heat: velocity")
        out = v.copy()
        factor = v.dtype.type(0.5 * self.lift * self.dt)
        q = np.moveaxis(rho.array, self.up, 0)
        face = np.moveaxis(out.component(self.up), self.up, 0)
        if self.grid.is_periodic(self.up):
            face += factor * (q + np.roll(q, 1, 0))
        else:
            face[1:-1] += factor * (q[1:] + q[:-1])
            if self.grid.boundary[self.up] is Boundary.OPEN:
                face[0] += factor * q[0]
                face[-1] += factor * q[-1]
        return (out,)

    def transpose(self, *outputs_bar: Field) -> Fields:
        (v_bar,) = outputs_bar
        rho_bar = Field.zeros(self.grid, Kind.CENTRES, v_bar.dtype)
        factor = v_bar.dtype.type(0.5 * self.lift * self.dt)
        q = np.moveaxis(rho_bar.array, self.up, 0)
        face = np.moveaxis(v_bar.component(self.up), self.up, 0)
        if self.grid.is_periodic(self.up):
            q += factor * (face + np.roll(face, -1, 0))
        else:
            q[1:] += factor * face[1:-1]
            q[:-1] += factor * face[1:-1]
            if self.grid.boundary[self.up] is Boundary.OPEN:
                q[0] += factor * face[0]
                q[-1] += factor * face[-1]
        return rho_bar, v_bar
