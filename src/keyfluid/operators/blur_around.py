"""Gaussian blur and the Gaussian pyramid around bodies: nothing passes through them, so distances go around.

Continuous  the heat equation run for a time sigma^2 / 2, no heat entering bodies  [Pan & Manocha 2017, section 6:
            "Euclidean distances should be replaced with geodesic distances"]
Discrete    sum over the widths of exp(power sigma^2 L / 2), L the second differences between fluid cells; the grid's
            own sides as in blur.py, which it equals where there are no bodies. Bodies are empty before and after.
            With B = 1 + L / h, whose spectrum lies within [-1, 1] if h >= 2 dim, and z = h power sigma^2 / 2,
                exp(power sigma^2 L / 2) = exp(-z) sum over n of (I_n(z) - I_(n+2)(z)) U_n(B)
            in Chebyshev polynomials of the second kind, U_(n+1) = 2 B U_n - U_(n-1), and Bessel functions. All factors
            are positive and |U_n| <= n + 1, so the sum ends where the rest is below rounding. All widths share the
            terms, one pass each: of the pyramid up to a quarter of the box 192 at 64^2 and 271 at 64^3, in 0.7 and
            40 ms on one thread.
Adjoint     symmetric.
"""

from __future__ import annotations

import numpy as np
from scipy.special import ive

from keyfluid.boundary import Boundary
from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators.base import Fields, SymmetricOperator
from keyfluid.operators.kernels import blur_around as kernels
from keyfluid.solids import Solids
from keyfluid.threads import one_thread_below

SERIAL_CELLS = 1 << 14

REACH = {2: 4.0, 3: 8.0}
"""h by the number of axes: a power of two, so that a constant stays one to the last bit."""


class BlurAround(SymmetricOperator):
    """forward(density) -> (density,): the sum of blurs of widths `sigmas` (metres), each taken `power` times."""

    def __init__(
        self,
        grid: Grid,
        solids: Solids,
        sigmas: tuple[float, ...],
        power: int = 1,
        dtype: np.typing.DTypeLike = np.float32,
    ) -> None:
        if not all(np.isfinite(sigma) and sigma >= 0 for sigma in sigmas) or not sigmas:
            raise KeyfluidError(f"blur: widths {sigmas} must be zero or positive, in metres")
        self.grid, self.dtype = grid, np.dtype(dtype)
        variances = power * (np.array(sigmas) / grid.spacing) ** 2
        reach = REACH[grid.dim]
        rounding = 0.1 * float(np.finfo(self.dtype).eps)
        self.coefficients = _coefficients(0.5 * reach * variances, rounding).astype(self.dtype)
        fluid = solids.fluid
        self._fluid = fluid
        self._own = self._rows(np.where(fluid, 2 - (2 / reach) * _neighbours(grid, fluid), 0))
        self._across = self._rows((2 / reach) * fluid)
        self._beside = _rows_beside(grid)

    def apply(self, *inputs: Field) -> Fields:
        (q,) = inputs
        q.require(self.grid, Kind.CENTRES, "blur: density")
        wrap = self.grid.is_periodic(self.grid.dim - 1)
        term = self._rows(np.where(self._fluid, q.array, 0))
        if wrap:
            term[:, 0], term[:, -1] = term[:, -2], term[:, 1]
        last, total = np.zeros_like(term), self.coefficients[0] * term
        with one_thread_below(SERIAL_CELLS, self.grid.count):
            for coefficient in self.coefficients[1:]:
                kernels.next_term(term, last, total, coefficient, self._own, self._across, self._beside, wrap)
                term, last = last, term
        return (q.like(np.ascontiguousarray(total[:-1, 1:-1]).reshape(-1).astype(q.dtype, copy=False)),)

    def _rows(self, values: np.ndarray) -> np.ndarray:
        """A field as the kernel keeps it, ghosts and the last row zero."""
        rows = values.reshape(-1, self.grid.cells[-1])
        out = np.zeros((rows.shape[0] + 1, rows.shape[1] + 2), self.dtype)
        out[:-1, 1:-1] = rows
        return out


def _coefficients(z: np.ndarray, least: float) -> np.ndarray:
    """Sum over z of exp(-z) (I_n - I_(n+2)), up to where the rest is below `least` of the whole for all fields."""
    n = np.arange(20 + int(10 * np.sqrt(z.max())))
    found = np.sum(ive(n[:, None], z) - ive(n[:, None] + 2, z), axis=1)
    rest = np.cumsum(((n + 1) * found)[::-1])[::-1]
    return found[rest > least * len(z)]


def _neighbours(grid: Grid, fluid: np.ndarray) -> np.ndarray:
    """Number of neighbours of a cell that let its smoke pass; outside open sides there is clean air."""
    count = np.zeros(grid.cells)
    for axis, side in enumerate(grid.boundary):
        pad = [(1, 1) if a == axis else (0, 0) for a in range(grid.dim)]
        if side is Boundary.PERIODIC:
            padded = np.pad(fluid, pad, mode="wrap")
        else:
            padded = np.pad(fluid, pad, constant_values=side is Boundary.OPEN)
        along = (slice(None),) * axis
        count += padded[(*along, slice(None, -2))].astype(float) + padded[(*along, slice(2, None))]
    return count


def _rows_beside(grid: Grid) -> np.ndarray:
    """The rows beside every row along the last axis; those that do not exist are the row of zeros after the last."""
    shape = grid.cells[:-1]
    rows = np.arange(int(np.prod(shape))).reshape(shape)
    beside = np.full((rows.size, 4), rows.size, np.int64)
    for axis in range(grid.dim - 1):
        for way in (0, 1):
            moved = np.roll(rows, 1 - 2 * way, axis)
            if not grid.is_periodic(axis):
                moved[(slice(None),) * axis + ((0, -1)[way],)] = rows.size
            beside[:, 2 * axis + way] = moved.reshape(-1)
    return beside
