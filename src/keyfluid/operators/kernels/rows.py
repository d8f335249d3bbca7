"""Rows of a lattice in two or three dimensions: sample, differentiate, scatter.

A *row* is a run of m points along the last axis at fixed i, in three dimensions (i, j). Point k lies at lattice
coordinate (i + base0 + r[k], j + base1 + r[m + k], k + base2 + r[2 m + k]), in cells: `base` is the offset between the
place of the points and the lattice that is read (0 or +-1/2), r the displacement. In two dimensions the middle one of
the three is missing, and j is not read.

`lattices[c]` is, as integers: offset of the first value in the flat array, size of each axis, period of each axis (see
keyfluid/kernels/lattice.py), strides of all axes but the last. What is read at displaced points has a frame (frame.py):
each value has a right neighbour in memory along every axis, itself at the end of a clamped one.

Arrays are flat and come with the offset of the row in them (keyfluid/kernels/compile.py says why). Indices along a row
are kept to 32 bits, as wide as the values beside them, lest LLVM split its vectors. `axes` is known when a kernel is
compiled (advect.py): what asks for it costs nothing.
"""

import numpy as np

from keyfluid.kernels.compile import row_function
from keyfluid.kernels.lattice import at, bounds, index, locate, locate_left, neighbour
from keyfluid.operators.kernels.pairs import pair_row


@row_function
def axis_of(lattices, bases, c, axes, axis):
    """Size, period and base of an axis."""
    return lattices[c, 1 + axis], lattices[c, 1 + axes + axis], bases[c, axis]


@row_function
def strides_of(lattices, c, axes):
    """Strides of the first axis and of the middle one."""
    s0 = lattices[c, 1 + 2 * axes]
    return s0, lattices[c, 2 + 2 * axes] if axes == 3 else s0


@row_function
def find_row(lattices, bases, c, axes, i, j, r, rs, m, part, place, p):
    """Where the points r[rs:] fall: place[p + k] of the first corner, fractions part[axes p + axis m + k]."""
    fs, last = axes * p, (axes - 1) * m
    first = lattices[c, 0]
    n0, p0, b0 = axis_of(lattices, bases, c, axes, 0)
    n1, p1, b1 = axis_of(lattices, bases, c, axes, 1)
    n2, p2, b2 = axis_of(lattices, bases, c, axes, axes - 1)
    s0, s1 = strides_of(lattices, c, axes)
    low0, high0 = bounds(i, n0, p0, bases)
    low1, high1 = bounds(j, n1, p1, bases)
    low2, high2 = bounds(0, n2, p2, bases)
    real = bases.dtype.type
    clamped = real(p2 == 0)
    i, j = np.int32(i), np.int32(j)
    for k in range(m):
        shift = clamped * real(np.int32(k))
        x, f = locate(r[at(rs + k)] + b0, i, low0, high0, n0, p0)
        z, h = locate(r[at(rs + last + k)] + b2, np.int32(k), low2 - shift, high2 - shift, n2, p2)
        o = np.int32(np.int32(first + z) + np.int32(x * s0))
        if axes == 3:
            y, g = locate(r[at(rs + m + k)] + b1, j, low1, high1, n1, p1)
            o = np.int32(o + np.int32(y * s1))
            part[at(fs + m + k)] = g
        place[at(p + k)] = o
        part[at(fs + k)] = f
        part[at(fs + last + k)] = h


@row_function
def corners_row(a, lattices, c, axes, place, p, m, corner, cs):
    """The values around each point: corner[cs + (4 x + 2 y + z) m + k], in two dimensions [cs + (2 x + z) m + k]."""
    s0, s1 = strides_of(lattices, c, axes)
    for x in range(2):
        if axes == 3:
            for y in range(2):
                pair_row(a, x * np.int64(s0) + y * np.int64(s1), place, p, m, corner, cs + (4 * x + 2 * y) * m)
        else:
            pair_row(a, x * np.int64(s0), place, p, m, corner, cs + 2 * x * m)


@row_function
def value_row(a, lattices, bases, c, axes, i, j, r, rs, m, out, start, corner, cs, part, place, p):
    """out[start + k] = a interpolated at point k, displaced by r[rs:]; `corner`, `part` and `place` are scratch."""
    fs = axes * p
    find_row(lattices, bases, c, axes, i, j, r, rs, m, part, place, p)
    corners_row(a, lattices, c, axes, place, p, m, corner, cs)
    for k in range(m):
        f, h = part[at(fs + k)], part[at(fs + (axes - 1) * m + k)]
        if axes == 3:
            g = part[at(fs + m + k)]
            a00, a01 = corner[at(cs + k)], corner[at(cs + 2 * m + k)]
            a10, a11 = corner[at(cs + 4 * m + k)], corner[at(cs + 6 * m + k)]
            a00 += h * (corner[at(cs + m + k)] - a00)
            a01 += h * (corner[at(cs + 3 * m + k)] - a01)
            a10 += h * (corner[at(cs + 5 * m + k)] - a10)
            a11 += h * (corner[at(cs + 7 * m + k)] - a11)
            a0 = a00 + g * (a01 - a00)
            a1 = a10 + g * (a11 - a10)
        else:
            a0, a1 = corner[at(cs + k)], corner[at(cs + 2 * m + k)]
            a0 += h * (corner[at(cs + m + k)] - a0)
            a1 += h * (corner[at(cs + 3 * m + k)] - a1)
        out[at(start + k)] = a0 + f * (a1 - a0)


