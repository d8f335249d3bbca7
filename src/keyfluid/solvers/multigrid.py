"""Conjugate gradients with a multigrid preconditioner, matrix-free, on a lattice with holes.

Solves, on the active cells c of a 2D or 3D lattice (x = 0 on the others),

    (A x)_c = shift_c x_c + sum over neighbours nb of c  w_(c,nb) (x_c - x_nb) = b_c,    w, shift >= 0.

Pressure: w = 1 between two fluid cells and shift = the number of faces on an open side. Implicit viscosity:
w = nu dt / dx^2, shift = 1. A is symmetric, so a solve is its own adjoint. Connected parts without any
shift are singular: there b loses its mean before the solve and x has mean zero.

Method      preconditioned conjugate gradients [Hestenes & Stiefel 1952]; one V(1,1) cycle as preconditioner
            [Tatebe 1993; McAdams, Sifakis & Teran 2010, "A parallel multigrid Poisson solver for fluids
            simulation on large grids"]
Smoother    red-black Gauss-Seidel: red, black before; black, red after, so that the cycle is symmetric. Cells
            of one colour meet across the seam of a periodic axis of odd length; their links count twice in
            the smoother's diagonal, which keeps it convergent.
Transfer    P = trilinear cell-centred weights (3/4, 1/4 per axis) over active coarse cells, rows normalised
            to 1; restriction P^T
Coarse A    the same form: link = (sum of the crossing fine links) / 2, the finite-volume value for doubled
            distance. The shift common to all cells (a mass) is summed; what exceeds it is a link to a fixed
            x = 0, in series with the half fine cell between the two centres: s -> s / (1 + s / (2 w)).
Bits        do not depend on the number of threads: fixed-order sums, no BLAS.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from keyfluid.errors import BlowUp, KeyfluidError
from keyfluid.solvers.kernels import multigrid as kernels
from keyfluid.threads import one_thread_below

Array = NDArray[np.floating]

COARSEST_SIDE = 4
COARSEST_SWEEPS = 16
SLABS = 64
# Below this many cells one thread is done before two have met (8 us per launch, far more on a busy machine).
SERIAL_CELLS = 8192
NO_SUMS = np.zeros(0)


@dataclass(frozen=True)
class SolveReport:
    """How a solve ended.

    `residual` is |b - A x| / |b| in the 2-norm as the iteration carries it along. In float32 the rounding of
    x to its own format alone leaves about 1e-7 |A| |x| / |b|, which for smooth b is far above the tolerance.
    """

    converged: bool
    iterations: int
    residual: float


class MultigridPCG:
    """Solver for one matrix A; set up once, then `solve` for any number of right-hand sides.

    active: bool array, 2D or 3D. links[a]: weights between each cell and its +1 neighbour along axis a; on a
    periodic axis the last one leads back to cell 0, on others it is ignored and may be left out. A link from
    an active to an inactive cell holds the active one to x = 0 (a free surface). shift: >= 0.
    """

    def __init__(
        self,
        active: ArrayLike,
        links: Sequence[ArrayLike],
        shift: ArrayLike,
        periodic: Sequence[bool],
        dtype: DTypeLike = np.float32,
        tolerance: float = 1e-6,
        max_iterations: int = 60,
    ) -> None:
        mask = np.asarray(active, dtype=bool)
        if mask.ndim not in (2, 3) or mask.size == 0:
            raise KeyfluidError(f"The solver needs a 2D or 3D lattice, not one of shape {mask.shape}.")
        if len(links) != mask.ndim or len(periodic) != mask.ndim:
            raise KeyfluidError(f"The solver needs links and `periodic` for each of the {mask.ndim} axes.")
        self.shape = mask.shape
        self.dtype = np.dtype(dtype)
        if self.dtype not in (np.float32, np.float64):
            raise KeyfluidError(f"The solver works in float32 or float64, not {self.dtype}.")
        self._scalar: Any = self.dtype.type
        self.tolerance = tolerance
        self.max_iterations = max_iterations
        wraps = tuple(bool(p) for p in periodic)
        weights, held = _checked_system(mask, links, np.asarray(shift), wraps, self.dtype)
        if mask.ndim == 2:
            mask, held = mask[None], held[None]
            weights = [np.zeros_like(held), *(w[None] for w in weights)]
            wraps = (False, *wraps)
        self._active = mask
        self._levels = [_Level(mask, weights, held, wraps)]
        while max(self._levels[-1].shape) > COARSEST_SIDE:
            with one_thread_below(SERIAL_CELLS, self._levels[-1].x.size):
                self._levels.append(self._levels[-1].coarsen())
        finest = self._levels[0]
        self._labels = _padded(mask.astype(np.int32))
        self._parts = kernels.find_floating_parts(self._labels, finest.shift, *finest.links)
        _fill_ghosts(self._labels)
        if self._parts:
            sizes = np.bincount(self._labels[..., 1:-1].ravel(), minlength=self._parts + 1)
            self._sizes = np.maximum(sizes, 1)
            self._sums = np.zeros((SLABS, self._parts + 1))
        self._solution, self._product, self._direction, self._next = (np.zeros_like(finest.x) for _ in range(4))

    def solve(
        self, b: ArrayLike, x0: ArrayLike | None = None, tolerance: float | None = None
    ) -> tuple[Array, SolveReport]:
        """Solve A x = b to |b - A x| <= tolerance |b|, b taken without its mean over singular parts."""
        with one_thread_below(SERIAL_CELLS, self._active.size):
            return self._iterate(b, x0, self.tolerance if tolerance is None else tolerance)

    def _iterate(self, b: ArrayLike, x0: ArrayLike | None, limit: float) -> tuple[Array, SolveReport]:
        finest = self._levels[0]
        partial = finest.partial
        x, q, r = self._solution, self._product, finest.b
        p, p_next = self._direction, self._next
        x[:] = 0
        self._load(r, b, "right-hand side")
        one, zero = self._scalar(1), self._scalar(0)
        kernels.advance_solution(x, r, x, x, zero, partial)
        size = float(np.sqrt(partial.sum()))
        if size == 0.0:
            return self._unloaded(x), SolveReport(True, 0, 0.0)
        p[:] = 0
        residual = 1.0
        if x0 is not None:
            self._load(finest.x, x0, "initial guess")
            kernels.advance_direction(p_next, q, finest.x, p, zero, partial, finest.shift, *finest.links)
            kernels.advance_solution(x, r, p_next, q, one, partial)
            residual = float(np.sqrt(partial.sum())) / size
        iterations, rz = 0, 1.0
        while residual > limit and iterations < self.max_iterations:
            rz_old, rz = rz, self._cycle(0)
            beta = self._scalar(rz / rz_old if iterations else 0.0)
            kernels.advance_direction(p_next, q, finest.x, p, beta, partial, finest.shift, *finest.links)
            curvature = float(partial.sum())
            if not (rz > 0.0 and curvature > 0.0):
                break
            p, p_next = p_next, p
            alpha = self._scalar(rz / curvature)
            kernels.advance_solution(x, r, p, q, alpha, partial)
            residual = float(np.sqrt(partial.sum())) / size
            iterations += 1
            self._centre(r)
        self._centre(x)
        return self._unloaded(x), SolveReport(residual <= limit, iterations, residual)

    def apply(self, x: ArrayLike) -> Array:
        """A x."""
        finest = self._levels[0]
        self._load(finest.x, x, "field", centred=False)
        self._direction[:] = 0
        kernels.advance_direction(
            self._next, self._product, finest.x, self._direction, self._scalar(0), finest.partial,
            finest.shift, *finest.links,
        )  # fmt: skip
        return self._unloaded(self._product)

    def precondition(self, r: ArrayLike) -> Array:
        """One V-cycle from zero: a fixed, symmetric approximation of the inverse of A."""
        self._load(self._levels[0].b, r, "residual", centred=False)
        self._cycle(0)
        return self._unloaded(self._levels[0].x)

    def _cycle(self, depth: int) -> float:
        """V-cycle for level.b from zero into level.x; returns b . x."""
        level = self._levels[depth]
        stencil = (level.shift, *level.links)
        one, zero = self._scalar(1), self._scalar(0)
        if depth == len(self._levels) - 1:
            kernels.solve_coarsest(level.x, level.b, level.inverse, COARSEST_SWEEPS, *stencil)
            return float(np.sum(level.b[..., 1:-1] * level.x[..., 1:-1], dtype=np.float64))
        coarse = self._levels[depth + 1]
        x, work = level.x, level.work
        kernels.smooth_from_zero(x, level.b, level.inverse, level.red, *level.links)
        kernels.relax(work, x, level.b, level.norm, level.all, zero, NO_SUMS, *stencil)
        kernels.restrict(coarse.b, work, level.wrap, *level.gather)
        with one_thread_below(SERIAL_CELLS, coarse.x.size):
            self._cycle(depth + 1)
        kernels.prolong(x, coarse.x, level.norm, level.wrap, *level.spread)
        kernels.relax(work, x, level.b, level.inverse, level.black, one, NO_SUMS, *stencil)
        kernels.relax(x, work, level.b, level.inverse, level.red, one, level.partial, *stencil)
        return float(level.partial.sum())

    def _load(self, target: Array, values: ArrayLike, name: str, centred: bool = True) -> None:
        """Copy the active values into a padded array, without their means over singular parts."""
        given = np.asarray(values)
        if given.shape != self.shape:
            raise KeyfluidError(f"The {name} has shape {given.shape}; the solver was made for {self.shape}.")
        target[..., 1:-1] = np.where(self._active, given.reshape(self._active.shape), 0)
        if not np.isfinite(target[..., 1:-1].sum(dtype=np.float64)):
            raise BlowUp(f"The {name} contains NaN or infinity in an active cell; fix it upstream.")
        _fill_ghosts(target)
        if centred:
            self._centre(target)

    def _centre(self, values: Array) -> None:
        """Remove the means over the singular parts, which rounding would let grow in the residual too."""
        if self._parts:
            kernels.remove_means(values, self._labels, self._sizes, self._sums)

    def _unloaded(self, padded: Array) -> Array:
        return np.ascontiguousarray(padded[..., 1:-1]).reshape(self.shape)


class _Level:
    """One lattice of the hierarchy: matrix, smoother, transfer to the next coarser one, work space."""

    def __init__(self, active: NDArray[np.bool_], links: list[Array], shift: Array, periodic: tuple[bool, ...]) -> None:
        self.shape, self.periodic = active.shape, periodic
        self._links, self._shift = links, shift
        diagonal = shift.copy()
        seam = np.zeros_like(shift)
        for axis, weights in enumerate(links):
            back = np.roll(weights, 1, axis)
            diagonal += weights + back
            if active.shape[axis] % 2 == 1:
                for end, weight in ((0, back), (-1, weights)):
                    index = _at(axis, end)
                    seam[index] += weight[index]
        self.active = active & (diagonal > 0)
        inverse = np.zeros_like(shift)
        np.divide(1, diagonal + seam, out=inverse, where=self.active)
        self.links = tuple(_padded(w) for w in links)
        self.shift, self.inverse = _padded(shift), _padded(inverse)
        self.wrap = periodic[2]
        self.x, self.b, self.work = (np.zeros_like(self.shift) for _ in range(3))
        self.partial = np.zeros(self.shape[0] * self.shape[1])
        parity = np.add.outer(np.arange(2), np.arange(self.shape[2])) % 2
        self.red, self.black = (_padded((parity == c).astype(shift.dtype)) for c in (0, 1))
        self.all = np.ones_like(self.red)
        self.norm = np.zeros_like(self.shift)

    def coarsen(self) -> _Level:
        """The next coarser level; also fills this level's transfer tables and row norms."""
        mass = self._shift[self.active].min() if self.active.any() else 0
        held = np.where(self.active, self._shift - mass, 0)
        strongest = np.max([np.maximum(w, np.roll(w, 1, a)) for a, w in enumerate(self._links)], axis=0)
        softened = np.divide(strongest * held, strongest + held / 2, out=np.zeros_like(held), where=held > 0)
        isolated = (strongest == 0) & (held > 0)
        softened[isolated] = held[isolated]
        shift = softened + mass * self.active
        active = self.active
        links: list[Array] = [w / 2 for w in self._links]
        for axis in range(3):
            active = _pair_sums(active, axis)
            shift = _pair_sums(shift, axis)
            links = [_crossing(w, axis) if a == axis else _pair_sums(w, axis) for a, w in enumerate(links)]
        coarse = _Level(active, links, shift, self.periodic)
        spread = [_interpolation(n, wrap, shift.dtype) for n, wrap in zip(self.shape[:2], self.periodic)]
        gather = [_transposed(*table, n) for table, n in zip(spread, coarse.shape)]
        self.spread, self.gather = sum(spread, ()), sum(gather, ())
        total = np.zeros_like(self.shift)
        ones = np.ones_like(total)
        kernels.prolong(total, _padded(coarse.active.astype(shift.dtype)), ones, self.wrap, *self.spread)
        np.divide(1, total, out=self.norm, where=_padded(self.active) & (total > 0))
        return coarse


