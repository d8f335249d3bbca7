"""Solver for a liquid's cells: the matrix changes with every step, and most of the box is air.

    (A x)_c = shift_c x_c + sum over neighbours nb of c  w_(c,nb) (x_c - x_nb) = b_c      as in multigrid.py

Up to MANY cells: conjugate gradients with an incomplete Cholesky factor of the liquid's cells alone. At 96^2 with a
third of the box filled, set-up and solve take a tenth of multigrid's set-up. Beyond: multigrid. Both work in float64
whatever the run's precision; both are symmetric, so a solve is its own adjoint.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from keyfluid.solvers.kernels import incomplete_cholesky as kernels
from keyfluid.solvers.multigrid import MultigridPCG, SolveReport
from keyfluid.solvers.poisson import warn_unless_converged

MANY = 60_000
"""Liquid cells beyond which multigrid's fixed number of iterations wins."""

MOST_ITERATIONS = 600


class LiquidSolver:
    """One matrix. active: bool per cell; links[a]: weight from each cell to the next along axis a, on a periodic axis
    the last one back to the first; links to inactive cells count as zero: fix cells by `shift`."""

    def __init__(
        self,
        active: np.ndarray,
        links: Sequence[np.ndarray],
        shift: np.ndarray,
        periodic: Sequence[bool],
        tolerance: float,
        what: str,
    ) -> None:
        self.tolerance, self._what = tolerance, what
        self._active = active
        self.count = int(np.count_nonzero(active))
        inner = [link * (active & np.roll(active, -1, axis)) for axis, link in enumerate(links)]
        for axis, wraps in enumerate(periodic):
            if not wraps:
                inner[axis][tuple(-1 if a == axis else slice(None) for a in range(active.ndim))] = 0.0
        self._multigrid = None
        if self.count > MANY:
            self._multigrid = MultigridPCG(active, inner, shift, periodic, np.float64, tolerance, 200)
        elif self.count:
            self._set_up(inner, shift, periodic)

    def solve(self, b: np.ndarray) -> tuple[np.ndarray, SolveReport]:
        """x, zero where nothing is active, and how the solve ended."""
        if self._multigrid is not None:
            x, report = self._multigrid.solve(b)
        elif self.count == 0:
            return np.zeros(b.shape), SolveReport(True, 0, 0.0)
        else:
            x, report = self._iterate(b)
        warn_unless_converged(report, self._what)
        return x, report

    def _set_up(self, links: list[np.ndarray], shift: np.ndarray, periodic: Sequence[bool]) -> None:
        lead = 3 - self._active.ndim
        shape = np.array([1] * lead + list(self._active.shape), np.int64)
        wraps = np.array([False] * lead + list(periodic))
        weights = np.zeros((3, self._active.size))
        diagonal = shift.astype(np.float64)
        for axis, link in enumerate(links):
            weights[lead + axis] = link.ravel()
            diagonal = diagonal + link + np.roll(link, 1, axis)
        numbers = np.empty(self._active.size, np.int32)
        self._cells = np.empty(self.count, np.int64)
        self._lower = np.empty((3, self.count), np.int32)
        self._links = np.empty((3, self.count))
        seams, seam_links = np.empty((2, 3 * self.count), np.int32), np.empty(3 * self.count)
        _, crossing = kernels.number_cells(
            self._active.ravel(), shape, weights, wraps, numbers, self._cells, self._lower, self._links,
            seams, seam_links,
        )  # fmt: skip
        self._seams = seams[:, :crossing].copy()
        self._seam_links = seam_links[:crossing].copy()
        self._diagonal = diagonal.ravel()[self._cells]
        self._inverse = np.empty(self.count)
        kernels.factor(self._diagonal, self._lower, self._links, self._inverse)

    def _iterate(self, b: np.ndarray) -> tuple[np.ndarray, SolveReport]:
        right = b.ravel()[self._cells].astype(np.float64)
        x = np.empty(self.count)
        iterations, residual = kernels.conjugate_gradients(
            right, self._diagonal, self._lower, self._links, self._seams, self._seam_links, self._inverse,
            self.tolerance, MOST_ITERATIONS, x,
        )  # fmt: skip
        full = np.zeros(b.size)
        full[self._cells] = x
        return full.reshape(b.shape), SolveReport(residual <= self.tolerance, int(iterations), float(residual))
