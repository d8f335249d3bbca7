"""Smoke carried along exact paths through many steps: read once, so that it is moved and never smeared.

Locations   rho at centres, u_0 ... u_{n-1} on faces, each held over its step
Continuous  rho_n(x) = rho_0(X_0(x)),   dX/dt = u,  X_n = x
Discrete    X_{s} = X_{s+1} - dt u_s(X_{s+1} - dt/2 u_s(X_{s+1})), the midpoint rule, for `per_cell` points of each
            cell; rho_n of a cell is the mean over its points of rho_0, read linearly where their paths began.
Tangent     d_X_s = (dX_s/dX_{s+1}) d_X_{s+1} + (dX_s/du_s) d_u_s ;   d_rho_n = mean d_rho_0(X_0) + grad rho_0 . d_X_0
Adjoint     runs from the first step to the last: X_0_bar = grad rho_0 rho_bar, then each step's transpose moves it on
            and leaves u_s_bar on the faces around the path.
Gifts       where sources are, rho <- keep rho + gain at the start of a step, read where the path is then; smoke that
            dissipates is multiplied by `fade` before that. Neither is differentiated.
Sides       beyond walls the last values are read; beyond an open side there is no smoke. Bodies stop paths by their
            velocities alone.
Smoothness  kinks where a path crosses a grid line. Several points of a cell lie on no grid line at rest, and a mirrored
            grid has the mirrored ones (`places`), so that a mirrored scene has the mirrored gradient. Clamped
            coordinates have zero derivative. Not differentiated: dt.
Deviations  none of the five papers does this: their grids smear what they carry (an optimiser then gathers by blur what
            no flow could gather).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators.backtrace import tables
from keyfluid.operators.base import Fields, Operator
from keyfluid.operators.framed import frame_of
from keyfluid.operators.kernels import paths as kernels
from keyfluid.threads import one_thread_below

SERIAL_PATHS = 1 << 13
_SCATTER = 0.15
"""Cells; a path at rest stays off the grid lines, where velocities have kinks."""


@dataclass(frozen=True, eq=False)
class Gift:
    """What sources do to a density at the start of a step: rho <- keep rho + gain; both at centres."""

    gain: Field
    keep: Field


Gifts = Mapping[int, Gift]
"""By the number of a step, counted from the start of the paths."""


@dataclass(frozen=True)
class FollowPaths(Operator):
    """forward(*densities, *velocities) -> densities after all steps; dt: of a step, in seconds; fade: what is left of
    smoke after a step; gifts: one mapping for each density; count: of densities."""

    grid: Grid
    dt: float
    per_cell: int
    fade: float = 1.0
    gifts: Sequence[Gifts] = ()
    count: int = 1

    def __post_init__(self) -> None:
        if self.per_cell not in (1, 2, 2**self.grid.dim):
            raise KeyfluidError(f"paths: {self.per_cell} per cell; use 1, 2 or {2**self.grid.dim}")
        if not (np.isfinite(self.dt) and self.dt > 0):
            raise KeyfluidError(f"paths: a step of {self.dt} s; it must be positive")

    def forward(self, *inputs: Field) -> Fields:
        densities, velocities = inputs[: self.count], inputs[self.count :]
        return Paths(self, velocities).read(densities, self.gifts)

    def tangent(self, inputs: Fields, d_inputs: Fields) -> Fields:
        densities, velocities = inputs[: self.count], inputs[self.count :]
        return Paths(self, velocities).tangent(densities, d_inputs[: self.count], d_inputs[self.count :], self.gifts)

    def adjoint(self, inputs: Fields, outputs_bar: Fields) -> Fields:
        densities, velocities = inputs[: self.count], inputs[self.count :]
        return Paths(self, velocities).adjoint(densities, outputs_bar, self.gifts)

    def nbytes(self, steps: int, itemsize: int) -> int:
        """Memory of a trace of so many steps, with its adjoint."""
        faces, cells = frame_of(self.grid, Kind.FACES).size, frame_of(self.grid, Kind.CENTRES).size
        paths = self.grid.count * self.per_cell * self.grid.dim
        return itemsize * ((steps + 3) * paths + 3 * steps * faces + kernels.COPIES * (faces + cells))


@lru_cache(maxsize=4)
def places(grid: Grid, per_cell: int) -> np.ndarray:
    """Where in each cell its paths end, from its centre, in cells: (path, *cells, axis).

    Each path has its opposite, so that what is linear is read exactly, and lies within a quarter of its cell that no
    other does, along each axis 0.25 + 0.15 h from the centre; h is another number in every cell, or thin sheets of
    smoke could hide between the rows of paths, which an optimiser finds out. The places are those of a mirrored grid.
    """
    dim = grid.dim
    if per_cell == 1:
        return np.zeros((1, *grid.cells, dim), np.float32)
    index = np.meshgrid(*[np.arange(n) for n in grid.cells], indexing="ij")
    folded = [np.minimum(i, n - 1 - i) for i, n in zip(index, grid.cells)]
    side = np.stack([np.sign(n - 1 - 2 * i) for i, n in zip(index, grid.cells)], axis=-1)
    scatter = np.stack([_scattered(folded, axis) for axis in range(dim)], axis=-1)
    if per_cell == 2:
        diagonal = np.stack([_scattered(folded, dim + axis) for axis in range(dim)], axis=-1)
        corner = np.where(side == 0, 1, side) * np.where(diagonal < 0, -1, 1)
        pair = (corner * (0.25 + _SCATTER * scatter)).astype(np.float32)
        return np.stack([pair, -pair])
    corners = np.stack([axis.ravel() for axis in np.meshgrid(*[[-1, 1]] * dim, indexing="ij")], axis=1)
    corners = corners.reshape(per_cell, *[1] * dim, dim)
    all_axes = np.prod(corners * side, axis=-1, keepdims=True)
    others = all_axes * corners * side if dim == 3 else all_axes
    return (corners * (0.25 + _SCATTER * others * scatter)).astype(np.float32)


def _scattered(index: Sequence[np.ndarray], stream: int) -> np.ndarray:
    """Numbers in -1 ... 1, one for each cell, that look random."""
    mixed = np.full(index[0].shape, stream + 1, np.uint64)
    for part in (0, *index):
        mixed = (mixed ^ np.asarray(part, np.uint64)) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(29)
    mixed *= np.uint64(0xBF58476D1CE4E5B9)
    return (mixed >> np.uint64(40)).astype(np.float64) / 2**23 - 1.0


class Paths:
    """Paths of all cells, followed back through the steps; see FollowPaths."""

    def __init__(self, follow: FollowPaths, velocities: Sequence[Field]) -> None:
        self.grid, self._like, self._steps = follow.grid, velocities[0], len(velocities)
        self._like.require(self.grid, Kind.FACES, "paths: velocity")
        dtype = self._like.dtype
        self._groups, self._fade = follow.per_cell, dtype.type(follow.fade)
        self._velocity = self._framed(velocities)
        self._table = _tables(self.grid, self._steps, dtype)
        rows = self.grid.cells[:-1]
        way = np.empty((self._steps + 1, self._groups, *rows, self.grid.dim, self.grid.cells[-1]), dtype)
        way[-1] = np.moveaxis(places(self.grid, self._groups), -1, -2)
        self._way = way.reshape(-1)
        scale = dtype.type(follow.dt / self.grid.spacing)
        self._scales = scale, dtype.type(0.5) * scale
        self._slabs = min(kernels.SLABS, self.grid.cells[0])
        self._sizes = self._groups, self._steps
        mid, rate, _, *rest = self._work(self._slabs)
        with self._threads():
            kernels.trace(
                self._way, self._velocity, *self._sizes, *self._scales, *self._table, self._slabs, mid, rate, *rest[:3]
            )

    def read(self, densities: Sequence[Field], gifts: Sequence[Gifts] = ()) -> Fields:
        """Densities of the start, carried along the paths; gifts: one mapping for each of them."""
        with self._threads():
            return tuple(
                density.like(self._mean(self._read(density, given)))
                for density, given in zip(densities, gifts or [{}] * len(densities))
            )

    def _read(self, density: Field, gifts: Gifts) -> np.ndarray:
        """The carried density path by path."""
        weight, total, _ = self._weights(gifts)
        return total + weight * self._at_start(density)

    def _weights(self, gifts: Gifts) -> tuple[np.ndarray, np.ndarray, dict[int, np.ndarray]]:
        """For each path: the share of the start's density that is left, what sources gave, and the share of each gift
        that is left, by its step."""
        weight, total = self._paths(1), self._paths(0)
        later: dict[int, np.ndarray] = {}
        rest = self._work(self._slabs)
        after = self._steps
        for step in sorted(gifts, reverse=True):
            weight *= self._fade ** (after - step - 1)
            later[step], after = weight.copy(), step
            kernels.meet(
                self._way, step, *self._gift(gifts[step]), self._fade, total, weight, *self._sizes, *self._table,
                self._slabs, rest[1], *rest[3:6],
            )  # fmt: skip
        weight *= self._fade**after
        return weight, total, later

    def _at_start(self, density: Field) -> np.ndarray:
        density.require(self.grid, Kind.CENTRES, "paths: density")
        each, work = self._paths(0), self._work(self._slabs)
        kernels.read(
            self._way, self._framed([density]), each, *self._sizes, *self._table, self._slabs, work[1], *work[3:6]
        )
        return each

    def tangent(
        self, densities: Fields, d_densities: Fields, d_velocities: Fields, gifts: Sequence[Gifts] = ()
    ) -> Fields:
        """Changes of the carried densities."""
        d_velocity = self._framed(d_velocities)
        with self._threads():
            return tuple(
                density.like(self._mean(self._tangent(density, d_density, d_velocity, given)))
                for density, d_density, given in zip(densities, d_densities, gifts or [{}] * len(densities))
            )

    def _tangent(self, density: Field, d_density: Field, d_velocity: np.ndarray, gifts: Gifts) -> np.ndarray:
        work = self._work(self._slabs)
        d_way = np.zeros_like(self._way[: self._way.size // (self._steps + 1)])
        weight, d_weight, d_total = self._paths(1), self._paths(0), self._paths(0)
        after = self._steps
        for step in [*sorted(gifts, reverse=True), 0]:
            kernels.trace_tangent(
                self._way, self._velocity, d_velocity, d_way, step, after, self._groups, *self._scales, *self._table,
                self._slabs, *work,
            )  # fmt: skip
            given = step in gifts and after > step
            fade = self._fade ** (after - step - int(given))
            weight, d_weight, after = fade * weight, fade * d_weight, step
            if given:
                kernels.meet_tangent(
                    self._way, step, *self._gift(gifts[step]), self._fade, weight, d_total, d_weight, d_way,
                    *self._sizes, *self._table, self._slabs, work[1], *work[3:],
                )  # fmt: skip
        each = self._paths(0)
        kernels.read_tangent(
            self._way, self._framed([density]), d_way, self._framed([d_density]), each, *self._sizes, *self._table,
            self._slabs, work[1], *work[3:],
        )  # fmt: skip
        return d_total + d_weight * self._at_start(density) + weight * each

    def adjoint(self, densities: Sequence[Field], bars: Sequence[Field], gifts: Sequence[Gifts] = ()) -> Fields:
        """Derivatives by the densities of the start, then by the velocities."""
        cells, faces = frame_of(self.grid, Kind.CENTRES), frame_of(self.grid, Kind.FACES)
        slabs, work = kernels.COPIES, self._work(kernels.COPIES)
        gifts = gifts or [{}] * len(densities)
        way_bar = np.zeros_like(self._way[: self._way.size // (self._steps + 1)])
        copies = np.empty(slabs * faces.size, self._way.dtype)
        velocity_bar = np.empty_like(self._velocity)
        densities_bar = []
        with self._threads():
            carried, later = [], []
            for density, bar, given in zip(densities, bars, gifts):
                weight, _, left = self._weights(given)
                inside = np.empty((slabs, cells.size), density.dtype)
                kernels.read_adjoint(
                    self._way, self._framed([density]), bar.data, weight, way_bar, inside.reshape(-1), *self._sizes,
                    *self._table, slabs, work[1], *work[3:],
                )  # fmt: skip
                densities_bar.append(density.like(cells.fold(inside.sum(axis=0))))
                carried.append(self._at_start(density) if given else self._paths(0))
                later.append(left)
            before = 0
            for step in [*sorted({step for given in gifts for step in given}), self._steps]:
                kernels.trace_adjoint(
                    self._way, self._velocity, way_bar, velocity_bar, copies, before, step, self._groups,
                    *self._scales, *self._table, slabs, *work,
                )  # fmt: skip
                for smoke, left, bar, given in zip(carried, later, bars, gifts):
                    if step in given:
                        smoke *= self._fade ** (step - max([0, *(other + 1 for other in given if other < step)]))
                        kernels.meet_adjoint(
                            self._way, step, *self._gift(given[step]), self._fade, left[step], smoke, bar.data, way_bar,
                            *self._sizes, *self._table, slabs, work[1], *work[3:],
                        )  # fmt: skip
                before = step
        rows = velocity_bar.reshape(self._steps, -1)
        return (*densities_bar, *(self._like.like(faces.fold(row)) for row in rows))

    def _paths(self, value: float) -> np.ndarray:
        """One value for each path."""
        return np.full(self.grid.count * self._groups, value, self._way.dtype)

    def _mean(self, each: np.ndarray) -> np.ndarray:
        """Over the paths of a cell."""
        return each.reshape(self._groups, -1).sum(axis=0) * each.dtype.type(1 / self._groups)

    def _gift(self, gift: Gift) -> tuple[np.ndarray, np.ndarray]:
        return self._framed([gift.gain]), self._framed([gift.keep])

    def _framed(self, fields: Sequence[Field]) -> np.ndarray:
        """Fields one after the other, laid out for the kernels."""
        frame = frame_of(self.grid, fields[0].kind)
        out = np.empty(len(fields) * frame.size, fields[0].dtype)
        for number, field in enumerate(fields):
            field.require(self.grid, fields[0].kind, "paths")
            frame.put_on(field.data, out[number * frame.size : (number + 1) * frame.size])
        return out

    def _work(self, slabs: int) -> tuple[np.ndarray, ...]:
        return kernels.work_arrays(self.grid.dim, self.grid.cells[-1], slabs, self._like.dtype)

    def _threads(self) -> AbstractContextManager[None]:
        return one_thread_below(SERIAL_PATHS, self.grid.count * self._groups)


@lru_cache(maxsize=64)
def _tables(grid: Grid, steps: int, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
    """Lattices of the velocities of all steps and of the carried quantity, as kernels/paths.py wants them."""
    one = tables(grid, Kind.CENTRES.places(grid.dim)[0], True, dtype)
    dim, size = grid.dim, frame_of(grid, Kind.FACES).size
    lattices = np.tile(one.lattices[:dim], (steps, 1))
    lattices[:, 0] += np.repeat(np.arange(steps, dtype=np.int32) * size, dim)
    bases = np.tile(one.bases[:dim], (steps, 1))
    return np.vstack([lattices, one.lattices[dim]]), np.vstack([bases, one.bases[dim]]), one.points
