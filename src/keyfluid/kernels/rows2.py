"""Rows of a two-dimensional lattice: sample, differentiate, scatter (the twin of rows3.py).

A *row* is a run of m points along the last axis at fixed i. Point k lies at lattice coordinate
(i + base0 + r[k], k + base1 + r[m + k]), in cells. `lattices[c]` is five integers: offset of the first value
in the flat array, sizes n0, n1, periods of the two axes (see lattice.py).
"""

import numpy as np

from .compile import row_function
from .lattice import at, bounds, index, last_step, locate, locate_left, neighbour


@row_function
def value_row(a, lattices, bases, c, i, r, rs, m, out, start):
    """out[start + k] = a interpolated at point k, displaced by r[rs:]."""
    first, n0, n1 = lattices[c, 0], lattices[c, 1], lattices[c, 2]
    p0, p1 = lattices[c, 3], lattices[c, 4]
    b0, b1 = bases[c, 0], bases[c, 1]
    low0, high0 = bounds(i, n0, p0, bases)
    low1, high1 = bounds(0, n1, p1, bases)
    s0, s1 = n1, np.int32(1)
    last0, last1 = last_step(n0, p0, s0), last_step(n1, p1, s1)
    clamped = bases.dtype.type(p1 == 0)
    for k in range(m):
        shift = clamped * bases.dtype.type(k)
        x, dx, f = locate(r[at(rs + k)] + b0, i, low0, high0, n0, p0, s0, last0)
        y, dy, g = locate(r[at(rs + m + k)] + b1, k, low1 - shift, high1 - shift, n1, p1, s1, last1)
        o = first + x + y
        a0 = a[index(o)]
        a0 += g * (a[index(o + dy)] - a0)
        o += dx
        a1 = a[index(o)]
        a1 += g * (a[index(o + dy)] - a1)
        out[at(start + k)] = a0 + f * (a1 - a0)


@row_function
def slope(a, o, dx, dy, f, g):
    """Value and the two derivatives of the bilinear interpolant in one cell."""
    a00 = a[index(o)]
    a01 = a[index(o + dy)]
    a10 = a[index(o + dx)]
    a11 = a[index(o + dx + dy)]
    y0, y1 = a01 - a00, a11 - a10
    v0, v1 = a00 + g * y0, a10 + g * y1
    return v0 + f * (v1 - v0), v1 - v0, y0 + f * (y1 - y0)


@row_function
def slope_row(a, lattices, bases, c, i, r, rs, m, value, vs, grad, part, gs, place, ps):
    """Value and gradient (per cell) of a at the points r[rs:], and where they are, for `scatter_row`.

    value[vs + k]; grad[gs + axis m + k]; part[gs + axis m + k]; place[ps + 0..2 m + k]: offset and two steps.
    """
    first, n0, n1 = lattices[c, 0], lattices[c, 1], lattices[c, 2]
    p0, p1 = lattices[c, 3], lattices[c, 4]
    b0, b1 = bases[c, 0], bases[c, 1]
    low0, high0 = bounds(i, n0, p0, bases)
    low1, high1 = bounds(0, n1, p1, bases)
    s0, s1 = n1, np.int32(1)
    last0, last1 = last_step(n0, p0, s0), last_step(n1, p1, s1)
    real = bases.dtype.type
    clamped = real(p1 == 0)
    kink = False
    for k in range(m):
        shift = clamped * real(k)
        u0, u1 = r[at(rs + k)] + b0, r[at(rs + m + k)] + b1
        x, dx, f = locate(u0, i, low0, high0, n0, p0, s0, last0)
        y, dy, g = locate(u1, k, low1 - shift, high1 - shift, n1, p1, s1, last1)
        o = first + x + y
        v, d0, d1 = slope(a, o, dx, dy, f, g)
        value[at(vs + k)] = v
        grad[at(gs + k)] = d0 * real((low0 <= u0) & (u0 <= high0))
        grad[at(gs + m + k)] = d1 * real((low1 - shift <= u1) & (u1 <= high1 - shift))
        place[at(ps + k)] = o
        place[at(ps + m + k)] = dx
        place[at(ps + 2 * m + k)] = dy
        part[at(gs + k)] = f
        part[at(gs + m + k)] = g
        kink |= (f == 0) | (g == 0)
    if not kink:
        return
    half = real(0.5)
    for k in range(m):
        if part[at(gs + k)] != 0 and part[at(gs + m + k)] != 0:
            continue
        shift = clamped * real(k)
        u0, u1 = r[at(rs + k)] + b0, r[at(rs + m + k)] + b1
        x, dx, f = locate_left(u0, i, low0, high0, n0, p0, s0, last0)
        y, dy, g = locate_left(u1, k, low1 - shift, high1 - shift, n1, p1, s1, last1)
        v, d0, d1 = slope(a, first + x + y, dx, dy, f, g)
        d0 *= real((low0 <= u0) & (u0 <= high0))
        d1 *= real((low1 - shift <= u1) & (u1 <= high1 - shift))
        grad[at(gs + k)] = half * (grad[at(gs + k)] + d0)
        grad[at(gs + m + k)] = half * (grad[at(gs + m + k)] + d1)


@row_function
def scatter_row(target, place, ps, part, fs, m, weight, ws):
    """Transpose of interpolation: spread weight[ws + k] over the four neighbours of point k."""
    for k in range(m):
        o = place[at(ps + k)]
        dx = place[at(ps + m + k)]
        dy = place[at(ps + 2 * m + k)]
        g = part[at(fs + m + k)]
        w = weight[at(ws + k)]
        w1 = w * part[at(fs + k)]
        w0 = w - w1
        target[index(o)] += w0 - w0 * g
        target[index(o + dy)] += w0 * g
        o += dx
        target[index(o)] += w1 - w1 * g
        target[index(o + dy)] += w1 * g


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
        left = a[at(o0 + y0 + k)] + a[at(o1 + y0 + k)]
        right = a[at(o0 + y1 + k)] + a[at(o1 + y1 + k)]
        out[at(start + k)] = quarter * (left + right)
    for side in range(2):
        k = 0 if side == 0 else m - 1
        z0 = neighbour(np.int32(k) + y0, n1, p1)
        z1 = neighbour(np.int32(k) + y1, n1, p1)
        out[at(start + k)] = quarter * ((a[at(o0 + z0)] + a[at(o1 + z0)]) + (a[at(o0 + z1)] + a[at(o1 + z1)]))


@row_function
def spread_row(target, lattices, bases, c, i, m, weight, ws):
    """Transpose of `average_row`; rows that coincide are visited once, with their shares added up."""
    o0, o1, y0, y1 = row_starts(lattices, bases, c, i)
    n1, p1 = lattices[c, 2], lattices[c, 4]
    rows = 1 if o0 == o1 else 2
    sides = 1 if y0 == y1 else 2
    share = bases.dtype.type(1) / bases.dtype.type(rows * sides)
    for row in range(rows):
        o = o0 if row == 0 else o1
        for side in range(sides):
            y = y0 if side == 0 else y1
            low, high = max(0, -y), min(m, n1 - y)
            for k in range(low, high):
                target[at(o + y + k)] += share * weight[at(ws + k)]
            for k in range(low):
                target[at(o + neighbour(np.int32(k) + y, n1, p1))] += share * weight[at(ws + k)]
            for k in range(high, m):
                target[at(o + neighbour(np.int32(k) + y, n1, p1))] += share * weight[at(ws + k)]
