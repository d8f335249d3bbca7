"""The full approximation scheme for the optimality conditions of a trajectory [Pan & Manocha 2017, algorithm 2].

Unknowns v, u on faces and p, pbar in cells, at all steps; on a grid of cells of side h (in cells of the finest)

    a  kappa v_k + u_k + Adv'[v_k]^T u_k - u_{k+1} + G pbar_k = ra_k          b  D v_k = rb_k
    c  v_k + Adv[v_k] - v_{k-1} - u_k + G p_k = rc_k                          d  D u_k = rd_k        [eq. 9]

with ra = kappa times the guide on the finest grid and zero otherwise; u_k is the force that leads to v_k. V-cycles with
coarsening in space only, two smoothings before and after, ten on the coarsest grid. The smoother takes all steps of a
cell at once (kernels/coupled_gauss_seidel.py), 4 colours in 2D and 8 in 3D, a third per axis where a periodic axis is
odd.

Misprint  algorithm 2 evaluates f(v^h) after its line 14 has overwritten v^h; here the fine residual comes first.
Deviations  velocities go to the coarse grid by their fluxes, so that their divergence is restricted exactly, residuals
by the transpose of interpolation. Pressures are kept at mean zero: the equations do not determine it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise, product
from typing import Any

import numpy as np

from keyfluid.grid import Grid, Kind
from keyfluid.solvers.face_tables import face_tables
from keyfluid.solvers.fas_transfer import (
    coarser,
    prolong_centres,
    prolong_faces,
    restrict_centres,
    restrict_faces,
)
from keyfluid.solvers.kernels import coupled_gauss_seidel
from keyfluid.solvers.self_advection import (
    self_advection,
    self_advection_transpose,
)
from keyfluid.solvers.solenoidal import Solenoidal

SMOOTHINGS, FINAL_SMOOTHINGS = 2, 10
COARSEST = 4
SLABS = 8


@dataclass(eq=False)
class Trajectory:
    """All unknowns on one grid, or the right sides of their equations: [face or cell, step]."""

    v: np.ndarray
    u: np.ndarray
    p: np.ndarray
    pbar: np.ndarray

    @classmethod
    def zeros(cls, grid: Grid, steps: int, dtype: np.typing.DTypeLike) -> Trajectory:
        faces, cells = grid.value_count(Kind.FACES), grid.count
        return cls(*(np.zeros((count, steps), dtype) for count in (faces, faces, cells, cells)))

    def parts(self) -> tuple[np.ndarray, ...]:
        return self.v, self.u, self.p, self.pbar


def depth(cells: tuple[int, ...]) -> int:
    """Number of grids: halved while all axes are even and keep COARSEST cells."""
    levels = 1
    while all(n % 2 == 0 and n // 2 >= COARSEST for n in cells):
        cells, levels = tuple(n // 2 for n in cells), levels + 1
    return levels


class Level:
    """The equations on one grid; `first` is the first unknown step, 1 where v_0 is fixed."""

    def __init__(self, grid: Grid, h: float, viscosity: float, first: int, dtype: np.typing.DTypeLike) -> None:
        self.grid, self.h, self.first = grid, h, first
        self.dtype: Any = np.dtype(dtype)
        self.viscosity = viscosity / h**2
        self.solenoidal = Solenoidal(grid, dtype)
        self.bases = flow_bases(grid.dim).astype(dtype)
        self.colours, self.firsts = coloured(grid)

    def residual(self, x: Trajectory, right: Trajectory, kappa: float) -> Trajectory:
        """What is left of a (as v), c (as u), b (as p), d (as pbar)."""
        scale, real = 1.0 / self.h, self.dtype.type
        a = right.v - real(kappa) * x.v - x.u
        a -= self_advection_transpose(self.grid, x.v, x.u, scale, self.viscosity)
        a[:, :-1] += x.u[:, 1:]
        c = right.u - x.v + x.u
        c -= self_advection(self.grid, x.v, scale, self.viscosity)
        c[:, 1:] += x.v[:, :-1]
        self.solenoidal.subtract_gradient(a, real(scale) * self._shaped(x.pbar))
        self.solenoidal.subtract_gradient(c, real(scale) * self._shaped(x.p))
        steps = x.v.shape[1]
        b = right.p - real(scale) * self.solenoidal.divergence(x.v).reshape(-1, steps)
        d = right.pbar - real(scale) * self.solenoidal.divergence(x.u).reshape(-1, steps)
        for part in (a, b):
            part[:, : self.first] = 0
        for part in (c, d):
            part[:, 0] = 0
        return Trajectory(a, c, b, d)

    def smooth(self, x: Trajectory, right: Trajectory, kappa: float, damping: float, times: int) -> None:
        """Sweeps of the coupled smoother, in place."""
        real, steps, sides = self.dtype.type, x.v.shape[1], 2 * self.grid.dim
        size = sides - 1
        work = np.empty(SLABS * steps * (sides * sides + 4 * sides + 2 + 2 * size * size + 3 * size), self.dtype)
        faces, push = np.empty(SLABS * sides, np.int64), np.empty(SLABS * sides, self.dtype)
        sweep = coupled_gauss_seidel.smooth2 if self.grid.dim == 2 else coupled_gauss_seidel.smooth3
        for _ in range(times):
            sweep(
                *(part.reshape(-1) for part in (x.v, x.u, x.p, x.pbar, right.v, right.u, right.p, right.pbar)),
                steps, *face_tables(self.grid)[:4], real(1.0 / self.h), real(self.viscosity), real(kappa), self.first,
                real(damping), real(0.5), self.bases, self.colours, self.firsts, work, faces, push, SLABS,
            )  # fmt: skip

    def _shaped(self, p: np.ndarray) -> np.ndarray:
        return p.reshape(*self.grid.cells, p.shape[1])


class FullApproximation:
    """V-cycles on a hierarchy of grids, for `steps` columns."""

    def __init__(
        self, grid: Grid, viscosity: float = 0.0, free_start: bool = False, dtype: np.typing.DTypeLike = np.float32
    ) -> None:
        first = 0 if free_start else 1
        self.levels = [Level(grid, 1.0, viscosity, first, dtype)]
        for _ in range(depth(grid.cells) - 1):
            grid = coarser(grid)
            self.levels.append(Level(grid, 2 * self.levels[-1].h, viscosity, first, dtype))

    def cycle(self, x: Trajectory, right: Trajectory, kappa: float, damping: float = 1.0) -> None:
        """One V(2,2) cycle, in place."""
        self._cycle(0, x, right, kappa, damping)
        for p in (x.p, x.pbar):
            p -= p.mean(axis=0, dtype=np.float64).astype(p.dtype)

    def _cycle(self, depth: int, x: Trajectory, right: Trajectory, kappa: float, damping: float) -> None:
        fine = self.levels[depth]
        if depth + 1 == len(self.levels):
            fine.smooth(x, right, kappa, damping, FINAL_SMOOTHINGS)
            return
        fine.smooth(x, right, kappa, damping, SMOOTHINGS)
        left = fine.residual(x, right, kappa)
        grid, coarse = fine.grid, self.levels[depth + 1]
        y = Trajectory(
            restrict_faces(grid, x.v, weighted=False),
            restrict_faces(grid, x.u, weighted=False),
            self._cells_down(grid, x.p),
            self._cells_down(grid, x.pbar),
        )
        # res^2h = f(x^2h) + R (res^h - f(x^h)), where f(x^2h) is the negative residual against zero.
        nothing = Trajectory.zeros(coarse.grid, x.v.shape[1], x.v.dtype)
        there = coarse.residual(y, nothing, kappa)
        target = Trajectory(
            restrict_faces(grid, left.v, weighted=True) - there.v,
            restrict_faces(grid, left.u, weighted=True) - there.u,
            self._cells_down(grid, left.p) - there.p,
            self._cells_down(grid, left.pbar) - there.pbar,
        )
        before = [part.copy() for part in y.parts()]
        self._cycle(depth + 1, y, target, kappa, damping)
        for old, new in zip(before, y.parts()):
            np.subtract(new, old, out=old)
        x.v += prolong_faces(coarse.grid, before[0])
        x.u += prolong_faces(coarse.grid, before[1])
        x.p += self._cells_up(coarse.grid, before[2])
        x.pbar += self._cells_up(coarse.grid, before[3])
        fine.smooth(x, right, kappa, damping, SMOOTHINGS)

    def _cells_down(self, grid: Grid, q: np.ndarray) -> np.ndarray:
        return restrict_centres(grid, q.reshape(*grid.cells, -1)).reshape(-1, q.shape[1])

    def _cells_up(self, grid: Grid, q: np.ndarray) -> np.ndarray:
        return prolong_centres(grid, q.reshape(*grid.cells, -1)).reshape(-1, q.shape[1])


def flow_bases(dim: int) -> np.ndarray:
    """For every set of free faces (a bit each): an orthonormal basis of the flows through a cell without divergence.

    Flat, [mask, face, vector]; vectors that a mask has too many are zero. Householder's reflection that takes the
    outward direction to a unit vector has the others as columns.
    """
    sides = 2 * dim
    bases = np.zeros((1 << sides, sides, sides - 1))
    for mask in range(1 << sides):
        free = [f for f in range(sides) if mask >> f & 1]
        if len(free) < 2:
            continue
        outward = np.array([1.0 if f % 2 == 0 else -1.0 for f in free]) / np.sqrt(len(free))
        mirror = outward.copy()
        mirror[0] += np.copysign(1.0, mirror[0])
        reflection = np.eye(len(free)) - 2.0 * np.outer(mirror, mirror) / (mirror @ mirror)
        bases[mask][np.ix_(free, range(len(free) - 1))] = reflection[:, 1:]
    return bases.reshape(-1)


def coloured(grid: Grid) -> tuple[np.ndarray, np.ndarray]:
    """All cells, colour by colour, and where each colour begins: cells of one colour are two apart on every axis."""
    axes = []
    for axis, n in enumerate(grid.cells):
        colour = np.arange(n) % 2
        if grid.is_periodic(axis) and n % 2 == 1:
            colour[-1] = 2
        axes.append(colour)
    numbers = np.arange(grid.count).reshape(grid.cells)
    lists = []
    for choice in product(*(range(int(colour.max()) + 1) for colour in axes)):
        chosen = np.ix_(*(np.flatnonzero(colour == c) for colour, c in zip(axes, choice)))
        lists.append(numbers[chosen].reshape(-1))
    firsts = np.cumsum([0] + [len(cells) for cells in lists])
    assert all(low < high for low, high in pairwise(firsts))
    return np.concatenate(lists), firsts
