"""Forces for a liquid: waves of every component below a cutoff, and a uniform force along each axis.

A free surface feels forces that a potential does not have: those with divergence, which no pressure of walls takes up,
and a lift that holds the liquid against its weight. The waves are those of FilteredForces; between walls they vanish on
the walls that they push at, so that a lift is none of them.
"""

from __future__ import annotations

import numpy as np

from keyfluid.controls.basis import Basis
from keyfluid.controls.filtered import FilteredForces
from keyfluid.controls.spectral import falling_off
from keyfluid.fields import Field
from keyfluid.grid import Grid


class LiftedForces:
    """The basis; cutoff in cycles per longest side. A coefficient 1 is a force of root mean square 1, expected to fall
    off as k^-falloff."""

    def __init__(
        self, grid: Grid, dtype: np.typing.DTypeLike, cutoff: float | None = None, falloff: float = 0.0
    ) -> None:
        self.grid, self.falloff = grid, falloff
        self._waves = FilteredForces(grid, dtype, cutoff)
        self.dtype = self._waves.dtype

    @property
    def count(self) -> int:
        return self._waves.count + self.grid.dim

    def force(self, coefficients: np.ndarray) -> Field:
        cut = self._waves.count
        force = self._waves.force(coefficients[:cut])
        for axis, lift in enumerate(coefficients[cut:]):
            force.component(axis)[...] += lift
        return force

    def pull(self, force_bar: Field) -> np.ndarray:
        lifts = [np.sum(force_bar.component(axis), dtype=np.float64) for axis in range(self.grid.dim)]
        return np.concatenate([self._waves.pull(force_bar), np.array(lifts, self.dtype)])

    def lift(self, axis: int, size: float) -> np.ndarray:
        """The coefficients of a uniform force along an axis."""
        coefficients = np.zeros(self.count, self.dtype)
        coefficients[self._waves.count + axis] = size
        return coefficients

    def scales(self) -> np.ndarray | None:
        """(k / k_1)^-falloff, k_1 the longest wave; 1 for uniform forces."""
        waves = falling_off(self._waves.parts, self.falloff)
        return np.concatenate([*waves, np.ones(self.grid.dim)]).astype(self.dtype)

    def carry(self, coefficients: np.ndarray, before: Basis) -> np.ndarray:
        assert isinstance(before, LiftedForces)
        cut = before._waves.count
        return np.concatenate([self._waves.carry(coefficients[:cut], before._waves), coefficients[cut:]])
