"""One term of the blur around bodies (operators/blur_around.py).

A field is kept as rows along its last axis, x[row, 1 + k], with a ghost at each end and a last row of zeros, to which
rows on walls point for the neighbours they lack. Values in bodies are zero, so a sum over neighbours needs no mask.
"""

from __future__ import annotations

from numba import prange

from keyfluid.kernels.compile import parallel_kernel


@parallel_kernel
def next_term(term, last, total, coefficient, own, across, beside, wrap):
    """last = own term + across (sum of term over neighbours) - last;  total += coefficient last.

    beside[row]: the four rows beside it; wrap: the last axis is periodic, so ghosts repeat the other end.
    """
    rows, width = beside.shape[0], term.shape[1]
    end = width - 1
    for row in prange(rows):
        a, b, c, d = beside[row, 0], beside[row, 1], beside[row, 2], beside[row, 3]
        for k in range(1, end):
            around = (term[a, k] + term[b, k]) + (term[c, k] + term[d, k]) + (term[row, k - 1] + term[row, k + 1])
            value = own[row, k] * term[row, k] + across[row, k] * around - last[row, k]
            last[row, k] = value
            total[row, k] += coefficient * value
        if wrap:
            last[row, 0] = last[row, end - 1]
            last[row, end] = last[row, 1]
