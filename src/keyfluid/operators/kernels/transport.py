"""Upwind transport in flux form: A(w) rho, its transpose, and their derivatives by w. Lengths in cells, time in steps.

The face between the cells c - 1 and c carries  w q  upward, where q is the value there of the parabola with the means
of two cells upstream and one downstream (Leonard 1979, for means)

    w > 0:  q = 5/6 rho[c-1] + 1/3 rho[c] - 1/6 rho[c-2]        w < 0: mirrored        w = 0: the mean of both

so A(w) rho [c] = sum over axes of  w q (face below) - w q (face above): what leaves a cell enters its neighbour.
Beyond walls the last value is repeated, beyond open sides there is nothing, and no flux passes a wall.

Every axis but the last acts on whole rows; a row along the last axis is cut where neighbours change: its first two
cells, those between, its last two. A 2D grid is one layer of a 3D one (keyfluid/kernels/stencils.py).
"""

from numba import prange

from keyfluid.boundary import OPEN_SIDE, PERIODIC_SIDE, WALL_SIDE
from keyfluid.kernels.compile import parallel_kernel, row_function
from keyfluid.kernels.lattice import at
from keyfluid.solvers.kernels.self_advection import spot

WEIGHTS = (5 / 6, 1 / 3, -1 / 6, 0.5, 0.0, 1.0)
"""Weights of the cells upstream of a face, downstream of it and second upstream; then a half, and off and on in the
run's precision: a whole number would turn float32 into float64."""

ON = 4


@row_function
def cut(part, n):
    """First place and number of places of a part of a row along the last axis."""
    if part == 0:
        return 0, 1
    if part == 1:
        return 1, (1 if n > 1 else 0)
    if part == 2:
        return 2, max(n - 4, 0)
    if part == 3:
        return n - 2, (1 if n > 3 else 0)
    return n - 1, (1 if n > 2 else 0)


@row_function
def cell_at(cells, kinds, a, x0, x1, x2, i):
    """Offset of the cell whose coordinate a is i, and 1 if it counts: wrapped, repeated, or nothing beyond."""
    n, kind, counts = cells[a], kinds[a], 1
    if kind == PERIODIC_SIDE:
        i = (i + 2 * n) % n
    elif i < 0 or i >= n:
        counts = 0 if kind == OPEN_SIDE else 1
        i = 0 if i < 0 else n - 1
    y0 = i if a == 0 else x0
    y1 = i if a == 1 else x1
    y2 = i if a == 2 else x2
    return (y0 * cells[1] + y1) * cells[2] + y2, counts


@row_function
def face_at(starts, shapes, cells, kinds, a, x0, x1, x2, i):
    """Offset of the face whose coordinate across a is i, and 1 if it exists and lets fluid through."""
    n, kind, counts = cells[a], kinds[a], 1
    if kind == PERIODIC_SIDE:
        i = (i + 2 * n) % n
    elif i < 0 or i > n or (kind == WALL_SIDE and (i == 0 or i == n)):
        counts = 0
        i = 0
    y0 = i if a == 0 else x0
    y1 = i if a == 1 else x1
    y2 = i if a == 2 else x2
    return spot(starts, shapes, a, y0, y1, y2), counts


@row_function
def face_value(w, behind, below, above, beyond, near, ahead, back, half):
    """q between `below` and `above`."""
    rising = near * below + ahead * above + back * behind
    falling = near * above + ahead * below + back * beyond
    return rising if w > 0 else (falling if w < 0 else half * (rising + falling))


@row_function
def carry_row(rho, w, flux, out, count, o, low, high, c0, c1, c2, c3, c4, on, scale, weights):
    """out += scale (flux q below - flux q above) along a run of cells; `on` says what counts."""
    near, ahead, back, half = weights[0], weights[1], weights[2], weights[3]
    on_low, on_high = on[0] * scale, on[1] * scale
    n0, n1, n3, n4 = on[2], on[3], on[4], on[5]
    for k in range(count):
        r0, r1, r2 = n0 * rho[at(c0 + k)], n1 * rho[at(c1 + k)], rho[at(c2 + k)]
        r3, r4 = n3 * rho[at(c3 + k)], n4 * rho[at(c4 + k)]
        below = face_value(w[at(low + k)], r0, r1, r2, r3, near, ahead, back, half)
        above = face_value(w[at(high + k)], r1, r2, r3, r4, near, ahead, back, half)
        out[at(o + k)] += on_low * flux[at(low + k)] * below - on_high * flux[at(high + k)] * above


