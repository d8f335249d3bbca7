"""Rows of a three-dimensional lattice: sample, differentiate, scatter.

A *row* is a run of m points along the last axis at fixed (i, j). Point k lies at lattice coordinate
(i + base0 + r[k], j + base1 + r[m + k], k + base2 + r[2 m + k]), in cells: `base` is the offset between the
place of the points and the lattice that is read (0 or +-1/2), r the displacement.

`lattices[c]` is nine integers: offset of the first value in the flat array, sizes n0, n1, n2, periods of the three axes
(see keyfluid/kernels/lattice.py), strides of the first two. What is read at displaced points has a frame (frame.py):
each value has a right neighbour in memory along every axis, itself at the end of a clamped one.

Arrays are flat and come with the offset of the row in them (keyfluid/kernels/compile.py says why). Indices along a row
are kept to 32 bits, as wide as the values beside them, lest LLVM split its vectors.
"""

import numpy as np

from keyfluid.kernels.compile import row_function
from keyfluid.kernels.lattice import at, bounds, index, locate, locate_left, neighbour
from keyfluid.operators.kernels.pairs import pair_row


@row_function
def find_row(lattices, bases, c, i, j, r, rs, m, part, place, p):
    """Where the points r[rs:] fall: place[p + k] of the first corner, fractions part[3 p + axis m + k]."""
    fs = 3 * p
    first, n0, n1, n2 = lattices[c, 0], lattices[c, 1], lattices[c, 2], lattices[c, 3]
    p0, p1, p2 = lattices[c, 4], lattices[c, 5], lattices[c, 6]
    s0, s1 = lattices[c, 7], lattices[c, 8]
    b0, b1, b2 = bases[c, 0], bases[c, 1], bases[c, 2]
    low0, high0 = bounds(i, n0, p0, bases)
    low1, high1 = bounds(j, n1, p1, bases)
    low2, high2 = bounds(0, n2, p2, bases)
    real = bases.dtype.type
    clamped = real(p2 == 0)
    i, j = np.int32(i), np.int32(j)
    for k in range(m):
        shift = clamped * real(np.int32(k))
        x, f = locate(r[at(rs + k)] + b0, i, low0, high0, n0, p0)
        y, g = locate(r[at(rs + m + k)] + b1, j, low1, high1, n1, p1)
        z, h = locate(r[at(rs + 2 * m + k)] + b2, np.int32(k), low2 - shift, high2 - shift, n2, p2)
        place[at(p + k)] = np.int32(np.int32(np.int32(first + z) + np.int32(x * s0)) + np.int32(y * s1))
        part[at(fs + k)] = f
        part[at(fs + m + k)] = g
        part[at(fs + 2 * m + k)] = h


@row_function
def corners_row(a, lattices, c, place, p, m, corner, cs):
    """The eight values around each point: corner[cs + (4 x + 2 y + z) m + k]."""
    s0, s1 = np.int64(lattices[c, 7]), np.int64(lattices[c, 8])
    for x in range(2):
        for y in range(2):
            pair_row(a, x * s0 + y * s1, place, p, m, corner, cs + (4 * x + 2 * y) * m)


@row_function
def value_row(a, lattices, bases, c, i, j, r, rs, m, out, start, corner, cs, part, place, p):
    """out[start + k] = a interpolated at point k, displaced by r[rs:]; `corner`, `part` and `place` are scratch."""
    fs = 3 * p
    find_row(lattices, bases, c, i, j, r, rs, m, part, place, p)
    corners_row(a, lattices, c, place, p, m, corner, cs)
    for k in range(m):
        f, g, h = part[at(fs + k)], part[at(fs + m + k)], part[at(fs + 2 * m + k)]
        a00, a01 = corner[at(cs + k)], corner[at(cs + 2 * m + k)]
        a10, a11 = corner[at(cs + 4 * m + k)], corner[at(cs + 6 * m + k)]
        a00 += h * (corner[at(cs + m + k)] - a00)
        a01 += h * (corner[at(cs + 3 * m + k)] - a01)
        a10 += h * (corner[at(cs + 5 * m + k)] - a10)
        a11 += h * (corner[at(cs + 7 * m + k)] - a11)
        a00 += g * (a01 - a00)
        a10 += g * (a11 - a10)
        out[at(start + k)] = a00 + f * (a10 - a00)


@row_function
def slope(a000, a001, a010, a011, a100, a101, a110, a111, f, g, h):
    """Value and the three derivatives of the trilinear interpolant in one cell."""
    z00, z01, z10, z11 = a001 - a000, a011 - a010, a101 - a100, a111 - a110
    v00, v01, v10, v11 = a000 + h * z00, a010 + h * z01, a100 + h * z10, a110 + h * z11
    y0, y1 = v01 - v00, v11 - v10
    v0, v1 = v00 + g * y0, v10 + g * y1
    z0, z1 = z00 + g * (z01 - z00), z10 + g * (z11 - z10)
    return v0 + f * (v1 - v0), v1 - v0, y0 + f * (y1 - y0), z0 + f * (z1 - z0)


