"""Backtraces and semi-Lagrangian interpolation in three dimensions, with tangents and adjoints.

`tableau` holds a Runge-Kutta rule as rows (a_s, b_s): k_s = u(x - h a_s k_{s-1}), foot = x - h sum_s b_s k_s,
with h = dt / dx = `scale`, so that displacements are in cells. The rules in use have one entry per stage below
the diagonal. An empty tableau means *shared feet*: displacements were traced at cell centres before
(`trace`), and are averaged to the place of the carried values.

`lattices` and `bases` (rows3.py) have a row for each velocity component (0-2), for the carried quantity (3)
and for the components of the centred displacement (4-6). `points` is the lattice whose values are computed.

Each slab has a stretch of the work arrays (`work_arrays` makes them; as arguments they are known not to overlap):

    way     foot, then the displacements of stages 2 and 3           3 blocks of 3 m
    rate    k or its adjoint or tangent; carry; change of foot       3 blocks of 3 m
    corner  the eight values around each point                       8 m
    part, place, slope     per stage and component: fractions, first corner, gradient (rows3.slope_row); then the
            same of the carried quantity. Where a block of `place` begins at p, those of the others begin at 3 p.

Adjoint kernels add into their targets, first from the even slabs, then from the odd ones: slabs are at least as
thick as twice the reach of a scatter, so slabs of one colour never write to the same place, and the result
has the same bits for any number of threads.
"""

import numpy as np
from numba import prange

from keyfluid.kernels.compile import parallel_kernel, row_function
from keyfluid.kernels.lattice import at
from keyfluid.operators.kernels.rows3 import average_row, scatter_row, slope_row, spread_row, value_row


def work_arrays(rows, stages, slabs, dtype):
    """way, rate, corner, part, place, slope for rows of `rows` points."""
    tables = max(1, stages - 1) * 3 + 1
    place = np.empty(slabs * tables * rows, np.int32)
    way, rate, corner, part, slope = (np.empty(slabs * n * rows, dtype) for n in (9, 9, 8, 3 * tables, 3 * tables))
    return way, rate, corner, part, place, slope


@row_function
def trace_row(tableau, scale, lattices, bases, velocity, i, j, m, way, w, rate, v, corner, q, part, place, p):
    """Displacement of the backtrace from row (i, j), to the first block of `way`."""
    for c in range(bases.shape[1]):
        average_row(velocity, lattices, bases, c, i, j, m, rate, v + c * m)
    for n in range(3 * m):
        way[at(w + n)] = -scale * tableau[0, 1] * rate[at(v + n)]
    for s in range(1, tableau.shape[0]):
        for n in range(3 * m):
            way[at(w + 3 * m + n)] = -scale * tableau[s, 0] * rate[at(v + n)]
        for c in range(bases.shape[1]):
            value_row(velocity, lattices, bases, c, i, j, way, w + 3 * m, m, rate, v + c * m, corner, q, part,
                      place, p)  # fmt: skip
        for n in range(3 * m):
            way[at(w + n)] -= scale * tableau[s, 1] * rate[at(v + n)]


@row_function
def trace_slopes_row(tableau, scale, lattices, bases, velocity, i, j, m, way, w, rate, v, corner, q, part, place,
                     slope, p):  # fmt: skip
    """As `trace_row`, keeping each stage's displacements, gradients and neighbours."""
    for c in range(bases.shape[1]):
        average_row(velocity, lattices, bases, c, i, j, m, rate, v + c * m)
    for n in range(3 * m):
        way[at(w + n)] = -scale * tableau[0, 1] * rate[at(v + n)]
    for s in range(1, tableau.shape[0]):
        for n in range(3 * m):
            way[at(w + s * 3 * m + n)] = -scale * tableau[s, 0] * rate[at(v + n)]
        for c in range(bases.shape[1]):
            slope_row(velocity, lattices, bases, c, i, j, way, w + s * 3 * m, m, rate, v + c * m,
                      corner, q, part, place, slope, p + ((s - 1) * 3 + c) * m)  # fmt: skip
        for n in range(3 * m):
            way[at(w + n)] -= scale * tableau[s, 1] * rate[at(v + n)]


