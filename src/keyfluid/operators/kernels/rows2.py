"""Rows of a two-dimensional lattice: sample, differentiate, scatter (the twin of rows3.py).

A *row* is a run of m points along the last axis at fixed i. Point k lies at lattice coordinate (i + base0 + r[k], k +
base1 + r[m + k]), in cells. `lattices[c]` is six integers: offset of the first value in the flat array, sizes n0, n1,
periods of the two axes (see keyfluid/kernels/lattice.py), stride of the first. What is read at displaced points has a
frame (frame.py).
"""

import numpy as np

from keyfluid.kernels.compile import row_function
from keyfluid.kernels.lattice import at, bounds, index, locate, locate_left, neighbour
from keyfluid.operators.kernels.pairs import pair_row


@row_function
def find_row(lattices, bases, c, i, r, rs, m, part, place, p):
    """Where the points r[rs:] fall: place[p + k] of the first corner, fractions part[2 p + axis m + k]."""
    fs = 2 * p
    first, n0, n1 = lattices[c, 0], lattices[c, 1], lattices[c, 2]
    p0, p1, s0 = lattices[c, 3], lattices[c, 4], lattices[c, 5]
    b0, b1 = bases[c, 0], bases[c, 1]
    low0, high0 = bounds(i, n0, p0, bases)
    low1, high1 = bounds(0, n1, p1, bases)
    real = bases.dtype.type
    clamped = real(p1 == 0)
    i = np.int32(i)
    for k in range(m):
        shift = clamped * real(np.int32(k))
        x, f = locate(r[at(rs + k)] + b0, i, low0, high0, n0, p0)
        y, g = locate(r[at(rs + m + k)] + b1, np.int32(k), low1 - shift, high1 - shift, n1, p1)
        place[at(p + k)] = np.int32(np.int32(first + y) + np.int32(x * s0))
        part[at(fs + k)] = f
        part[at(fs + m + k)] = g


@row_function
def corners_row(a, lattices, c, place, p, m, corner, cs):
    """The four values around each point: corner[cs + (2 x + y) m + k]."""
    for x in range(2):
        pair_row(a, x * np.int64(lattices[c, 5]), place, p, m, corner, cs + 2 * x * m)


@row_function
def value_row(a, lattices, bases, c, i, r, rs, m, out, start, corner, cs, part, place, p):
    """out[start + k] = a interpolated at point k, displaced by r[rs:]; `corner`, `part` and `place` are scratch."""
    fs = 2 * p
    find_row(lattices, bases, c, i, r, rs, m, part, place, p)
    corners_row(a, lattices, c, place, p, m, corner, cs)
    for k in range(m):
        g = part[at(fs + m + k)]
        a0, a1 = corner[at(cs + k)], corner[at(cs + 2 * m + k)]
        a0 += g * (corner[at(cs + m + k)] - a0)
        a1 += g * (corner[at(cs + 3 * m + k)] - a1)
        out[at(start + k)] = a0 + part[at(fs + k)] * (a1 - a0)


@row_function
def slope(a00, a01, a10, a11, f, g):
    """Value and the two derivatives of the bilinear interpolant in one cell."""
    y0, y1 = a01 - a00, a11 - a10
    v0, v1 = a00 + g * y0, a10 + g * y1
    return v0 + f * (v1 - v0), v1 - v0, y0 + f * (y1 - y0)


@row_function
def slope_row(a, lattices, bases, c, i, r, rs, m, value, vs, corner, cs, part, place, grad, p):
    """Value and gradient (per cell) of a at the points r[rs:]: value[vs + k], grad[2 p + axis m + k].

    `part` and `place` (see `find_row`) are kept for `scatter_row`, `corner` is scratch.
    """
    fs = 2 * p
    find_row(lattices, bases, c, i, r, rs, m, part, place, p)
    corners_row(a, lattices, c, place, p, m, corner, cs)
    first, n0, n1 = lattices[c, 0], lattices[c, 1], lattices[c, 2]
    p0, p1, s0 = lattices[c, 3], lattices[c, 4], lattices[c, 5]
    b0, b1 = bases[c, 0], bases[c, 1]
    low0, high0 = bounds(i, n0, p0, bases)
    low1, high1 = bounds(0, n1, p1, bases)
    real = bases.dtype.type
    clamped = real(p1 == 0)
    kink = False
    for k in range(m):
        shift = clamped * real(np.int32(k))
        u0, u1 = r[at(rs + k)] + b0, r[at(rs + m + k)] + b1
        f, g = part[at(fs + k)], part[at(fs + m + k)]
        v, d0, d1 = slope(
            corner[at(cs + k)], corner[at(cs + m + k)], corner[at(cs + 2 * m + k)], corner[at(cs + 3 * m + k)], f, g
        )
        value[at(vs + k)] = v
        inside0 = (low0 <= u0) & (u0 <= high0)
        inside1 = (low1 - shift <= u1) & (u1 <= high1 - shift)
        grad[at(fs + k)] = d0 * real(inside0)
        grad[at(fs + m + k)] = d1 * real(inside1)
        kink |= ((f == 0) & inside0) | ((g == 0) & inside1)
    if not kink:
        return
    half = real(0.5)
    for k in range(m):
        if part[at(fs + k)] != 0 and part[at(fs + m + k)] != 0:
            continue
        shift = clamped * real(k)
        u0, u1 = r[at(rs + k)] + b0, r[at(rs + m + k)] + b1
        x, dx, f = locate_left(u0, i, low0, high0, n0, p0)
        y, dy, g = locate_left(u1, k, low1 - shift, high1 - shift, n1, p1)
        o, dx = first + x * s0 + y, dx * s0
        v, d0, d1 = slope(a[index(o)], a[index(o + dy)], a[index(o + dx)], a[index(o + dx + dy)], f, g)
        d0 *= real((low0 <= u0) & (u0 <= high0))
        d1 *= real((low1 - shift <= u1) & (u1 <= high1 - shift))
        grad[at(fs + k)] = half * (grad[at(fs + k)] + d0)
        grad[at(fs + m + k)] = half * (grad[at(fs + m + k)] + d1)


@row_function
def scatter_row(target, lattices, c, part, place, p, m, weight, ws):
    """Transpose of interpolation: spread weight[ws + k] over the four neighbours of point k."""
    fs = 2 * p
    s0 = np.int64(lattices[c, 5])
    for k in range(m):
        o = np.int64(place[at(p + k)])
        g = part[at(fs + m + k)]
        w = weight[at(ws + k)]
        w1 = w * part[at(fs + k)]
        w0 = w - w1
        target[at(o)] += w0 - w0 * g
        target[at(o + 1)] += w0 * g
        target[at(o + s0)] += w1 - w1 * g
        target[at(o + s0 + 1)] += w1 * g


@row_function
def row_starts(lattices, bases, c, i):
    """Offsets of the two rows around i + base0, and the shifts along the last axis."""
    first, n0, p0, s0 = lattices[c, 0], lattices[c, 1], lattices[c, 3], lattices[c, 5]
    b0, b1 = bases[c, 0], bases[c, 1]
    o0 = first + neighbour(np.int32(i) + np.int32(np.floor(b0)), n0, p0) * s0
    o1 = first + neighbour(np.int32(i) + np.int32(np.ceil(b0)), n0, p0) * s0
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
