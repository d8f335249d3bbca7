"""Differences between neighbours along one axis, their transpose, and the squared gradient's derivative.

A lattice is a flat array with its values beginning at an offset; `m` are its three sizes, the last along rows; 2D is
one layer of 3D. A difference has one value less than its axis, or as many where the axis is periodic.
"""

from numba import prange

from keyfluid.kernels.compile import parallel_kernel, row_function
from keyfluid.kernels.lattice import at


@row_function
def _start(i, j, m, axis, x):
    """Offset of row (i, j) with its index along `axis`, 0 or 1, replaced by x."""
    return (x * m[1] + j) * m[2] if axis == 0 else (i * m[1] + x) * m[2]


@parallel_kernel
def add_difference(q, q_start, n, axis, factor, out, out_start, m):
    """out += factor (q[+1] - q) along an axis; n: sizes of q, m: of the difference."""
    length = m[2]
    for row in prange(m[0] * m[1]):
        i = row // m[1]
        j = row - i * m[1]
        o = out_start + row * length
        if axis == 2:
            here = q_start + (i * n[1] + j) * n[2]
            last = min(length, n[2] - 1)
            for k in range(last):
                out[at(o + k)] += factor * (q[at(here + k + 1)] - q[at(here + k)])
            for k in range(last, length):
                out[at(o + k)] += factor * (q[at(here)] - q[at(here + k)])
        else:
            x = i if axis == 0 else j
            below = q_start + _start(i, j, n, axis, x)
            above = q_start + _start(i, j, n, axis, x + 1 if x + 1 < n[axis] else 0)
            for k in range(length):
                out[at(o + k)] += factor * (q[at(above + k)] - q[at(below + k)])


@parallel_kernel
def add_difference_transposed(g, g_start, m, axis, factor, out, out_start, n):
    """out += factor D^T g, D the difference of `add_difference`; m: sizes of g, n: of out."""
    length = n[2]
    periodic = m[axis] == n[axis]
    for row in prange(n[0] * n[1]):
        nothing = factor - factor
        i = row // n[1]
        j = row - i * n[1]
        o = out_start + row * length
        if axis == 2:
            here = g_start + (i * m[1] + j) * m[2]
            for k in range(1, m[2]):
                out[at(o + k)] += factor * (g[at(here + k - 1)] - g[at(here + k)])
            end = g[at(here + m[2] - 1)]
            out[at(o)] += factor * ((end if periodic else nothing) - g[at(here)])
            if not periodic:
                out[at(o + m[2])] += factor * end
        else:
            x = i if axis == 0 else j
            last = m[axis] - 1
            low = factor if periodic or x > 0 else nothing
            high = factor if x <= last else nothing
            below = g_start + _start(i, j, m, axis, x - 1 if x > 0 else last)
            above = g_start + _start(i, j, m, axis, min(x, last))
            for k in range(length):
                out[at(o + k)] += low * g[at(below + k)] - high * g[at(above + k)]


@parallel_kernel
def stiffness(q, start, m, periodic, size, slope, out):
    """out = size q + slope sum over axes of D^T D q, for the values of a lattice that begin at `start`."""
    n0, n1, n2 = m[0], m[1], m[2]
    for row in prange(n0 * n1):
        nothing = slope - slope
        i = row // n1
        j = row - i * n1
        o = start + row * n2
        a_low = slope if i > 0 or periodic[0] else nothing
        a_high = slope if i < n0 - 1 or periodic[0] else nothing
        b_low = slope if j > 0 or periodic[1] else nothing
        b_high = slope if j < n1 - 1 or periodic[1] else nothing
        a_below = start + _start(i, j, m, 0, i - 1 if i > 0 else n0 - 1)
        a_above = start + _start(i, j, m, 0, i + 1 if i < n0 - 1 else 0)
        b_below = start + _start(i, j, m, 1, j - 1 if j > 0 else n1 - 1)
        b_above = start + _start(i, j, m, 1, j + 1 if j < n1 - 1 else 0)
        for k in range(n2):
            here = q[at(o + k)]
            out[at(o + k)] = (
                size * here
                + a_low * (here - q[at(a_below + k)])
                + a_high * (here - q[at(a_above + k)])
                + b_low * (here - q[at(b_below + k)])
                + b_high * (here - q[at(b_above + k)])
            )
        for k in range(1, n2):
            out[at(o + k)] += slope * (q[at(o + k)] - q[at(o + k - 1)])
        for k in range(n2 - 1):
            out[at(o + k)] += slope * (q[at(o + k)] - q[at(o + k + 1)])
        if periodic[2]:
            step = slope * (q[at(o + n2 - 1)] - q[at(o)])
            out[at(o + n2 - 1)] += step
            out[at(o)] -= step