@row_function
def slope_row(a, lattices, bases, c, i, j, r, rs, m, value, vs, corner, cs, part, place, grad, p):
    """Value and gradient (per cell) of a at the points r[rs:]: value[vs + k], grad[3 p + axis m + k].

    `part` and `place` (see `find_row`) are kept for `scatter_row`, `corner` is scratch. Points that were clamped to
    the end of an axis lie on a node as well, but their derivative along it is zero on both sides: no kink.
    """
    fs = 3 * p
    find_row(lattices, bases, c, i, j, r, rs, m, part, place, p)
    corners_row(a, lattices, c, place, p, m, corner, cs)
    first, n0, n1, n2 = lattices[c, 0], lattices[c, 1], lattices[c, 2], lattices[c, 3]
    p0, p1, p2 = lattices[c, 4], lattices[c, 5], lattices[c, 6]
    s0, s1 = lattices[c, 7], lattices[c, 8]
    b0, b1, b2 = bases[c, 0], bases[c, 1], bases[c, 2]
    low0, high0 = bounds(i, n0, p0, bases)
    low1, high1 = bounds(j, n1, p1, bases)
    low2, high2 = bounds(0, n2, p2, bases)
    real = bases.dtype.type
    clamped = real(p2 == 0)
    kink = False
    for k in range(m):
        shift = clamped * real(np.int32(k))
        u0, u1, u2 = r[at(rs + k)] + b0, r[at(rs + m + k)] + b1, r[at(rs + 2 * m + k)] + b2
        f, g, h = part[at(fs + k)], part[at(fs + m + k)], part[at(fs + 2 * m + k)]
        v, d0, d1, d2 = slope(
            corner[at(cs + k)], corner[at(cs + m + k)], corner[at(cs + 2 * m + k)], corner[at(cs + 3 * m + k)],
            corner[at(cs + 4 * m + k)], corner[at(cs + 5 * m + k)], corner[at(cs + 6 * m + k)],
            corner[at(cs + 7 * m + k)], f, g, h,
        )  # fmt: skip
        value[at(vs + k)] = v
        inside0, inside1 = (low0 <= u0) & (u0 <= high0), (low1 <= u1) & (u1 <= high1)
        inside2 = (low2 - shift <= u2) & (u2 <= high2 - shift)
        grad[at(fs + k)] = d0 * real(inside0)
        grad[at(fs + m + k)] = d1 * real(inside1)
        grad[at(fs + 2 * m + k)] = d2 * real(inside2)
        kink |= ((f == 0) & inside0) | ((g == 0) & inside1) | ((h == 0) & inside2)
    if not kink:
        return
    half = real(0.5)
    for k in range(m):
        if part[at(fs + k)] != 0 and part[at(fs + m + k)] != 0 and part[at(fs + 2 * m + k)] != 0:
            continue
        shift = clamped * real(np.int32(k))
        u0, u1, u2 = r[at(rs + k)] + b0, r[at(rs + m + k)] + b1, r[at(rs + 2 * m + k)] + b2
        x, dx, f = locate_left(u0, i, low0, high0, n0, p0)
        y, dy, g = locate_left(u1, j, low1, high1, n1, p1)
        z, dz, h = locate_left(u2, k, low2 - shift, high2 - shift, n2, p2)
        o, dx, dy = first + x * s0 + y * s1 + z, dx * s0, dy * s1
        v, d0, d1, d2 = slope(
            a[index(o)], a[index(o + dz)], a[index(o + dy)], a[index(o + dy + dz)],
            a[index(o + dx)], a[index(o + dx + dz)], a[index(o + dx + dy)], a[index(o + dx + dy + dz)], f, g, h,
        )  # fmt: skip
        d0 *= real((low0 <= u0) & (u0 <= high0))
        d1 *= real((low1 <= u1) & (u1 <= high1))
        d2 *= real((low2 - shift <= u2) & (u2 <= high2 - shift))
        grad[at(fs + k)] = half * (grad[at(fs + k)] + d0)
        grad[at(fs + m + k)] = half * (grad[at(fs + m + k)] + d1)
        grad[at(fs + 2 * m + k)] = half * (grad[at(fs + 2 * m + k)] + d2)