@parallel_kernel
def carry(rho, w, flux, out, starts, shapes, cells, kinds, axes, scale, weights):
    """out = scale A rho; the sign of w gives the upstream side, `flux` how much passes (w itself, or its tangent)."""
    n0, n1, n2 = cells[0], cells[1], cells[2]
    for row in prange(n0 * n1):
        x0 = row // n1
        x1 = row - x0 * n1
        for k in range(n2):
            out[at(row * n2 + k)] = 0
        for a in range(3 - axes, 3):
            for part in range(5 if a == 2 else 1):
                x2, count = cut(part, n2) if a == 2 else (0, n2)
                i = x0 if a == 0 else (x1 if a == 1 else x2)
                low, on_low = face_at(starts, shapes, cells, kinds, a, x0, x1, x2, i)
                high, on_high = face_at(starts, shapes, cells, kinds, a, x0, x1, x2, i + 1)
                c0, m0 = cell_at(cells, kinds, a, x0, x1, x2, i - 2)
                c1, m1 = cell_at(cells, kinds, a, x0, x1, x2, i - 1)
                c3, m3 = cell_at(cells, kinds, a, x0, x1, x2, i + 1)
                c4, m4 = cell_at(cells, kinds, a, x0, x1, x2, i + 2)
                o = row * n2 + x2
                on = (weights[ON + on_low], weights[ON + on_high], weights[ON + m0], weights[ON + m1],
                      weights[ON + m3], weights[ON + m4])  # fmt: skip
                carry_row(rho, w, flux, out, count, o, low, high, c0, c1, o, c3, c4, on, scale, weights)


@row_function
def rising(w, zero, half, one):
    """Share of a face whose upstream side is below it."""
    return one if w > 0 else (zero if w < 0 else half)


@row_function
def pull_row(y, w, out, count, o, f, c, on, ends, scale, weights):
    """out += scale A^T y along a run of cells; f: planes i - 1 .. i + 2, c: cells i - 2 .. i + 2."""
    near, ahead, back, half = weights[0], weights[1], weights[2], weights[3]
    zero, one = weights[ON], weights[ON + 1]
    f0, f1, f2, f3 = f[0], f[1], f[2], f[3]
    c0, c1, c2, c3, c4 = c[0], c[1], c[2], c[3], c[4]
    p0, p1, p2, p3 = on[0] * scale, on[1] * scale, on[2] * scale, on[3] * scale
    m0, m1, m3, m4 = on[4], on[5], on[6], on[7]
    first, last = ends[0], ends[1]
    for k in range(count):
        y1, y2, y3 = m1 * y[at(c1 + k)], y[at(c2 + k)], m3 * y[at(c3 + k)]
        w0, w1, w2, w3 = w[at(f0 + k)], w[at(f1 + k)], w[at(f2 + k)], w[at(f3 + k)]
        g0 = p0 * w0 * (y1 - m0 * y[at(c0 + k)])
        g1 = p1 * w1 * (y2 - y1)
        g2 = p2 * w2 * (y3 - y2)
        g3 = p3 * w3 * (m4 * y[at(c4 + k)] - y3)
        u0, u1 = rising(w0, zero, half, one), rising(w1, zero, half, one)
        u2, u3 = rising(w2, zero, half, one), rising(w3, zero, half, one)
        out[at(o + k)] += (
            back * (one - u0) * g0
            + (ahead * u1 + near * (one - u1) + last * back * (one - u1)) * g1
            + (near * u2 + ahead * (one - u2) + first * back * u2) * g2
            + back * u3 * g3
        )


