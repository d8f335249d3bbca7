"""A small matrix along one axis of an array, added: out[b, k, j] += sum over i of matrix[k, i] values[b, i, j].

Work is shared out in pieces of WIDTH values along j, or of ROWS values of b along the last axis; each sum runs over i
in order, so results do not depend on the number of threads. Four rows and four columns of the matrix are applied at
once, on slices, whose indices can't be negative: at 256^2 and 32 waves that took 1.1 ns per value, with indices into
the whole array 6.8. Arrays are passed flat.
"""

from __future__ import annotations

from numba import prange

from keyfluid.kernels.compile import parallel_kernel

WIDTH = 256
ROWS = 64


@parallel_kernel
def contract(matrix, values, before, n, after, out):
    """matrix: (m, n), row by row."""
    m = out.size // (before * after)
    pieces = (after + WIDTH - 1) // WIDTH
    rows, columns = m // 4 * 4, n // 4 * 4
    for task in prange(before * pieces):
        b = task // pieces
        first = (task - b * pieces) * WIDTH
        width = min(WIDTH, after - first)
        for k in range(0, rows, 4):
            r = (b * m + k) * after + first
            o0, o1 = out[r : r + width], out[r + after : r + after + width]
            o2, o3 = out[r + 2 * after : r + 2 * after + width], out[r + 3 * after : r + 3 * after + width]
            for i in range(0, columns, 4):
                s = (b * n + i) * after + first
                x0, x1 = values[s : s + width], values[s + after : s + after + width]
                x2, x3 = values[s + 2 * after : s + 2 * after + width], values[s + 3 * after : s + 3 * after + width]
                q0 = k * n + i
                q1, q2, q3 = q0 + n, q0 + 2 * n, q0 + 3 * n
                a00, a01, a02, a03 = matrix[q0], matrix[q0 + 1], matrix[q0 + 2], matrix[q0 + 3]
                a10, a11, a12, a13 = matrix[q1], matrix[q1 + 1], matrix[q1 + 2], matrix[q1 + 3]
                a20, a21, a22, a23 = matrix[q2], matrix[q2 + 1], matrix[q2 + 2], matrix[q2 + 3]
                a30, a31, a32, a33 = matrix[q3], matrix[q3 + 1], matrix[q3 + 2], matrix[q3 + 3]
                for j in range(width):
                    v0, v1, v2, v3 = x0[j], x1[j], x2[j], x3[j]
                    o0[j] += (a00 * v0 + a01 * v1) + (a02 * v2 + a03 * v3)
                    o1[j] += (a10 * v0 + a11 * v1) + (a12 * v2 + a13 * v3)
                    o2[j] += (a20 * v0 + a21 * v1) + (a22 * v2 + a23 * v3)
                    o3[j] += (a30 * v0 + a31 * v1) + (a32 * v2 + a33 * v3)
        for k in range(m):
            r = (b * m + k) * after + first
            row = out[r : r + width]
            for i in range(columns if k < rows else 0, n):
                a = matrix[k * n + i]
                s = (b * n + i) * after + first
                x = values[s : s + width]
                for j in range(width):
                    row[j] += a * x[j]


@parallel_kernel
def contract_last(transposed, values, before, n, out):
    """The same for the last axis (after = 1); transposed: (n, m), row by row."""
    m = out.size // before
    pieces = (before + ROWS - 1) // ROWS
    for piece in prange(pieces):
        for b in range(piece * ROWS, min((piece + 1) * ROWS, before)):
            row = out[b * m : (b + 1) * m]
            for i in range(n):
                a = values[b * n + i]
                line = transposed[i * m : (i + 1) * m]
                for k in range(m):
                    row[k] += line[k] * a
