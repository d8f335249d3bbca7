"""The blur of operators/blur.py with every value right to many digits, however small.

The transforms of that operator are right to 1e-16 of the largest value: far from a target, where its blur is
1e-80, they give noise, and the slope of its logarithm would point anywhere. Here the same matrix exp(t L), L the
second differences along an axis, is written out: on an endless axis its entries are

    exp(t L)[i, j] = exp(-2 t) I_|i - j|(2 t)            I: modified Bessel functions

and sides are mirrors: walls add the images of a value, open sides (0 beyond them) subtract every other one.
"""

from __future__ import annotations

import math
from functools import lru_cache

import numpy as np

from keyfluid.boundary import Boundary
from keyfluid.grid import Grid

LEAST = 1e-250
"""Smaller values are 0: products of them would leave the range of float64."""


def far_blur(grid: Grid, values: np.ndarray, deviation: float) -> np.ndarray:
    """Centred values blurred with a Gaussian of standard deviation `deviation` metres; float64."""
    time = 0.5 * (deviation / grid.spacing) ** 2
    result = np.asarray(values, np.float64)
    for axis, (n, side) in enumerate(zip(grid.cells, grid.boundary)):
        lines = np.moveaxis(result, axis, 0)
        # einsum sums in one order on any machine; a product of matrices would not.
        blurred = np.einsum("ij,jk->ik", _matrix(n, side, time), lines.reshape(n, -1))
        result = np.moveaxis(np.where(blurred < LEAST, 0.0, blurred).reshape(lines.shape), 0, axis)
    return np.ascontiguousarray(result)


@lru_cache(maxsize=32)
def _matrix(n: int, side: Boundary, time: float) -> np.ndarray:
    """exp(time L) for n values on an axis with such sides."""
    from scipy.special import ive

    period = {Boundary.WALLS: 2 * n, Boundary.PERIODIC: n, Boundary.OPEN: 2 * n + 2}[side]
    # Images further away than 9 standard deviations, sqrt(2 time) each, are below rounding.
    reach = math.ceil(9 * math.sqrt(2 * time) / period) + 1
    images = np.arange(-reach, reach + 1)
    index = np.arange(n)

    def line(offsets: np.ndarray) -> np.ndarray:
        return ive(np.abs(offsets[:, None] + images * period), 2 * time).sum(1)

    matrix = line(np.arange(1 - n, n))[index[:, None] - index + n - 1]
    if side is not Boundary.PERIODIC:
        first, sign = (1, 1.0) if side is Boundary.WALLS else (2, -1.0)
        matrix = matrix + sign * line(np.arange(2 * n - 1) + first)[index[:, None] + index]
    return np.where(matrix < LEAST, 0.0, matrix)