@row_function
def trace_tangent_row(tableau, scale, lattices, bases, d_velocity, i, j, m, way, w, rate, v, corner, q, part, place,
                      slope, p):  # fmt: skip
    """Change of foot for a change of velocity, to the third block of `rate`; after `trace_slopes_row`."""
    for c in range(bases.shape[1]):
        average_row(d_velocity, lattices, bases, c, i, j, m, rate, v + c * m)
    for n in range(3 * m):
        rate[at(v + 6 * m + n)] = -scale * tableau[0, 1] * rate[at(v + n)]
    for s in range(1, tableau.shape[0]):
        for n in range(3 * m):
            rate[at(v + 3 * m + n)] = -scale * tableau[s, 0] * rate[at(v + n)]
        for c in range(bases.shape[1]):
            b = p + ((s - 1) * 3 + c) * m
            value_row(d_velocity, lattices, bases, c, i, j, way, w + s * 3 * m, m, rate, v + c * m, corner, q,
                      part, place, b)  # fmt: skip
            b *= 3
            for n in range(m):
                rate[at(v + c * m + n)] += (
                    slope[at(b + n)] * rate[at(v + 3 * m + n)]
                    + slope[at(b + m + n)] * rate[at(v + 4 * m + n)]
                    + slope[at(b + 2 * m + n)] * rate[at(v + 5 * m + n)]
                )
        for n in range(3 * m):
            rate[at(v + 6 * m + n)] -= scale * tableau[s, 1] * rate[at(v + n)]


@row_function
def trace_adjoint_row(tableau, scale, lattices, bases, i, j, m, rate, v, part, place, slope, p, velocity_bar):
    """Add (d foot / d velocity)^T foot_bar to velocity_bar; foot_bar is the third block of `rate`."""
    for n in range(3 * m):
        rate[at(v + 3 * m + n)] = 0
    for stage in range(1, tableau.shape[0]):
        s = tableau.shape[0] - stage
        above = tableau[s + 1, 0] if stage > 1 else tableau[0, 0]
        for n in range(3 * m):
            rate[at(v + n)] = -scale * (tableau[s, 1] * rate[at(v + 6 * m + n)] + above * rate[at(v + 3 * m + n)])
        for c in range(bases.shape[1]):
            scatter_row(velocity_bar, lattices, c, part, place, p + ((s - 1) * 3 + c) * m, m, rate, v + c * m)
        b = 3 * (p + (s - 1) * 3 * m)
        for n in range(m):
            u0, u1, u2 = rate[at(v + n)], rate[at(v + m + n)], rate[at(v + 2 * m + n)]
            rate[at(v + 3 * m + n)] = (
                slope[at(b + n)] * u0 + slope[at(b + 3 * m + n)] * u1 + slope[at(b + 6 * m + n)] * u2
            )
            rate[at(v + 4 * m + n)] = (
                slope[at(b + m + n)] * u0 + slope[at(b + 4 * m + n)] * u1 + slope[at(b + 7 * m + n)] * u2
            )
            rate[at(v + 5 * m + n)] = (
                slope[at(b + 2 * m + n)] * u0 + slope[at(b + 5 * m + n)] * u1 + slope[at(b + 8 * m + n)] * u2
            )
    above = tableau[1, 0] if tableau.shape[0] > 1 else tableau[0, 0]
    for n in range(3 * m):
        rate[at(v + n)] = -scale * (tableau[0, 1] * rate[at(v + 6 * m + n)] + above * rate[at(v + 3 * m + n)])
    for c in range(bases.shape[1]):
        spread_row(velocity_bar, lattices, bases, c, i, j, m, rate, v + c * m)


