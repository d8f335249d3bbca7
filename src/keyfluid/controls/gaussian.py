"""Winds, vortices and sources with Gaussian falloff on a lattice of points [McNamara 2004, section 4.1, after Treuille
2003].

    wind      f(x) = sum_j a_j g(x - x_j)                     a_j: a vector
    source    s(x) = sum_j b_j g(x - x_j)                     b_j: a rate of a liquid's level set, m/s
    vortex    f(x) = sum_j w_j x (x - x_j) / r g(x - x_j)     w_j: a number in 2D, an axis in 3D
    g(d) = exp(-|d|^2 / r^2)

A coefficient 1 is a wind of 1 m/s^2 at its point, or a vortex that turns at 1/e m/s^2 at distance r. Both are
products of functions of one axis each, so that a lattice of them is a product of narrow matrices, one per axis: cut
off at four radii, where g is 1e-7. Periodic axes wrap.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np
from scipy.sparse import csr_array

from keyfluid.controls.basis import Basis
from keyfluid.controls.resample import apply_matrices
from keyfluid.errors import SceneError
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind

_REACH = 4.0


class _Lattice:
    """Points `spacing` metres apart, and the matrices that spread their Gaussians to the faces."""

    def __init__(self, grid: Grid, dtype: np.typing.DTypeLike, spacing: float, radius: float) -> None:
        if not (spacing > 0 and radius > 0):
            raise SceneError("control.spacing", f"spacing {spacing} and radius {radius} must be positive, in metres")
        if radius < 0.5 * grid.spacing:
            raise SceneError(
                "control.radius",
                f"{radius:.3g} m is below half a cell ({grid.spacing:.3g} m), and faces would miss it; enlarge it",
            )
        if spacing > max(grid.size):
            raise SceneError("control.spacing", f"{spacing:.3g} m is longer than the domain; lower it")
        self.grid, self.radius = grid, radius
        self.dtype: np.dtype = np.dtype(dtype)
        self.counts = tuple(max(1, round(side / spacing)) for side in grid.size)
        self._places = [(np.arange(n) + 0.5) * side / n for n, side in zip(self.counts, grid.size)]
        self._made: dict[tuple[int, bool, bool], csr_array] = {}

    def matrix(self, axis: int, on_plane: bool, arm: bool) -> csr_array:
        """From lattice points to positions along an axis: g, or the arm (x - x_j) / r times g."""
        key = (axis, on_plane, arm)
        if key not in self._made:
            count = self.grid.cells[axis] + (1 if on_plane and not self.grid.is_periodic(axis) else 0)
            x = (np.arange(count) + (0.0 if on_plane else 0.5)) * self.grid.spacing
            d = (x[:, None] - self._places[axis][None, :]) / self.radius
            if self.grid.is_periodic(axis):
                side = self.grid.size[axis] / self.radius
                d -= side * np.round(d / side)
            g = np.where(np.abs(d) <= _REACH, np.exp(-d * d), 0.0)
            self._made[key] = csr_array((d * g if arm else g).astype(self.dtype))
        return self._made[key]


def _gather(values: np.ndarray, matrices: Sequence[csr_array]) -> np.ndarray:
    return apply_matrices(values, [matrix.T.tocsr() for matrix in matrices])


class _OnLattice:
    """What all bases on a lattice of points share."""

    def __init__(self, grid: Grid, dtype: np.typing.DTypeLike, spacing: float, radius: float) -> None:
        self.grid = grid
        self.dtype: np.dtype = np.dtype(dtype)
        self._lattice = _Lattice(grid, dtype, spacing, radius)

    def scales(self) -> np.ndarray | None:
        return None

    def carry(self, coefficients: np.ndarray, before: Basis) -> np.ndarray:
        """The lattice lies in the domain, not on the grid: the same points, the same coefficients."""
        return coefficients


class GaussianWinds(_OnLattice):
    """A wind at every lattice point; coefficients: all points' first components, then the second, ..."""

    @property
    def count(self) -> int:
        return self.grid.dim * int(np.prod(self._lattice.counts))

    @cached_property
    def _terms(self) -> list[list[csr_array]]:
        places = self.grid.layout(Kind.FACES).places
        return [[self._lattice.matrix(b, on, False) for b, on in enumerate(place)] for place in places]

    def force(self, coefficients: np.ndarray) -> Field:
        field = Field.zeros(self.grid, Kind.FACES, self.dtype)
        winds = coefficients.reshape(self.grid.dim, *self._lattice.counts)
        for component, wind, matrices in zip(field.components(), winds, self._terms):
            component[...] = apply_matrices(wind, matrices)
        return field

    def pull(self, force_bar: Field) -> np.ndarray:
        bars = [_gather(c, m) for c, m in zip(force_bar.components(), self._terms)]
        return np.concatenate([bar.ravel() for bar in bars])