@row_function
def slope_flat(a00, a01, a10, a11, f, g):
    """Value and the two derivatives of the bilinear interpolant in one cell."""
    y0, y1 = a01 - a00, a11 - a10
    v0, v1 = a00 + g * y0, a10 + g * y1
    return v0 + f * (v1 - v0), v1 - v0, y0 + f * (y1 - y0)


@row_function
def slope_deep(a000, a001, a010, a011, a100, a101, a110, a111, f, g, h):
    """Value and the three derivatives of the trilinear interpolant in one cell."""
    z00, z01, z10, z11 = a001 - a000, a011 - a010, a101 - a100, a111 - a110
    v00, v01, v10, v11 = a000 + h * z00, a010 + h * z01, a100 + h * z10, a110 + h * z11
    y0, y1 = v01 - v00, v11 - v10
    v0, v1 = v00 + g * y0, v10 + g * y1
    z0, z1 = z00 + g * (z01 - z00), z10 + g * (z11 - z10)
    return v0 + f * (v1 - v0), v1 - v0, y0 + f * (y1 - y0), z0 + f * (z1 - z0)


@row_function
def slope_row(a, lattices, bases, c, axes, i, j, r, rs, m, value, vs, corner, cs, part, place, grad, p):
    """Value and gradient (per cell) of a at the points r[rs:]: value[vs + k], grad[axes p + axis m + k].

    `part` and `place` (see `find_row`) are kept for `scatter_row`, `corner` is scratch. Points that were clamped to
    the end of an axis lie on a node as well, but their derivative along it is zero on both sides: no kink.
    """
    fs, last = axes * p, (axes - 1) * m
    find_row(lattices, bases, c, axes, i, j, r, rs, m, part, place, p)
    corners_row(a, lattices, c, axes, place, p, m, corner, cs)
    first = lattices[c, 0]
    n0, p0, b0 = axis_of(lattices, bases, c, axes, 0)
    n1, p1, b1 = axis_of(lattices, bases, c, axes, 1)
    n2, p2, b2 = axis_of(lattices, bases, c, axes, axes - 1)
    s0, s1 = strides_of(lattices, c, axes)
    low0, high0 = bounds(i, n0, p0, bases)
    low1, high1 = bounds(j, n1, p1, bases)
    low2, high2 = bounds(0, n2, p2, bases)
    real = bases.dtype.type
    clamped = real(p2 == 0)
    kink = False
    for k in range(m):
        shift = clamped * real(np.int32(k))
        u0, u2 = r[at(rs + k)] + b0, r[at(rs + last + k)] + b2
        f, h = part[at(fs + k)], part[at(fs + last + k)]
        inside0, inside2 = (low0 <= u0) & (u0 <= high0), (low2 - shift <= u2) & (u2 <= high2 - shift)
        kink |= ((f == 0) & inside0) | ((h == 0) & inside2)
        if axes == 3:
            u1, g = r[at(rs + m + k)] + b1, part[at(fs + m + k)]
            v, d0, d1, d2 = slope_deep(
                corner[at(cs + k)], corner[at(cs + m + k)], corner[at(cs + 2 * m + k)], corner[at(cs + 3 * m + k)],
                corner[at(cs + 4 * m + k)], corner[at(cs + 5 * m + k)], corner[at(cs + 6 * m + k)],
                corner[at(cs + 7 * m + k)], f, g, h,
            )  # fmt: skip
            inside1 = (low1 <= u1) & (u1 <= high1)
            grad[at(fs + m + k)] = d1 * real(inside1)
            kink |= (g == 0) & inside1
        else:
            v, d0, d2 = slope_flat(
                corner[at(cs + k)], corner[at(cs + m + k)], corner[at(cs + 2 * m + k)], corner[at(cs + 3 * m + k)], f, h
            )
        value[at(vs + k)] = v
        grad[at(fs + k)] = d0 * real(inside0)
        grad[at(fs + last + k)] = d2 * real(inside2)
    if not kink:
        return
    half = real(0.5)
    for k in range(m):
        if part[at(fs + k)] != 0 and part[at(fs + m + k)] != 0 and part[at(fs + last + k)] != 0:
            continue
        shift = clamped * real(np.int32(k))
        u0, u2 = r[at(rs + k)] + b0, r[at(rs + last + k)] + b2
        x, dx, f = locate_left(u0, i, low0, high0, n0, p0)
        z, dz, h = locate_left(u2, k, low2 - shift, high2 - shift, n2, p2)
        o, dx = first + x * s0 + z, dx * s0
        if axes == 3:
            u1 = r[at(rs + m + k)] + b1
            y, dy, g = locate_left(u1, j, low1, high1, n1, p1)
            o, dy = o + y * s1, dy * s1
            v, d0, d1, d2 = slope_deep(
                a[index(o)], a[index(o + dz)], a[index(o + dy)], a[index(o + dy + dz)],
                a[index(o + dx)], a[index(o + dx + dz)], a[index(o + dx + dy)], a[index(o + dx + dy + dz)], f, g, h,
            )  # fmt: skip
            d1 *= real((low1 <= u1) & (u1 <= high1))
            grad[at(fs + m + k)] = half * (grad[at(fs + m + k)] + d1)
        else:
            v, d0, d2 = slope_flat(a[index(o)], a[index(o + dz)], a[index(o + dx)], a[index(o + dx + dz)], f, h)
        d0 *= real((low0 <= u0) & (u0 <= high0))
        d2 *= real((low2 - shift <= u2) & (u2 <= high2 - shift))
        grad[at(fs + k)] = half * (grad[at(fs + k)] + d0)
        grad[at(fs + last + k)] = half * (grad[at(fs + last + k)] + d2)


