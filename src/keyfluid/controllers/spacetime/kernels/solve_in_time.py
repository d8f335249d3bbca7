"""Tridiagonal solves along the steps of q[place, step], the steps innermost."""

from numba import prange

from keyfluid.kernels.compile import parallel_kernel
from keyfluid.kernels.lattice import at


@parallel_kernel
def solve_in_time(q, out, steps, carry, scale):
    """out[i] = solution of a symmetric tridiagonal system over the steps with right side q[i].

    The matrix is (1 + L) diag(1 / scale) (1 + L^T) with  L[k, k - 1] = -carry[k].
    """
    for i in prange(q.size // steps):
        o = i * steps
        last = q[at(o)]
        out[at(o)] = last
        for k in range(1, steps):
            last = q[at(o + k)] + carry[at(k)] * last
            out[at(o + k)] = last
        last = scale[at(steps - 1)] * last
        out[at(o + steps - 1)] = last
        for n in range(1, steps):
            k = steps - 1 - n
            last = scale[at(k)] * out[at(o + k)] + carry[at(k + 1)] * last
            out[at(o + k)] = last
