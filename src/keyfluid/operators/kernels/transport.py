"""Upwind transport in flux form: the series of A(w), its transpose and derivatives. Lengths in cells, time in steps.

The face between the cells c - 1 and c carries  w q  upward, where q is the value there of the parabola with the means
of two cells upstream and one downstream (Leonard 1979, for means)

    6 w q = max(w, 0) (5 rho[c-1] + 2 rho[c] - rho[c-2]) + min(w, 0) (5 rho[c] + 2 rho[c-1] - rho[c+1])

so A(w) rho [c] = sum over axes of  w q (face below) - w q (face above): what leaves a cell enters its neighbour. The
sixth is part of `scale`.

Rows along the last axis are padded, so that no inner loop asks for sides (operators/padded_rows.py): cell i and the
face below it are at 2 + i, two ghosts are at each end. Along the other axes `beside[axis, 2 + i]` and
`planes[axis, 1 + i]` are the cell and the face plane of coordinate i, or negative where nothing is or passes: then a
row of zeros stands in, after all others. A 2D grid is one layer of a 3D one (keyfluid/kernels/stencils.py).

Rows are shared out in slabs. The largest value is found for every place along a row, then among those.
"""

from numba import prange

from keyfluid.boundary import OPEN_SIDE, PERIODIC_SIDE, WALL_SIDE
from keyfluid.kernels.compile import parallel_kernel, row_function
from keyfluid.kernels.lattice import at

SLABS = 32
ROWS = 16
"""Slabs at most, and rows of a slab at least."""

LANES = 2 * SLABS
"""Rows of numbers for the largest values of all slabs."""


