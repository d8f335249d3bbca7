"""A basis of force fields: coefficients to a force on all faces, and back by the transpose."""

from __future__ import annotations

from typing import Protocol

import numpy as np

from keyfluid.fields import Field
from keyfluid.grid import Grid


class Basis(Protocol):
    """f = B c: linear in its coefficients, which are numbers in m/s^2 (or, integrated in time, in m/s)."""

    @property
    def grid(self) -> Grid: ...

    @property
    def dtype(self) -> np.dtype: ...

    @property
    def count(self) -> int:
        """How many coefficients one force field has."""
        ...

    def force(self, coefficients: np.ndarray) -> Field:
        """B c, on faces."""
        ...

    def pull(self, force_bar: Field) -> np.ndarray:
        """B^T f_bar."""
        ...

    def scales(self) -> np.ndarray | None:
        """Expected relative size of each coefficient, or None if all are alike."""
        ...

    def carry(self, coefficients: np.ndarray, before: Basis) -> np.ndarray:
        """Coefficients that give (nearly) the same force as those of `before`, a coarser basis of the same kind."""
        ...
