"""Dense controls: a number for every face, or for every edge of a vector potential.

DenseForces      f = c on every face that is not part of a wall                      [McNamara 2004, section 3]
DensePotential   f = curl psi, psi = c on every edge that is not part of a wall      [Tang 2021, section 4.1]
                 scaled so that one coefficient of size c makes forces of about that size: psi = dx c
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from keyfluid.boundary import Boundary
from keyfluid.controls.basis import Basis
from keyfluid.controls.resample import to_grid
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators.curl import Curl


def _off_walls(grid: Grid, kind: Kind) -> np.ndarray:
    """Which values of a kind do not lie on a wall's plane; flat."""
    free = []
    for place, shape in zip(grid.layout(kind).places, grid.layout(kind).shapes):
        inside = np.ones(shape, bool)
        for axis, on_plane in enumerate(place):
            if on_plane and grid.boundary[axis] is Boundary.WALLS:
                line = np.moveaxis(inside, axis, 0)
                line[0] = line[-1] = False
        free.append(inside.ravel())
    return np.concatenate(free)


@dataclass(frozen=True)
class DenseForces:
    """A force on every face."""

    grid: Grid
    dtype: np.dtype

    @cached_property
    def _free(self) -> np.ndarray:
        return np.flatnonzero(_off_walls(self.grid, Kind.FACES))

    @property
    def count(self) -> int:
        return int(self._free.size)

    def force(self, coefficients: np.ndarray) -> Field:
        field = Field.zeros(self.grid, Kind.FACES, self.dtype)
        field.data[self._free] = coefficients
        return field

    def pull(self, force_bar: Field) -> np.ndarray:
        return force_bar.data[self._free]

    def scales(self) -> np.ndarray | None:
        return None

    def carry(self, coefficients: np.ndarray, before: Basis) -> np.ndarray:
        return self.pull(to_grid(before.force(coefficients), self.grid))


@dataclass(frozen=True)
class DensePotential:
    """A potential on every edge; its forces have no divergence."""

    grid: Grid
    dtype: np.dtype

    @cached_property
    def _free(self) -> np.ndarray:
        return np.flatnonzero(_off_walls(self.grid, Kind.EDGES))

    @property
    def count(self) -> int:
        return int(self._free.size)

    def potential(self, coefficients: np.ndarray) -> Field:
        psi = Field.zeros(self.grid, Kind.EDGES, self.dtype)
        psi.data[self._free] = coefficients * self.dtype.type(self.grid.spacing)
        return psi

    def force(self, coefficients: np.ndarray) -> Field:
        return Curl(self.grid).apply(self.potential(coefficients))[0]

    def pull(self, force_bar: Field) -> np.ndarray:
        (psi_bar,) = Curl(self.grid).transpose(force_bar)
        return psi_bar.data[self._free] * self.dtype.type(self.grid.spacing)

    def scales(self) -> np.ndarray | None:
        return None

    def carry(self, coefficients: np.ndarray, before: Basis) -> np.ndarray:
        assert isinstance(before, DensePotential)
        psi = to_grid(before.potential(coefficients), self.grid)
        return psi.data[self._free] / self.dtype.type(self.grid.spacing)
