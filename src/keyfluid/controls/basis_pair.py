"""Two bases at once: the coefficients of the first, then those of the second."""

from __future__ import annotations

import numpy as np

from keyfluid.controls.basis import Basis
from keyfluid.fields import Field
from keyfluid.grid import Grid


class BasisPair:
    """f = B_1 c_1 + B_2 c_2, such as winds and vortices."""

    def __init__(self, first: Basis, second: Basis) -> None:
        self.first, self.second = first, second
        self.grid: Grid = first.grid
        self.dtype = first.dtype

    @property
    def count(self) -> int:
        return self.first.count + self.second.count

    def force(self, coefficients: np.ndarray) -> Field:
        cut = self.first.count
        return self.first.force(coefficients[:cut]) + self.second.force(coefficients[cut:])

    def pull(self, force_bar: Field) -> np.ndarray:
        return np.concatenate([self.first.pull(force_bar), self.second.pull(force_bar)])

    def scales(self) -> np.ndarray | None:
        return None

    def carry(self, coefficients: np.ndarray, before: Basis) -> np.ndarray:
        assert isinstance(before, BasisPair)
        cut = before.first.count
        parts = (
            self.first.carry(coefficients[:cut], before.first),
            self.second.carry(coefficients[cut:], before.second),
        )
        return np.concatenate(parts)
