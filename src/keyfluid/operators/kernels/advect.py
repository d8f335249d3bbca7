"""Backtraces and semi-Lagrangian interpolation in two and three dimensions, with tangents and adjoints.

`tableau` holds a Runge-Kutta rule as rows (a_s, b_s): k_s = u(x - h a_s k_{s-1}), foot = x - h sum_s b_s k_s,
with h = dt / dx = `scale`, so that displacements are in cells. The rules in use have one entry per stage below
the diagonal. An empty tableau means *shared feet*: displacements were traced at cell centres before
(`trace`), and are averaged to the place of the carried values.

`lattices` and `bases` (rows.py) have a row for each velocity component, then one for the carried quantity, then one for
each component of the centred displacement. `points` is the lattice whose values are computed, as a tuple: its length,
`axes`, is known when a kernel is compiled, which drops what the other number of dimensions needs. (Two files, one for
each number of dimensions, gave the same bits in 0.99 to 1.04 of the time, whole gradients at 64^2 to 128^3.)

Each slab has a stretch of the work arrays (`work_arrays` makes them; as arguments they are known not to overlap):

    way     foot, then the displacements of stages 2 and 3           3 blocks of axes m
    rate    k or its adjoint or tangent; carry; change of foot       3 blocks of axes m
    corner  the values around each point                             2^axes m
    part, place, slope     per stage and component: fractions, first corner, gradient (rows.slope_row); then the same
            of the carried quantity. Where a block of `place` begins at p, those of the others begin at axes p.

Adjoint kernels add into their targets, first from the even slabs, then from the odd ones: slabs are at least as
thick as twice the reach of a scatter, so slabs of one colour never write to the same place, and the result is
bit-identical for any number of threads. Rows whose adjoint is zero, most of a liquid's box, are passed over.
"""

import numpy as np
from numba import prange

from keyfluid.kernels.compile import parallel_kernel, row_function
from keyfluid.kernels.lattice import at
from keyfluid.operators.kernels.rows import average_row, scatter_row, slope_row, spread_row, value_row


def work_arrays(axes, rows, stages, slabs, dtype):
    """way, rate, corner, part, place, slope for rows of `rows` points."""
    tables = max(1, stages - 1) * axes + 1
    place = np.empty(slabs * tables * rows, np.int32)
    sizes = (3 * axes, 3 * axes, 2**axes, axes * tables, axes * tables)
    way, rate, corner, part, slope = (np.empty(slabs * n * rows, dtype) for n in sizes)
    return way, rate, corner, part, place, slope


@row_function
def rows_of(points):
    """Numbers of planes, of rows in each and of points in a row; a plane of two dimensions has one row."""
    return points[0], points[1] if len(points) == 3 else 1, points[-1]


@row_function
def all_zero(a, o, stride, parts, m):
    """Whether rows of m values, `parts` of them from o on, hold nothing."""
    for c in range(parts):
        for n in range(m):
            if a[at(o + c * stride + n)] != 0:
                return False
    return True


@row_function
def trace_row(tableau, scale, lattices, bases, velocity, axes, i, j, m, way, w, rate, v, corner, q, part, place, p):
    """Displacement of the backtrace from row (i, j), to the first block of `way`."""
    for c in range(bases.shape[1]):
        average_row(velocity, lattices, bases, c, axes, i, j, m, rate, v + c * m)
    for n in range(axes * m):
        way[at(w + n)] = -scale * tableau[0, 1] * rate[at(v + n)]
    for s in range(1, tableau.shape[0]):
        for n in range(axes * m):
            way[at(w + axes * m + n)] = -scale * tableau[s, 0] * rate[at(v + n)]
        for c in range(bases.shape[1]):
            value_row(velocity, lattices, bases, c, axes, i, j, way, w + axes * m, m, rate, v + c * m, corner, q, part,
                      place, p)  # fmt: skip
        for n in range(axes * m):
            way[at(w + n)] -= scale * tableau[s, 1] * rate[at(v + n)]


