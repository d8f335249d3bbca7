"""The long waves of a velocity: its share in the space of waves up to a cutoff, on grids of any size.

Waves along an axis of length L, at the places where values sit:

    walls      sin(pi k x / L) for the component across the walls, cos(pi k x / L) for the others
    periodic   1, cos(2 pi k x / L), sin(2 pi k x / L)
    open       cos(pi k x / L)

A wave in space is a product of one per axis; it counts if its wave vector is no longer than the cutoff. Coefficients
are those of least squares, axis by axis. Between walls and along periodic axes waves are orthogonal on the grid, and
coefficients are its sine, cosine or Fourier transform's. Where another grid has the same waves, its coefficients fit.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache

import numpy as np

from keyfluid.boundary import Boundary
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators.kernels.contract import contract, contract_last

Coefficients = tuple[np.ndarray, ...]
"""One array per component, an axis for each axis of the grid."""


@dataclass(frozen=True, eq=False)
class AxisWaves:
    """numbers: waves per metre of each; values: (points, waves) on the grid; fit: coefficients from values."""

    numbers: np.ndarray
    values: np.ndarray
    fit: np.ndarray


@lru_cache(maxsize=16)
def axis_waves(cells: int, length: float, kind: Boundary, on_plane: bool, cutoff: float) -> AxisWaves:
    """on_plane: values sit on the planes between cells, not in their middles. Axes of a length have the same waves,
    and the fit takes seconds on large grids."""
    n = cells + (1 if on_plane and kind is not Boundary.PERIODIC else 0)
    x = (np.arange(n) + (0.0 if on_plane else 0.5)) / cells
    if kind is Boundary.PERIODIC:
        most = math.floor(cutoff * length + 1e-9)
        parts = [np.ones((n, 1))]
        for k in range(1, most + 1):
            parts += [np.cos(2 * np.pi * k * x)[:, None], np.sin(2 * np.pi * k * x)[:, None]]
        values = np.concatenate(parts, axis=1)
        numbers = np.array([0.0, *(k / length for k in range(1, most + 1) for _ in range(2))])
    else:
        half_waves = np.arange(math.floor(2 * cutoff * length + 1e-9) + 1)
        sine = on_plane and kind is Boundary.WALLS
        half_waves = half_waves[1:] if sine else half_waves
        wave = np.sin if sine else np.cos
        values = wave(np.pi * half_waves * x[:, None])
        numbers = half_waves / (2 * length)
    return AxisWaves(numbers, values, np.linalg.pinv(values))


class LongWaves:
    """cutoff: waves per metre; taper: False cuts there, True fades out smoothly from half of it, which rings less
    where bodies or open sides break waves."""

    def __init__(self, grid: Grid, cutoff: float, dtype: np.dtype, taper: bool = False) -> None:
        self.grid, self.dtype = grid, dtype
        places = Kind.FACES.places(grid.dim)
        sides = list(zip(grid.cells, grid.size, grid.boundary))
        waves = [[axis_waves(*side, on, cutoff) for side, on in zip(sides, place)] for place in places]
        self._fit = [[_both(one.fit, dtype) for one in axes] for axes in waves]
        self._values = [[_both(one.values, dtype) for one in axes] for axes in waves]
        self.weights = tuple(_weights(axes, cutoff, taper).astype(dtype) for axes in waves)
        """How much each wave counts, from 0 to 1."""

    def of(self, velocity: Field) -> Coefficients:
        """The coefficients of a velocity's waves, each times its weight."""
        velocity.require(self.grid, Kind.FACES, "long waves: velocity")
        found = []
        for component, fit, weights in zip(velocity.components(), self._fit, self.weights):
            values = np.ascontiguousarray(component, self.dtype)
            for axis, matrices in enumerate(fit):
                values = _along(values, axis, matrices)
            found.append(values * weights)
        return tuple(found)

    def field(self, coefficients: Coefficients) -> Field:
        """The velocity that is made of these waves."""
        result = Field.zeros(self.grid, Kind.FACES, self.dtype)
        self.add_field(coefficients, result)
        return result

    def add_field(self, coefficients: Coefficients, result: Field) -> None:
        """The same, added in place."""
        for component, given, matrices in zip(result.components(), coefficients, self._values):
            values = np.ascontiguousarray(given, self.dtype)
            for axis in reversed(range(self.grid.dim)):
                values = _along(values, axis, matrices[axis], component if axis == 0 else None)

    def transposed(self, velocity: Field) -> Field:
        """The transpose of `field(of(velocity))`: the same where waves are orthogonal on the grid."""
        result = Field.zeros(self.grid, Kind.FACES, self.dtype)
        for source, target, fit, values, weights in zip(
            velocity.components(), result.components(), self._fit, self._values, self.weights
        ):
            now = np.ascontiguousarray(source, self.dtype)
            for axis, (matrix, other) in enumerate(values):
                now = _along(now, axis, (other, matrix))
            now = now * weights
            for axis in reversed(range(self.grid.dim)):
                matrix, other = fit[axis]
                now = _along(now, axis, (other, matrix))
            target[...] = now
        return result


def _both(matrix: np.ndarray, dtype: np.dtype) -> tuple[np.ndarray, np.ndarray]:
    """A matrix and its transpose, each row by row."""
    return np.ascontiguousarray(matrix, dtype), np.ascontiguousarray(matrix.T, dtype)


def _weights(axes: list[AxisWaves], cutoff: float, taper: bool) -> np.ndarray:
    square = np.zeros(())
    for waves in axes:
        square = square[..., None] + waves.numbers**2
    share = np.sqrt(square) / cutoff
    if not taper:
        return np.where(share <= 1 + 1e-9, 1.0, 0.0)
    return np.cos(np.pi / 2 * np.clip(2 * share - 1, 0, 1)) ** 2


def _along(
    values: np.ndarray, axis: int, matrices: tuple[np.ndarray, np.ndarray], onto: np.ndarray | None = None
) -> np.ndarray:
    """A matrix applied along one axis; onto: a contiguous array that the result is added to."""
    matrix, transposed = matrices
    before = math.prod(values.shape[:axis])
    after = math.prod(values.shape[axis + 1 :])
    m, n = matrix.shape
    out = np.zeros(before * m * after, values.dtype) if onto is None else onto.reshape(-1)
    if after == 1:
        contract_last(transposed.reshape(-1), values.reshape(-1), before, n, out)
    else:
        contract(matrix.reshape(-1), values.reshape(-1), before, n, after, out)
    return out.reshape(*values.shape[:axis], m, *values.shape[axis + 1 :])
