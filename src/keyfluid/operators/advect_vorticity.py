"""Self-advection of a velocity in its velocity-vorticity form, with viscosity.

Locations   v and the result on faces, vorticity on edges
Continuous  Adv[v] = (curl v) x v - nu laplacian v          [Pan & Manocha 2017, eq. 1 and section 3.1]
Discrete    vorticity by differences around an edge, velocity on it as the mean of the two faces beside it, and the
            product averaged back to faces (solvers/kernels/self_advection.py). So v . (curl v) x v sums to zero
            exactly: this term alone neither gains nor loses energy [after Pavlov et al. 2011]. Viscosity is nu curl
            curl v, which is -nu laplacian v where v has no divergence.
Tangent     bilinear: (curl d_v) x v + (curl v) x d_v - nu laplacian d_v
Adjoint     its transpose, gathered face by face
Sides       no vorticity on walls and open sides: free slip
Deviations  the paper leaves the stencil open; it omits viscosity "for brevity"
"""

from __future__ import annotations

from dataclasses import dataclass

from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators.base import Fields, Operator
from keyfluid.solvers.self_advection import (
    self_advection,
    self_advection_tangent,
    self_advection_transpose,
)


@dataclass(frozen=True)
class AdvectVorticity(Operator):
    """forward(velocity) -> (acceleration,), m/s and m/s^2; viscosity in m^2/s."""

    grid: Grid
    viscosity: float = 0.0

    def forward(self, *inputs: Field) -> Fields:
        (v,) = inputs
        v.require(self.grid, Kind.FACES, "self-advection: velocity")
        return (v.like(self_advection(self.grid, v.data, 1.0 / self.grid.spacing, self._number)),)

    def tangent(self, inputs: Fields, d_inputs: Fields) -> Fields:
        (v,), (d_v,) = inputs, d_inputs
        scale = 1.0 / self.grid.spacing
        return (v.like(self_advection_tangent(self.grid, v.data, d_v.data, scale, self._number)),)

    def adjoint(self, inputs: Fields, outputs_bar: Fields) -> Fields:
        (v,), (bar,) = inputs, outputs_bar
        scale = 1.0 / self.grid.spacing
        return (v.like(self_advection_transpose(self.grid, v.data, bar.data, scale, self._number)),)

    @property
    def _number(self) -> float:
        return self.viscosity / self.grid.spacing**2
