"""Backtraces and semi-Lagrangian interpolation in two dimensions, with tangents and adjoints.

The twin of advect3.py, which describes the method and the work arrays. `lattices` and `bases` (rows2.py) have a row
for each velocity component (0-1), for the carried quantity (2) and for the components of the centred displacement
(3-4). The blocks of `way` and `rate` are 2 m long.
"""

import numpy as np
from numba import prange

from keyfluid.kernels.compile import parallel_kernel, row_function
from keyfluid.kernels.lattice import at
from keyfluid.operators.kernels.rows2 import average_row, scatter_row, slope_row, spread_row, value_row


def work_arrays(rows, stages, slabs, dtype):
    """way, rate, corner, part, place, slope for rows of `rows` points."""
    tables = max(1, stages - 1) * 2 + 1
    place = np.empty(slabs * tables * rows, np.int32)
    way, rate, corner, part, slope = (np.empty(slabs * n * rows, dtype) for n in (6, 6, 4, 2 * tables, 2 * tables))
    return way, rate, corner, part, place, slope


@row_function
def trace_row(tableau, scale, lattices, bases, velocity, i, m, way, w, rate, v, corner, q, part, place, p):
    """Displacement of the backtrace from row i, to the first block of `way`."""
    for c in range(bases.shape[1]):
        average_row(velocity, lattices, bases, c, i, m, rate, v + c * m)
    for n in range(2 * m):
        way[at(w + n)] = -scale * tableau[0, 1] * rate[at(v + n)]
    for s in range(1, tableau.shape[0]):
        for n in range(2 * m):
            way[at(w + 2 * m + n)] = -scale * tableau[s, 0] * rate[at(v + n)]
        for c in range(bases.shape[1]):
            value_row(velocity, lattices, bases, c, i, way, w + 2 * m, m, rate, v + c * m, corner, q, part,
                      place, p)  # fmt: skip
        for n in range(2 * m):
            way[at(w + n)] -= scale * tableau[s, 1] * rate[at(v + n)]


@row_function
def trace_slopes_row(tableau, scale, lattices, bases, velocity, i, m, way, w, rate, v, corner, q, part, place,
                     slope, p):  # fmt: skip
    """As `trace_row`, keeping each stage's displacements, gradients and neighbours."""
    for c in range(bases.shape[1]):
        average_row(velocity, lattices, bases, c, i, m, rate, v + c * m)
    for n in range(2 * m):
        way[at(w + n)] = -scale * tableau[0, 1] * rate[at(v + n)]
    for s in range(1, tableau.shape[0]):
        for n in range(2 * m):
            way[at(w + s * 2 * m + n)] = -scale * tableau[s, 0] * rate[at(v + n)]
        for c in range(bases.shape[1]):
            slope_row(velocity, lattices, bases, c, i, way, w + s * 2 * m, m, rate, v + c * m,
                      corner, q, part, place, slope, p + ((s - 1) * 2 + c) * m)  # fmt: skip
        for n in range(2 * m):
            way[at(w + n)] -= scale * tableau[s, 1] * rate[at(v + n)]


@row_function
def trace_tangent_row(tableau, scale, lattices, bases, d_velocity, i, m, way, w, rate, v, corner, q, part, place,
                      slope, p):  # fmt: skip
    """Change of foot for a change of velocity, to the third block of `rate`; after `trace_slopes_row`."""
    for c in range(bases.shape[1]):
        average_row(d_velocity, lattices, bases, c, i, m, rate, v + c * m)
    for n in range(2 * m):
        rate[at(v + 4 * m + n)] = -scale * tableau[0, 1] * rate[at(v + n)]
    for s in range(1, tableau.shape[0]):
        for n in range(2 * m):
            rate[at(v + 2 * m + n)] = -scale * tableau[s, 0] * rate[at(v + n)]
        for c in range(bases.shape[1]):
            b = p + ((s - 1) * 2 + c) * m
            value_row(d_velocity, lattices, bases, c, i, way, w + s * 2 * m, m, rate, v + c * m, corner, q,
                      part, place, b)  # fmt: skip
            b *= 2
            for n in range(m):
                rate[at(v + c * m + n)] += (
                    slope[at(b + n)] * rate[at(v + 2 * m + n)] + slope[at(b + m + n)] * rate[at(v + 3 * m + n)]
                )
        for n in range(2 * m):
            rate[at(v + 4 * m + n)] -= scale * tableau[s, 1] * rate[at(v + n)]