def _checked_system(
    active: NDArray[np.bool_],
    links: Sequence[ArrayLike],
    shift: Array,
    periodic: tuple[bool, ...],
    dtype: np.dtype,
) -> tuple[list[Array], Array]:
    """Links between active cells only, as full arrays, and the shift; links to inactive ones become shift."""
    if shift.shape != active.shape:
        raise KeyfluidError(f"The shift has shape {shift.shape}, the active cells {active.shape}.")
    held = np.where(active, shift, 0).astype(dtype)
    weights = []
    for axis, given in enumerate(links):
        link = np.asarray(given)
        expected = list(active.shape)
        full = np.zeros(active.shape, dtype)
        if not periodic[axis]:
            link = link[_at(axis, slice(0, active.shape[axis] - 1))]
            expected[axis] -= 1
        if list(link.shape) != expected:
            raise KeyfluidError(f"The links of axis {axis} have shape {link.shape}, not {tuple(expected)}.")
        full[_at(axis, slice(0, expected[axis]))] = link
        if active.shape[axis] == 1:
            full[:] = 0
        beyond = np.roll(active, -1, axis)
        held += np.where(active & ~beyond, full, 0)
        held += np.roll(np.where(~active & beyond, full, 0), 1, axis)
        weights.append(np.where(active & beyond, full, 0))
    for name, values in (("shift", held), *((f"links along axis {a}", w) for a, w in enumerate(weights))):
        if not (np.isfinite(values).all() and (values >= 0).all()):
            raise KeyfluidError(f"The {name} must be finite and not negative: the matrix must be positive.")
    return weights, held


