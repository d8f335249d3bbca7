"""Smoke carried along exact paths through many steps: read once, so that it is moved and never smeared.

Locations   rho at centres, u_0 ... u_{n-1} on faces, each held over its step
Continuous  rho_n(x) = rho_0(X_0(x)),   dX/dt = u,  X_n = x
Discrete    X_{s} = X_{s+1} - dt u_s(X_{s+1} - dt/2 u_s(X_{s+1})), the midpoint rule, for `per_cell` points of each
            cell; rho_n of a cell is the mean over its points of rho_0, read linearly where their paths began.
Tangent     d_X_s = (dX_s/dX_{s+1}) d_X_{s+1} + (dX_s/du_s) d_u_s ;   d_rho_n = mean d_rho_0(X_0) + grad rho_0 . d_X_0
Adjoint     runs from the first step to the last: X_0_bar = grad rho_0 rho_bar, then each step's transpose moves it on
            and leaves u_s_bar on the faces around the path.
Sides       paths end at walls; beyond an open side there is no smoke. Bodies stop paths only by their velocities.
Smoothness  kinks where a path crosses a grid line. Two points per axis of a cell lie on no grid line at rest, so that a
            mirrored scene has the mirrored gradient. Clamped coordinates have zero derivative. Not differentiated: dt.
Deviations  none of the five papers does this: their grids smear what they carry (an optimiser then gathers by blur what
            no flow could gather).
"""

from __future__ import annotations

from collections.abc import Sequence
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


@dataclass(frozen=True)
class FollowPaths(Operator):
    """forward(*densities, *velocities) -> densities after all steps; dt: of a step, in seconds."""

    grid: Grid
    dt: float
    per_cell: int

    def __post_init__(self) -> None:
        if self.per_cell not in (1, 2, 2**self.grid.dim):
            raise KeyfluidError(f"paths: {self.per_cell} per cell; use 1, 2 or {2**self.grid.dim}")
        if not (np.isfinite(self.dt) and self.dt > 0):
            raise KeyfluidError(f"paths: a step of {self.dt} s; it must be positive")

    def forward(self, *inputs: Field) -> Fields:
        densities, velocities = _split(inputs)
        paths = Paths(self, velocities)
        return tuple(paths.read(density) for density in densities)

    def tangent(self, inputs: Fields, d_inputs: Fields) -> Fields:
        densities, velocities = _split(inputs)
        return Paths(self, velocities).tangent(densities, *_split(d_inputs))

    def adjoint(self, inputs: Fields, outputs_bar: Fields) -> Fields:
        densities, velocities = _split(inputs)
        return Paths(self, velocities).adjoint(densities, outputs_bar)

    @property
    def places(self) -> np.ndarray:
        """Where in a cell its paths end, from its centre: one row of displacements in cells for each."""
        dim = self.grid.dim
        if self.per_cell == 1:
            return np.zeros((1, dim))
        if self.per_cell == 2:
            return np.array([[-0.25] * dim, [0.25] * dim])
        return np.stack([axis.ravel() for axis in np.meshgrid(*[[-0.25, 0.25]] * dim, indexing="ij")], axis=1)

    def nbytes(self, steps: int, itemsize: int) -> int:
        """Memory of a trace of so many steps, with its adjoint."""
        faces, cells = frame_of(self.grid, Kind.FACES).size, frame_of(self.grid, Kind.CENTRES).size
        paths = self.grid.count * self.per_cell * self.grid.dim
        return itemsize * ((steps + 2) * paths + 2 * steps * faces + kernels.COPIES * (faces + cells))


