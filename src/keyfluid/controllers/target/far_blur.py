"""The blur of operators/blur.py with every value right to many digits, however small.

The transforms of that operator are right to 1e-16 of the largest value: far from a target, where its blur is
1e-80, they give noise, and the slope of its logarithm would point anywhere. Here the same matrix exp(t L), L the
second differences along an axis, is made of sums and products of non-negative numbers only, so nothing cancels:

    exp(t L) = (exp(-2 t / 2^k) exp((L + 2) t / 2^k))^(2^k)
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from keyfluid.boundary import Boundary
from keyfluid.grid import Grid

_TERMS = 20


def far_blur(grid: Grid, values: np.ndarray, deviation: float) -> np.ndarray:
    """Centred values blurred with a Gaussian of standard deviation `deviation` metres; float64."""
    time = 0.5 * (deviation / grid.spacing) ** 2
    result = np.asarray(values, np.float64)
    for axis, (n, side) in enumerate(zip(grid.cells, grid.boundary)):
        result = np.moveaxis(np.tensordot(_matrix(n, side, time), result, (1, axis)), 0, axis)
    return np.ascontiguousarray(result)


@lru_cache(maxsize=8)
def _matrix(n: int, side: Boundary, time: float) -> np.ndarray:
    """exp(time L) for n values on an axis with such sides."""
    hop = np.eye(n, k=1) + np.eye(n, k=-1)
    if side is Boundary.WALLS:
        hop[0, 0] += 1
        hop[-1, -1] += 1
    elif side is Boundary.PERIODIC:
        hop[0, -1] += 1
        hop[-1, 0] += 1
    halvings = max(0, int(np.ceil(np.log2(max(time, 1e-300)))) + 1)
    part = time / 2**halvings
    total, term = np.eye(n), np.eye(n)
    for k in range(1, _TERMS):
        term = (hop @ term) * (part / k)
        total += term
    total *= np.exp(-2 * part)
    for _ in range(halvings):
        total = total @ total
    return total
