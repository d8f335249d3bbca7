"""Inner loops of solvers/surface_coupling.py: the matrix that couples faces on bodies, and its solves.

Bits do not depend on the number of threads: every row of the factor and every right side has its own fixed order.
"""

from __future__ import annotations

import math

from numba import prange

from keyfluid.kernels.compile import parallel_kernel, row_function

PANEL = 32
TOGETHER = 4
"""Rows of the factor that are finished together, and right sides that share one pass over the factor."""


@row_function
def potential(green, walls, c0, c1, c2, d0, d1, d2):
    """Pressure in cell c of a unit source in cell d of a box: `green` of the source and of its images behind walls."""
    n0, n1, n2 = green.shape
    total = 0.0
    for i0 in range(1 + walls[0]):
        e0 = (c0 - d0 + n0 if i0 == 0 else c0 + d0 + 1) % n0
        for i1 in range(1 + walls[1]):
            e1 = (c1 - d1 + n1 if i1 == 0 else c1 + d1 + 1) % n1
            for i2 in range(1 + walls[2]):
                e2 = (c2 - d2 + n2 if i2 == 0 else c2 + d2 + 1) % n2
                total += green[e0, e1, e2]
    return total


@parallel_kernel
def couple(green, walls, low, high, out):
    """out[f, g], g >= f: value on face f of the projection of a unit flow through face g.

    low, high: the cells on both sides of every face.
    """
    count = low.shape[0]
    for f in prange(count):
        a0, a1, a2 = low[f, 0], low[f, 1], low[f, 2]
        b0, b1, b2 = high[f, 0], high[f, 1], high[f, 2]
        for g in range(f, count):
            c0, c1, c2 = low[g, 0], low[g, 1], low[g, 2]
            d0, d1, d2 = high[g, 0], high[g, 1], high[g, 2]
            near = potential(green, walls, a0, a1, a2, c0, c1, c2) + potential(green, walls, b0, b1, b2, d0, d1, d2)
            far = potential(green, walls, a0, a1, a2, d0, d1, d2) + potential(green, walls, b0, b1, b2, c0, c1, c2)
            out[f, g] = (1.0 if f == g else 0.0) - (near - far)


@parallel_kernel
def add_outer(share, scale, out):
    """out[f, g] += scale share[f] share[g], g >= f."""
    for f in prange(share.size):
        if share[f] != 0:
            for g in range(f, share.size):
                out[f, g] += scale * share[f] * share[g]


@parallel_kernel
def factorise(a):
    """Cholesky in place: U of a = U^T U on and above the diagonal, U^T below.

    A panel of rows is finished, then taken from all rows below it.
    """
    n = a.shape[0]
    for start in range(0, n, PANEL):
        end = min(start + PANEL, n)
        for i in range(start, end):
            for k in range(start, i):
                factor = a[k, i]
                for j in range(i, n):
                    a[i, j] -= factor * a[k, j]
            root = 1.0 / math.sqrt(a[i, i])
            for j in range(i, n):
                a[i, j] *= root
        for i in prange(end, n):
            for k in range(start, end):
                factor = a[k, i]
                for j in range(i, n):
                    a[i, j] -= factor * a[k, j]
    for i in prange(n):
        for k in range(i):
            a[i, k] = a[k, i]


@row_function
def substitute(u, x, r, i, first, last):
    """x[i] of TOGETHER right sides is final but for its pivot; take it from the values from `first` to `last`."""
    scale = 1.0 / u[i, i]
    y0, y1, y2, y3 = x[r, i] * scale, x[r + 1, i] * scale, x[r + 2, i] * scale, x[r + 3, i] * scale
    x[r, i], x[r + 1, i], x[r + 2, i], x[r + 3, i] = y0, y1, y2, y3
    for k in range(first, last):
        x[r, k] -= u[i, k] * y0
        x[r + 1, k] -= u[i, k] * y1
        x[r + 2, k] -= u[i, k] * y2
        x[r + 3, k] -= u[i, k] * y3


@parallel_kernel
def solve_factorised(u, x):
    """x[right side, value] = (U^T U)^-1 x in place; the number of right sides is a multiple of TOGETHER."""
    sides, n = x.shape
    for group in prange(sides // TOGETHER):
        r = group * TOGETHER
        for i in range(n):
            substitute(u, x, r, i, i + 1, n)
        for i in range(n - 1, -1, -1):
            substitute(u, x, r, i, 0, i)
