"""Divergence of a face field and subtraction of a pressure gradient, in two and three dimensions.

Both work in cell units (differences, not divided by dx). Faces on walls count as zero and become zero: that
makes the pair a symmetric projection. Pressure is zero in the ghost cell outside an open side.
`kinds[a]` is the side of axis a, by its code in keyfluid/boundary.py. A 2D field is treated as a 3D one with a single
layer along the first axis, which has no component of its own (`axes` = 2).
"""

from numba import prange

from keyfluid.boundary import PERIODIC_SIDE, WALL_SIDE
from keyfluid.kernels.compile import parallel_kernel, row_function
from keyfluid.kernels.lattice import at


@row_function
def planes(n, kind):
    """Number of face planes along an axis of n cells."""
    return n if kind == PERIODIC_SIDE else n + 1


@row_function
def upper(i, n, kind):
    """Index of the plane above cell i."""
    return 0 if kind == PERIODIC_SIDE and i == n - 1 else i + 1


@parallel_kernel
def divergence(v, cells, kinds, axes, out):
    """out = sum over axes of v above - v below, walls counting as zero."""
    n0, n1, n2 = cells[0], cells[1], cells[2]
    f0, f1, f2 = planes(n0, kinds[0]), planes(n1, kinds[1]), planes(n2, kinds[2])
    start1 = f0 * n1 * n2 if axes == 3 else 0
    start2 = start1 + n0 * f1 * n2
    for row in prange(n0 * n1):
        i = row // n1
        j = row - i * n1
        zero = v[0] - v[0]
        above = zero + (0 if kinds[1] == WALL_SIDE and j == n1 - 1 else 1)
        below = zero + (0 if kinds[1] == WALL_SIDE and j == 0 else 1)
        high = start1 + (i * f1 + upper(j, n1, kinds[1])) * n2
        low = start1 + (i * f1 + j) * n2
        o = row * n2
        for k in range(n2):
            out[at(o + k)] = above * v[at(high + k)] - below * v[at(low + k)]
        if axes == 3:
            above = zero + (0 if kinds[0] == WALL_SIDE and i == n0 - 1 else 1)
            below = zero + (0 if kinds[0] == WALL_SIDE and i == 0 else 1)
            high = (upper(i, n0, kinds[0]) * n1 + j) * n2
            low = row * n2
            for k in range(n2):
                out[at(o + k)] += above * v[at(high + k)] - below * v[at(low + k)]
        line = start2 + row * f2
        for k in range(1, n2 - 1):
            out[at(o + k)] += v[at(line + k + 1)] - v[at(line + k)]
        out[at(o)] += v[at(line + 1)]
        out[at(o + n2 - 1)] -= v[at(line + n2 - 1)]
        if kinds[2] != WALL_SIDE:
            out[at(o)] -= v[at(line)]
            out[at(o + n2 - 1)] += v[line + upper(n2 - 1, n2, kinds[2])]


@row_function
def subtract_row(v, p, face, kind, i, n, high, low, m, out):
    """One row of faces between cells i - 1 and i of an axis: out = v - (p above - p below), or 0 on a wall."""
    inside_high = i < n
    inside_low = i > 0
    if kind == WALL_SIDE and not (inside_high and inside_low):
        for k in range(m):
            out[at(face + k)] = 0
    elif inside_high and (inside_low or kind == PERIODIC_SIDE):
        for k in range(m):
            out[at(face + k)] = v[at(face + k)] - (p[at(high + k)] - p[at(low + k)])
    elif inside_high:
        for k in range(m):
            out[at(face + k)] = v[at(face + k)] - p[at(high + k)]
    else:
        for k in range(m):
            out[at(face + k)] = v[at(face + k)] + p[at(low + k)]


@parallel_kernel
def subtract_gradient(v, p, cells, kinds, axes, out):
    """out = v - gradient of p on faces the fluid passes; 0 on walls."""
    n0, n1, n2 = cells[0], cells[1], cells[2]
    f0, f1, f2 = planes(n0, kinds[0]), planes(n1, kinds[1]), planes(n2, kinds[2])
    start1 = f0 * n1 * n2 if axes == 3 else 0
    start2 = start1 + n0 * f1 * n2
    for i in prange(f0):
        if axes == 3:
            for j in range(n1):
                below = i - 1 if i > 0 else n0 - 1
                subtract_row(v, p, (i * n1 + j) * n2, kinds[0], i, n0, (i * n1 + j) * n2,
                             (below * n1 + j) * n2, n2, out)  # fmt: skip
        if i < n0:
            for j in range(f1):
                below = j - 1 if j > 0 else n1 - 1
                subtract_row(v, p, start1 + (i * f1 + j) * n2, kinds[1], j, n1, (i * n1 + j) * n2,
                             (i * n1 + below) * n2, n2, out)  # fmt: skip
            for j in range(n1):
                o = (i * n1 + j) * n2
                line = start2 + (i * n1 + j) * f2
                for k in range(1, n2):
                    out[at(line + k)] = v[at(line + k)] - (p[at(o + k)] - p[at(o + k - 1)])
                if kinds[2] == WALL_SIDE:
                    out[at(line)] = 0
                    out[at(line + n2)] = 0
                elif kinds[2] == PERIODIC_SIDE:
                    out[at(line)] = v[at(line)] - (p[at(o)] - p[at(o + n2 - 1)])
                else:
                    out[at(line)] = v[at(line)] - p[at(o)]
                    out[at(line + n2)] = v[at(line + n2)] + p[at(o + n2 - 1)]