def _at(axis: int, index: int | slice) -> tuple[int | slice, ...]:
    return (slice(None),) * axis + (index,)


def _pair_sums(values: NDArray, axis: int) -> NDArray:
    """Sums (for bool: any) over the cells 2I, 2I + 1; the last may stand alone."""
    result = values[_at(axis, slice(0, None, 2))].copy()
    result[_at(axis, slice(0, values.shape[axis] // 2))] += values[_at(axis, slice(1, None, 2))]
    return result


def _crossing(links: Array, axis: int) -> Array:
    """Links that lead from a pair of cells to the next pair; from the last pair: back to the first."""
    n = links.shape[axis]
    result = np.zeros_like(links[_at(axis, slice(0, None, 2))])
    if n > 2:
        inner = links[_at(axis, slice(1, n - 1, 2))]
        result[_at(axis, slice(0, inner.shape[axis]))] = inner
        result[_at(axis, -1)] = links[_at(axis, -1)]
    return result


def _interpolation(n: int, periodic: bool, dtype: np.dtype) -> tuple[NDArray[np.int64], Array]:
    """For each fine index the two coarse indices it reads, and their weights (3/4, 1/4)."""
    fine = np.arange(n)
    coarse = (n + 1) // 2
    parent = fine // 2
    other = parent + np.where(fine % 2 == 1, 1, -1)
    exists = periodic | ((other >= 0) & (other < coarse))
    weights = np.stack([np.full(n, 0.75), np.where(exists, 0.25, 0.0)], axis=1)
    return np.stack([parent, other % coarse], axis=1), weights.astype(dtype)


def _transposed(indices: NDArray[np.int64], weights: Array, coarse: int) -> tuple[NDArray[np.int64], Array]:
    """For each coarse index the up to four fine indices that read it, and their weights."""
    rows = np.zeros((coarse, 4), np.int64)
    values = np.zeros((coarse, 4), weights.dtype)
    filled = [0] * coarse
    for fine, (targets, shares) in enumerate(zip(indices, weights)):
        for target, share in zip(targets, shares):
            if share:
                rows[target, filled[target]], values[target, filled[target]] = fine, share
                filled[target] += 1
    return rows, values


def _padded(values: NDArray) -> NDArray:
    result = np.empty((*values.shape[:-1], values.shape[-1] + 2), values.dtype)
    result[..., 1:-1] = values
    _fill_ghosts(result)
    return result


def _fill_ghosts(padded: NDArray) -> None:
    padded[..., 0] = padded[..., -2]
    padded[..., -1] = padded[..., 1]
