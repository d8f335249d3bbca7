"""The Navier-Stokes subproblem: the trajectory closest to a guide whose forces are small [eq. 9 and appendix A].

    minimise  E(v) = 1/2 sum |u_k|^2 + kappa/2 sum |v_k - g_k|^2          over fields without divergence
    with      u_k = Q (v_{k+1} + Adv[v_{k+1}] - v_k)                       in cells and steps; kappa = (K / r) dt^2

The guide is g = v* - lambda / K (eq. 9 as printed lacks lambda). A trajectory v[face, k] holds v_0 .. v_{N-1}: v_N
moves no smoke, so it has no K term, its force is zero, and both are dropped. v_0 is the scene's and fixed unless
`free_start` (eq. 10 frees it, which is a kick that costs nothing). Forces are kept one column late, u[face, k] =
u_{k-1} and u[face, 0] = 0, so that they stand beside the velocity they lead to.

Gradient  G_k = kappa (v_k - g_k) + (1 + Adv'[v_k])^T u_{k-1} - u_k, projected by Q: the first row of eq. 9. The other
three rows, v and u without divergence and the equation of motion, hold by construction.
Gauss-Newton  H d = kappa d + D^T Q D d,  (D d)_k = d_{k+1} + Adv'[v_{k+1}] d_{k+1} - d_k: the second derivative of Adv
is left out, as in eq. 10.

Buoyancy  is not in the paper. Smoke lifts the air that it is in: u_k = Q (v_{k+1} + Adv[v_{k+1}] - v_k - B rho_{k+1}),
rho_{k+1} being the smoke that v_{k+1} carries on. `forces` leaves B out; `subtract_lift` puts it in.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.kernels import vectors
from keyfluid.operators.heat import Heat
from keyfluid.solvers.self_advection import (
    self_advection,
    self_advection_tangent,
    self_advection_transpose,
)
from keyfluid.solvers.solenoidal import Solenoidal

Pulls = Callable[[str, int], Field]
"""A derivative by the density of a field at a step."""


@dataclass(frozen=True, eq=False)
class FlowEquations:
    """The fluid on a grid; viscosity as the diffusion number nu dt / dx^2, lifts in cells and steps by field."""

    grid: Grid
    solenoidal: Solenoidal
    viscosity: float = 0.0
    free_start: bool = False
    lifts: Mapping[str, Heat] = field(default_factory=dict)
    bodies: bool = False
    """Whether `solenoidal` keeps clear of bodies; filters then no longer commute with it."""

    def forces(self, v: np.ndarray) -> np.ndarray:
        """u[face, k] = u_{k-1}, projected; without buoyancy."""
        return self._late(v, self_advection(self.grid, v, 1.0, self.viscosity))

    def tangent(self, v: np.ndarray, d: np.ndarray) -> np.ndarray:
        """Q D d."""
        return self._late(d, self_advection_tangent(self.grid, v, d, 1.0, self.viscosity))

    def linear_forces(self, v: np.ndarray, w: np.ndarray) -> np.ndarray:
        """u(v) + Q D (w - v), projected: w_k - w_{k-1} + Adv'[v_k] (w_k - v_k / 2), since Adv[v] = Adv'[v] v / 2."""
        half = v * v.dtype.type(-0.5)
        half += w
        out = self_advection_tangent(self.grid, v, half, 1.0, self.viscosity)
        del half
        if self.viscosity > 0:
            # The viscous part is linear: what was halved has to come back.
            out += self_advection(self.grid, v * v.dtype.type(0.5), 1.0, self.viscosity)
            out -= self_advection(self.grid, v * v.dtype.type(0.5), 1.0, 0.0)
        return self._late(w, out)

    def transpose(self, v: np.ndarray, u: np.ndarray) -> np.ndarray:
        """D^T u; not projected."""
        out = self_advection_transpose(self.grid, v, u, 1.0, self.viscosity)
        out += u
        out[:, :-1] -= u[:, 1:]
        return out

    def objective(self, u: np.ndarray, v: np.ndarray, guide: np.ndarray, kappa: float) -> float:
        miss = v - guide
        return 0.5 * dot(u, u) + 0.5 * kappa * dot(miss, miss)

    def gradient(self, v: np.ndarray, u: np.ndarray, guide: np.ndarray, kappa: float) -> np.ndarray:
        """Q G, the first row of eq. 9."""
        out = self.transpose(v, u)
        add_scaled(kappa, v, out)
        add_scaled(-kappa, guide, out)
        return self.admissible(out)

    def curvature(self, v: np.ndarray, d: np.ndarray, kappa: float) -> np.ndarray:
        """H d; not projected, the first column as it comes."""
        out = self.transpose(v, self.tangent(v, d))
        add_scaled(kappa, d, out)
        return out

    def lift(self, densities: Mapping[str, Field]) -> Field | None:
        """B rho of one step; None where nothing lifts."""
        total = None
        for name, heat in self.lifts.items():
            total = total or Field.zeros(self.grid, Kind.FACES, densities[name].dtype)
            (total,) = heat.apply(densities[name], total)
        return total

    def subtract_lift(self, u: np.ndarray, densities: Mapping[str, list[Field]]) -> None:
        """u - Q B rho, in place."""
        if not self.lifts:
            return
        lift = np.zeros_like(u)
        for k in range(1, u.shape[1]):
            now = self.lift({name: densities[name][k] for name in self.lifts})
            assert now is not None
            lift[:, k] = now.data
        u -= self.solenoidal.project(lift)

    def lift_transpose(self, u: np.ndarray, factor: float) -> Pulls | None:
        """factor B^T u, for the densities of every step; u projected."""
        if not self.lifts:
            return None

        def pulls(name: str, k: int) -> Field:
            column = Field(self.grid, Kind.FACES, np.ascontiguousarray(u[:, k]))
            return self.lifts[name].transpose(column)[0] * factor

        return pulls

    def admissible(self, d: np.ndarray) -> np.ndarray:
        """The part of a change that is allowed, in place: no divergence, and v_0 stays unless it is free."""
        if not self.free_start:
            d[:, 0] = 0
        return self.solenoidal.project(d)

    def _late(self, v: np.ndarray, out: np.ndarray) -> np.ndarray:
        """Q (v_k + out_k - v_{k-1}), in place of out."""
        out += v
        out[:, 1:] -= v[:, :-1]
        out[:, 0] = 0
        return self.solenoidal.project(out)


def dot(a: np.ndarray, b: np.ndarray) -> float:
    """Euclidean inner product in float64; the same for any number of threads."""
    return vectors.dot(a.reshape(-1), b.reshape(-1))


def add_scaled(factor: float, a: np.ndarray, b: np.ndarray) -> None:
    """b += factor a, in place."""
    vectors.add_scaled(factor, a.reshape(-1), b.reshape(-1))


def peak(a: np.ndarray) -> float:
    """Largest absolute value."""
    return float(np.maximum(a.max(), -a.min()))
