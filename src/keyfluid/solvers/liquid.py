"""Solver for a liquid's cells: the matrix changes with every step, and most of the box is air.

    (A x)_c = shift_c x_c + sum over neighbours nb of c  w_(c,nb) (x_c - x_nb) = b_c      as in multigrid.py

Up to MANY cells: conjugate gradients with an incomplete Cholesky factor of the liquid's cells alone. At 96^2 with a
third of the box filled, set-up and solve take a tenth of multigrid's set-up. Beyond: multigrid. Both work in float64
whatever the run's precision; both are symmetric, so a solve is its own adjoint. Connected parts without any shift, such
as liquid sealed in a body, are singular: b is taken without its mean over each.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.ndimage import label
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

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
        self._multigrid = None
        if self.count > MANY:
            inner = [link * (active & np.roll(active, -1, axis)) for axis, link in enumerate(links)]
            for axis, wraps in enumerate(periodic):
                if not wraps:
                    inner[axis][tuple(-1 if a == axis else slice(None) for a in range(active.ndim))] = 0.0
            self._multigrid = MultigridPCG(active, inner, shift, periodic, np.float64, tolerance, 200)
        elif self.count:
            self._set_up(links, shift, periodic)
            self._sealed = [part.ravel()[self._cells] for part in _parts_without_shift(active, shift, periodic)]

    def solve(self, b: np.ndarray) -> tuple[np.ndarray, SolveReport]:
        """x, zero where nothing is active, and how the solve ended; b counts only in active cells."""
        if self._multigrid is not None:
            x, report = self._multigrid.solve(np.where(self._active, b, 0.0))
        elif self.count == 0:
            return np.zeros(b.shape), SolveReport(True, 0, 0.0)
        else:
            x, report = self._iterate(b)
        warn_unless_converged(report, self._what)
        return x, report

    def _set_up(self, links: Sequence[np.ndarray], shift: np.ndarray, periodic: Sequence[bool]) -> None:
        lead, count = 3 - self._active.ndim, self.count
        shape = np.array([1] * lead + list(self._active.shape), np.int64)
        wraps = np.array([False] * lead + list(periodic))
        weights = np.zeros((3, self._active.size))
        for axis, link in enumerate(links):
            weights[lead + axis] = link.ravel()
        self._cells = np.empty(count, np.int32)
        self._lower, self._upper = np.empty((2, count), np.int32), np.empty((2, count), np.int32)
        self._links = np.empty((3, count + 1))
        self._diagonal, self._scale = np.empty(count), np.empty(count)
        seams, seam_links = np.empty((2, 3 * count), np.int32), np.empty(3 * count)
        crossing = kernels.assemble(
            self._active.ravel(), shape, wraps, weights, shift.ravel(), self._cells, self._lower, self._upper,
            self._links, self._diagonal, seams, seam_links,
        )  # fmt: skip
        self._seams = seams[:, :crossing].copy()
        self._seam_links = seam_links[:crossing].copy()
        kernels.factor(
            self._lower, self._upper, self._links, self._diagonal, self._seams, self._seam_links, self._scale
        )

    def _iterate(self, b: np.ndarray) -> tuple[np.ndarray, SolveReport]:
        right = b.ravel()[self._cells].astype(np.float64)
        for part in self._sealed:
            right[part] -= right[part].mean()
        x = np.empty(self.count)
        iterations, residual = kernels.conjugate_gradients(
            right, self._lower, self._upper, self._links, self._diagonal, self._seams, self._seam_links, self._scale,
            self.tolerance, MOST_ITERATIONS, x,
        )  # fmt: skip
        full = np.zeros(b.size)
        for part in self._sealed:
            x[part] -= x[part].mean()
        full[self._cells] = x
        return full.reshape(b.shape), SolveReport(residual <= self.tolerance, int(iterations), float(residual))


def _parts_without_shift(active: np.ndarray, shift: np.ndarray, periodic: Sequence[bool]) -> list[np.ndarray]:
    """Masks of the connected parts of active cells that nothing holds."""
    found, many = label(active)
    held = np.bincount(found.ravel(), (shift > 0).ravel(), many + 1) > 0
    if held[1:].all():
        return []
    pairs = [
        np.stack([found.take(0, axis).ravel(), found.take(-1, axis).ravel()])
        for axis in range(active.ndim)
        if periodic[axis]
    ]
    joined = np.concatenate([np.zeros((2, 0), int), *pairs], axis=1)
    one, other = joined[:, (joined > 0).all(axis=0)]
    graph = coo_array((np.ones(one.size), (one, other)), shape=(many + 1, many + 1))
    _, name = connected_components(graph, directed=False)
    free = set(name[1:].tolist()) - set(name[1:][held[1:]].tolist())
    return [(name[found] == part) & active for part in sorted(free)]
