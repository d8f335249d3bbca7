"""Projected Gauss-Newton-CG for the Navier-Stokes subproblem (flow.py).

Each step solves H d = -G on the admissible changes by conjugate gradients, preconditioned with
Q (kappa + D_t^T D_t)^-1, where D_t is D without self-advection: exact for fluid at rest. Q commutes with the solve in
time, so one projection serves for both. With viscosity the time solve stands between two implicit diffusions.

Inexact  a step's equations are solved to a tenth, since the next step has new ones; and a solve ends at `tolerance`, or
at `share` of the residual that it began with. In the outer loop, whose guide will move again, 2 % gives the same
iterates to four digits for a seventh of the CG iterations (letter D, 64^2/20: 230 instead of 1530 in 12 rounds).

Levenberg-Marquardt guard  kappa is raised to kappa + mu in H where a step does not lower E, and mu falls again after
steps that do as promised: accept and reject as the paper asks for where r is large (section 5).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np

from keyfluid.controllers.spacetime.flow import FlowEquations, add_scaled, dot, peak
from keyfluid.controllers.spacetime.kernels import solve_in_time as kernels

MOST_STEPS = 60
MOST_CG = 400
ROUGH = 0.1


@dataclass
class FlowReport:
    """How a solve of the subproblem ended; `residuals` after each step (or V-cycle), largest |G| in cells and steps."""

    converged: bool
    residuals: list[float] = field(default_factory=list)
    cg_iterations: int = 0
    rejected: int = 0
    solver: str = "gauss-newton"


class GaussNewton:
    """solve(v, guide, kappa) improves v in place."""

    def __init__(self, flow: FlowEquations, tolerance: float, share: float = 0.0) -> None:
        self.flow, self.tolerance, self.share = flow, tolerance, share

    def solve(
        self, v: np.ndarray, guide: np.ndarray, kappa: float, most_steps: int = MOST_STEPS
    ) -> tuple[np.ndarray, FlowReport]:
        """The forces u of the improved trajectory, and how it went."""
        damping = 0.0
        value, gradient = self._at(v, guide, kappa)
        report = FlowReport(False, [peak(gradient)])
        enough = max(self.tolerance, self.share * report.residuals[0])
        while report.residuals[-1] > enough and len(report.residuals) <= most_steps:
            rough = max(0.3 * enough / report.residuals[-1], ROUGH)
            trial, promised, iterations = self._direction(v, gradient, kappa + damping, rough)
            trial += v
            report.cg_iterations += iterations
            trial_value, gradient = self._at(trial, guide, kappa)
            # Changes of E below its rounding mean nothing: take the step if it lowers the residual.
            hidden = promised < 1e-5 * value if v.dtype == np.float32 else promised < 1e-12 * value
            if not hidden and not trial_value <= value - 1e-4 * promised:
                damping = max(4.0 * damping, kappa)
                report.rejected += 1
                if report.rejected > most_steps:
                    break
                _, gradient = self._at(v, guide, kappa)
                continue
            if hidden and peak(gradient) > 0.9 * report.residuals[-1]:
                break
            damping = 0.25 * damping if damping > 0.01 * kappa else 0.0
            v[...], value = trial, trial_value
            report.residuals.append(peak(gradient))
            del trial  # its memory is wanted in the next step
        report.converged = report.residuals[-1] <= enough
        return self.flow.forces(v), report

    def _at(self, v: np.ndarray, guide: np.ndarray, kappa: float) -> tuple[float, np.ndarray]:
        """E and G of a trajectory."""
        u = self.flow.forces(v)
        return self.flow.objective(u, v, guide, kappa), self.flow.gradient(v, u, guide, kappa)

    def _direction(
        self, v: np.ndarray, gradient: np.ndarray, kappa: float, rough: float
    ) -> tuple[np.ndarray, float, int]:
        """d with |H d + G| <= rough |G| in the preconditioner's norm, -G.d, and the iterations; `gradient` is used up.

        -G.d comes with the iteration: every direction adds its length times the residual's product.
        """
        flow, precondition = self.flow, self._preconditioner(v, kappa)
        residual = np.negative(gradient, out=gradient)
        d = np.zeros_like(v)
        direction = precondition(residual)
        product, promised = dot(residual, direction), 0.0
        enough = rough * rough * product
        for iteration in range(MOST_CG):
            if not product > enough:
                return d, promised, iteration
            curved = flow.admissible(flow.curvature(v, direction, kappa))
            length = product / dot(direction, curved)
            promised += length * product
            add_scaled(length, direction, d)
            add_scaled(-length, curved, residual)
            del curved
            z = precondition(residual)
            before, product = product, dot(residual, z)
            direction *= direction.dtype.type(product / before)
            direction += z
            del z
        return d, promised, MOST_CG

    def _preconditioner(self, v: np.ndarray, kappa: float) -> Callable[[np.ndarray], np.ndarray]:
        carry, scale = factors(np.full(v.shape[1], kappa), self.flow.free_start, v.dtype)
        solenoidal, viscosity = self.flow.solenoidal, self.flow.viscosity

        def in_time(q: np.ndarray) -> np.ndarray:
            out = np.empty_like(q)
            kernels.solve_in_time(q.reshape(-1), out.reshape(-1), q.shape[1], carry, scale)
            return out

        if viscosity == 0:
            return in_time
        diffusion = solenoidal.filters(lambda waves: 1.0 / (1.0 - viscosity * waves))

        def diffused(q: np.ndarray) -> np.ndarray:
            out = solenoidal.filter(in_time(solenoidal.filter(q.copy(), diffusion)), diffusion)
            return solenoidal.project(out) if self.flow.bodies else out

        return diffused


def factors(kappa: np.ndarray, free_start: bool, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """kappa_k + D_t^T D_t = (1 + L) diag(pivot) (1 + L^T): what `solve_in_time` takes, carry = -L and 1 / pivot.

    D_t d has the columns d_k - d_{k-1} for k >= 1; a fixed v_0 is a column of its own.
    """
    steps = kappa.size
    pivot = kappa + 2.0
    pivot[-1] = kappa[-1] + 1.0
    pivot[0] = kappa[0] + 1.0
    carry = np.zeros(steps)
    for k in range(1, steps):
        coupled = 1.0 if k > 1 or free_start else 0.0
        carry[k] = coupled / pivot[k - 1]
        pivot[k] -= coupled * carry[k]
    return carry.astype(dtype), (1.0 / pivot).astype(dtype)
