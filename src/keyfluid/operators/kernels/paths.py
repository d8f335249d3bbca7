"""Paths followed back through many steps, what they read at their starts, and the derivatives of both.

Paths end in `points` (the lattice of cell centres, as a tuple: axes is known when a kernel is compiled), several in
each cell. `way` has their displacements in cells from the cell's centre, a block of axes m for every row of m cells:
block ((s groups + g) m0 + i) m1 + j after s steps, of group g (the place within a cell), row (i, j). way[n] is where
paths end, way[0] where they began. A step back is the midpoint rule,

    mid = x - h/2 u(x),   y = x - h u(mid),   h = dt / dx = `scale`

with u linear between faces (rows.py). `lattices` and `bases` have a row for each component of each step's velocity,
step after step, then one for the carried quantity.

Adjoints add into copies, one for each slab of rows, which are then summed in the slabs' order: the result is
bit-identical for any number of threads.
"""

import numpy as np
from numba import prange

from keyfluid.kernels.compile import parallel_kernel, row_function
from keyfluid.kernels.lattice import at
from keyfluid.operators.kernels.advect import rows_of
from keyfluid.operators.kernels.rows import scatter_row, slope_row, value_row

SLABS = 16
COPIES = 8


def work_arrays(axes, rows, slabs, dtype):
    """mid, rate, pull, corner, part, place, slope for rows of `rows` cells."""
    place = np.empty(slabs * 2 * axes * rows, np.int32)
    sizes = (axes, 2 * axes, axes, 2**axes, 2 * axes * axes, 2 * axes * axes)
    mid, rate, pull, corner, part, slope = (np.empty(slabs * n * rows, dtype) for n in sizes)
    return mid, rate, pull, corner, part, place, slope


@row_function
def _block(points, groups, s, t, j):
    """Where the block of row (t, j) of all groups begins, after s steps."""
    m0, m1, m = rows_of(points)
    return ((s * groups * m0 + t) * m1 + j) * len(points) * m


@row_function
def _around(way, start, bases, lattices, axes, m):
    """Displacements along periodic axes, brought back by a period."""
    for a in range(axes):
        period = lattices[0, 1 + axes + a]
        if period > 0:
            length = bases.dtype.type(period)
            for n in range(m):
                r = way[at(start + a * m + n)]
                way[at(start + a * m + n)] = r + (length if r < -length else (-length if r > length else r * 0))