class GaussianSources(_OnLattice):
    """A source at every lattice point, for what lives at cell centres: a basis of centred fields, not of forces.

    scale: expected size of a coefficient, in m/s; a wind's is 1 in its own unit.
    """

    def __init__(
        self, grid: Grid, dtype: np.typing.DTypeLike, spacing: float, radius: float, scale: float = 1.0
    ) -> None:
        super().__init__(grid, dtype, spacing, radius)
        self.scale = scale

    def scales(self) -> np.ndarray:
        return np.full(self.count, self.scale)

    @property
    def count(self) -> int:
        return int(np.prod(self._lattice.counts))

    @cached_property
    def _matrices(self) -> list[csr_array]:
        return [self._lattice.matrix(axis, False, False) for axis in range(self.grid.dim)]

    def force(self, coefficients: np.ndarray) -> Field:
        values = apply_matrices(coefficients.reshape(self._lattice.counts), self._matrices)
        return Field.of(self.grid, Kind.CENTRES, values, dtype=self.dtype)

    def pull(self, force_bar: Field) -> np.ndarray:
        return _gather(force_bar.array, self._matrices).ravel()


class GaussianVortices(_OnLattice):
    """A vortex at every lattice point; in 3D one about each axis, all about x first."""

    @property
    def count(self) -> int:
        return (1 if self.grid.dim == 2 else 3) * int(np.prod(self._lattice.counts))

    @cached_property
    def _terms(self) -> list[tuple[int, int, float, list[csr_array]]]:
        """(component of f, component of w, sign, matrices): w x d has +w_b d_c and -w_c d_b in component a."""
        terms = []
        if self.grid.dim == 2:
            arms = [(0, 0, -1.0, 1), (1, 0, 1.0, 0)]
        else:
            arms = []
            for a in range(3):
                b, c = (a + 1) % 3, (a + 2) % 3
                arms += [(a, b, 1.0, c), (a, c, -1.0, b)]
        for face, turn, sign, arm in arms:
            place = self.grid.layout(Kind.FACES).places[face]
            matrices = [self._lattice.matrix(axis, on, axis == arm) for axis, on in enumerate(place)]
            terms.append((face, turn, sign, matrices))
        return terms

    def force(self, coefficients: np.ndarray) -> Field:
        field = Field.zeros(self.grid, Kind.FACES, self.dtype)
        turns = coefficients.reshape(-1, *self._lattice.counts)
        for face, turn, sign, matrices in self._terms:
            field.component(face)[...] += self.dtype.type(sign) * apply_matrices(turns[turn], matrices)
        return field

    def pull(self, force_bar: Field) -> np.ndarray:
        bars = np.zeros((1 if self.grid.dim == 2 else 3, *self._lattice.counts), self.dtype)
        for face, turn, sign, matrices in self._terms:
            bars[turn] += self.dtype.type(sign) * _gather(force_bar.component(face), matrices)
        return bars.ravel()
