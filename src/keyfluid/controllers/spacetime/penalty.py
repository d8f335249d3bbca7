"""The paper's cost of velocities in the advection subproblem: K/2 |w - g|^2 with g = v + lambda / K [eq. 7]."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keyfluid.controllers.spacetime.advection import Advection, Sweep
from keyfluid.controllers.spacetime.flow import add_scaled, dot


@dataclass(eq=False)
class GapPenalty:
    """K for every step; `curvature` as in linear_flow.py, what the mismatch adds to it."""

    guide: np.ndarray
    penalty: float
    curvature: np.ndarray

    def value(self, w: np.ndarray, sweep: Sweep) -> float:
        miss = w - self.guide
        return 0.5 * self.penalty * dot(miss, miss)

    def gradient(self, advection: Advection, w: np.ndarray, sweep: Sweep) -> np.ndarray:
        out = np.zeros_like(w)
        add_scaled(self.penalty, w, out)
        add_scaled(-self.penalty, self.guide, out)
        return advection.add_backward(w, sweep, out)

    def precondition(self, gradient: np.ndarray) -> np.ndarray:
        gradient *= (1.0 / (self.penalty + self.curvature)).astype(gradient.dtype)
        return gradient