@row_function
def scatter_row(target, lattices, c, axes, part, place, p, m, weight, ws):
    """Transpose of interpolation: spread weight[ws + k] over the neighbours of point k."""
    fs = axes * p
    t0, t1 = strides_of(lattices, c, axes)
    s0, s1 = np.int64(t0), np.int64(t1)
    for k in range(m):
        o = np.int64(place[at(p + k)])
        h = part[at(fs + (axes - 1) * m + k)]
        w = weight[at(ws + k)]
        w1 = w * part[at(fs + k)]
        w0 = w - w1
        if axes == 3:
            g = part[at(fs + m + k)]
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
        else:
            target[at(o)] += w0 - w0 * h
            target[at(o + 1)] += w0 * h
            target[at(o + s0)] += w1 - w1 * h
            target[at(o + s0 + 1)] += w1 * h


@row_function
def row_starts(lattices, bases, c, axes, i, j):
    """Offsets of the four rows around (i + base0, j + base1), in two dimensions of two, each twice; and the shifts
    along the last axis."""
    first = lattices[c, 0]
    n0, p0, b0 = axis_of(lattices, bases, c, axes, 0)
    s0, s1 = strides_of(lattices, c, axes)
    o00 = first + neighbour(np.int32(i) + np.int32(np.floor(b0)), n0, p0) * s0
    o10 = first + neighbour(np.int32(i) + np.int32(np.ceil(b0)), n0, p0) * s0
    o01, o11 = o00, o10
    if axes == 3:
        n1, p1, b1 = axis_of(lattices, bases, c, axes, 1)
        j0 = neighbour(np.int32(j) + np.int32(np.floor(b1)), n1, p1) * s1
        j1 = neighbour(np.int32(j) + np.int32(np.ceil(b1)), n1, p1) * s1
        o00, o01, o10, o11 = o00 + j0, o01 + j1, o10 + j0, o11 + j1
    b2 = bases[c, axes - 1]
    return o00, o01, o10, o11, np.int32(np.floor(b2)), np.int32(np.ceil(b2))


@row_function
def mean(a, axes, o00, o01, o10, o11, z0, z1, share):
    """The mean of the values around a point that stands still."""
    if axes == 3:
        left = (a[at(o00 + z0)] + a[at(o01 + z0)]) + (a[at(o10 + z0)] + a[at(o11 + z0)])
        right = (a[at(o00 + z1)] + a[at(o01 + z1)]) + (a[at(o10 + z1)] + a[at(o11 + z1)])
    else:
        left = a[at(o00 + z0)] + a[at(o10 + z0)]
        right = a[at(o00 + z1)] + a[at(o10 + z1)]
    return share * (left + right)


@row_function
def average_row(a, lattices, bases, c, axes, i, j, m, out, start):
    """out[start + k] = a at the undisplaced point: the mean of its one to 2^axes nearest values."""
    o00, o01, o10, o11, z0, z1 = row_starts(lattices, bases, c, axes, i, j)
    n2, p2, _ = axis_of(lattices, bases, c, axes, axes - 1)
    share = bases.dtype.type(0.125 if axes == 3 else 0.25)
    for k in range(max(0, -z0), min(m, n2 - z1)):
        out[at(start + k)] = mean(a, axes, o00, o01, o10, o11, z0 + k, z1 + k, share)
    for side in range(2):
        k = 0 if side == 0 else m - 1
        y0 = neighbour(np.int32(k) + z0, n2, p2)
        y1 = neighbour(np.int32(k) + z1, n2, p2)
        out[at(start + k)] = mean(a, axes, o00, o01, o10, o11, y0, y1, share)


@row_function
def spread_row(target, lattices, bases, c, axes, i, j, m, weight, ws):
    """Transpose of `average_row`; rows that coincide are visited once, with their shares added up."""
    o00, o01, o10, o11, z0, z1 = row_starts(lattices, bases, c, axes, i, j)
    n2, p2, _ = axis_of(lattices, bases, c, axes, axes - 1)
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
