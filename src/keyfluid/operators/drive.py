"""The driving force: blurred smoke is pulled up the slope of the blurred target's logarithm.

Locations   rho at centres, force and slope on faces
Continuous  F = v_f blur(rho) grad(b) / b,   b = blur(rho*)             [Fattal & Lischinski 2004, equation 7]
Discrete    F = v_f A(blur(rho)) slope,   slope = D(b) / A(b) computed once per target           [section 4.3]
            For rho = rho* this is v_f D(b), a discrete gradient, and the projection removes it.
Adjoint     rho_bar = v_f blur(A^T (slope F_bar)); linear in rho
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keyfluid.boundary import Boundary
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.kernels import limited
from keyfluid.operators.base import Fields, LinearOperator
from keyfluid.operators.blur import Blur
from keyfluid.operators.project import layered


@dataclass(frozen=True, eq=False)
class Drive(LinearOperator):
    """forward(density) -> (force,)."""

    grid: Grid
    blur: Blur
    slope: Field
    """D(b) / A(b) on faces, 1/m."""
    strength: float
    """v_f, in m^2/s^2 per density."""

    def apply(self, *inputs: Field) -> Fields:
        (rho,) = inputs
        force = self.slope.zeros_like()
        self.add(self.blur.forward(rho)[0], force)
        return (force,)

    def add(self, blurred: Field, force: Field, keep: bool = True) -> None:
        """force += v_f A(blurred) slope, in place; without `keep` it overwrites."""
        real = blurred.dtype.type
        factors = real(0.5 * self.strength), real(1 if keep else 0)
        limited.drive(blurred.data, self.slope.data, *factors, *layered(self.grid), self.grid.dim, force.data)

    def transpose(self, *outputs_bar: Field) -> Fields:
        (force_bar,) = outputs_bar
        force_bar.require(self.grid, Kind.FACES, "drive: force")
        gathered = Field.zeros(self.grid, Kind.CENTRES, force_bar.dtype)
        half = force_bar.dtype.type(0.5 * self.strength)
        weighted = force_bar.like(force_bar.data * self.slope.data * half)
        for axis, component in enumerate(weighted.components()):
            face, cell = np.moveaxis(component, axis, 0), np.moveaxis(gathered.array, axis, 0)
            if self.grid.boundary[axis] is Boundary.PERIODIC:
                cell += face + np.roll(face, -1, 0)
            else:
                cell += face[:-1] + face[1:]
        return self.blur.forward(gathered)
