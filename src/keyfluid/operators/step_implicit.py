"""One step of the velocity by backward Euler: a nonlinear solve.

Locations   v and u on faces, p at centres
Continuous  dv/dt + (curl v) x v - nu laplacian v = u - grad p,   div v = 0
Discrete    (v1 - v0)/dt + Adv[v1] = u - G p,   D v1 = 0                    [Pan & Manocha 2017, eq. 1 and 2]
            on the fields without divergence:  F(v1) = Q (v1 + dt Adv[v1] - v0 - dt u) = 0,  Q the projection.
            Newton's method, GMRES for its steps, steps halved while |F| does not fall.
Tangent     J d_v1 = Q (d_v0 + dt d_u),   J = Q (1 + dt Adv'[v1]) Q
Adjoint     g = J^-T Q v1_bar;   v0_bar = g,  u_bar = dt g
Sides       as the projection and the self-advection have them
Bodies      at rest, in boxes without open sides: Q keeps flow out of them (solvers/solenoidal_around_bodies.py), and
            Adv sees air at rest inside. Air slips along them; viscous air sticks to them, as in diffuse.py.
Smoothness  smooth where J can be inverted. Not differentiated: dt.
"""

from __future__ import annotations

import warnings

import numpy as np

from keyfluid.errors import ConvergenceWarning, KeyfluidError
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators.base import Fields, Operator
from keyfluid.operators.diffuse import Diffuse
from keyfluid.operators.project import Project
from keyfluid.solids import Solids
from keyfluid.solvers.gmres import gmres
from keyfluid.solvers.multigrid import SolveReport
from keyfluid.solvers.self_advection import (
    self_advection,
    self_advection_tangent,
    self_advection_transpose,
)
from keyfluid.solvers.solenoidal_around_bodies import SolenoidalAroundBodies

MOST_NEWTON_STEPS = 30
MOST_DIRECTIONS = 120


class StepImplicit(Operator):
    """forward(velocity, force) -> (velocity,), m/s and m/s^2; `report` is the last step's.

    tolerance: of |F| relative to the right side; by default what the precision allows. solids: bodies at rest.
    """

    def __init__(
        self, grid: Grid, dt: float, viscosity: float = 0.0, dtype: np.typing.DTypeLike = np.float32,
        tolerance: float | None = None, solids: Solids | None = None,
    ) -> None:  # fmt: skip
        self.grid, self.dt = grid, dt
        self.scale = dt / grid.spacing
        self.number = viscosity * dt / grid.spacing**2
        self.tolerance = tolerance or (1e-6 if np.dtype(dtype) == np.float32 else 1e-15)
        self.project = Project(grid, dtype=dtype)
        if solids is not None and solids.motion.data.any():
            raise KeyfluidError("implicit step: a body moves; only bodies at rest are supported")
        self.around = SolenoidalAroundBodies(grid, dtype, solids) if solids is not None else None
        # Where viscosity is large GMRES needs its inverse; where there is none, the identity is good enough. Around
        # bodies the inverse in the box does as well and costs a third.
        self.smooth = Diffuse(grid, viscosity, dt, dtype=dtype) if viscosity > 0 else None
        self.report = SolveReport(converged=True, iterations=0, residual=0.0)

    def forward(self, *inputs: Field) -> Fields:
        v0, u = inputs
        v0.require(self.grid, Kind.FACES, "implicit step: velocity")
        u.require(self.grid, Kind.FACES, "implicit step: force")
        right = self._projected(v0.add_scaled(self.dt, u))
        return (self._newton(right),)

    def tangent(self, inputs: Fields, d_inputs: Fields) -> Fields:
        (v1,) = self.forward(*inputs)
        d_v0, d_u = d_inputs
        return (self._solve(v1, self._projected(d_v0.add_scaled(self.dt, d_u)), transposed=False),)

    def adjoint(self, inputs: Fields, outputs_bar: Fields) -> Fields:
        (v1,) = self.forward(*inputs)
        return self.adjoint_at(v1, outputs_bar[0])

    def adjoint_at(self, v1: Field, v1_bar: Field) -> Fields:
        """The adjoint, where the velocity after the step is known."""
        g = self._solve(v1, self._projected(v1_bar), transposed=True)
        return g, g * self.dt

    def residual(self, v1: Field, right: Field) -> Field:
        """F(v1)."""
        moved = v1.like(v1.data + self_advection(self.grid, v1.data, self.scale, self.number) - right.data)
        return self._projected(moved)

    def _newton(self, right: Field) -> Field:
        v, enough = right, self.tolerance * max(right.norm(), 1e-300)
        gap = self.residual(v, right)
        size, steps = gap.norm(), 0
        while size > enough and steps < MOST_NEWTON_STEPS:
            # Far from the solution a rough direction is enough.
            step = self._solve(v, gap, transposed=False, tolerance=max(self.tolerance, min(1e-2, size / enough * 1e-3)))
            fraction, better = 1.0, False
            while fraction > 1e-3 and not better:
                trial = v.add_scaled(-fraction, step)
                trial_gap = self.residual(trial, right)
                better = trial_gap.norm() < size
                fraction *= 0.5
            if not better:
                break
            v, gap, size, steps = trial, trial_gap, trial_gap.norm(), steps + 1
        reached = size / max(right.norm(), 1e-300)
        self.report = SolveReport(reached <= max(100 * self.tolerance, 1e-5), steps, reached)
        if not self.report.converged:
            warnings.warn(
                f"implicit step: stopped at a relative residual of {reached:.1e}; take shorter steps",
                ConvergenceWarning, stacklevel=3,
            )  # fmt: skip
        return v

    def _solve(self, v: Field, right: Field, transposed: bool, tolerance: float | None = None) -> Field:
        """J^-1 right, or J^-T right."""
        derivative = self_advection_transpose if transposed else self_advection_tangent

        def apply(d: np.ndarray) -> np.ndarray:
            moved = d + derivative(self.grid, v.data, d, self.scale, self.number)
            return self._smoothed(self._projected(v.like(moved))).data

        x, _ = gmres(apply, self._smoothed(right).data, tolerance or self.tolerance, MOST_DIRECTIONS)
        return v.like(x)

    def _smoothed(self, v: Field) -> Field:
        return v if self.smooth is None else self._projected(self.smooth.apply(v)[0])

    def _projected(self, v: Field) -> Field:
        if self.around is not None:
            out = v.like(self.around.project(v.data[:, None].copy())[:, 0])
            # What is left of a large gradient is its rounding, which has divergence again.
            return out if out.norm() > 0.1 * v.norm() else v.like(self.around.project(out.data[:, None])[:, 0])
        return self.project.apply(v)[0]
