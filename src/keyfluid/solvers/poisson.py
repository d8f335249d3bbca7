"""Pressure: solve  -laplacian p = b  on the cells of a grid, in cell units, behind one interface.

Without solids the direct spectral solver is exact and costs two transforms; with them,
multigrid-preconditioned conjugate gradients (multigrid.py). Both matrices are symmetric: a solve is its own
adjoint. Where pressure is determined up to a constant (no open side), b loses its mean and p has mean zero,
chamber by chamber.
"""

from __future__ import annotations

import warnings
from typing import Protocol

import numpy as np

from keyfluid.boundary import Boundary
from keyfluid.errors import ConvergenceWarning
from keyfluid.grid import Grid
from keyfluid.solvers.multigrid import MultigridPCG, SolveReport
from keyfluid.solvers.transforms import Axis, diagonal, eigenvalues

CENTRE_AXES = {Boundary.WALLS: Axis.MIRROR, Boundary.PERIODIC: Axis.PERIODIC, Boundary.OPEN: Axis.ZERO}


class PoissonSolver(Protocol):
    """Solves -laplacian p = b; the report says whether it converged.

    tolerance: relative residual for this solve, in place of the solver's own; direct solvers ignore it.
    """

    def solve(self, b: np.ndarray, tolerance: float | None = None) -> tuple[np.ndarray, SolveReport]: ...


class SpectralPoisson:
    """Direct solver for a box without solids: walls, periodic and open axes in any mixture."""

    def __init__(self, grid: Grid, dtype: np.typing.DTypeLike) -> None:
        self.axes = tuple(CENTRE_AXES[side] for side in grid.boundary)
        values = -eigenvalues(grid.cells, self.axes)
        inverse = np.zeros_like(values)
        np.divide(1.0, values, out=inverse, where=values > 0)
        self.inverse = inverse.astype(dtype)

    def solve(self, b: np.ndarray, tolerance: float | None = None) -> tuple[np.ndarray, SolveReport]:
        return diagonal(b, self.axes, self.inverse), SolveReport(converged=True, iterations=1, residual=0.0)


class MultigridPoisson:
    """Iterative solver for a box with solids; `fluid` says which cells take part."""

    def __init__(
        self, grid: Grid, fluid: np.ndarray, dtype: np.typing.DTypeLike, tolerance: float, max_iterations: int = 60
    ) -> None:
        links = []
        shift = np.zeros(grid.cells)
        for axis, side in enumerate(grid.boundary):
            links.append((fluid & np.roll(fluid, -1, axis)).astype(np.float64))
            if side is Boundary.OPEN:
                for end in (0, -1):
                    shift[tuple(end if a == axis else slice(None) for a in range(grid.dim))] += 1.0
        periodic = tuple(side is Boundary.PERIODIC for side in grid.boundary)
        self.pcg = MultigridPCG(
            fluid, tuple(links), shift * fluid, periodic, dtype=dtype, tolerance=tolerance,
            max_iterations=max_iterations,
        )  # fmt: skip

    def solve(self, b: np.ndarray, tolerance: float | None = None) -> tuple[np.ndarray, SolveReport]:
        p, report = self.pcg.solve(b, tolerance=tolerance)
        warn_unless_converged(report, "pressure")
        return p, report


def warn_unless_converged(report: SolveReport, what: str) -> None:
    """Warn that a solve stopped before it converged."""
    if not report.converged:
        warnings.warn(
            f"{what} solve stopped after {report.iterations} iterations at a relative residual of "
            f"{report.residual:.1e}; allow more iterations or loosen its tolerance",
            ConvergenceWarning,
            stacklevel=3,
        )
