"""Conjugate gradients with a modified incomplete Cholesky factor, for the few cells of a lattice that hold liquid.

    (A x)_c = diagonal_c x_c - sum over neighbours of w_(c,nb) x_nb = b_c

Cells are numbered in lattice order, only those that take part. With L the weights towards cells before, A is
D - L - L^T - S; S are links across a periodic seam, `seams`, which join number seams[0, s] to seams[1, s]. The factor
leaves them out, which keeps it positive: A ~ (E - L) E^-1 (E - L)^T with

    e_c = diagonal_c - sum_a w_ac (w_ac + 0.97 (sum of the other upper weights of m)) / e_m,    m: before c along axis a

[Gustafsson 1978; Bridson 2015, section 5.5]. Scaled by E^-1/2 on both sides (D, L, S from here on; scale = E^-1/2) it
is (1 - L)(1 - L)^T, and plain conjugate gradients solve

    B y = (1 - L)^-1 b,    B = (1 - L)^-1 A (1 - L)^-T,    x = (1 - L)^-T y
    B p = t + (1 - L)^-1 (p + (D - 2 - S) t),    t = (1 - L)^-T p                       [Eisenstat 1981, SISSC 2(1)]

so that a step costs the factor's two substitutions and no product with A.

lower[a, c] and upper[a, c] are the numbers of the neighbours before and after c along the first two axes, and
links[a, c] the weight to the one after; along the last axis these are c - 1 and c + 1. Where there is none the weight
is 0 and the number is one beyond the last, where all vectors have a zero.

Red-black smoothing of a whole box costs more than all of this as long as the liquid fills a small part of it. One
thread, sums in one order.
"""

import numpy as np

from keyfluid.kernels.compile import row_function, serial_kernel
from keyfluid.kernels.lattice import at

_MODIFIED = 0.97
_SAFE = 0.25


