"""Forces near a trajectory: the Navier-Stokes equations made linear there, as a cost of velocities.

    cost(w) = R/2 sum |e_k|^2,    e = Q (u(v) + D (w - v) - B (rho(w) - rho(v))),      D as in flow.py

Any trajectory without divergence solves the equations of motion with some force (appendix A), so nothing has to be
given up for w: what the forces of w will be is known to first order. B lifts the air by its smoke (buoyancy). Adv is
quadratic, so Adv[v] = Adv'[v] v / 2 and e needs no forces of v beside it.

Preconditioner  (R D_t^T D_t + K_k)^-1, D_t being D for fluid at rest: exact solves in time for every face. K_k is for
the mismatch's curvature, which the paper's K is of the size of: `CURVED` K for every keyframe that step k still leads
to, by weight. It need not be right: L-BFGS scales all of it by what the last step has shown (search.py).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from keyfluid.controllers.spacetime.advection import Advection, Sweep
from keyfluid.controllers.spacetime.flow import FlowEquations, dot
from keyfluid.controllers.spacetime.gauss_newton import factors
from keyfluid.controllers.spacetime.kernels import solve_in_time as kernels

CURVED = 2.0


def curvatures(advection: Advection, penalty: float, steps: int) -> np.ndarray:
    """K_k of every step; penalty: the paper's K for one keyframe of the largest weight."""
    largest = max(goal.weight for goal in advection.goals)
    later = [sum(goal.weight for goal in advection.goals if goal.step > k) / largest for k in range(steps)]
    return CURVED * penalty * np.array(later)


@dataclass(eq=False)
class LinearFlow:
    """The cost of velocities near v."""

    flow: FlowEquations
    v: np.ndarray
    force_weight: float
    curvature: np.ndarray
    e: np.ndarray | None = None
    """Forces of the last trajectory that was asked for."""

    def value(self, w: np.ndarray, sweep: Sweep) -> float:
        self.e = None
        e = self.flow.linear_forces(self.v, w)
        self.flow.subtract_lift(e, sweep.densities)
        self.e = e
        return 0.5 * self.force_weight * dot(e, e)

    def gradient(self, advection: Advection, w: np.ndarray, sweep: Sweep) -> np.ndarray:
        assert self.e is not None
        out = self.flow.transpose(self.v, self.e)
        out *= out.dtype.type(self.force_weight)
        pulls = self.flow.lift_transpose(self.e, -self.force_weight)
        self.e = None
        return advection.add_backward(w, sweep, out, pulls)

    def precondition(self, gradient: np.ndarray) -> np.ndarray:
        flat = gradient.reshape(-1)
        kernels.solve_in_time(flat, flat, gradient.shape[1], *self._factors)
        gradient *= gradient.dtype.type(1.0 / self.force_weight)
        return gradient

    @cached_property
    def _factors(self) -> tuple[np.ndarray, np.ndarray]:
        return factors(self.curvature / self.force_weight, self.flow.free_start, self.v.dtype)
