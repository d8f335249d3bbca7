"""Pressure projection of a liquid with a free surface: no divergence inside, no pressure on the surface.

Locations   v on faces, p and phi at centres
Continuous  v1 = v - grad p in the liquid, laplacian p = div v, p = 0 where phi = 0, v1 . n = body's on walls and bodies
Discrete    v1 = v - W G0 p on wet faces,  A p = -D v on wet cells,  A = G0^T W G0,  D = -G0^T
            W = 1 between two wet cells, 1 / theta between a wet one and air: the pressure falls to zero over the wet
            share theta of the way [ghost fluid: Gibou et al. 2002, J. Comput. Phys. 176; Enright et al. 2003]. All else
            keeps its velocity; extrapolation replaces it.                     [McNamara 2004, sections 3 and 6.3]
Tangent     u = d_v - d_W G0 p,  d_v1 = u - W G0 d_p,  A d_p = -D u;     d_W from theta(phi)
Adjoint     A l = G0^T W g,  v_bar = g - G0 l,  W_bar = -(G0 p) (g - G0 l).  Not the same projection: W G0 A^-1 G0^T
            is symmetric only where W is 1, as McNamara has it (pressure zero at the centres of air cells).
Sides       walls and bodies: no flow through them; open: pressure zero in the first cell outside
Smoothness  v1 jumps where a cell becomes wet or dry; not differentiated, nor is the least theta (wet.py).
Affine part the velocity of moving bodies; not differentiated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators.base import Fields, SharedWork
from keyfluid.operators.kernels import wet as kernels
from keyfluid.operators.project import divergence
from keyfluid.operators.wet import LEAST, Wet, across
from keyfluid.solids import Solids
from keyfluid.solvers.liquid import LiquidSolver
from keyfluid.solvers.multigrid import SolveReport


@dataclass(frozen=True, eq=False)
class Solved:
    """The matrix of a surface, the velocity with zero on walls and bodies' own on their faces, and its pressure."""

    system: _System
    v: Field
    p: np.ndarray


class ProjectLiquid(SharedWork[Solved]):
    """forward(velocity, surface) -> (velocity,); tolerance: relative residual of the solve."""

    def __init__(self, grid: Grid, solids: Solids | None = None, tolerance: float | None = None) -> None:
        self.grid, self.solids, self.tolerance = grid, solids, tolerance
        self.report = SolveReport(converged=True, iterations=0, residual=0.0)

    def work(self, *inputs: Field) -> Solved:
        velocity, surface = inputs
        velocity.require(self.grid, Kind.FACES, "project: velocity")
        surface.require(self.grid, Kind.CENTRES, "project: surface")
        tolerance = self.tolerance or (1e-6 if velocity.dtype == np.float32 else 1e-11)
        system = _System(surface, self.solids, tolerance)
        body = 0.0 if self.solids is None else self.solids.motion.data
        v = velocity.like(np.where(system.wet.free, velocity.data, body).astype(np.float64))
        p = system.pressure(v)
        self.report = system.report
        return Solved(system, v, p)

    def forward_with(self, work: Solved, inputs: Fields) -> Fields:
        return (work.system.corrected(work.v, work.p).astype(inputs[0].dtype),)

    def tangent_with(self, work: Solved, inputs: Fields, d_inputs: Fields) -> Fields:
        system = work.system
        d_v, d_phi = (field.data.astype(np.float64) for field in d_inputs)
        u = work.v.like(np.where(system.wet.free, d_v, 0.0))
        u.data[system.crossed] -= system.weight_tangent(d_phi) * system.rises(work.p)[system.crossed]
        return (system.corrected(u, system.pressure(u)).astype(inputs[0].dtype),)

    def adjoint_with(self, work: Solved, inputs: Fields, outputs_bar: Fields) -> Fields:
        system = work.system
        g = np.where(system.wet.free, outputs_bar[0].data.astype(np.float64), 0.0)
        multiplier = system.pressure(work.v.like(system.weights * g))
        v_bar = g - np.where(system.wet.faces, system.rises(multiplier), 0.0)
        weights_bar = -system.rises(work.p)[system.crossed] * v_bar[system.crossed]
        phi_bar = system.weight_adjoint(weights_bar)
        return inputs[0].like(v_bar.astype(inputs[0].dtype)), inputs[1].like(phi_bar.astype(inputs[1].dtype))


class _System:
    """The weights W, flat over all faces, and the matrix G0^T W G0 of one surface. `crossed` are the faces that it
    crosses: there W depends on phi in the cells below and above."""

    def __init__(self, surface: Field, solids: Solids | None, tolerance: float) -> None:
        self.grid, self.wet = surface.grid, Wet.of(surface, solids)
        wet, cells = self.wet.cells.ravel(), self.grid.count
        phi = surface.data.astype(np.float64)
        self.weights = np.empty(self.wet.faces.size)
        links, shift = np.empty((self.grid.dim, *self.grid.cells)), np.zeros(self.grid.cells)
        found: list[tuple[np.ndarray, np.ndarray, np.ndarray]] = []
        for axis, link in zip(across(self.grid), links):
            faces = self.wet.faces[axis.part]
            crossed, beside = np.empty(faces.size, np.int32), np.empty((2, faces.size), np.int32)
            slopes = np.empty((2, faces.size))
            count = kernels.weigh_faces(
                wet, phi, faces, *axis.sizes, LEAST, self.weights[axis.part], link.reshape(cells), shift.reshape(cells),
                crossed, beside, slopes,
            )  # fmt: skip
            found.append((crossed[:count] + axis.part.start, beside[:, :count], slopes[:, :count]))
        self.crossed = np.concatenate([crossed for crossed, _, _ in found])
        self._beside = np.concatenate([beside for _, beside, _ in found], axis=1)
        self._slopes = np.concatenate([slopes for _, _, slopes in found], axis=1)
        wraps = [self.grid.is_periodic(axis) for axis in range(self.grid.dim)]
        self.solver = LiquidSolver(self.wet.cells, list(links), shift, wraps, tolerance, "pressure")
        self.report = SolveReport(converged=True, iterations=0, residual=0.0)

    def pressure(self, v: Field) -> np.ndarray:
        """p of A p = -D v."""
        p, self.report = self.solver.solve(-divergence(v))
        return p

    def rises(self, p: np.ndarray) -> np.ndarray:
        """G0 p, where p is zero in the air."""
        found = np.empty(self.weights.size)
        for axis in across(self.grid):
            kernels.rises(p.ravel(), *axis.sizes, found[axis.part])
        return found

    def corrected(self, v: Field, p: np.ndarray) -> Field:
        """v - W G0 p."""
        return v.like(v.data - self.weights * self.rises(p))

    def weight_tangent(self, d_phi: np.ndarray) -> np.ndarray:
        """d_W of the crossed faces for a change of phi."""
        return np.sum(self._slopes * d_phi[self._beside], axis=0)

    def weight_adjoint(self, weights_bar: np.ndarray) -> np.ndarray:
        """Its transpose."""
        return np.bincount(self._beside.ravel(), (self._slopes * weights_bar).ravel(), self.grid.count)