class Paths:
    """Paths of all cells, followed back through the steps; see FollowPaths."""

    def __init__(self, follow: FollowPaths, velocities: Sequence[Field]) -> None:
        self.grid, self._like, self._steps = follow.grid, velocities[0], len(velocities)
        dtype = self._like.dtype
        places, self._groups = follow.places, follow.per_cell
        self._velocity = self._framed(velocities)
        self._table = _tables(self.grid, self._steps, dtype)
        rows = self.grid.cells[:-1]
        self._way = np.empty((self._steps + 1, self._groups, *rows, self.grid.dim, self.grid.cells[-1]), dtype)
        shape = (self._groups, *[1] * len(rows), self.grid.dim, 1)
        self._way[-1] = places.reshape(shape)
        scale = dtype.type(follow.dt / self.grid.spacing)
        self._scales = scale, dtype.type(0.5) * scale
        self._slabs = min(kernels.SLABS, self.grid.cells[0])
        mid, rate, _, *rest = self._work(self._slabs)
        with self._threads():
            kernels.trace(
                self._way.reshape(-1), self._velocity, self._groups, self._steps, *self._scales, *self._table,
                self._slabs, mid, rate, *rest[:3],
            )  # fmt: skip

    def read(self, density: Field) -> Field:
        """A density of the start, carried along the paths."""
        density.require(self.grid, Kind.CENTRES, "paths: density")
        out = np.empty_like(density.data)
        _, rate, _, *rest = self._work(self._slabs)
        with self._threads():
            kernels.read(
                self._way.reshape(-1), self._framed([density]), out, self._groups, self._steps, *self._table,
                self._slabs, rate, *rest[:3],
            )  # fmt: skip
        return density.like(out)

    def tangent(self, densities: Fields, d_densities: Fields, d_velocities: Fields) -> Fields:
        """Changes of the carried densities."""
        way, sizes, work = self._way.reshape(-1), (self._groups, self._steps), self._work(self._slabs)
        d_way = np.zeros_like(self._way[0]).reshape(-1)
        with self._threads():
            kernels.trace_tangent(
                way, self._velocity, self._framed(d_velocities), d_way, *sizes, *self._scales, *self._table,
                self._slabs, *work,
            )  # fmt: skip
            outputs = []
            for density, d_density in zip(densities, d_densities):
                d_out = np.empty_like(density.data)
                kernels.read_tangent(
                    way, self._framed([density]), d_way, self._framed([d_density]), d_out, *sizes, *self._table,
                    self._slabs, work[1], *work[3:],
                )  # fmt: skip
                outputs.append(density.like(d_out))
        return tuple(outputs)

    def adjoint(self, densities: Sequence[Field], bars: Sequence[Field]) -> Fields:
        """Derivatives by the densities of the start, then by the velocities."""
        way, sizes, slabs = self._way.reshape(-1), (self._groups, self._steps), kernels.COPIES
        work = self._work(slabs)
        way_bar = np.zeros_like(self._way[0]).reshape(-1)
        cells, faces = frame_of(self.grid, Kind.CENTRES), frame_of(self.grid, Kind.FACES)
        densities_bar = []
        with self._threads():
            for density, bar in zip(densities, bars):
                copies = np.empty((slabs, cells.size), density.dtype)
                kernels.read_adjoint(
                    way, self._framed([density]), bar.data, way_bar, copies.reshape(-1), *sizes, *self._table, slabs,
                    work[1], *work[3:],
                )  # fmt: skip
                densities_bar.append(density.like(cells.fold(copies.sum(axis=0))))
            velocity_bar = np.empty_like(self._velocity)
            kernels.trace_adjoint(
                way, self._velocity, way_bar, velocity_bar, np.empty(slabs * faces.size, way.dtype), *sizes,
                *self._scales, *self._table, slabs, *work,
            )  # fmt: skip
        rows = velocity_bar.reshape(self._steps, -1)
        return (*densities_bar, *(self._like.like(faces.fold(row)) for row in rows))

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


def _split(inputs: Fields) -> tuple[Fields, Fields]:
    """Densities and velocities."""
    count = sum(field.kind is Kind.CENTRES for field in inputs)
    return inputs[:count], inputs[count:]
