"""The two lattices of the method, both cell-centred over the domain: densities live on the scene's grid, velocities
on one of their own (`velocity_cells`). 2D is one layer of cells, with z = 0 everywhere."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from keyfluid.boundary import WALL_SIDE
from keyfluid.controllers.particles.kernels import grid as kernels
from keyfluid.grid import Grid


@dataclass(frozen=True, eq=False)
class Lattice:
    """`counts` cells of side `spacing`; `grid` is the scene's, which it covers."""

    grid: Grid
    counts: tuple[int, int, int]
    spacing: float
    dtype: np.dtype

    @classmethod
    def of_grid(cls, grid: Grid, dtype: np.dtype) -> Lattice:
        return cls(grid, _three(grid.cells, 1), grid.spacing, dtype)

    @classmethod
    def of_cells(cls, grid: Grid, longest: int, dtype: np.dtype) -> Lattice:
        """Cubic cells, `longest` of them along the longest side; the last ones may reach beyond the domain."""
        spacing = max(grid.size) / longest
        counts = tuple(max(2, math.ceil(side / spacing - 1e-6)) for side in grid.size)
        return cls(grid, _three(counts, 1), spacing, dtype)

    @property
    def flat(self) -> bool:
        return self.grid.dim == 2

    @property
    def total(self) -> int:
        return int(np.prod(self.counts))

    @cached_property
    def cells(self) -> np.ndarray:
        """`counts` as kernels take them."""
        return np.array(self.counts, np.int64)

    @cached_property
    def sizes(self) -> np.ndarray:
        """Sides of the domain, metres; 0 along z in 2D."""
        return np.array([*self.grid.size, 0.0][:3], self.dtype)

    @cached_property
    def kinds(self) -> np.ndarray:
        """What the sides are, by their codes."""
        return np.array([*(side.code for side in self.grid.boundary), WALL_SIDE][:3], np.int64)

    @property
    def side(self) -> np.floating:
        """The spacing in run precision, so that kernels stay in it."""
        return self.real(self.spacing)

    @property
    def inverse(self) -> np.floating:
        return self.real(1.0 / self.spacing)

    def real(self, value: float) -> np.floating:
        number: np.floating = self.dtype.type(value)
        return number

    def packed(self) -> np.ndarray:
        """Room for (u, v, w, one more) in every cell."""
        return np.zeros(4 * self.total, self.dtype)

    def sample(self, values: np.ndarray, points: np.ndarray) -> np.ndarray:
        """A scalar lattice at points (3, n)."""
        out = np.empty(points.shape[1], self.dtype)
        kernels.sample(values.reshape(-1), *points, self.inverse, self.cells, out)
        return out

    def onto(self, other: Lattice, values: np.ndarray, offset: tuple[float, ...] = (0.5, 0.5, 0.5),
             shape: tuple[int, ...] | None = None) -> np.ndarray:  # fmt: skip
        """A scalar lattice read at the points ((i, j, k) + offset) spacing of another."""
        shape = shape or other.counts
        out = np.empty(int(np.prod(shape)), self.dtype)
        shifts = [self.real(shift) for shift in offset]
        kernels.resample(
            values.reshape(-1), self.cells, self.inverse, out, np.array(shape, np.int64), other.side, *shifts
        )
        return out

    def sorted_by_plane(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The order of particles by plane of cells along x, and where each plane begins in it."""
        plane = np.clip((x * self.inverse).astype(np.int64), 0, self.counts[0] - 1)
        starts = np.zeros(self.counts[0] + 1, np.int64)
        np.cumsum(np.bincount(plane, minlength=self.counts[0]), out=starts[1:])
        return np.argsort(plane, kind="stable"), starts


class Densities:
    """Number densities of particles: splatted, then blurred by a separable tent.          [section 4.1]"""

    def __init__(self, lattice: Lattice) -> None:
        self.lattice = lattice
        self._sums = np.empty(kernels.CHUNKS * lattice.total, lattice.dtype)

    def of(self, points: np.ndarray, radius: float, weight: float = 1.0) -> np.ndarray:
        """`weight` per particle and m^2 or m^3, at every cell, flat; radius in metres."""
        lattice = self.lattice
        out = np.empty(lattice.total, lattice.dtype)
        kernels.splat(*points, lattice.inverse, lattice.cells, kernels.CHUNKS, self._sums)
        factor = weight / lattice.grid.cell_volume
        kernels.add_chunks(self._sums, kernels.CHUNKS, lattice.real(factor), out)
        weights = tent_weights(radius / lattice.spacing, lattice.dtype)
        inner = [lattice.counts[1] * lattice.counts[2], lattice.counts[2], 1]
        other = np.empty_like(out)
        for axis in range(lattice.grid.dim):
            kernels.tent(out, lattice.counts[axis], inner[axis], weights, other)
            out, other = other, out
        return out


def columns(values: np.ndarray, which: np.ndarray) -> np.ndarray:
    """values[:, which], each row contiguous (indexing would leave the columns so)."""
    return np.take(values, which, axis=1)


def tent_weights(radius: float, dtype: np.dtype) -> np.ndarray:
    """1 - k / radius for k = 0, 1, ... cells, so that both sides together sum to 1."""
    line = np.maximum(1.0 - np.arange(math.ceil(radius)) / radius, 0.0)
    return (line / (line[0] + 2 * line[1:].sum())).astype(dtype)


def _three(values: tuple[int, ...], last: int) -> tuple[int, int, int]:
    x, y, z = (*values, last)[:3]
    return x, y, z