@row_function
def trace_adjoint_row(tableau, scale, lattices, bases, i, m, rate, v, part, place, slope, p, velocity_bar):
    """Add (d foot / d velocity)^T foot_bar to velocity_bar; foot_bar is the third block of `rate`."""
    for n in range(2 * m):
        rate[at(v + 2 * m + n)] = 0
    for stage in range(1, tableau.shape[0]):
        s = tableau.shape[0] - stage
        above = tableau[s + 1, 0] if stage > 1 else tableau[0, 0]
        for n in range(2 * m):
            rate[at(v + n)] = -scale * (tableau[s, 1] * rate[at(v + 4 * m + n)] + above * rate[at(v + 2 * m + n)])
        for c in range(bases.shape[1]):
            scatter_row(velocity_bar, lattices, c, part, place, p + ((s - 1) * 2 + c) * m, m, rate, v + c * m)
        b = 2 * (p + (s - 1) * 2 * m)
        for n in range(m):
            u0, u1 = rate[at(v + n)], rate[at(v + m + n)]
            rate[at(v + 2 * m + n)] = slope[at(b + n)] * u0 + slope[at(b + 2 * m + n)] * u1
            rate[at(v + 3 * m + n)] = slope[at(b + m + n)] * u0 + slope[at(b + 3 * m + n)] * u1
    above = tableau[1, 0] if tableau.shape[0] > 1 else tableau[0, 0]
    for n in range(2 * m):
        rate[at(v + n)] = -scale * (tableau[0, 1] * rate[at(v + 4 * m + n)] + above * rate[at(v + 2 * m + n)])
    for c in range(bases.shape[1]):
        spread_row(velocity_bar, lattices, bases, c, i, m, rate, v + c * m)


