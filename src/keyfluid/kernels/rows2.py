"""Rows of a two-dimensional lattice: sample, differentiate, scatter (the twin of rows3.py).

A *row* is a run of m points along the last axis at fixed i. Point k lies at lattice coordinate
(i + base0 + r[k], k + base1 + r[m + k]), in cells. `lattices[c]` is five integers: offset of the first value
in the flat array, sizes n0, n1, periods of the two axes (see lattice.py).
"""

import numpy as np

from .compile import row_function
from .lattice import bounds, locate, neighbour


@row_function
def value_row(a, lattices, bases, c, i, r, rs, m, out, start):
    """out[start + k] = a interpolated at point k, displaced by r[rs:]."""
    first, n0, n1 = lattices[c, 0], lattices[c, 1], lattices[c, 2]
    p0, p1 = lattices[c, 3], lattices[c, 4]
    b0, b1 = bases[c, 0], bases[c, 1]
    low0, high0 = bounds(i, n0, p0, bases)
    low1, high1 = bounds(0, n1, p1, bases)
    clamped = bases.dtype.type(p1 == 0)
    for k in range(m):
        at = clamped * bases.dtype.type(k)
        x, dx, f, _ = locate(r[rs + k] + b0, i, low0, high0, n0, p0, n1, False)
        y, dy, g, _ = locate(r[rs + m + k] + b1, k, low1 - at, high1 - at, n1, p1, np.int32(1), False)
        o = first + x + y
        a0 = a[np.uint32(o)]
        a0 += g * (a[np.uint32(o + dy)] - a0)
        o += dx
        a1 = a[np.uint32(o)]
        a1 += g * (a[np.uint32(o + dy)] - a1)
        out[start + k] = a0 + f * (a1 - a0)


@row_function
def slope(a, o, dx, dy, f, g):
    """Value and the two derivatives of the bilinear interpolant in one cell."""
    a00 = a[np.uint32(o)]
    a01 = a[np.uint32(o + dy)]
    a10 = a[np.uint32(o + dx)]
    a11 = a[np.uint32(o + dx + dy)]
    y0, y1 = a01 - a00, a11 - a10
    v0, v1 = a00 + g * y0, a10 + g * y1
    return v0 + f * (v1 - v0), v1 - v0, y0 + f * (y1 - y0)


@row_function
def slope_row(a, lattices, bases, c, i, r, rs, m, value, vs, grad, gs, place, ps, part, fs):
    """Value and gradient (per cell) of a at the points r[rs:], and where they are, for `scatter_row`.

    A second pass, needed only if some point is at a kink, takes the mean with the left-hand derivative.

    value[vs + k]; grad[gs + axis m + k]; place[ps + 0..2 m + k]: offset and two steps; part[fs + axis m + k].
    """
    first, n0, n1 = lattices[c, 0], lattices[c, 1], lattices[c, 2]
    p0, p1 = lattices[c, 3], lattices[c, 4]
    b0, b1 = bases[c, 0], bases[c, 1]
    low0, high0 = bounds(i, n0, p0, bases)
    low1, high1 = bounds(0, n1, p1, bases)
    real = bases.dtype.type
    clamped = real(p1 == 0)
    for side in range(2):
        kinks = np.int32(0)
        share = real(1.0) if side == 0 else real(0.5)
        for k in range(m):
            at = clamped * real(k)
            u0, u1 = r[rs + k] + b0, r[rs + m + k] + b1
            x, dx, f, x0 = locate(u0, i, low0, high0, n0, p0, n1, side == 1)
            y, dy, g, x1 = locate(u1, k, low1 - at, high1 - at, n1, p1, np.int32(1), side == 1)
            o = first + x + y
            v, d0, d1 = slope(a, o, dx, dy, f, g)
            value[vs + k] = v if side == 0 else value[vs + k]
            before = grad[gs + k] if side == 1 else real(0)
            grad[gs + k] = share * (before + d0 * real(x0 == u0))
            before = grad[gs + m + k] if side == 1 else real(0)
            grad[gs + m + k] = share * (before + d1 * real(x1 == u1))
            place[ps + k] = o
            place[ps + m + k] = dx
            place[ps + 2 * m + k] = dy
            part[fs + k] = f
            part[fs + m + k] = g
            kinks += np.int32((f == 0) | (g == 0))
        if kinks == 0:
            break


@row_function
def scatter_row(target, place, ps, part, fs, m, weight, ws):
    """Transpose of interpolation: spread weight[ws + k] over the four neighbours of point k."""
    for k in range(m):
        o = place[ps + k]
        dx = place[ps + m + k]
        dy = place[ps + 2 * m + k]
        g = part[fs + m + k]
        w = weight[ws + k]
        w1 = w * part[fs + k]
        w0 = w - w1
        target[np.uint32(o)] += w0 - w0 * g
        target[np.uint32(o + dy)] += w0 * g
        o += dx
        target[np.uint32(o)] += w1 - w1 * g
        target[np.uint32(o + dy)] += w1 * g


@row_function
def row_starts(lattices, bases, c, i):
    """Offsets of the two rows around i + base0, and the shifts along the last axis."""
    first, n0, n1, p0 = lattices[c, 0], lattices[c, 1], lattices[c, 2], lattices[c, 3]
    b0, b1 = bases[c, 0], bases[c, 1]
    o0 = first + neighbour(np.int32(i) + np.int32(np.floor(b0)), n0, p0) * n1
    o1 = first + neighbour(np.int32(i) + np.int32(np.ceil(b0)), n0, p0) * n1
    return o0, o1, np.int32(np.floor(b1)), np.int32(np.ceil(b1))


@row_function
def average_row(a, lattices, bases, c, i, m, out, start):
    """out[start + k] = a at the undisplaced point: the mean of its one to four nearest values."""
    o0, o1, y0, y1 = row_starts(lattices, bases, c, i)
    n1, p1 = lattices[c, 2], lattices[c, 4]
    quarter = bases.dtype.type(0.25)
    for k in range(max(0, -y0), min(m, n1 - y1)):
        out[start + k] = quarter * ((a[o0 + y0 + k] + a[o1 + y0 + k]) + (a[o0 + y1 + k] + a[o1 + y1 + k]))
    for side in range(2):
        k = 0 if side == 0 else m - 1
        z0 = neighbour(np.int32(k) + y0, n1, p1)
        z1 = neighbour(np.int32(k) + y1, n1, p1)
        out[start + k] = quarter * ((a[o0 + z0] + a[o1 + z0]) + (a[o0 + z1] + a[o1 + z1]))


@row_function
def spread_row(target, lattices, bases, c, i, m, weight, ws):
    """Transpose of `average_row`."""
    o0, o1, y0, y1 = row_starts(lattices, bases, c, i)
    n1, p1 = lattices[c, 2], lattices[c, 4]
    quarter = bases.dtype.type(0.25)
    for row in range(2):
        o = o0 if row == 0 else o1
        for side in range(2):
            y = y0 if side == 0 else y1
            low, high = max(0, -y), min(m, n1 - y)
            for k in range(low, high):
                target[o + y + k] += quarter * weight[ws + k]
            for k in range(low):
                target[o + neighbour(np.int32(k) + y, n1, p1)] += quarter * weight[ws + k]
            for k in range(high, m):
                target[o + neighbour(np.int32(k) + y, n1, p1)] += quarter * weight[ws + k]
