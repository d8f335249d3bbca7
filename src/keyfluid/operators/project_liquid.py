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
from keyfluid.operators.project import divergence
from keyfluid.operators.wet import LEAST, Wet, beside_faces, to_cells
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
        system = _System(Wet.of(surface, self.solids), tolerance)
        body = 0.0 if self.solids is None else self.solids.motion.data
        v = velocity.like(np.where(system.passable, velocity.data, body).astype(np.float64))
        p = system.pressure(v)
        self.report = system.report
        return Solved(system, v, p)

    def forward_with(self, work: Solved, inputs: Fields) -> Fields:
        return (work.system.corrected(work.v, work.p).astype(inputs[0].dtype),)

    def tangent_with(self, work: Solved, inputs: Fields, d_inputs: Fields) -> Fields:
        system = work.system
        d_v, d_phi = (field.astype(np.float64) for field in d_inputs)
        u = d_v.like(np.where(system.passable, d_v.data, 0.0))
        for values, d_w, rise in zip(u.components(), system.weight_tangent(d_phi.array), system.rises(work.p)):
            values -= d_w * rise
        return (system.corrected(u, system.pressure(u)).astype(inputs[0].dtype),)

    def adjoint_with(self, work: Solved, inputs: Fields, outputs_bar: Fields) -> Fields:
        system, p = work.system, work.p
        g = outputs_bar[0].astype(np.float64)
        g = g.like(np.where(system.passable, g.data, 0.0))
        weighted = Field.of(self.grid, Kind.FACES, *(w * c for w, c in zip(system.weights, g.components())))
        multiplier = system.pressure(weighted)
        v_bar = g.copy()
        bars = []
        for values, rise, push, wet in zip(v_bar.components(), system.rises(p), system.rises(multiplier), system.faces):
            values -= np.where(wet, push, 0.0)
            bars.append(-rise * values)
        phi_bar = Field.of(self.grid, Kind.CENTRES, system.weight_adjoint(bars))
        return v_bar.astype(inputs[0].dtype), phi_bar.astype(inputs[1].dtype)


class _System:
    """The weights W and the matrix G0^T W G0 of one surface."""

    def __init__(self, wet: Wet, tolerance: float) -> None:
        self.grid, self.wet = wet.grid, wet
        self.faces = wet.faces
        self.passable = np.concatenate([free.ravel() for free in wet.free])
        self.weights: list[np.ndarray] = []
        self._crossing: list[tuple[np.ndarray, np.ndarray]] = []
        links, shift = [], np.zeros(self.grid.cells)
        for axis in range(self.grid.dim):
            weight = self._weight(axis)
            self.weights.append(weight)
            links.append(self._links(weight, axis))
            below, above = beside_faces(self.grid, wet.cells, axis, False)
            shift += to_cells(self.grid, weight * (below & ~above), weight * (above & ~below), axis)
        wraps = [self.grid.is_periodic(axis) for axis in range(self.grid.dim)]
        self.solver = LiquidSolver(wet.cells, links, shift, wraps, tolerance, "pressure")
        self.report = SolveReport(converged=True, iterations=0, residual=0.0)

    def pressure(self, v: Field) -> np.ndarray:
        """p of A p = -D v."""
        p, self.report = self.solver.solve(-divergence(v))
        return p

    def rises(self, p: np.ndarray) -> list[np.ndarray]:
        """G0 p, where p is zero in the air."""
        found = []
        for axis in range(self.grid.dim):
            below, above = beside_faces(self.grid, p, axis, 0.0)
            found.append(above - below)
        return found

    def corrected(self, v: Field, p: np.ndarray) -> Field:
        """v - W G0 p."""
        out = v.copy()
        for values, weight, rise in zip(out.components(), self.weights, self.rises(p)):
            values -= weight * rise
        return out

    def weight_tangent(self, d_phi: np.ndarray) -> list[np.ndarray]:
        """d_W for a change of phi."""
        found = []
        for axis, (by_below, by_above) in enumerate(self._crossing):
            below, above = beside_faces(self.grid, d_phi, axis, 0.0)
            found.append(by_below * below + by_above * above)
        return found

    def weight_adjoint(self, weight_bars: list[np.ndarray]) -> np.ndarray:
        """Its transpose."""
        total = np.zeros(self.grid.cells)
        for axis, (bar, (by_below, by_above)) in enumerate(zip(weight_bars, self._crossing)):
            total += to_cells(self.grid, by_below * bar, by_above * bar, axis)
        return total

    def _weight(self, axis: int) -> np.ndarray:
        """W on the faces across an axis; keeps its derivatives by phi below and above."""
        grid, wet = self.grid, self.wet
        below, above = beside_faces(grid, wet.cells, axis, False)
        low, high = beside_faces(grid, wet.phi, axis, np.inf)
        free, both = wet.free[axis], below & above
        crossed = (below ^ above) & free & np.isfinite(low) & np.isfinite(high)
        inside, outside = np.where(below, low, high), np.where(below, high, low)
        inside = np.where(crossed, inside, -1.0)
        outside = np.where(crossed, np.maximum(outside, 0.0), 0.0)
        steep = 1.0 - outside / inside
        within = crossed & (steep < 1.0 / LEAST)
        by_inside = np.where(within, outside / (inside * inside), 0.0)
        by_outside = np.where(within & (outside > 0), -1.0 / inside, 0.0)
        self._crossing.append((np.where(below, by_inside, by_outside), np.where(below, by_outside, by_inside)))
        plain = both | ((below ^ above) & ~crossed)
        return np.where(free, np.where(crossed, np.minimum(steep, 1.0 / LEAST), plain.astype(np.float64)), 0.0)

    def _links(self, weight: np.ndarray, axis: int) -> np.ndarray:
        """From faces to links between a cell and the next."""
        if self.grid.is_periodic(axis):
            return np.roll(weight, -1, axis)
        return weight[tuple(slice(1, None) if a == axis else slice(None) for a in range(self.grid.dim))]