@parallel_kernel
def trace(tableau, scale, lattices, bases, points, velocity, feet, slabs, way, rate, corner, part, place):
    """feet = displacements of the backtraces from all points, component by component."""
    m0, m = points[0], points[1]
    size = m0 * m
    for slab in prange(slabs):
        w, q, p = slab * 6 * m, slab * 4 * m, slab * (place.size // slabs)
        for i in range(slab * m0 // slabs, (slab + 1) * m0 // slabs):
            trace_row(tableau, scale, lattices, bases, velocity, i, m, way, w, rate, w, corner, q, part,
                      place, p)  # fmt: skip
            o = i * m
            for c in range(bases.shape[1]):
                for n in range(m):
                    feet[at(c * size + o + n)] = way[at(w + c * m + n)]


@parallel_kernel
def trace_tangent(tableau, scale, lattices, bases, points, velocity, d_velocity, d_feet, slabs, way, rate, corner,
                  part, place, slope):  # fmt: skip
    """d_feet for a change of velocity."""
    m0, m = points[0], points[1]
    size = m0 * m
    for slab in prange(slabs):
        w, q, p = slab * 6 * m, slab * 4 * m, slab * (place.size // slabs)
        for i in range(slab * m0 // slabs, (slab + 1) * m0 // slabs):
            trace_slopes_row(tableau, scale, lattices, bases, velocity, i, m, way, w, rate, w, corner, q,
                             part, place, slope, p)  # fmt: skip
            trace_tangent_row(tableau, scale, lattices, bases, d_velocity, i, m, way, w, rate, w, corner, q,
                              part, place, slope, p)  # fmt: skip
            o = i * m
            for c in range(bases.shape[1]):
                for n in range(m):
                    d_feet[at(c * size + o + n)] = rate[at(w + (4 + c) * m + n)]


@parallel_kernel
def trace_adjoint(tableau, scale, lattices, bases, points, velocity, feet_bar, velocity_bar, slabs, way,
                  rate, corner, part, place, slope):  # fmt: skip
    """Add (d feet / d velocity)^T feet_bar to velocity_bar, even slabs first, then odd ones."""
    m0, m = points[0], points[1]
    size = m0 * m
    for colour in range(2):
        for pair in prange((slabs + 1 - colour) // 2):
            slab = 2 * pair + colour
            w, q, p = slab * 6 * m, slab * 4 * m, slab * (place.size // slabs)
            for i in range(slab * m0 // slabs, (slab + 1) * m0 // slabs):
                trace_slopes_row(tableau, scale, lattices, bases, velocity, i, m, way, w, rate, w, corner, q,
                                 part, place, slope, p)  # fmt: skip
                o = i * m
                for c in range(bases.shape[1]):
                    for n in range(m):
                        rate[at(w + (4 + c) * m + n)] = feet_bar[at(c * size + o + n)]
                trace_adjoint_row(tableau, scale, lattices, bases, i, m, rate, w, part, place, slope, p,
                                  velocity_bar)  # fmt: skip


@parallel_kernel
def advect(tableau, scale, lattices, bases, points, carried, velocity, feet, out, slabs, way, rate, corner, part,
           place):  # fmt: skip
    """out = carried, interpolated at the feet of the backtraces."""
    m0, m = points[0], points[1]
    for slab in prange(slabs):
        w, q, p = slab * 6 * m, slab * 4 * m, slab * (place.size // slabs)
        for i in range(slab * m0 // slabs, (slab + 1) * m0 // slabs):
            if tableau.shape[0] > 0:
                trace_row(tableau, scale, lattices, bases, velocity, i, m, way, w, rate, w, corner, q, part,
                          place, p)  # fmt: skip
            else:
                for c in range(bases.shape[1]):
                    average_row(feet, lattices, bases, 3 + c, i, m, way, w + c * m)
            value_row(carried, lattices, bases, 2, i, way, w, m, out, i * m, corner, q, part, place, p)


@parallel_kernel
def advect_tangent(lattices, bases, points, carried, feet, d_carried, d_feet, d_out, slabs, way, rate, corner,
                   part, place, slope):  # fmt: skip
    """d_out for a change of the carried values and of feet that were traced before, shared or not."""
    m0, m = points[0], points[1]
    for slab in prange(slabs):
        w, q, p = slab * 6 * m, slab * 4 * m, slab * (place.size // slabs)
        near = p + place.size // slabs - m
        here = 2 * near
        for i in range(slab * m0 // slabs, (slab + 1) * m0 // slabs):
            for c in range(bases.shape[1]):
                average_row(feet, lattices, bases, 3 + c, i, m, way, w + c * m)
                average_row(d_feet, lattices, bases, 3 + c, i, m, rate, w + (4 + c) * m)
            o = i * m
            value_row(d_carried, lattices, bases, 2, i, way, w, m, d_out, o, corner, q, part, place, near)
            slope_row(carried, lattices, bases, 2, i, way, w, m, rate, w, corner, q, part, place, slope, near)
            for n in range(m):
                d_out[at(o + n)] += (
                    slope[at(here + n)] * rate[at(w + 4 * m + n)] + slope[at(here + m + n)] * rate[at(w + 5 * m + n)]
                )


@parallel_kernel
def advect_adjoint(tableau, scale, lattices, bases, points, carried, velocity, feet, out_bar, carried_bar,
                   velocity_bar, feet_bar, slabs, way, rate, corner, part, place, slope):  # fmt: skip
    """Add the transpose of `advect_tangent` applied to out_bar, even slabs first, then odd ones."""
    m0, m = points[0], points[1]
    for colour in range(2):
        for pair in prange((slabs + 1 - colour) // 2):
            slab = 2 * pair + colour
            w, q, p = slab * 6 * m, slab * 4 * m, slab * (place.size // slabs)
            near = p + place.size // slabs - m
            here = 2 * near
            for i in range(slab * m0 // slabs, (slab + 1) * m0 // slabs):
                if tableau.shape[0] > 0:
                    trace_slopes_row(tableau, scale, lattices, bases, velocity, i, m, way, w, rate, w, corner, q,
                                     part, place, slope, p)  # fmt: skip
                else:
                    for c in range(bases.shape[1]):
                        average_row(feet, lattices, bases, 3 + c, i, m, way, w + c * m)
                o = i * m
                slope_row(carried, lattices, bases, 2, i, way, w, m, rate, w, corner, q, part, place, slope, near)
                scatter_row(carried_bar, lattices, 2, part, place, near, m, out_bar, o)
                for c in range(bases.shape[1]):
                    for n in range(m):
                        rate[at(w + (4 + c) * m + n)] = slope[at(here + c * m + n)] * out_bar[at(o + n)]
                if tableau.shape[0] > 0:
                    trace_adjoint_row(tableau, scale, lattices, bases, i, m, rate, w, part, place, slope, p,
                                      velocity_bar)  # fmt: skip
                else:
                    for c in range(bases.shape[1]):
                        spread_row(feet_bar, lattices, bases, 3 + c, i, m, rate, w + (4 + c) * m)