@parallel_kernel
def trace(tableau, scale, lattices, bases, points, velocity, feet, slabs, way, rate, corner, part, place):
    """feet = displacements of the backtraces from all points, component by component."""
    m0, m1, m = points[0], points[1], points[2]
    size = m0 * m1 * m
    for slab in prange(slabs):
        w, q, p = slab * 9 * m, slab * 8 * m, slab * (place.size // slabs)
        for i in range(slab * m0 // slabs, (slab + 1) * m0 // slabs):
            for j in range(m1):
                trace_row(tableau, scale, lattices, bases, velocity, i, j, m, way, w, rate, w, corner, q, part,
                          place, p)  # fmt: skip
                o = (i * m1 + j) * m
                for c in range(bases.shape[1]):
                    for n in range(m):
                        feet[at(c * size + o + n)] = way[at(w + c * m + n)]


@parallel_kernel
def trace_tangent(tableau, scale, lattices, bases, points, velocity, d_velocity, d_feet, slabs, way, rate, corner,
                  part, place, slope):  # fmt: skip
    """d_feet for a change of velocity."""
    m0, m1, m = points[0], points[1], points[2]
    size = m0 * m1 * m
    for slab in prange(slabs):
        w, q, p = slab * 9 * m, slab * 8 * m, slab * (place.size // slabs)
        for i in range(slab * m0 // slabs, (slab + 1) * m0 // slabs):
            for j in range(m1):
                trace_slopes_row(tableau, scale, lattices, bases, velocity, i, j, m, way, w, rate, w, corner, q,
                                 part, place, slope, p)  # fmt: skip
                trace_tangent_row(tableau, scale, lattices, bases, d_velocity, i, j, m, way, w, rate, w, corner, q,
                                  part, place, slope, p)  # fmt: skip
                o = (i * m1 + j) * m
                for c in range(bases.shape[1]):
                    for n in range(m):
                        d_feet[at(c * size + o + n)] = rate[at(w + (6 + c) * m + n)]


@parallel_kernel
def trace_adjoint(tableau, scale, lattices, bases, points, velocity, feet_bar, velocity_bar, slabs, way,
                  rate, corner, part, place, slope):  # fmt: skip
    """Add (d feet / d velocity)^T feet_bar to velocity_bar, even slabs first, then odd ones."""
    m0, m1, m = points[0], points[1], points[2]
    size = m0 * m1 * m
    for colour in range(2):
        for pair in prange((slabs + 1 - colour) // 2):
            slab = 2 * pair + colour
            w, q, p = slab * 9 * m, slab * 8 * m, slab * (place.size // slabs)
            for i in range(slab * m0 // slabs, (slab + 1) * m0 // slabs):
                for j in range(m1):
                    trace_slopes_row(tableau, scale, lattices, bases, velocity, i, j, m, way, w, rate, w, corner, q,
                                     part, place, slope, p)  # fmt: skip
                    o = (i * m1 + j) * m
                    for c in range(bases.shape[1]):
                        for n in range(m):
                            rate[at(w + (6 + c) * m + n)] = feet_bar[at(c * size + o + n)]
                    trace_adjoint_row(tableau, scale, lattices, bases, i, j, m, rate, w, part, place, slope, p,
                                      velocity_bar)  # fmt: skip


@parallel_kernel
def advect(tableau, scale, lattices, bases, points, carried, velocity, feet, out, slabs, way, rate, corner, part,
           place):  # fmt: skip
    """out = carried, interpolated at the feet of the backtraces."""
    m0, m1, m = points[0], points[1], points[2]
    for slab in prange(slabs):
        w, q, p = slab * 9 * m, slab * 8 * m, slab * (place.size // slabs)
        for i in range(slab * m0 // slabs, (slab + 1) * m0 // slabs):
            for j in range(m1):
                if tableau.shape[0] > 0:
                    trace_row(tableau, scale, lattices, bases, velocity, i, j, m, way, w, rate, w, corner, q,
                              part, place, p)  # fmt: skip
                else:
                    for c in range(bases.shape[1]):
                        average_row(feet, lattices, bases, 4 + c, i, j, m, way, w + c * m)
                value_row(carried, lattices, bases, 3, i, j, way, w, m, out, (i * m1 + j) * m, corner, q, part,
                          place, p)  # fmt: skip


@parallel_kernel
def advect_tangent(lattices, bases, points, carried, feet, d_carried, d_feet, d_out, slabs, way, rate, corner,
                   part, place, slope):  # fmt: skip
    """d_out for a change of the carried values and of feet that were traced before, shared or not."""
    m0, m1, m = points[0], points[1], points[2]
    for slab in prange(slabs):
        w, q, p = slab * 9 * m, slab * 8 * m, slab * (place.size // slabs)
        near = p + place.size // slabs - m
        here = 3 * near
        for i in range(slab * m0 // slabs, (slab + 1) * m0 // slabs):
            for j in range(m1):
                for c in range(bases.shape[1]):
                    average_row(feet, lattices, bases, 4 + c, i, j, m, way, w + c * m)
                    average_row(d_feet, lattices, bases, 4 + c, i, j, m, rate, w + (6 + c) * m)
                o = (i * m1 + j) * m
                value_row(d_carried, lattices, bases, 3, i, j, way, w, m, d_out, o, corner, q, part, place, near)
                slope_row(carried, lattices, bases, 3, i, j, way, w, m, rate, w, corner, q, part, place, slope, near)
                for n in range(m):
                    d_out[at(o + n)] += (
                        slope[at(here + n)] * rate[at(w + 6 * m + n)]
                        + slope[at(here + m + n)] * rate[at(w + 7 * m + n)]
                        + slope[at(here + 2 * m + n)] * rate[at(w + 8 * m + n)]
                    )


@parallel_kernel
def advect_adjoint(tableau, scale, lattices, bases, points, carried, velocity, feet, out_bar, carried_bar,
                   velocity_bar, feet_bar, slabs, way, rate, corner, part, place, slope):  # fmt: skip
    """Add the transpose of `advect_tangent` applied to out_bar, even slabs first, then odd ones."""
    m0, m1, m = points[0], points[1], points[2]
    for colour in range(2):
        for pair in prange((slabs + 1 - colour) // 2):
            slab = 2 * pair + colour
            w, q, p = slab * 9 * m, slab * 8 * m, slab * (place.size // slabs)
            near = p + place.size // slabs - m
            here = 3 * near
            for i in range(slab * m0 // slabs, (slab + 1) * m0 // slabs):
                for j in range(m1):
                    if tableau.shape[0] > 0:
                        trace_slopes_row(tableau, scale, lattices, bases, velocity, i, j, m, way, w, rate, w, corner, q,
                                         part, place, slope, p)  # fmt: skip
                    else:
                        for c in range(bases.shape[1]):
                            average_row(feet, lattices, bases, 4 + c, i, j, m, way, w + c * m)
                    o = (i * m1 + j) * m
                    slope_row(carried, lattices, bases, 3, i, j, way, w, m, rate, w, corner, q, part, place, slope,
                              near)  # fmt: skip
                    scatter_row(carried_bar, lattices, 3, part, place, near, m, out_bar, o)
                    for c in range(bases.shape[1]):
                        for n in range(m):
                            rate[at(w + (6 + c) * m + n)] = slope[at(here + c * m + n)] * out_bar[at(o + n)]
                    if tableau.shape[0] > 0:
                        trace_adjoint_row(tableau, scale, lattices, bases, i, j, m, rate, w, part, place, slope, p,
                                          velocity_bar)  # fmt: skip
                    else:
                        for c in range(bases.shape[1]):
                            spread_row(feet_bar, lattices, bases, 4 + c, i, j, m, rate, w + (6 + c) * m)
