"""Gaussian blur and the Gaussian pyramid, of centred fields.

Continuous  the heat equation run for a time sigma^2 / 2 convolves with a Gaussian of standard deviation sigma
Discrete    exp(sigma^2 L / 2), L the second differences with the grid's own sides (walls mirror, periodic wraps,
            open: nothing outside), exact by transforms. So the kernel has full support, is never negative, keeps
            mass between walls, and two blurs compose as sqrt(sigma1^2 + sigma2^2). Below one cell it is the
            lattice's own heat kernel, not a sampled Gaussian.
Pyramid     C = sum_k G_k^T G_k, sigma_k = sigma_0 2^k: the metric that gives a distant target a gradient
                                                     [Pan & Manocha 2017, eq. 7 with C_i; weights c_i apart]
Adjoint     both are symmetric.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators.base import Fields, SymmetricOperator
from keyfluid.solvers.poisson import CENTRE_AXES
from keyfluid.solvers.transforms import Axis, diagonal, eigenvalues


class Blur(SymmetricOperator):
    """forward(density) -> (density,) with the sum of squared-exponential symbols given by `sigmas` (metres).

    One sigma is a Gaussian blur; see `gaussian_blur` and `gaussian_pyramid`.
    """

    def __init__(self, grid: Grid, sigmas: tuple[float, ...], power: int = 1) -> None:
        if not all(np.isfinite(sigma) and sigma >= 0 for sigma in sigmas) or not sigmas:
            raise KeyfluidError(f"blur: widths {sigmas} must be zero or positive, in metres")
        self.grid = grid
        self.sigmas = sigmas
        self.power = power
        self.axes = tuple(CENTRE_AXES[side] for side in grid.boundary)

    def apply(self, *inputs: Field) -> Fields:
        (q,) = inputs
        q.require(self.grid, Kind.CENTRES, "blur: density")
        scale = _symbol(self.grid, self.sigmas, self.power, q.dtype)
        return (q.like(diagonal(q.array, self.axes, scale).reshape(-1)),)


@lru_cache(maxsize=16)
def _symbol(grid: Grid, sigmas: tuple[float, ...], power: int, dtype: np.dtype) -> np.ndarray:
    """Eigenvalues of the blur, cut where they fall below rounding; `diagonal` takes the rest as zero."""
    axes = tuple(CENTRE_AXES[side] for side in grid.boundary)
    values = eigenvalues(grid.cells, axes)
    total = np.asarray(sum(np.exp(0.5 * power * (sigma / grid.spacing) ** 2 * values) for sigma in sigmas))
    least = 0.1 * np.finfo(dtype).eps * total.max()
    for a, axis in enumerate(axes):
        if axis is not Axis.PERIODIC:
            others = tuple(b for b in range(grid.dim) if b != a)
            total = np.take(total, range(np.count_nonzero(total.max(others) > least)), a)
    return np.ascontiguousarray(total, dtype)


def gaussian_blur(grid: Grid, sigma: float) -> Blur:
    """Blur with a Gaussian of standard deviation sigma, in metres."""
    return Blur(grid, (float(sigma),))


def gaussian_pyramid(grid: Grid, sigma: float, levels: int) -> Blur:
    """C = sum_k G_k^T G_k for k < levels, the first of width sigma (metres), each next twice as wide."""
    if levels < 1:
        raise KeyfluidError(f"pyramid: {levels} levels; it needs at least one")
    return Blur(grid, tuple(float(sigma) * 2.0**k for k in range(levels)), power=2)
