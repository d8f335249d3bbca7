"""Pressure projection: the divergence-free part of a velocity.

Locations   v on faces, p at centres
Continuous  v1 = v - grad p,   laplacian p = div v,   v1 . n = body velocity . n on walls and bodies
Discrete    v1 = M (v - G p),  D M G p = D M v,  M keeps the free faces, D = -G^T       [Fattal 2004, eq. 11]
            Boxes without bodies: direct, by transforms. With bodies: multigrid-preconditioned CG.
Adjoint     the tangent M - M G (D M G)^+ D M is symmetric: project the adjoint   [McNamara 2004, section 6.3]
Affine part faces of moving bodies are set to the body's velocity; it is not differentiated.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np

from keyfluid.boundary import PERIODIC_SIDE
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.kernels import stencils
from keyfluid.operators.base import Fields, SymmetricOperator
from keyfluid.solids import Solids
from keyfluid.solvers.multigrid import SolveReport
from keyfluid.solvers.poisson import MultigridPoisson, PoissonSolver, SpectralPoisson

ROUNDING = {np.dtype(np.float32): 1e-7, np.dtype(np.float64): 2e-16}
"""max |div v| dx / max |v| that the direct solver guarantees, per cell along the longest side."""

MOST_REFINEMENTS = 4


@lru_cache(maxsize=64)
def layered(grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    """Cells and side kinds as the stencil kernels take them: 2D is one layer of 3D."""
    lead = 3 - grid.dim
    cells = np.array([1] * lead + list(grid.cells), np.int64)
    kinds = np.array([PERIODIC_SIDE] * lead + [side.code for side in grid.boundary], np.int64)
    return cells, kinds


def divergence(v: Field) -> np.ndarray:
    """Net outflow of every cell, in cell units (times dx it is the divergence); faces on walls count as zero."""
    out = np.empty(v.grid.cells, v.dtype)
    stencils.divergence(v.data, *layered(v.grid), v.grid.dim, out.reshape(-1))
    return out


def subtract_gradient(v: Field, p: np.ndarray) -> Field:
    """v - G p on free faces of the box, 0 on its walls."""
    out = np.empty_like(v.data)
    stencils.subtract_gradient(v.data, p.reshape(-1), *layered(v.grid), v.grid.dim, out)
    return v.like(out)


class Project(SymmetricOperator):
    """forward(velocity) -> (velocity,), divergence-free.

    tolerance: with solids, the relative residual of the solve, and max |div v| dx / max |v| of what it
    returns; it has no meaning for a box without. `report` is the last solve's.
    """

    def __init__(
        self,
        grid: Grid,
        solids: Solids | None = None,
        dtype: np.typing.DTypeLike = np.float32,
        tolerance: float | None = None,
        max_iterations: int = 60,
    ) -> None:
        self.grid = grid
        self.solids = solids
        self.report = SolveReport(converged=True, iterations=0, residual=0.0)
        self.solver: PoissonSolver
        self.limit = ROUNDING[np.dtype(dtype)] * max(grid.cells)
        if solids is None:
            self.solver = SpectralPoisson(grid, dtype)
        else:
            if tolerance is None:
                tolerance = 1e-5 if np.dtype(dtype) == np.float32 else 1e-10
            self.limit = tolerance
            self.solver = MultigridPoisson(grid, solids.fluid, dtype, tolerance, max_iterations)

    def forward(self, *inputs: Field) -> Fields:
        (v,) = inputs
        v.require(self.grid, Kind.FACES, "project: velocity")
        return (self._project(v, moving=True),)

    def apply(self, *inputs: Field) -> Fields:
        (v,) = inputs
        return (self._project(v, moving=False),)

    def _project(self, v: Field, moving: bool) -> Field:
        if self.solids is not None:
            bodies = self.solids.motion.data.astype(v.dtype, copy=False) if moving else v.dtype.type(0)
            v = v.like(np.where(self.solids.free, v.data, bodies))
        p, self.report = self.solver.solve(-self._outflow(v))
        return self._refined(self._corrected(v, p))

    def _outflow(self, v: Field) -> np.ndarray:
        outflow = divergence(v)
        return outflow if self.solids is None else outflow * self.solids.fluid

    def _corrected(self, v: Field, p: np.ndarray) -> Field:
        corrected = subtract_gradient(v, p)
        if self.solids is None:
            return corrected
        return v.like(np.where(self.solids.free, corrected.data, v.data))

    def _refined(self, v: Field) -> Field:
        """v, corrected again as long as more than `limit` of its divergence is left and correcting helps.

        A pressure is good to eps |p| or to the tolerance of its solve. Where the projection removed nearly
        everything (a gradient force on fluid at rest), that is large beside what remains; the second pressure
        is small, and so is its error. No pressure helps where a body pushes into a box without an outlet.
        """
        before = np.inf
        for _ in range(MOST_REFINEMENTS):
            outflow = self._outflow(v)
            left = float(max(outflow.max(), -outflow.min()))
            allowed = self.limit * v.peak()
            if not (self.report.converged and allowed < left < 0.5 * before):
                break
            p, again = self.solver.solve(-outflow, max(0.1 * allowed / left, self.limit))
            self.report = replace(
                again,
                iterations=self.report.iterations + again.iterations,
                residual=self.report.residual * again.residual,
            )
            v, before = self._corrected(v, p), left
        return v


def relative_divergence(v: Field, solids: Solids | None = None) -> float:
    """max |div v| dx / max |v| over fluid cells: what `result.json` calls max_divergence."""
    fastest = v.peak()
    outflow = divergence(v)
    if solids is not None:
        outflow = outflow[solids.fluid]
    return float(np.max(np.abs(outflow))) / fastest if fastest > 0 else 0.0