@row_function
def trace_slopes_row(tableau, scale, lattices, bases, velocity, axes, i, j, m, way, w, rate, v, corner, q, part, place,
                     slope, p):  # fmt: skip
    """As `trace_row`, keeping each stage's displacements, gradients and neighbours."""
    for c in range(bases.shape[1]):
        average_row(velocity, lattices, bases, c, axes, i, j, m, rate, v + c * m)
    for n in range(axes * m):
        way[at(w + n)] = -scale * tableau[0, 1] * rate[at(v + n)]
    for s in range(1, tableau.shape[0]):
        for n in range(axes * m):
            way[at(w + s * axes * m + n)] = -scale * tableau[s, 0] * rate[at(v + n)]
        for c in range(bases.shape[1]):
            slope_row(velocity, lattices, bases, c, axes, i, j, way, w + s * axes * m, m, rate, v + c * m,
                      corner, q, part, place, slope, p + ((s - 1) * axes + c) * m)  # fmt: skip
        for n in range(axes * m):
            way[at(w + n)] -= scale * tableau[s, 1] * rate[at(v + n)]


@row_function
def trace_tangent_row(tableau, scale, lattices, bases, d_velocity, axes, i, j, m, way, w, rate, v, corner, q, part,
                      place, slope, p):  # fmt: skip
    """Change of foot for a change of velocity, to the third block of `rate`; after `trace_slopes_row`."""
    for c in range(bases.shape[1]):
        average_row(d_velocity, lattices, bases, c, axes, i, j, m, rate, v + c * m)
    for n in range(axes * m):
        rate[at(v + 2 * axes * m + n)] = -scale * tableau[0, 1] * rate[at(v + n)]
    for s in range(1, tableau.shape[0]):
        for n in range(axes * m):
            rate[at(v + axes * m + n)] = -scale * tableau[s, 0] * rate[at(v + n)]
        for c in range(bases.shape[1]):
            b = p + ((s - 1) * axes + c) * m
            value_row(d_velocity, lattices, bases, c, axes, i, j, way, w + s * axes * m, m, rate, v + c * m, corner, q,
                      part, place, b)  # fmt: skip
            b *= axes
            for n in range(m):
                change = slope[at(b + n)] * rate[at(v + axes * m + n)]
                change += slope[at(b + m + n)] * rate[at(v + (axes + 1) * m + n)]
                if axes == 3:
                    change += slope[at(b + 2 * m + n)] * rate[at(v + (axes + 2) * m + n)]
                rate[at(v + c * m + n)] += change
        for n in range(axes * m):
            rate[at(v + 2 * axes * m + n)] -= scale * tableau[s, 1] * rate[at(v + n)]


@row_function
def trace_adjoint_row(tableau, scale, lattices, bases, axes, i, j, m, rate, v, part, place, slope, p, velocity_bar):
    """Add (d foot / d velocity)^T foot_bar to velocity_bar; foot_bar is the third block of `rate`."""
    for n in range(axes * m):
        rate[at(v + axes * m + n)] = 0
    for stage in range(1, tableau.shape[0]):
        s = tableau.shape[0] - stage
        above = tableau[s + 1, 0] if stage > 1 else tableau[0, 0]
        for n in range(axes * m):
            rate[at(v + n)] = -scale * (
                tableau[s, 1] * rate[at(v + 2 * axes * m + n)] + above * rate[at(v + axes * m + n)]
            )
        for c in range(bases.shape[1]):
            scatter_row(velocity_bar, lattices, c, axes, part, place, p + ((s - 1) * axes + c) * m, m, rate, v + c * m)
        b = axes * (p + (s - 1) * axes * m)
        for a in range(axes):
            for n in range(m):
                carry = slope[at(b + a * m + n)] * rate[at(v + n)]
                carry += slope[at(b + (axes + a) * m + n)] * rate[at(v + m + n)]
                if axes == 3:
                    carry += slope[at(b + (2 * axes + a) * m + n)] * rate[at(v + 2 * m + n)]
                rate[at(v + (axes + a) * m + n)] = carry
    above = tableau[1, 0] if tableau.shape[0] > 1 else tableau[0, 0]
    for n in range(axes * m):
        rate[at(v + n)] = -scale * (tableau[0, 1] * rate[at(v + 2 * axes * m + n)] + above * rate[at(v + axes * m + n)])
    for c in range(bases.shape[1]):
        spread_row(velocity_bar, lattices, bases, c, axes, i, j, m, rate, v + c * m)