@parallel_kernel
def trace(way, velocity, groups, steps, scale, half, lattices, bases, points, slabs, mid, rate, corner, part, place):
    """Fill the way of all steps before the last."""
    axes = len(points)
    m0, m1, m = rows_of(points)
    for slab in prange(slabs):
        w, v, q, p = slab * axes * m, slab * 2 * axes * m, slab * 2**axes * m, slab * 2 * axes * m
        for s in range(steps - 1, -1, -1):
            for t in range(slab * groups * m0 // slabs, (slab + 1) * groups * m0 // slabs):
                i = t % m0
                for j in range(m1):
                    here, there = _block(points, groups, s + 1, t, j), _block(points, groups, s, t, j)
                    for c in range(bases.shape[1]):
                        value_row(velocity, lattices, bases, s * axes + c, axes, i, j, way, here, m, rate, v + c * m,
                                  corner, q, part, place, p)  # fmt: skip
                    for n in range(axes * m):
                        mid[at(w + n)] = way[at(here + n)] - half * rate[at(v + n)]
                    for c in range(bases.shape[1]):
                        value_row(velocity, lattices, bases, s * axes + c, axes, i, j, mid, w, m, rate, v + c * m,
                                  corner, q, part, place, p)  # fmt: skip
                    for n in range(axes * m):
                        way[at(there + n)] = way[at(here + n)] - scale * rate[at(v + n)]
                    _around(way, there, bases, lattices, axes, m)


@parallel_kernel
def meet(way, step, gain, keep, fade, total, weight, groups, steps, lattices, bases, points, slabs, rate, corner, part,
         place):  # fmt: skip
    """What paths are given at the start of a step: total += weight gain(x), weight *= fade keep(x)."""
    axes = len(points)
    m0, m1, m = rows_of(points)
    for slab in prange(slabs):
        v, q, p = slab * 2 * axes * m, slab * 2**axes * m, slab * 2 * axes * m
        for t in range(slab * groups * m0 // slabs, (slab + 1) * groups * m0 // slabs):
            i = t % m0
            for j in range(m1):
                here, o = _block(points, groups, step, t, j), (t * m1 + j) * m
                value_row(gain, lattices, bases, steps * axes, axes, i, j, way, here, m, rate, v, corner, q, part,
                          place, p)  # fmt: skip
                value_row(keep, lattices, bases, steps * axes, axes, i, j, way, here, m, rate, v + m, corner, q, part,
                          place, p)  # fmt: skip
                for n in range(m):
                    total[at(o + n)] += weight[at(o + n)] * rate[at(v + n)]
                    weight[at(o + n)] *= fade * rate[at(v + m + n)]


@parallel_kernel
def meet_adjoint(way, step, gain, keep, fade, weight, carried, out_bar, way_bar, groups, steps, lattices, bases, points,
                 slabs, rate, corner, part, place, slope):  # fmt: skip
    """Add to way_bar what the gift of a step depends on where it was met, and carry the density over that gift.

    weight: of later steps; carried: the density of each path before the gift, then after it.
    """
    axes = len(points)
    m0, m1, m = rows_of(points)
    share = bases.dtype.type(1.0 / groups)
    for slab in prange(slabs):
        v, q, p = slab * 2 * axes * m, slab * 2**axes * m, slab * 2 * axes * m
        for t in range(slab * groups * m0 // slabs, (slab + 1) * groups * m0 // slabs):
            i = t % m0
            for j in range(m1):
                here, bar, o = _block(points, groups, step, t, j), _block(points, groups, 0, t, j), (t * m1 + j) * m
                slope_row(gain, lattices, bases, steps * axes, axes, i, j, way, here, m, rate, v, corner, q, part,
                          place, slope, p)  # fmt: skip
                slope_row(keep, lattices, bases, steps * axes, axes, i, j, way, here, m, rate, v + m, corner, q, part,
                          place, slope, p + m)  # fmt: skip
                for n in range(m):
                    push = share * out_bar[at((i * m1 + j) * m + n)] * weight[at(o + n)]
                    kept = fade * carried[at(o + n)]
                    for a in range(axes):
                        change = slope[at(axes * p + a * m + n)] + slope[at(axes * (p + m) + a * m + n)] * kept
                        way_bar[at(bar + a * m + n)] += push * change
                    carried[at(o + n)] = rate[at(v + n)] + rate[at(v + m + n)] * kept


@parallel_kernel
def read(way, values, each, groups, steps, lattices, bases, points, slabs, rate, corner, part, place):
    """each = the carried values where the paths began, path by path."""
    axes = len(points)
    m0, m1, m = rows_of(points)
    for slab in prange(slabs):
        q, p = slab * 2**axes * m, slab * 2 * axes * m
        for t in range(slab * groups * m0 // slabs, (slab + 1) * groups * m0 // slabs):
            for j in range(m1):
                value_row(values, lattices, bases, steps * axes, axes, t % m0, j, way, _block(points, groups, 0, t, j),
                          m, each, (t * m1 + j) * m, corner, q, part, place, p)  # fmt: skip


@parallel_kernel
def read_adjoint(way, values, out_bar, weight, way_bar, copies, groups, steps, lattices, bases, points, slabs, rate,
                 corner, part, place, slope):  # fmt: skip
    """Add to the derivatives by where paths began, and to copies of those by the values."""
    axes = len(points)
    m0, m1, m = rows_of(points)
    size = copies.size // slabs
    share = bases.dtype.type(1.0 / groups)
    for slab in prange(slabs):
        v, q, p = slab * 2 * axes * m, slab * 2**axes * m, slab * 2 * axes * m
        for n in range(slab * size, (slab + 1) * size):
            copies[at(n)] = 0
        for t in range(slab * groups * m0 // slabs, (slab + 1) * groups * m0 // slabs):
            i = t % m0
            for j in range(m1):
                here, o = _block(points, groups, 0, t, j), (t * m1 + j) * m
                slope_row(values, lattices, bases, steps * axes, axes, i, j, way, here, m, rate, v, corner, q, part,
                          place, slope, p)  # fmt: skip
                for n in range(m):
                    rate[at(v + n)] = share * out_bar[at((i * m1 + j) * m + n)] * weight[at(o + n)]
                    place[at(p + n)] += np.int32(slab * size)
                for a in range(axes):
                    for n in range(m):
                        way_bar[at(here + a * m + n)] += slope[at(axes * p + a * m + n)] * rate[at(v + n)]
                scatter_row(copies, lattices, steps * axes, axes, part, place, p, m, rate, v)


@parallel_kernel
def trace_adjoint(way, velocity, way_bar, velocity_bar, copies, begin, end, groups, scale, half, lattices, bases,
                  points, slabs, mid, rate, pull, corner, part, place, slope):  # fmt: skip
    """Derivatives by the velocities of steps `begin` to `end`. way_bar: by where paths were before them; moves on:

    mid_bar = -h (grad u(mid))^T y_bar,   x_bar = y_bar + mid_bar - h/2 (grad u(x))^T mid_bar
    """
    axes = len(points)
    m0, m1, m = rows_of(points)
    size = copies.size // slabs
    for s in range(begin, end):
        for slab in prange(slabs):
            w, v, q, p = slab * axes * m, slab * 2 * axes * m, slab * 2**axes * m, slab * 2 * axes * m
            second = v + axes * m
            for n in range(slab * size, (slab + 1) * size):
                copies[at(n)] = 0
            for t in range(slab * groups * m0 // slabs, (slab + 1) * groups * m0 // slabs):
                i = t % m0
                for j in range(m1):
                    here, bar = _block(points, groups, s + 1, t, j), _block(points, groups, 0, t, j)
                    largest = bases.dtype.type(0)
                    for n in range(axes * m):
                        largest = max(largest, abs(way_bar[at(bar + n)]))
                    if largest == 0:
                        continue
                    for c in range(bases.shape[1]):
                        slope_row(velocity, lattices, bases, s * axes + c, axes, i, j, way, here, m, rate, v + c * m,
                                  corner, q, part, place, slope, p + c * m)  # fmt: skip
                    for n in range(axes * m):
                        mid[at(w + n)] = way[at(here + n)] - half * rate[at(v + n)]
                    for c in range(bases.shape[1]):
                        slope_row(velocity, lattices, bases, s * axes + c, axes, i, j, mid, w, m, rate, v + c * m,
                                  corner, q, part, place, slope, p + (axes + c) * m)  # fmt: skip
                    shift = np.int32(slab * size - s * size)
                    for n in range(2 * axes * m):
                        place[at(p + n)] += shift
                    for n in range(axes * m):
                        rate[at(v + n)] = -scale * way_bar[at(bar + n)]
                    _times_slopes(slope, axes * (p + axes * m), rate, v, pull, w, axes, m)
                    for n in range(axes * m):
                        rate[at(second + n)] = -half * pull[at(w + n)]
                        way_bar[at(bar + n)] += pull[at(w + n)]
                    _times_slopes(slope, axes * p, rate, second, pull, w, axes, m)
                    for n in range(axes * m):
                        way_bar[at(bar + n)] += pull[at(w + n)]
                    for c in range(bases.shape[1]):
                        scatter_row(copies, lattices, s * axes + c, axes, part, place, p + (axes + c) * m, m, rate,
                                    v + c * m)  # fmt: skip
                        scatter_row(copies, lattices, s * axes + c, axes, part, place, p + c * m, m, rate,
                                    second + c * m)  # fmt: skip
        for slab in prange(slabs):
            for n in range(slab * size // slabs, (slab + 1) * size // slabs):
                total = copies[at(n)]
                for copy in range(1, slabs):
                    total += copies[at(copy * size + n)]
                velocity_bar[at(s * size + n)] = total


@row_function
def _times_slopes(slope, b, weight, ws, out, o, axes, m):
    """out[a] = sum over components c of (d u_c / d x_a) weight[c]."""
    for a in range(axes):
        for n in range(m):
            total = slope[at(b + a * m + n)] * weight[at(ws + n)]
            total += slope[at(b + (axes + a) * m + n)] * weight[at(ws + m + n)]
            if axes == 3:
                total += slope[at(b + (2 * axes + a) * m + n)] * weight[at(ws + 2 * m + n)]
            out[at(o + a * m + n)] = total


@row_function
def _slopes_times(slope, b, change, cs, out, o, axes, m):
    """out[c] += sum over axes a of (d u_c / d x_a) change[a]."""
    for c in range(axes):
        for n in range(m):
            total = slope[at(b + (c * axes) * m + n)] * change[at(cs + n)]
            total += slope[at(b + (c * axes + 1) * m + n)] * change[at(cs + m + n)]
            if axes == 3:
                total += slope[at(b + (c * axes + 2) * m + n)] * change[at(cs + 2 * m + n)]
            out[at(o + c * m + n)] += total


@parallel_kernel
def trace_tangent(way, velocity, d_velocity, d_way, begin, end, groups, scale, half, lattices, bases, points, slabs,
                  mid, rate, pull, corner, part, place, slope):  # fmt: skip
    """Change of where paths were before steps `begin` to `end` for a change of their velocities; d_way: of where they
    were after them, then of where they were before."""
    axes = len(points)
    m0, m1, m = rows_of(points)
    for slab in prange(slabs):
        w, v, q, p = slab * axes * m, slab * 2 * axes * m, slab * 2**axes * m, slab * 2 * axes * m
        for s in range(end - 1, begin - 1, -1):
            for t in range(slab * groups * m0 // slabs, (slab + 1) * groups * m0 // slabs):
                i = t % m0
                for j in range(m1):
                    here, change = _block(points, groups, s + 1, t, j), _block(points, groups, 0, t, j)
                    for c in range(bases.shape[1]):
                        slope_row(velocity, lattices, bases, s * axes + c, axes, i, j, way, here, m, rate, v + c * m,
                                  corner, q, part, place, slope, p + c * m)  # fmt: skip
                    for n in range(axes * m):
                        mid[at(w + n)] = way[at(here + n)] - half * rate[at(v + n)]
                    for c in range(bases.shape[1]):
                        value_row(d_velocity, lattices, bases, s * axes + c, axes, i, j, way, here, m, rate, v + c * m,
                                  corner, q, part, place, p + (axes + c) * m)  # fmt: skip
                    _slopes_times(slope, axes * p, d_way, change, rate, v, axes, m)
                    for n in range(axes * m):
                        pull[at(w + n)] = d_way[at(change + n)] - half * rate[at(v + n)]
                    for c in range(bases.shape[1]):
                        slope_row(velocity, lattices, bases, s * axes + c, axes, i, j, mid, w, m, rate, v + c * m,
                                  corner, q, part, place, slope, p + c * m)  # fmt: skip
                    for c in range(bases.shape[1]):
                        value_row(d_velocity, lattices, bases, s * axes + c, axes, i, j, mid, w, m, rate, v + c * m,
                                  corner, q, part, place, p + (axes + c) * m)  # fmt: skip
                    _slopes_times(slope, axes * p, pull, w, rate, v, axes, m)
                    for n in range(axes * m):
                        d_way[at(change + n)] -= scale * rate[at(v + n)]


@parallel_kernel
def read_tangent(way, values, d_way, d_values, each, groups, steps, lattices, bases, points, slabs, rate, corner, part,
                 place, slope):  # fmt: skip
    """Change of `read` for changes of where paths began and of the values."""
    axes = len(points)
    m0, m1, m = rows_of(points)
    for slab in prange(slabs):
        v, q, p = slab * 2 * axes * m, slab * 2**axes * m, slab * 2 * axes * m
        for t in range(slab * groups * m0 // slabs, (slab + 1) * groups * m0 // slabs):
            i = t % m0
            for j in range(m1):
                here, o = _block(points, groups, 0, t, j), (t * m1 + j) * m
                slope_row(values, lattices, bases, steps * axes, axes, i, j, way, here, m, rate, v, corner, q, part,
                          place, slope, p)  # fmt: skip
                value_row(d_values, lattices, bases, steps * axes, axes, i, j, way, here, m, each, o, corner, q, part,
                          place, p + m)  # fmt: skip
                for a in range(axes):
                    for n in range(m):
                        each[at(o + n)] += slope[at(axes * p + a * m + n)] * d_way[at(here + a * m + n)]


@parallel_kernel
def meet_tangent(way, step, gain, keep, fade, weight, d_total, d_weight, d_way, groups, steps, lattices, bases, points,
                 slabs, rate, corner, part, place, slope):  # fmt: skip
    """Change of `meet`; d_way: change of where the gift of a step is met. weight moves on as well."""
    axes = len(points)
    m0, m1, m = rows_of(points)
    for slab in prange(slabs):
        v, q, p = slab * 2 * axes * m, slab * 2**axes * m, slab * 2 * axes * m
        for t in range(slab * groups * m0 // slabs, (slab + 1) * groups * m0 // slabs):
            i = t % m0
            for j in range(m1):
                here, change, o = _block(points, groups, step, t, j), _block(points, groups, 0, t, j), (t * m1 + j) * m
                slope_row(gain, lattices, bases, steps * axes, axes, i, j, way, here, m, rate, v, corner, q, part,
                          place, slope, p)  # fmt: skip
                slope_row(keep, lattices, bases, steps * axes, axes, i, j, way, here, m, rate, v + m, corner, q, part,
                          place, slope, p + m)  # fmt: skip
                for n in range(m):
                    d_gain, d_keep = rate[at(v + n)] * 0, rate[at(v + n)] * 0
                    for a in range(axes):
                        moved = d_way[at(change + a * m + n)]
                        d_gain += slope[at(axes * p + a * m + n)] * moved
                        d_keep += slope[at(axes * (p + m) + a * m + n)] * moved
                    before, keeps = weight[at(o + n)], rate[at(v + m + n)]
                    d_total[at(o + n)] += d_weight[at(o + n)] * rate[at(v + n)] + before * d_gain
                    d_weight[at(o + n)] = fade * (d_weight[at(o + n)] * keeps + before * d_keep)
                    weight[at(o + n)] = fade * before * keeps
