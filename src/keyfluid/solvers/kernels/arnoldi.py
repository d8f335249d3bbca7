"""One step of Arnoldi's method: a vector made orthogonal to a basis, in one pass over memory per basis vector.

Serial, so the order of every sum is fixed; sums are in float64, in four interleaved parts.
"""

from __future__ import annotations

import numpy as np

from keyfluid.kernels.compile import serial_kernel


@serial_kernel
def orthogonalise(basis, count, new, column):
    """Modified Gram-Schmidt: new -= q <q, new> for the first `count` rows q of `basis`, one after the other.

    column[i] becomes <q_i, new>; column[count] the norm of what is left. The inner product with the next row is summed
    while the row before it is subtracted.
    """
    n = new.size
    whole = n // 4 * 4
    share = 0.0
    for row in range(-1, count):
        s0 = s1 = s2 = s3 = 0.0
        step = new.dtype.type(share)
        q = basis[max(row, 0)]
        following = basis[row + 1] if row + 1 < count else new
        for i in range(0, whole, 4):
            if row >= 0:
                new[i] -= step * q[i]
                new[i + 1] -= step * q[i + 1]
                new[i + 2] -= step * q[i + 2]
                new[i + 3] -= step * q[i + 3]
            s0 += np.float64(new[i]) * np.float64(following[i])
            s1 += np.float64(new[i + 1]) * np.float64(following[i + 1])
            s2 += np.float64(new[i + 2]) * np.float64(following[i + 2])
            s3 += np.float64(new[i + 3]) * np.float64(following[i + 3])
        for i in range(whole, n):
            if row >= 0:
                new[i] -= step * q[i]
            s0 += np.float64(new[i]) * np.float64(following[i])
        share = (s0 + s1) + (s2 + s3)
        column[row + 1] = share
    column[count] = np.sqrt(column[count])
