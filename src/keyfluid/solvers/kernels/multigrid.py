"""Inner loops of the multigrid-preconditioned conjugate gradients (solvers/multigrid.py).

Every lattice array has the shape (n0, n1, n2 + 2): the last axis carries one ghost at each end that
repeats the other end, so the inner loop runs over k = 1..n2 without branches. The rows (i, j) wrap by
index. A link that does not exist has weight 0, so walls need no code of their own.

    (A x)_c = shift_c x_c + sum over the six neighbours w (x_c - x_nb)

is evaluated in differences, which keeps float32 residuals of smooth fields accurate. All sweeps read
one array and write another: cells of one colour that touch across the seam of a periodic axis of odd
length see each other's old value, whatever the thread count. Dot products give one partial sum per row.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from keyfluid.kernels.compile import parallel_kernel, row_function, serial_kernel


@row_function
def _dot(a, b, i, j, last):
    """Dot product of two rows in float64, in eight interleaved sums: a fixed order that pipelines well."""
    s0 = s1 = s2 = s3 = s4 = s5 = s6 = s7 = 0.0
    whole = 1 + (last - 1) // 8 * 8
    for k in range(1, whole, 8):
        s0 += np.float64(a[i, j, k]) * np.float64(b[i, j, k])
        s1 += np.float64(a[i, j, k + 1]) * np.float64(b[i, j, k + 1])
        s2 += np.float64(a[i, j, k + 2]) * np.float64(b[i, j, k + 2])
        s3 += np.float64(a[i, j, k + 3]) * np.float64(b[i, j, k + 3])
        s4 += np.float64(a[i, j, k + 4]) * np.float64(b[i, j, k + 4])
        s5 += np.float64(a[i, j, k + 5]) * np.float64(b[i, j, k + 5])
        s6 += np.float64(a[i, j, k + 6]) * np.float64(b[i, j, k + 6])
        s7 += np.float64(a[i, j, k + 7]) * np.float64(b[i, j, k + 7])
    for k in range(whole, last):
        s0 += np.float64(a[i, j, k]) * np.float64(b[i, j, k])
    return ((s0 + s1) + (s2 + s3)) + ((s4 + s5) + (s6 + s7))


@parallel_kernel
def advance_direction(p_new, q, z, p, beta, partial, shift, wx, wy, wz):
    """p_new = z + beta p;  q = A p_new;  partial[row] = p_new . q."""
    n0, n1, width = z.shape
    last = width - 1
    for row in prange(n0 * n1):
        i = row // n1
        j = row - i * n1
        up, down = (i + 1) % n0, (i - 1) % n0
        right, left = (j + 1) % n1, (j - 1) % n1
        for k in range(1, last):
            c = z[i, j, k] + beta * p[i, j, k]
            a = shift[i, j, k] * c
            a += wx[i, j, k] * (c - (z[up, j, k] + beta * p[up, j, k]))
            a += wx[down, j, k] * (c - (z[down, j, k] + beta * p[down, j, k]))
            a += wy[i, j, k] * (c - (z[i, right, k] + beta * p[i, right, k]))
            a += wy[i, left, k] * (c - (z[i, left, k] + beta * p[i, left, k]))
            a += wz[i, j, k] * (c - (z[i, j, k + 1] + beta * p[i, j, k + 1]))
            a += wz[i, j, k - 1] * (c - (z[i, j, k - 1] + beta * p[i, j, k - 1]))
            p_new[i, j, k] = c
            q[i, j, k] = a
        p_new[i, j, 0] = p_new[i, j, last - 1]
        p_new[i, j, last] = p_new[i, j, 1]
        partial[row] = _dot(p_new, q, i, j, last)


@parallel_kernel
def advance_solution(x, r, p, q, alpha, partial):
    """x += alpha p;  r -= alpha q;  partial[row] = r . r."""
    n0, n1, width = x.shape
    last = width - 1
    for row in prange(n0 * n1):
        i = row // n1
        j = row - i * n1
        for k in range(1, last):
            x[i, j, k] += alpha * p[i, j, k]
            r[i, j, k] -= alpha * q[i, j, k]
        r[i, j, 0] = r[i, j, last - 1]
        r[i, j, last] = r[i, j, 1]
        partial[row] = _dot(r, r, i, j, last)


@parallel_kernel
def smooth_from_zero(x, b, inverse, red, wx, wy, wz):
    """One red, then one black Gauss-Seidel half sweep from x = 0, in a single pass.

    red[s, k] is 1 where a cell of a row with (i + j) % 2 = s is red, else 0.
    """
    n0, n1, width = b.shape
    last = width - 1
    for row in prange(n0 * n1):
        i = row // n1
        j = row - i * n1
        up, down = (i + 1) % n0, (i - 1) % n0
        right, left = (j + 1) % n1, (j - 1) % n1
        here = red[(i + j) % 2]
        red_up, red_down = red[(up + j) % 2], red[(down + j) % 2]
        red_right, red_left = red[(i + right) % 2], red[(i + left) % 2]
        for k in range(1, last):
            a = wx[i, j, k] * (red_up[k] * inverse[up, j, k] * b[up, j, k])
            a += wx[down, j, k] * (red_down[k] * inverse[down, j, k] * b[down, j, k])
            a += wy[i, j, k] * (red_right[k] * inverse[i, right, k] * b[i, right, k])
            a += wy[i, left, k] * (red_left[k] * inverse[i, left, k] * b[i, left, k])
            a += wz[i, j, k] * (here[k + 1] * inverse[i, j, k + 1] * b[i, j, k + 1])
            a += wz[i, j, k - 1] * (here[k - 1] * inverse[i, j, k - 1] * b[i, j, k - 1])
            x[i, j, k] = inverse[i, j, k] * (b[i, j, k] + a - here[k] * a)
        x[i, j, 0] = x[i, j, last - 1]
        x[i, j, last] = x[i, j, 1]


@parallel_kernel
def relax(out, x, b, scale, chosen, keep, partial, shift, wx, wy, wz):
    """out = keep x + chosen scale (b - A x);  partial[row] = b . out, unless `partial` is empty.

    With keep = 1, scale = 1/diagonal and `chosen` one colour: a Gauss-Seidel half sweep. With keep = 0
    and everything chosen: a scaled residual.
    """
    n0, n1, width = x.shape
    last = width - 1
    for row in prange(n0 * n1):
        i = row // n1
        j = row - i * n1
        up, down = (i + 1) % n0, (i - 1) % n0
        right, left = (j + 1) % n1, (j - 1) % n1
        here = chosen[(i + j) % 2]
        for k in range(1, last):
            c = x[i, j, k]
            a = b[i, j, k] - shift[i, j, k] * c
            a -= wx[i, j, k] * (c - x[up, j, k])
            a -= wx[down, j, k] * (c - x[down, j, k])
            a -= wy[i, j, k] * (c - x[i, right, k])
            a -= wy[i, left, k] * (c - x[i, left, k])
            a -= wz[i, j, k] * (c - x[i, j, k + 1])
            a -= wz[i, j, k - 1] * (c - x[i, j, k - 1])
            out[i, j, k] = keep * c + here[k] * scale[i, j, k] * a
        out[i, j, 0] = out[i, j, last - 1]
        out[i, j, last] = out[i, j, 1]
        if partial.size > 0:
            partial[row] = _dot(b, out, i, j, last)


@parallel_kernel
def restrict(coarse, fine, wrap, rows0, weights0, rows1, weights1):
    """coarse = T^T fine, T the cell-centred trilinear interpolation (3/4, 1/4 along each axis).

    rows0[I], weights0[I]: the up to four fine planes that read coarse plane I; rows1, weights1: the same
    along the second axis. wrap: the last axis is periodic.
    """
    c0, c1, coarse_width = coarse.shape
    width = fine.shape[2]
    m = coarse_width - 2
    n = width - 2
    heavy = fine.dtype.type(0.75)
    light = fine.dtype.type(0.25)
    for row in prange(c0 * c1):
        i = row // c1
        j = row - i * c1
        line = np.zeros(2 * m + 2, fine.dtype)
        for a in range(4):
            for b in range(4):
                weight = weights0[i, a] * weights1[j, b]
                if weight != 0:
                    f, g = rows0[i, a], rows1[j, b]
                    for k in range(1, n + 1):
                        line[k] += weight * fine[f, g, k]
        if wrap:
            if n % 2 == 0:
                line[0] = line[n]
            line[2 * m + 1] = line[1]
        for k in range(m):
            ends = line[2 * k] + line[2 * k + 3]
            coarse[i, j, k + 1] = light * ends + heavy * (line[2 * k + 1] + line[2 * k + 2])
        coarse[i, j, 0] = coarse[i, j, m]
        coarse[i, j, m + 1] = coarse[i, j, 1]


@parallel_kernel
def prolong(fine, coarse, norm, wrap, rows0, weights0, rows1, weights1):
    """fine += norm T coarse, the transpose of `restrict`; rows0[i]: the two coarse planes read by plane i."""
    n0, n1, width = fine.shape
    coarse_width = coarse.shape[2]
    m = coarse_width - 2
    n = width - 2
    heavy = fine.dtype.type(0.75)
    light = fine.dtype.type(0.25)
    for row in prange(n0 * n1):
        i = row // n1
        j = row - i * n1
        line = np.zeros(coarse_width, fine.dtype)
        for a in range(2):
            for b in range(2):
                weight = weights0[i, a] * weights1[j, b]
                if weight != 0:
                    f, g = rows0[i, a], rows1[j, b]
                    for k in range(coarse_width):
                        line[k] += weight * coarse[f, g, k]
        if not wrap:
            line[0] = 0
            line[m + 1] = 0
        for k in range(n // 2):
            middle = heavy * line[k + 1]
            fine[i, j, 2 * k + 1] += norm[i, j, 2 * k + 1] * (middle + light * line[k])
            fine[i, j, 2 * k + 2] += norm[i, j, 2 * k + 2] * (middle + light * line[k + 2])
        if n % 2 == 1:
            fine[i, j, n] += norm[i, j, n] * (heavy * line[m] + light * line[m - 1])
        fine[i, j, 0] = fine[i, j, n]
        fine[i, j, n + 1] = fine[i, j, 1]


@serial_kernel
def solve_coarsest(x, b, inverse, sweeps, shift, wx, wy, wz):
    """`sweeps` symmetric Gauss-Seidel sweeps (forward, then backward) from x = 0, on one thread."""
    n0, n1, width = x.shape
    last = width - 1
    count = n0 * n1 * (last - 1)
    x[:] = 0
    for half in range(2 * sweeps):
        for step in range(count):
            cell = step if half % 2 == 0 else count - 1 - step
            row = cell // (last - 1)
            k = cell - row * (last - 1) + 1
            i = row // n1
            j = row - i * n1
            up, down = (i + 1) % n0, (i - 1) % n0
            right, left = (j + 1) % n1, (j - 1) % n1
            c = x[i, j, k]
            a = b[i, j, k] - shift[i, j, k] * c
            a -= wx[i, j, k] * (c - x[up, j, k]) + wx[down, j, k] * (c - x[down, j, k])
            a -= wy[i, j, k] * (c - x[i, right, k]) + wy[i, left, k] * (c - x[i, left, k])
            a -= wz[i, j, k] * (c - x[i, j, k + 1]) + wz[i, j, k - 1] * (c - x[i, j, k - 1])
            x[i, j, k] = c + inverse[i, j, k] * a
            if k == 1:
                x[i, j, last] = x[i, j, 1]
            if k == last - 1:
                x[i, j, 0] = x[i, j, k]


@row_function
def _root(parent, cell):
    while parent[cell] != cell:
        parent[cell] = parent[parent[cell]]
        cell = parent[cell]
    return cell


@row_function
def _join(parent, a, b):
    a, b = _root(parent, a), _root(parent, b)
    parent[max(a, b)] = min(a, b)


@serial_kernel
def find_floating_parts(labels, shift, wx, wy, wz):
    """Number the connected parts without any shift: labels, nonzero on active cells, become 1, 2, ... or 0.

    Union-find over the links of positive weight, so that parts joined only through a periodic side are one
    and cells divided by a link of weight 0 are two. Returns the number of parts.
    """
    n0, n1, width = shift.shape
    n2 = width - 2
    parent = np.arange(n0 * n1 * n2, dtype=np.int32)
    for i in range(n0):
        for j in range(n1):
            row = (i * n1 + j) * n2
            above = (((i + 1) % n0) * n1 + j) * n2
            beside = (i * n1 + (j + 1) % n1) * n2
            for k in range(n2):
                if wz[i, j, k + 1] > 0:
                    _join(parent, row + k, row + k + 1 if k + 1 < n2 else row)
                if wy[i, j, k + 1] > 0:
                    _join(parent, row + k, beside + k)
                if wx[i, j, k + 1] > 0:
                    _join(parent, row + k, above + k)
    held = np.zeros(parent.size, np.bool_)
    for cell in range(parent.size):
        if shift[cell // (n1 * n2), cell // n2 % n1, cell % n2 + 1] > 0:
            held[_root(parent, cell)] = True
    numbers = np.zeros(parent.size, np.int32)
    parts = 0
    for i in range(n0):
        for j in range(n1):
            for k in range(n2):
                root = _root(parent, (i * n1 + j) * n2 + k)
                floating = labels[i, j, k + 1] != 0 and not held[root]
                if floating and numbers[root] == 0:
                    parts += 1
                    numbers[root] = parts
                labels[i, j, k + 1] = numbers[root] if floating else 0
    return parts


@parallel_kernel
def remove_means(x, labels, sizes, sums):
    """Subtract from x its mean over each labelled part; sums: (slabs, parts + 1), work space."""
    n0, n1, width = x.shape
    slabs = sums.shape[0]
    single = sizes.size == 2
    for slab in prange(slabs):
        sums[slab] = 0
        for row in range(slab * n0 * n1 // slabs, (slab + 1) * n0 * n1 // slabs):
            i = row // n1
            j = row - i * n1
            if single:
                sums[slab, 1] += _dot(x, labels, i, j, width - 1)
            else:
                for k in range(1, width - 1):
                    sums[slab, labels[i, j, k]] += x[i, j, k]
    totals = np.zeros(sizes.size)
    for slab in range(slabs):
        totals += sums[slab]
    totals[0] = 0
    means = (totals / sizes).astype(x.dtype)
    for row in prange(n0 * n1):
        i = row // n1
        j = row - i * n1
        if single:
            for k in range(width):
                x[i, j, k] -= means[1] * labels[i, j, k]
        else:
            for k in range(width):
                x[i, j, k] -= means[labels[i, j, k]]
