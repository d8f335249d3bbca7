"""A metric that reaches far: how much smoke is in the wrong place, and how far from the right one. Centred fields.

Continuous  <e, (C + beta / L^2 (-laplacian)^-1) e>, L the longest side: with C = 1 the squares of an error e, and more
            of its long waves. A wave of k cycles per L counts 1 + beta / (2 pi k)^2. The second part is the H^-1 norm:
            its gradient is a potential whose slope e makes as charges do, so that smoke is drawn to where some is
            missing however far away that is; the squares alone draw only smoke that touches it.
Discrete    second differences with the grid's own sides, exact by transforms: walls mirror, periodic wraps, and
            beyond an open side there is no error. Without an open side the mean of e, mass that is missing
            or too much, does not count: no flow changes it. Bodies are not seen: it is a metric, not a flow.
C           nothing, a Gaussian blur or a pyramid (blur.py)
Adjoint     symmetric and, with beta >= 0, never below C.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators.base import Fields, SymmetricOperator
from keyfluid.operators.blur import Blur
from keyfluid.solvers.poisson import SpectralPoisson


class FarReach(SymmetricOperator):
    """forward(error) -> (error and its potential,); near: C, None for 1."""

    def __init__(self, grid: Grid, beta: float, near: Blur | None = None) -> None:
        if not (np.isfinite(beta) and beta >= 0):
            raise KeyfluidError(f"far reach: beta {beta} must be zero or positive")
        self.grid, self.beta, self.near = grid, beta, near

    def apply(self, *inputs: Field) -> Fields:
        (error,) = inputs
        error.require(self.grid, Kind.CENTRES, "far reach: error")
        potential, _ = _poisson(self.grid, error.dtype).solve(error.array)
        scale = error.dtype.type(self.beta / max(self.grid.cells) ** 2)
        close = error if self.near is None else self.near.apply(error)[0]
        return (close.like(close.data + scale * potential.reshape(-1)),)


@lru_cache(maxsize=8)
def _poisson(grid: Grid, dtype: np.dtype) -> SpectralPoisson:
    return SpectralPoisson(grid, dtype)