@parallel_kernel
def trace(tableau, scale, lattices, bases, points, velocity, feet, slabs, way, rate, corner, part, place):
    """feet = displacements of the backtraces from all points, component by component."""
    axes = len(points)
    m0, m1, m = rows_of(points)
    size = m0 * m1 * m
    for slab in prange(slabs):
        w, q, p = slab * 3 * axes * m, slab * (8 if axes == 3 else 4) * m, slab * (place.size // slabs)
        for i in range(slab * m0 // slabs, (slab + 1) * m0 // slabs):
            for j in range(m1):
                trace_row(tableau, scale, lattices, bases, velocity, axes, i, j, m, way, w, rate, w, corner, q, part,
                          place, p)  # fmt: skip
                o = (i * m1 + j) * m
                for c in range(bases.shape[1]):
                    for n in range(m):
                        feet[at(c * size + o + n)] = way[at(w + c * m + n)]


@parallel_kernel
def trace_tangent(tableau, scale, lattices, bases, points, velocity, d_velocity, d_feet, slabs, way, rate, corner,
                  part, place, slope):  # fmt: skip
    """d_feet for a change of velocity."""
    axes = len(points)
    m0, m1, m = rows_of(points)
    size = m0 * m1 * m
    for slab in prange(slabs):
        w, q, p = slab * 3 * axes * m, slab * (8 if axes == 3 else 4) * m, slab * (place.size // slabs)
        for i in range(slab * m0 // slabs, (slab + 1) * m0 // slabs):
            for j in range(m1):
                trace_slopes_row(tableau, scale, lattices, bases, velocity, axes, i, j, m, way, w, rate, w, corner, q,
                                 part, place, slope, p)  # fmt: skip
                trace_tangent_row(tableau, scale, lattices, bases, d_velocity, axes, i, j, m, way, w, rate, w, corner,
                                  q, part, place, slope, p)  # fmt: skip
                o = (i * m1 + j) * m
                for c in range(bases.shape[1]):
                    for n in range(m):
                        d_feet[at(c * size + o + n)] = rate[at(w + (2 * axes + c) * m + n)]


@parallel_kernel
def trace_adjoint(tableau, scale, lattices, bases, points, velocity, feet_bar, velocity_bar, slabs, way,
                  rate, corner, part, place, slope):  # fmt: skip
    """Add (d feet / d velocity)^T feet_bar to velocity_bar, even slabs first, then odd ones."""
    axes = len(points)
    m0, m1, m = rows_of(points)
    size = m0 * m1 * m
    for colour in range(2):
        for pair in prange((slabs + 1 - colour) // 2):
            slab = 2 * pair + colour
            w, q, p = slab * 3 * axes * m, slab * (8 if axes == 3 else 4) * m, slab * (place.size // slabs)
            for i in range(slab * m0 // slabs, (slab + 1) * m0 // slabs):
                for j in range(m1):
                    o = (i * m1 + j) * m
                    if all_zero(feet_bar, o, size, axes, m):
                        continue
                    trace_slopes_row(tableau, scale, lattices, bases, velocity, axes, i, j, m, way, w, rate, w,
                                     corner, q, part, place, slope, p)  # fmt: skip
                    for c in range(bases.shape[1]):
                        for n in range(m):
                            rate[at(w + (2 * axes + c) * m + n)] = feet_bar[at(c * size + o + n)]
                    trace_adjoint_row(tableau, scale, lattices, bases, axes, i, j, m, rate, w, part, place, slope, p,
                                      velocity_bar)  # fmt: skip


@parallel_kernel
def advect(tableau, scale, lattices, bases, points, carried, velocity, feet, out, slabs, way, rate, corner, part,
           place):  # fmt: skip
    """out = carried, interpolated at the feet of the backtraces."""
    axes = len(points)
    m0, m1, m = rows_of(points)
    for slab in prange(slabs):
        w, q, p = slab * 3 * axes * m, slab * (8 if axes == 3 else 4) * m, slab * (place.size // slabs)
        for i in range(slab * m0 // slabs, (slab + 1) * m0 // slabs):
            for j in range(m1):
                if tableau.shape[0] > 0:
                    trace_row(tableau, scale, lattices, bases, velocity, axes, i, j, m, way, w, rate, w, corner, q,
                              part, place, p)  # fmt: skip
                else:
                    for c in range(bases.shape[1]):
                        average_row(feet, lattices, bases, axes + 1 + c, axes, i, j, m, way, w + c * m)
                value_row(carried, lattices, bases, axes, axes, i, j, way, w, m, out, (i * m1 + j) * m, corner, q, part,
                          place, p)  # fmt: skip


@parallel_kernel
def advect_tangent(lattices, bases, points, carried, feet, d_carried, d_feet, d_out, slabs, way, rate, corner,
                   part, place, slope):  # fmt: skip
    """d_out for a change of the carried values and of feet that were traced before, shared or not."""
    axes = len(points)
    m0, m1, m = rows_of(points)
    for slab in prange(slabs):
        w, q, p = slab * 3 * axes * m, slab * (8 if axes == 3 else 4) * m, slab * (place.size // slabs)
        near = p + place.size // slabs - m
        here = axes * near
        for i in range(slab * m0 // slabs, (slab + 1) * m0 // slabs):
            for j in range(m1):
                for c in range(bases.shape[1]):
                    average_row(feet, lattices, bases, axes + 1 + c, axes, i, j, m, way, w + c * m)
                    average_row(d_feet, lattices, bases, axes + 1 + c, axes, i, j, m, rate, w + (2 * axes + c) * m)
                o = (i * m1 + j) * m
                value_row(
                    d_carried, lattices, bases, axes, axes, i, j, way, w, m, d_out, o, corner, q, part, place, near
                )
                slope_row(
                    carried, lattices, bases, axes, axes, i, j, way, w, m, rate, w, corner, q, part, place, slope, near
                )
                for n in range(m):
                    change = slope[at(here + n)] * rate[at(w + 2 * axes * m + n)]
                    change += slope[at(here + m + n)] * rate[at(w + (2 * axes + 1) * m + n)]
                    if axes == 3:
                        change += slope[at(here + 2 * m + n)] * rate[at(w + (2 * axes + 2) * m + n)]
                    d_out[at(o + n)] += change


@parallel_kernel
def advect_adjoint(tableau, scale, lattices, bases, points, carried, velocity, feet, out_bar, carried_bar,
                   velocity_bar, feet_bar, slabs, way, rate, corner, part, place, slope):  # fmt: skip
    """Add the transpose of `advect_tangent` applied to out_bar, even slabs first, then odd ones."""
    axes = len(points)
    m0, m1, m = rows_of(points)
    for colour in range(2):
        for pair in prange((slabs + 1 - colour) // 2):
            slab = 2 * pair + colour
            w, q, p = slab * 3 * axes * m, slab * (8 if axes == 3 else 4) * m, slab * (place.size // slabs)
            near = p + place.size // slabs - m
            here = axes * near
            for i in range(slab * m0 // slabs, (slab + 1) * m0 // slabs):
                for j in range(m1):
                    o = (i * m1 + j) * m
                    if all_zero(out_bar, o, 0, 1, m):
                        continue
                    if tableau.shape[0] > 0:
                        trace_slopes_row(tableau, scale, lattices, bases, velocity, axes, i, j, m, way, w, rate, w,
                                         corner, q, part, place, slope, p)  # fmt: skip
                    else:
                        for c in range(bases.shape[1]):
                            average_row(feet, lattices, bases, axes + 1 + c, axes, i, j, m, way, w + c * m)
                    slope_row(carried, lattices, bases, axes, axes, i, j, way, w, m, rate, w, corner, q, part, place,
                              slope, near)  # fmt: skip
                    scatter_row(carried_bar, lattices, axes, axes, part, place, near, m, out_bar, o)
                    for c in range(bases.shape[1]):
                        for n in range(m):
                            rate[at(w + (2 * axes + c) * m + n)] = slope[at(here + c * m + n)] * out_bar[at(o + n)]
                    if tableau.shape[0] > 0:
                        trace_adjoint_row(tableau, scale, lattices, bases, axes, i, j, m, rate, w, part, place, slope,
                                          p, velocity_bar)  # fmt: skip
                    else:
                        for c in range(bases.shape[1]):
                            spread_row(
                                feet_bar, lattices, bases, axes + 1 + c, axes, i, j, m, rate, w + (2 * axes + c) * m
                            )
