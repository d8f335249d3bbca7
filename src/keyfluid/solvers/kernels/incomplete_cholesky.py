"""Conjugate gradients with a modified incomplete Cholesky factor, for the few cells of a lattice that hold liquid.

    (A x)_c = diagonal_c x_c - sum over neighbours of w_(c,nb) x_nb = b_c

Cells are numbered in lattice order, only those that take part; lower[a, c] is the number of the neighbour before c
along axis a (-1: none) and links[a, c] the weight towards it. Links across a periodic seam, `seams`, join number
seams[0, s] to seams[1, s]; the factor leaves them out, which keeps it positive. Factor: A ~ (L + E) E^-1 (L + E)^T with

    e_c = diagonal_c - sum_a w_ac (w_ac + 0.97 (sum of the other upper weights of m)) / e_m,    m = lower[a, c]

[Gustafsson 1978; Bridson 2015, section 5.5]. Red-black smoothing of a whole box costs more than all of this as long as
the liquid fills a small part of it. One thread, sums in one order.
"""

import numpy as np

from keyfluid.kernels.compile import row_function, serial_kernel
from keyfluid.kernels.lattice import at

_MODIFIED = 0.97
_SAFE = 0.25


@serial_kernel
def number_cells(active, shape, weights, wraps, numbers, cells, lower, links, seams, seam_links):
    """Fill the tables from flat arrays: weights[a] leads from a cell to the next along axis a. Returns the numbers of
    cells and of seams."""
    n1, n2 = shape[1], shape[2]
    strides = (n1 * n2, n2, 1)
    count = 0
    for cell in range(active.size):
        numbers[at(cell)] = -1
        if active[at(cell)]:
            numbers[at(cell)] = count
            cells[at(count)] = cell
            count += 1
    crossing = 0
    for c in range(count):
        cell = cells[at(c)]
        places = (cell // strides[0], cell // n2 % n1, cell % n2)
        for axis in range(3):
            lower[axis, c] = -1
            links[axis, c] = 0.0
            if places[axis] > 0:
                m = numbers[at(cell - strides[axis])]
                if m >= 0:
                    lower[axis, c] = m
                    links[axis, c] = weights[axis, cell - strides[axis]]
            elif wraps[axis] and shape[axis] > 1:
                far = cell + (shape[axis] - 1) * strides[axis]
                m = numbers[at(far)]
                if m >= 0 and weights[axis, far] > 0:
                    seams[0, crossing] = c
                    seams[1, crossing] = m
                    seam_links[at(crossing)] = weights[axis, far]
                    crossing += 1
    return count, crossing


@serial_kernel
def factor(diagonal, lower, links, inverse):
    """inverse = 1 / e."""
    count = diagonal.size
    upper = np.zeros((3, count))
    for c in range(count):
        for axis in range(3):
            if lower[axis, c] >= 0:
                upper[axis, lower[axis, c]] = links[axis, c]
    for c in range(count):
        e = diagonal[at(c)]
        for axis in range(3):
            m = lower[axis, c]
            if m >= 0:
                w = links[axis, c]
                others = upper[0, m] + upper[1, m] + upper[2, m] - w
                e -= w * (w + _MODIFIED * others) * inverse[at(m)]
        if e < _SAFE * diagonal[at(c)]:
            e = diagonal[at(c)]
        inverse[at(c)] = 1.0 / e if e > 0 else 0.0


@row_function
def precondition(r, lower, links, inverse, z):
    """z = ((L + E) E^-1 (L + E)^T)^-1 r."""
    count = r.size
    for c in range(count):
        total = r[at(c)]
        for axis in range(3):
            m = lower[axis, c]
            if m >= 0:
                total += links[axis, c] * z[at(m)]
        z[at(c)] = total * inverse[at(c)]
    for back in range(count):
        c = count - 1 - back
        value = z[at(c)]
        for axis in range(3):
            m = lower[axis, c]
            if m >= 0:
                z[at(m)] += links[axis, c] * value * inverse[at(m)]


@row_function
def multiply(x, diagonal, lower, links, seams, seam_links, out):
    """out = A x."""
    for c in range(x.size):
        total = diagonal[at(c)] * x[at(c)]
        for axis in range(3):
            m = lower[axis, c]
            if m >= 0:
                total -= links[axis, c] * x[at(m)]
                out[at(m)] -= links[axis, c] * x[at(c)]
        out[at(c)] = total
    for s in range(seam_links.size):
        a, b = seams[0, s], seams[1, s]
        out[at(a)] -= seam_links[at(s)] * x[at(b)]
        out[at(b)] -= seam_links[at(s)] * x[at(a)]


@row_function
def dot(a, b):
    total = 0.0
    for c in range(a.size):
        total += a[at(c)] * b[at(c)]
    return total


@serial_kernel
def conjugate_gradients(b, diagonal, lower, links, seams, seam_links, inverse, tolerance, most, x):
    """Solve A x = b from zero until |r| <= tolerance |b|; b becomes r. Returns iterations and |r| / |b|."""
    x[:] = 0
    size = np.sqrt(dot(b, b))
    if size == 0:
        return 0, 0.0
    z, q, p = np.empty_like(x), np.empty_like(x), np.zeros_like(x)
    rz, residual, iterations = 1.0, 1.0, 0
    while residual > tolerance and iterations < most:
        precondition(b, lower, links, inverse, z)
        before, rz = rz, dot(b, z)
        beta = rz / before if iterations > 0 else 0.0
        for c in range(x.size):
            p[at(c)] = z[at(c)] + beta * p[at(c)]
        multiply(p, diagonal, lower, links, seams, seam_links, q)
        curvature = dot(p, q)
        if not (rz > 0 and curvature > 0):
            break
        alpha = rz / curvature
        for c in range(x.size):
            x[at(c)] += alpha * p[at(c)]
            b[at(c)] -= alpha * q[at(c)]
        residual = np.sqrt(dot(b, b)) / size
        iterations += 1
    return iterations, residual
