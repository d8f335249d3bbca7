"""Long vectors: inner products and sums that no thread count changes.

A vector is cut into slabs whose number depends on its length alone. Inner products are summed in float64, inside a
slab in eight interleaved sums, over slabs from first to last.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from keyfluid.kernels.compile import parallel_kernel

SLAB = 1 << 15


@parallel_kernel
def _slab_products(a, b, sums):
    for s in prange(sums.size):
        first = s * SLAB
        last = min(first + SLAB, a.size)
        s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
        whole = first + (last - first) // 8 * 8
        for i in range(first, whole, 8):
            s0 += np.float64(a[i]) * np.float64(b[i])
            s1 += np.float64(a[i + 1]) * np.float64(b[i + 1])
            s2 += np.float64(a[i + 2]) * np.float64(b[i + 2])
            s3 += np.float64(a[i + 3]) * np.float64(b[i + 3])
            s4 += np.float64(a[i + 4]) * np.float64(b[i + 4])
            s5 += np.float64(a[i + 5]) * np.float64(b[i + 5])
            s6 += np.float64(a[i + 6]) * np.float64(b[i + 6])
            s7 += np.float64(a[i + 7]) * np.float64(b[i + 7])
        rest = 0.0
        for i in range(whole, last):
            rest += np.float64(a[i]) * np.float64(b[i])
        sums[s] = ((s0 + s4) + (s1 + s5)) + ((s2 + s6) + (s3 + s7)) + rest


@parallel_kernel
def _slab_add(factor, a, b):
    slabs = (a.size + SLAB - 1) // SLAB
    for s in prange(slabs):
        for i in range(s * SLAB, min((s + 1) * SLAB, a.size)):
            b[i] += factor * a[i]


def dot(a: np.ndarray, b: np.ndarray) -> float:
    """Sum of a[i] b[i] of two flat vectors of one type, in float64."""
    sums = np.empty((a.size + SLAB - 1) // SLAB)
    _slab_products(a, b, sums)
    return float(np.sum(sums))


def add_scaled(factor: float, a: np.ndarray, b: np.ndarray) -> None:
    """b += factor a, in place; both flat and of one type."""
    _slab_add(b.dtype.type(factor), a, b)
