"""The Navier-Stokes subproblem by V-cycles of the full approximation scheme (algorithm 2), watched.

V-cycles converge by a factor of 0.15 to 0.3 where kappa is 1 or more and the air crosses a cell per step or less, and
diverge where r is large and the air is fast. So a cycle that does not lower the residual by a tenth is taken back and
the next remedy tried, in this order, from the best trajectory so far:

    plain              V(2,2)
    damped             smoothing by half a step
    levenberg          V-cycles on problems with kappa + mu and a guide pulled to the last trajectory, accepted where
                       the objective falls and rejected where it does not [section 5]
    gauss-newton       gauss_newton.py, which always descends

Nothing is kept between solves but v: u, p and pbar follow from it, so that a resumed run has the same bits.
"""

from __future__ import annotations

import numpy as np

from keyfluid.controllers.spacetime.flow import FlowEquations, peak
from keyfluid.controllers.spacetime.gauss_newton import FlowReport, GaussNewton
from keyfluid.solvers.fas import FullApproximation, Trajectory
from keyfluid.solvers.self_advection import self_advection, self_advection_transpose

SLOW = 0.9
MOST_CYCLES = 40
MOST_ROUNDS = 12
DAMPED = 0.5


class Multigrid:
    """solve(v, guide, kappa) improves v in place."""

    def __init__(self, flow: FlowEquations, tolerance: float, dtype: np.typing.DTypeLike, share: float = 0.0) -> None:
        self.flow, self.tolerance, self.share = flow, tolerance, share
        self.fas = FullApproximation(flow.grid, flow.viscosity, flow.free_start, dtype)
        self.fallback = GaussNewton(flow, tolerance, share)

    def solve(self, v: np.ndarray, guide: np.ndarray, kappa: float) -> tuple[np.ndarray, FlowReport]:
        """The forces u of the improved trajectory, and how it went."""
        flow, report = self.flow, FlowReport(False, solver="fas")
        begun = peak(flow.gradient(v, flow.forces(v), guide, kappa))
        enough = max(self.tolerance, self.share * begun)
        for name, damping in (("fas", 1.0), ("fas, damped", DAMPED)):
            report.solver = name
            if self._cycles(v, guide, kappa, damping, enough, report, MOST_CYCLES):
                return self._finished(v, guide, kappa, report)
        report.solver = "fas, levenberg"
        if self._levenberg(v, guide, kappa, enough, report):
            return self._finished(v, guide, kappa, report)
        u, rest = self.fallback.solve(v, guide, kappa)
        report.residuals += rest.residuals[1:]
        report.cg_iterations, report.rejected = rest.cg_iterations, report.rejected + rest.rejected
        report.converged, report.solver = rest.converged, "gauss-newton"
        return u, report

    def _cycles(
        self, v: np.ndarray, guide: np.ndarray, kappa: float, damping: float, enough: float, report: FlowReport,
        most: int,
    ) -> bool:  # fmt: skip
        """V-cycles until the residual is small enough, or until one fails; v is the best trajectory either way."""
        right = Trajectory.zeros(self.flow.grid, v.shape[1], v.dtype)
        right.v[...] = v.dtype.type(kappa) * guide
        right.v[:, 0] *= float(self.flow.free_start)
        x = self._unfolded(v, guide, kappa)
        size = self._residual(x, right, kappa)
        report.residuals.append(size)
        for _ in range(most):
            if size <= enough:
                break
            self.fas.cycle(x, right, kappa, damping)
            now = self._residual(x, right, kappa)
            if not now < SLOW * size:
                return False
            v[...], size = x.v, now
            report.residuals.append(size)
        self.flow.solenoidal.project(v)
        return size <= enough

    def _levenberg(self, v: np.ndarray, guide: np.ndarray, kappa: float, enough: float, report: FlowReport) -> bool:
        flow, extra = self.flow, 4.0 * kappa
        self.flow.solenoidal.project(v)
        value = flow.objective(flow.forces(v), v, guide, kappa)
        for _ in range(MOST_ROUNDS):
            pulled = (kappa * guide + extra * v) / (kappa + extra)
            trial = v.copy()
            self._cycles(trial, pulled.astype(v.dtype), kappa + extra, DAMPED, enough, FlowReport(False), 3)
            flow.solenoidal.project(trial)
            u = flow.forces(trial)
            trial_value = flow.objective(u, trial, guide, kappa)
            if trial_value < value:
                v[...], value, extra = trial, trial_value, 0.5 * extra
                report.residuals.append(peak(flow.gradient(v, u, guide, kappa)))
                if report.residuals[-1] <= enough:
                    return True
            else:
                extra *= 4.0
                report.rejected += 1
        return False

    def _unfolded(self, v: np.ndarray, guide: np.ndarray, kappa: float) -> Trajectory:
        """u and both pressures that belong to v."""
        flow, steps = self.flow, v.shape[1]
        moved = v + self_advection(flow.grid, v, 1.0, flow.viscosity)
        moved[:, 1:] -= v[:, :-1]
        moved[:, 0] = 0
        p = flow.solenoidal.pressure(moved)
        flow.solenoidal.subtract_gradient(moved, p)
        pull = self_advection_transpose(flow.grid, v, moved, 1.0, flow.viscosity)
        pull += moved + v.dtype.type(kappa) * (v - guide)
        pull[:, :-1] -= moved[:, 1:]
        pbar = -flow.solenoidal.pressure(pull)
        return Trajectory(v.copy(), moved, p.reshape(-1, steps), pbar.reshape(-1, steps))

    def _residual(self, x: Trajectory, right: Trajectory, kappa: float) -> float:
        return max(peak(part) for part in self.fas.levels[0].residual(x, right, kappa).parts())

    def _finished(
        self, v: np.ndarray, guide: np.ndarray, kappa: float, report: FlowReport
    ) -> tuple[np.ndarray, FlowReport]:
        report.converged = True
        return self.flow.forces(v), report