@serial_kernel
def assemble(active, shape, wraps, weights, shift, cells, lower, upper, links, diagonal, seams, seam_links):
    """Fill the tables from flat arrays: weights[a] leads from a cell to the next along axis a, on a periodic axis from
    the last to the first; diagonal = shift + the weights of a cell's links. Returns the number of seams."""
    n1, n2 = shape[1], shape[2]
    strides = (n1 * n2, n2, 1)
    numbers = np.empty(active.size, np.int32)
    count = 0
    for cell in range(active.size):
        numbers[at(cell)] = -1
        if active[at(cell)]:
            numbers[at(cell)] = count
            cells[at(count)] = cell
            diagonal[at(count)] = shift[at(cell)]
            count += 1
    lower[:] = count
    upper[:] = count
    links[:] = 0.0
    crossing = 0
    for c in range(count):
        cell = np.int64(cells[at(c)])
        places = (cell // strides[0], cell // n2 % n1, cell % n2)
        for axis in range(3):
            if places[axis] > 0:
                m = numbers[at(cell - strides[axis])]
                if m >= 0:
                    w = weights[axis, cell - strides[axis]]
                    links[axis, m] = w
                    diagonal[at(m)] += w
                    diagonal[at(c)] += w
                    if axis < 2:
                        lower[axis, c] = m
                        upper[axis, m] = c
            elif wraps[axis] and shape[axis] > 1:
                far = cell + (shape[axis] - 1) * strides[axis]
                m = numbers[at(far)]
                if m >= 0 and weights[axis, far] > 0:
                    w = weights[axis, far]
                    diagonal[at(m)] += w
                    diagonal[at(c)] += w
                    seams[0, crossing] = c
                    seams[1, crossing] = m
                    seam_links[at(crossing)] = w
                    crossing += 1
    return crossing


@serial_kernel
def factor(lower, upper, links, diagonal, seams, seam_links, scale):
    """scale = E^-1/2, zero for cells without a diagonal; links, seam_links and diagonal become those of the scaled
    matrix, the diagonal less 2."""
    count = diagonal.size
    for c in range(count):
        e = diagonal[at(c)]
        for axis in range(3):
            m = lower[axis, c] if axis < 2 else c - 1
            if 0 <= m < count:
                w = links[axis, m]
                others = links[0, m] + links[1, m] + links[2, m] - w
                e -= w * (w + _MODIFIED * others) * scale[at(m)]
        if e < _SAFE * diagonal[at(c)]:
            e = diagonal[at(c)]
        scale[at(c)] = 1.0 / e if e > 0 else 0.0
    for c in range(count):
        diagonal[at(c)] = diagonal[at(c)] * scale[at(c)] - 2.0
        scale[at(c)] = np.sqrt(scale[at(c)])
    for c in range(count):
        for axis in range(3):
            u = upper[axis, c] if axis < 2 else c + 1
            if u < count:
                links[axis, c] *= scale[at(c)] * scale[at(u)]
    for s in range(seam_links.size):
        seam_links[at(s)] *= scale[at(seams[0, s])] * scale[at(seams[1, s])]


@row_function
def before(x, lower, links, c):
    """(L x)_c but for the last axis."""
    i, j = lower[0, c], lower[1, c]
    return links[0, i] * x[at(i)] + links[1, j] * x[at(j)]


@row_function
def after(x, upper, links, c):
    """(L^T x)_c but for the last axis."""
    return links[0, c] * x[at(upper[0, c])] + links[1, c] * x[at(upper[1, c])]


@row_function
def squares(r, count):
    """|r|^2, in four sums so that additions need not wait for each other."""
    a, b, c, d = 0.0, 0.0, 0.0, 0.0
    whole = count - count % 4
    for n in range(0, whole, 4):
        a += r[at(n)] * r[at(n)]
        b += r[at(n + 1)] * r[at(n + 1)]
        c += r[at(n + 2)] * r[at(n + 2)]
        d += r[at(n + 3)] * r[at(n + 3)]
    for n in range(whole, count):
        a += r[at(n)] * r[at(n)]
    return (a + b) + (c + d)


@serial_kernel
def conjugate_gradients(b, lower, upper, links, diagonal, seams, seam_links, scale, tolerance, most, x):
    """Solve A x = b from zero until |r| <= tolerance |b|. Returns iterations and |r| / |b|, r as A's own residual."""
    count = b.size
    size = np.sqrt(squares(b, count))
    if size == 0:
        x[:] = 0
        return 0, 0.0
    y, p, r, z, t = np.zeros(count), np.zeros(count), np.zeros(count + 1), np.zeros(count + 1), np.zeros(count + 1)
    last = 0.0
    for c in range(count):
        weight = links[2, c - 1] if c > 0 else 0.0
        last = scale[at(c)] * b[at(c)] + before(r, lower, links, c) + weight * last
        r[at(c)] = last
    square, beta, residual, iterations = squares(r, count), 0.0, 1.0, 0
    while residual > tolerance and iterations < most:
        last = 0.0
        for c in range(count - 1, -1, -1):
            way = r[at(c)] + beta * p[at(c)]
            p[at(c)] = way
            last = way + after(t, upper, links, c) + links[2, c] * last
            t[at(c)] = last
        for c in range(count):
            z[at(c)] = p[at(c)] + diagonal[at(c)] * t[at(c)]
        for s in range(seam_links.size):
            one, two = seams[0, s], seams[1, s]
            z[at(one)] -= seam_links[at(s)] * t[at(two)]
            z[at(two)] -= seam_links[at(s)] * t[at(one)]
        last, curvature = 0.0, 0.0
        for c in range(count):
            weight = links[2, c - 1] if c > 0 else 0.0
            last = z[at(c)] + before(z, lower, links, c) + weight * last
            z[at(c)] = last
            curvature += p[at(c)] * (t[at(c)] + last)
        if not (square > 0 and curvature > 0):
            break
        alpha = square / curvature
        for c in range(count):
            y[at(c)] += alpha * p[at(c)]
            r[at(c)] -= alpha * (t[at(c)] + z[at(c)])
        former, square = square, squares(r, count)
        beta = square / former
        iterations += 1
        residual = np.sqrt(true_squares(r, lower, links, scale, z)) / size
    last = 0.0
    for c in range(count - 1, -1, -1):
        last = y[at(c)] + after(t, upper, links, c) + links[2, c] * last
        t[at(c)] = last
        x[at(c)] = scale[at(c)] * last
    return iterations, residual


@row_function
def true_squares(r, lower, links, scale, work):
    """|E^1/2 (1 - L) r|^2: the residual of A x = b itself."""
    count = scale.size
    for c in range(count):
        own = r[at(c)] - before(r, lower, links, c) - (links[2, c - 1] * r[at(c - 1)] if c > 0 else 0.0)
        work[at(c)] = own / scale[at(c)] if scale[at(c)] > 0 else 0.0
    return squares(work, count)