@parallel_kernel
def pull(y, w, plus, out, starts, shapes, cells, kinds, axes, scale, weights):
    """out = plus + scale A(w)^T y."""
    n0, n1, n2 = cells[0], cells[1], cells[2]
    for row in prange(n0 * n1):
        x0 = row // n1
        x1 = row - x0 * n1
        for k in range(n2):
            out[at(row * n2 + k)] = plus[at(row * n2 + k)]
        for a in range(3 - axes, 3):
            for part in range(5 if a == 2 else 1):
                x2, count = cut(part, n2) if a == 2 else (0, n2)
                i = x0 if a == 0 else (x1 if a == 1 else x2)
                f0, p0 = face_at(starts, shapes, cells, kinds, a, x0, x1, x2, i - 1)
                f1, p1 = face_at(starts, shapes, cells, kinds, a, x0, x1, x2, i)
                f2, p2 = face_at(starts, shapes, cells, kinds, a, x0, x1, x2, i + 1)
                f3, p3 = face_at(starts, shapes, cells, kinds, a, x0, x1, x2, i + 2)
                c0, m0 = cell_at(cells, kinds, a, x0, x1, x2, i - 2)
                c1, m1 = cell_at(cells, kinds, a, x0, x1, x2, i - 1)
                c3, m3 = cell_at(cells, kinds, a, x0, x1, x2, i + 1)
                c4, m4 = cell_at(cells, kinds, a, x0, x1, x2, i + 2)
                first = 1 if kinds[a] == WALL_SIDE and i == 0 else 0
                last = 1 if kinds[a] == WALL_SIDE and i == cells[a] - 1 else 0
                o = row * n2 + x2
                on = (weights[ON + p0], weights[ON + p1], weights[ON + p2], weights[ON + p3],
                      weights[ON + m0], weights[ON + m1], weights[ON + m3], weights[ON + m4])  # fmt: skip
                pull_row(y, w, out, count, o, (f0, f1, f2, f3), (c0, c1, o, c3, c4), on,
                         (weights[ON + first], weights[ON + last]), scale, weights)  # fmt: skip


@row_function
def blame_row(rho, y, w, w_bar, count, f, c0, c1, c2, c3, on, scale, weights):
    """w_bar += scale (y above - y below) q along a run of faces."""
    near, ahead, back, half = weights[0], weights[1], weights[2], weights[3]
    m0, m1, m2, m3 = on[0], on[1], on[2], on[3]
    for k in range(count):
        q = face_value(w[at(f + k)], m0 * rho[at(c0 + k)], m1 * rho[at(c1 + k)], m2 * rho[at(c2 + k)],
                       m3 * rho[at(c3 + k)], near, ahead, back, half)  # fmt: skip
        w_bar[at(f + k)] += scale * q * (m2 * y[at(c2 + k)] - m1 * y[at(c1 + k)])


@parallel_kernel
def blame(rho, y, w, w_bar, starts, shapes, cells, kinds, axes, scale, weights):
    """w_bar += scale (d (A(w) rho) / dw)^T y."""
    for a in range(3 - axes, 3):
        rows = shapes[a, 1]
        for row in prange(shapes[a, 0] * rows):
            x0 = row // rows
            x1 = row - x0 * rows
            for part in range(5 if a == 2 else 1):
                x2, count = cut(part, shapes[a, 2]) if a == 2 else (0, shapes[a, 2])
                i = x0 if a == 0 else (x1 if a == 1 else x2)
                f, on = face_at(starts, shapes, cells, kinds, a, x0, x1, x2, i)
                c0, m0 = cell_at(cells, kinds, a, x0, x1, x2, i - 2)
                c1, m1 = cell_at(cells, kinds, a, x0, x1, x2, i - 1)
                c2, m2 = cell_at(cells, kinds, a, x0, x1, x2, i)
                c3, m3 = cell_at(cells, kinds, a, x0, x1, x2, i + 1)
                if on == 1:
                    counted = (weights[ON + m0], weights[ON + m1], weights[ON + m2], weights[ON + m3])
                    blame_row(rho, y, w, w_bar, count, f, c0, c1, c2, c3, counted, scale, weights)