@row_function
def scatter_row(target, lattices, c, part, place, p, m, weight, ws):
    """Transpose of interpolation: spread weight[ws + k] over the eight neighbours of point k."""
    fs = 3 * p
    s0, s1 = np.int64(lattices[c, 7]), np.int64(lattices[c, 8])
    for k in range(m):
        o = np.int64(place[at(p + k)])
        f = part[at(fs + k)]
        g = part[at(fs + m + k)]
        h = part[at(fs + 2 * m + k)]
        w = weight[at(ws + k)]
        w1 = w * f
        w0 = w - w1
        w01 = w0 * g
        w00 = w0 - w01
        w11 = w1 * g
        w10 = w1 - w11
        target[at(o)] += w00 - w00 * h
        target[at(o + 1)] += w00 * h
        target[at(o + s1)] += w01 - w01 * h
        target[at(o + s1 + 1)] += w01 * h
        target[at(o + s0)] += w10 - w10 * h
        target[at(o + s0 + 1)] += w10 * h
        target[at(o + s0 + s1)] += w11 - w11 * h
        target[at(o + s0 + s1 + 1)] += w11 * h


@row_function
def row_starts(lattices, bases, c, i, j):
    """Offsets of the four rows around (i + base0, j + base1), and the shifts along the last axis."""
    first, n0, n1 = lattices[c, 0], lattices[c, 1], lattices[c, 2]
    p0, p1, s0, s1 = lattices[c, 4], lattices[c, 5], lattices[c, 7], lattices[c, 8]
    b0, b1, b2 = bases[c, 0], bases[c, 1], bases[c, 2]
    i0 = neighbour(np.int32(i) + np.int32(np.floor(b0)), n0, p0)
    i1 = neighbour(np.int32(i) + np.int32(np.ceil(b0)), n0, p0)
    j0 = neighbour(np.int32(j) + np.int32(np.floor(b1)), n1, p1)
    j1 = neighbour(np.int32(j) + np.int32(np.ceil(b1)), n1, p1)
    o00 = first + i0 * s0 + j0 * s1
    o01 = first + i0 * s0 + j1 * s1
    o10 = first + i1 * s0 + j0 * s1
    o11 = first + i1 * s0 + j1 * s1
    return o00, o01, o10, o11, np.int32(np.floor(b2)), np.int32(np.ceil(b2))


@row_function
def average_row(a, lattices, bases, c, i, j, m, out, start):
    """out[start + k] = a at the undisplaced point: the mean of its two to eight nearest values."""
    o00, o01, o10, o11, z0, z1 = row_starts(lattices, bases, c, i, j)
    n2, p2 = lattices[c, 3], lattices[c, 6]
    eighth = bases.dtype.type(0.125)
    for k in range(max(0, -z0), min(m, n2 - z1)):
        left = (a[at(o00 + z0 + k)] + a[at(o01 + z0 + k)]) + (a[at(o10 + z0 + k)] + a[at(o11 + z0 + k)])
        right = (a[at(o00 + z1 + k)] + a[at(o01 + z1 + k)]) + (a[at(o10 + z1 + k)] + a[at(o11 + z1 + k)])
        out[at(start + k)] = eighth * (left + right)
    for side in range(2):
        k = 0 if side == 0 else m - 1
        y0 = neighbour(np.int32(k) + z0, n2, p2)
        y1 = neighbour(np.int32(k) + z1, n2, p2)
        left = (a[at(o00 + y0)] + a[at(o01 + y0)]) + (a[at(o10 + y0)] + a[at(o11 + y0)])
        right = (a[at(o00 + y1)] + a[at(o01 + y1)]) + (a[at(o10 + y1)] + a[at(o11 + y1)])
        out[at(start + k)] = eighth * (left + right)


@row_function
def spread_row(target, lattices, bases, c, i, j, m, weight, ws):
    """Transpose of `average_row`; rows that coincide are visited once, with their shares added up."""
    o00, o01, o10, o11, z0, z1 = row_starts(lattices, bases, c, i, j)
    n2, p2 = lattices[c, 3], lattices[c, 6]
    rows0 = 1 if o00 == o10 else 2
    rows1 = 1 if o00 == o01 else 2
    sides = 1 if z0 == z1 else 2
    share = bases.dtype.type(1) / bases.dtype.type(rows0 * rows1 * sides)
    for row in range(rows0 * rows1):
        first, second = row // rows1, row % rows1
        o = (o00 if second == 0 else o01) if first == 0 else (o10 if second == 0 else o11)
        for side in range(sides):
            z = z0 if side == 0 else z1
            low, high = max(0, -z), min(m, n2 - z)
            for k in range(low, high):
                target[at(o + z + k)] += share * weight[at(ws + k)]
            for k in range(low):
                target[at(o + neighbour(np.int32(k) + z, n2, p2))] += share * weight[at(ws + k)]
            for k in range(high, m):
                target[at(o + neighbour(np.int32(k) + z, n2, p2))] += share * weight[at(ws + k)]