@row_function
def slab_count(rows):
    return max(1, min(SLABS, rows // ROWS))


@row_function
def slab_of_rows(slab, slabs, rows):
    """First row of a slab and the one after its last."""
    return slab * rows // slabs, (slab + 1) * rows // slabs


@row_function
def cells_beside(beside, axis, x0, x1, i, n1, rows, stride):
    """Offset of the row of cells whose coordinate along the first or second axis is i."""
    t = beside[axis, i + 2]
    row = t * n1 + x1 if axis == 0 else x0 * n1 + t
    return (row if t >= 0 else rows) * stride


@row_function
def faces_beside(planes, starts, axis, x0, x1, i, n1, stride):
    """Offset of the row of faces across the first or second axis in plane i."""
    t = planes[axis, i + 1]
    row = t * n1 + x1 if axis == 0 else starts[1] + x0 * starts[4] + t
    return (row if t >= 0 else starts[3]) * stride


@row_function
def positive(w, zero):
    return w if w > zero else zero


@row_function
def negative(w, zero):
    return w if w < zero else zero


@row_function
def larger(m, q, zero):
    """The larger of m and |q|."""
    q = q if q > zero else -q
    return q if q > m else m


@row_function
def upward(w, behind, below, above, beyond, zero, two, five):
    """6 w q between `below` and `above`."""
    rising = five * below + two * above - behind
    falling = five * above + two * below - beyond
    return positive(w, zero) * rising + negative(w, zero) * falling


@row_function
def face_value(w, behind, below, above, beyond, zero, two, five):
    """6 q: the derivative of `upward` by w, at w = 0 the mean of both sides."""
    rising = five * below + two * above - behind
    falling = five * above + two * below - beyond
    mean = (rising + falling) / two
    return rising if w > zero else (falling if w < zero else mean)


@row_function
def largest_of(most, slabs, stride, n):
    """The largest number among those of all slabs, n of each; written out, as Numba would share it out again."""
    for slab in range(1, slabs):
        for k in range(n):
            m, q = most[at(k)], most[at(slab * stride + k)]
            most[at(k)] = q if q > m else m
    found = most[0]
    for k in range(1, n):
        found = most[k] if most[k] > found else found
    return found


@row_function
def clear_row(q, o, count, zero):
    for k in range(count):
        q[at(o + k)] = zero


@row_function
def fill_ghosts(q, o, n, kind, zero):
    """The two ghosts at each end of a row of n cells."""
    for i in range(2):
        if kind == PERIODIC_SIDE:
            low, high = q[at(o + n + i)], q[at(o + 2 + i)]
        elif kind == WALL_SIDE:
            low, high = q[at(o + 2)], q[at(o + n + 1)]
        else:
            low, high = zero, zero
        q[at(o + i)] = low
        q[at(o + n + 2 + i)] = high


@row_function
def close_faces(w, o, n, kind, zero):
    """Ends of a row of faces across the last axis: those on walls, and one beyond either side."""
    if kind == PERIODIC_SIDE:
        w[at(o - 1)] = w[at(o + n - 1)]
        w[at(o + n)] = w[at(o)]
        w[at(o + n + 1)] = w[at(o + 1)]
    else:
        w[at(o - 1)] = zero
        w[at(o + n + 1)] = zero
        if kind == WALL_SIDE:
            w[at(o)] = zero
            w[at(o + n)] = zero


@parallel_kernel
def pad_cells(values, out, most, sizes, kinds):
    """Cells in padded rows; returns the largest |value|."""
    n, stride = sizes[2], sizes[3]
    rows, zero = sizes[0] * sizes[1], values.dtype.type(0)
    slabs = slab_count(rows)
    for slab in prange(slabs):
        first, stop = slab_of_rows(slab, slabs, rows)
        m = slab * n
        clear_row(most, m, n, zero)
        for row in range(first, stop):
            for k in range(n):
                q = values[at(row * n + k)]
                out[at(row * stride + 2 + k)] = q
                most[at(m + k)] = larger(most[at(m + k)], q, zero)
            fill_ghosts(out, row * stride, n, kinds[2], zero)
    clear_row(out, rows * stride, stride, zero)
    return largest_of(most, slabs, n, n)


@parallel_kernel
def unpad_cells(values, out, sizes):
    """Cells of padded rows without their ghosts."""
    n, stride = sizes[2], sizes[3]
    for row in prange(sizes[0] * sizes[1]):
        for k in range(n):
            out[at(row * n + k)] = values[at(row * stride + 2 + k)]


@parallel_kernel
def pad_faces(v, factor, out, most, sizes, starts, kinds):
    """w = factor v in padded rows; returns the sum of the components' largest |w|, NaN if any is not finite."""
    n, stride = sizes[2], sizes[3]
    zero = v.dtype.type(0)
    faces = n if kinds[2] == PERIODIC_SIDE else n + 1
    courant = zero
    for c in range(3 - sizes[4], 3):
        rows = starts[c + 1] - starts[c]
        slabs = slab_count(rows)
        count = faces if c == 2 else n
        for slab in prange(slabs):
            first, stop = slab_of_rows(slab, slabs, rows)
            m, flaw = 2 * slab * stride, (2 * slab + 1) * stride
            clear_row(most, m, count, zero)
            clear_row(most, flaw, count, zero)
            for row in range(first, stop):
                i = starts[c] * n + row * count
                o = (starts[c] + row) * stride + 2
                for k in range(count):
                    w = factor * v[at(i + k)]
                    out[at(o + k)] = w
                    most[at(m + k)] = larger(most[at(m + k)], w, zero)
                    most[at(flaw + k)] += w * zero
                if c == 2:
                    close_faces(out, o, n, kinds[2], zero)
        courant += largest_of(most, slabs, 2 * stride, count)
        for slab in range(slabs):
            for k in range(count):
                courant += most[at((2 * slab + 1) * stride + k)]
    clear_row(out, starts[3] * stride, stride, zero)
    return courant


@parallel_kernel
def unpad_faces(w, factor, out, sizes, starts, kinds):
    """v = factor w from padded rows, zero on walls."""
    n0, n1, n, stride = sizes[0], sizes[1], sizes[2], sizes[3]
    zero = w.dtype.type(0)
    faces = n if kinds[2] == PERIODIC_SIDE else n + 1
    for row in prange(starts[3]):
        if row < starts[2]:
            first = row < starts[1]
            plane = row // n1 if first else (row - starts[1]) % starts[4]
            wall = (kinds[0] if first else kinds[1]) == WALL_SIDE and (plane == 0 or plane == (n0 if first else n1))
            shown = zero if wall else factor
            for k in range(n):
                out[at(row * n + k)] = shown * w[at(row * stride + 2 + k)]
        else:
            i = starts[2] * n + (row - starts[2]) * faces
            for k in range(faces):
                out[at(i + k)] = factor * w[at(row * stride + 2 + k)]
            if kinds[2] == WALL_SIDE:
                out[at(i)] = zero
                out[at(i + n)] = zero


@row_function
def carry_across(rho, w, out, n, o, low, high, c0, c1, c3, c4, zero, two, five):
    """out = 6 A rho of the first axis, for a row."""
    for k in range(n):
        r1, r2, r3 = rho[at(c1 + k)], rho[at(o + k)], rho[at(c3 + k)]
        below = upward(w[at(low + k)], rho[at(c0 + k)], r1, r2, r3, zero, two, five)
        out[at(o + k)] = below - upward(w[at(high + k)], r1, r2, r3, rho[at(c4 + k)], zero, two, five)


@row_function
def carry_along(rho, w, out, total, first, most, n, o, m, low, high, line, c0, c1, c3, c4, scale, zero, two, five):
    """out = scale (out + 6 A rho of the other axes), total += rho, for a row; the first term begins the total."""
    for k in range(n):
        r0, r1, r2 = rho[at(o - 2 + k)], rho[at(o - 1 + k)], rho[at(o + k)]
        r3, r4 = rho[at(o + 1 + k)], rho[at(o + 2 + k)]
        change = out[at(o + k)] + upward(w[at(line + k)], r0, r1, r2, r3, zero, two, five)
        change -= upward(w[at(line + 1 + k)], r1, r2, r3, r4, zero, two, five)
        r1, r3 = rho[at(c1 + k)], rho[at(c3 + k)]
        change += upward(w[at(low + k)], rho[at(c0 + k)], r1, r2, r3, zero, two, five)
        change -= upward(w[at(high + k)], r1, r2, r3, rho[at(c4 + k)], zero, two, five)
        change *= scale
        out[at(o + k)] = change
        total[at(o + k)] = r2 + (zero if first else total[at(o + k)])
        most[at(m + k)] = larger(most[at(m + k)], change, zero)


@parallel_kernel
def series(start, terms, place, cycle, total, w, most, enough, share, limit, sizes, starts, kinds, beside, planes):
    """Terms of exp(A) start up to the first negligible one, which is left out, and their sum; returns the order.

    The term of order k is  (share / k) 6 A  times that before it, and is kept in terms[place + (k - 1) % cycle].
    """
    n0, n1, n, stride = sizes[0], sizes[1], sizes[2], sizes[3]
    rows, real = n0 * n1, start.dtype.type
    zero, two, five = real(0), real(2), real(5)
    slabs = slab_count(rows)
    rho = start
    for order in range(1, limit + 2):
        out = terms[place + (order - 1) % cycle]
        scale = real(share / order)
        for slab in prange(slabs):
            first, stop = slab_of_rows(slab, slabs, rows)
            m = slab * n
            clear_row(most, m, n, zero)
            for row in range(first, stop):
                x0 = row // n1
                x1 = row - x0 * n1
                o = row * stride + 2
                if sizes[4] == 3:
                    low = faces_beside(planes, starts, 0, x0, x1, x0, n1, stride) + 2
                    high = faces_beside(planes, starts, 0, x0, x1, x0 + 1, n1, stride) + 2
                    c0 = cells_beside(beside, 0, x0, x1, x0 - 2, n1, rows, stride) + 2
                    c1 = cells_beside(beside, 0, x0, x1, x0 - 1, n1, rows, stride) + 2
                    c3 = cells_beside(beside, 0, x0, x1, x0 + 1, n1, rows, stride) + 2
                    c4 = cells_beside(beside, 0, x0, x1, x0 + 2, n1, rows, stride) + 2
                    carry_across(rho, w, out, n, o, low, high, c0, c1, c3, c4, zero, two, five)
                else:
                    clear_row(out, o, n, zero)
                low = faces_beside(planes, starts, 1, x0, x1, x1, n1, stride) + 2
                high = faces_beside(planes, starts, 1, x0, x1, x1 + 1, n1, stride) + 2
                c0 = cells_beside(beside, 1, x0, x1, x1 - 2, n1, rows, stride) + 2
                c1 = cells_beside(beside, 1, x0, x1, x1 - 1, n1, rows, stride) + 2
                c3 = cells_beside(beside, 1, x0, x1, x1 + 1, n1, rows, stride) + 2
                c4 = cells_beside(beside, 1, x0, x1, x1 + 2, n1, rows, stride) + 2
                line = (starts[2] + row) * stride + 2
                carry_along(rho, w, out, total, order == 1, most, n, o, m, low, high, line, c0, c1, c3, c4, scale,
                            zero, two, five)  # fmt: skip
                fill_ghosts(out, o - 2, n, kinds[2], zero)
        clear_row(out, rows * stride, stride, zero)
        if order > limit or (order > 1 and not largest_of(most, slabs, n, n) > enough):
            break
        rho = out
    for row in prange(rows):
        fill_ghosts(total, row * stride, n, kinds[2], zero)
    clear_row(total, rows * stride, stride, zero)
    return order - 1


@row_function
def pulled(g, w, f0, f1, f2, f3, y0, y1, y2, y3, y4, share_low, share_high, zero, two):
    """6 A^T y of a cell along one axis: w at faces i - 1 to i + 2, y at cells i - 2 to i + 2, g = y2 - y1.

    The shares are 5, or 4 beside a wall, where the cell stands for the one beyond as well.
    """
    w1, w2 = w[at(f1)], w[at(f2)]
    total = (share_high * negative(w1, zero) + two * positive(w1, zero)) * g
    total += (share_low * positive(w2, zero) + two * negative(w2, zero)) * (y3 - y2)
    total -= negative(w[at(f0)], zero) * (y1 - y0)
    return total - positive(w[at(f3)], zero) * (y4 - y3)


@row_function
def pull_row(
    rho, y, w, out, w_bar, n, o, f0, f1, f2, f3, c0, c1, c3, c4, share_low, share_high, zero, two, five, scale
):
    """out += scale 6 A^T y of one axis for a row, and w_bar += scale g 6 q on the faces below it."""
    for k in range(n):
        y1, y2 = y[at(c1 + k)], y[at(o + k)]
        g = y2 - y1
        out[at(o + k)] += scale * pulled(g, w, f0 + k, f1 + k, f2 + k, f3 + k, y[at(c0 + k)], y1, y2, y[at(c3 + k)],
                                         y[at(c4 + k)], share_low, share_high, zero, two)  # fmt: skip
        q = face_value(
            w[at(f1 + k)], rho[at(c0 + k)], rho[at(c1 + k)], rho[at(o + k)], rho[at(c3 + k)], zero, two, five
        )
        w_bar[at(f1 + k)] += scale * g * q


@row_function
def blame_row(rho, y, w, w_bar, n, f, c0, c1, c2, c3, zero, two, five, scale):
    """w_bar += scale (y above - y below) 6 q along a row of faces."""
    for k in range(n):
        q = face_value(w[at(f + k)], rho[at(c0 + k)], rho[at(c1 + k)], rho[at(c2 + k)], rho[at(c3 + k)],
                       zero, two, five)  # fmt: skip
        w_bar[at(f + k)] += scale * (y[at(c2 + k)] - y[at(c1 + k)]) * q


@row_function
def pull_wall_ends(y, w, out, n, o, line, zero, scale):
    """out += what the first and the last cell of a row stand for beyond walls."""
    e = o + n - 1
    out[at(o)] -= scale * positive(w[at(line + 1)], zero) * (y[at(o + 1)] - y[at(o)])
    out[at(e)] -= scale * negative(w[at(line + n - 1)], zero) * (y[at(e)] - y[at(e - 1)])


@parallel_kernel
def series_transpose(start, terms, place, order, bars, bar, w, w_bar, share, sizes, starts, kinds, beside, planes):
    """The transpose of `series` applied to bars[bar], by Horner's rule; w_bar += what the terms owe to w.

    Returns where among the three bars the result is.
    """
    n0, n1, n, stride = sizes[0], sizes[1], sizes[2], sizes[3]
    rows, real = n0 * n1, start.dtype.type
    zero, two, four, five = real(0), real(2), real(4), real(5)
    slabs = slab_count(rows)
    whole, y = bars[bar], bars[bar]
    goal = bar
    for k in range(order, 0, -1):
        rho = start if k == 1 else terms[place + k - 2]
        goal = (bar + 1) % 3 if goal != (bar + 1) % 3 else (bar + 2) % 3
        out = bars[goal]
        scale = real(share / k)
        for slab in prange(slabs):
            first, stop = slab_of_rows(slab, slabs, rows)
            for row in range(first, stop):
                x0 = row // n1
                x1 = row - x0 * n1
                o = row * stride + 2
                for k in range(n):
                    out[at(o + k)] = whole[at(o + k)]
                for a in range(3 - sizes[4], 2):
                    x = x0 if a == 0 else x1
                    last = sizes[a] - 1
                    f0 = faces_beside(planes, starts, a, x0, x1, x - 1, n1, stride) + 2
                    f1 = faces_beside(planes, starts, a, x0, x1, x, n1, stride) + 2
                    f2 = faces_beside(planes, starts, a, x0, x1, x + 1, n1, stride) + 2
                    f3 = faces_beside(planes, starts, a, x0, x1, x + 2, n1, stride) + 2
                    c0 = cells_beside(beside, a, x0, x1, x - 2, n1, rows, stride) + 2
                    c1 = cells_beside(beside, a, x0, x1, x - 1, n1, rows, stride) + 2
                    c3 = cells_beside(beside, a, x0, x1, x + 1, n1, rows, stride) + 2
                    c4 = cells_beside(beside, a, x0, x1, x + 2, n1, rows, stride) + 2
                    share_low = four if kinds[a] == WALL_SIDE and x == 0 else five
                    share_high = four if kinds[a] == WALL_SIDE and x == last else five
                    pull_row(rho, y, w, out, w_bar, n, o, f0, f1, f2, f3, c0, c1, c3, c4, share_low, share_high,
                             zero, two, five, scale)  # fmt: skip
                    if kinds[a] == OPEN_SIDE and x == last:
                        blame_row(rho, y, w, w_bar, n, f2, c1, o, c3, c4, zero, two, five, scale)
                f = (starts[2] + row) * stride + 2
                pull_row(rho, y, w, out, w_bar, n, o, f - 1, f, f + 1, f + 2, o - 2, o - 1, o + 1, o + 2, five, five,
                         zero, two, five, scale)  # fmt: skip
                e = o + n
                blame_row(rho, y, w, w_bar, 1, f + n, e - 2, e - 1, e, e + 1, zero, two, five, scale)
                if kinds[2] == WALL_SIDE:
                    pull_wall_ends(y, w, out, n, o, f, zero, scale)
                fill_ghosts(out, o - 2, n, kinds[2], zero)
        clear_row(out, rows * stride, stride, zero)
        y = out
    return goal


@row_function
def flux_tangent(w, d_w, q0, q1, q2, q3, d0, d1, d2, d3, zero, two, five):
    """Derivative of `upward` along d_w and the d of its cells."""
    return d_w * face_value(w, q0, q1, q2, q3, zero, two, five) + upward(w, d0, d1, d2, d3, zero, two, five)


@row_function
def tangent_row(q, d, w, d_w, out, n, o, low, high, c0, c1, c3, c4, zero, two, five, scale):
    """out += scale 6 (A(w) d + A(d_w) q) of one axis, for a row."""
    for k in range(n):
        q1, q2, q3 = q[at(c1 + k)], q[at(o + k)], q[at(c3 + k)]
        d1, d2, d3 = d[at(c1 + k)], d[at(o + k)], d[at(c3 + k)]
        below = flux_tangent(w[at(low + k)], d_w[at(low + k)], q[at(c0 + k)], q1, q2, q3, d[at(c0 + k)], d1, d2, d3,
                             zero, two, five)  # fmt: skip
        above = flux_tangent(w[at(high + k)], d_w[at(high + k)], q1, q2, q3, q[at(c4 + k)], d1, d2, d3, d[at(c4 + k)],
                             zero, two, five)  # fmt: skip
        out[at(o + k)] += scale * (below - above)


@parallel_kernel
def term_tangent(q, d, w, d_w, out, scale, sizes, starts, kinds, beside, planes):
    """out = scale 6 (A(w) d + A(d_w) q): the derivative of a term by that before it and by w."""
    n0, n1, n, stride = sizes[0], sizes[1], sizes[2], sizes[3]
    rows, real = n0 * n1, q.dtype.type
    zero, two, five = real(0), real(2), real(5)
    for row in prange(rows):
        x0 = row // n1
        x1 = row - x0 * n1
        o = row * stride + 2
        clear_row(out, o, n, zero)
        for a in range(3 - sizes[4], 2):
            x = x0 if a == 0 else x1
            low = faces_beside(planes, starts, a, x0, x1, x, n1, stride) + 2
            high = faces_beside(planes, starts, a, x0, x1, x + 1, n1, stride) + 2
            c0 = cells_beside(beside, a, x0, x1, x - 2, n1, rows, stride) + 2
            c1 = cells_beside(beside, a, x0, x1, x - 1, n1, rows, stride) + 2
            c3 = cells_beside(beside, a, x0, x1, x + 1, n1, rows, stride) + 2
            c4 = cells_beside(beside, a, x0, x1, x + 2, n1, rows, stride) + 2
            tangent_row(q, d, w, d_w, out, n, o, low, high, c0, c1, c3, c4, zero, two, five, scale)
        line = (starts[2] + row) * stride + 2
        tangent_row(q, d, w, d_w, out, n, o, line, line + 1, o - 2, o - 1, o + 1, o + 2, zero, two, five, scale)
        fill_ghosts(out, o - 2, n, kinds[2], zero)
    clear_row(out, rows * stride, stride, zero)
