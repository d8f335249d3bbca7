"""Backtraces and semi-Lagrangian interpolation in three dimensions, with tangents and adjoints.

`tableau` holds a Runge-Kutta rule as rows (a_s, b_s): k_s = u(x - h a_s k_{s-1}), foot = x - h sum_s b_s k_s,
with h = dt / dx = `scale`, so that displacements are in cells. The rules in use have one entry per stage below
the diagonal. An empty tableau means *shared feet*: displacements were traced at cell centres before
(`trace`), and are averaged to the place of the carried values.

`lattices` and `bases` (rows3.py) have a row for each velocity component (0-2), for the carried quantity (3)
and for the components of the centred displacement (4-6). `points` is the lattice whose values are computed.
Adjoint kernels add into their targets and work on slabs of one `colour` (even or odd): slabs are at least as
thick as twice the reach of a scatter, so slabs of one colour never write to the same place, and the result
has the same bits for any number of threads.
"""

import numpy as np
from numba import prange

from .compile import parallel_kernel, row_function
from .rows3 import average_row, scatter_row, slope_row, spread_row, value_row


@row_function
def trace_row(tableau, scale, lattices, bases, velocity, i, j, m, k, stage, foot):
    """Displacement `foot` of the backtrace from row (i, j); `stage` is left with the last stage's points."""
    for c in range(3):
        average_row(velocity, lattices, bases, c, i, j, m, k, c * m)
    for n in range(3 * m):
        foot[n] = -scale * tableau[0, 1] * k[n]
    for s in range(1, tableau.shape[0]):
        for n in range(3 * m):
            stage[n] = -scale * tableau[s, 0] * k[n]
        for c in range(3):
            value_row(velocity, lattices, bases, c, i, j, stage, 0, m, k, c * m)
        for n in range(3 * m):
            foot[n] -= scale * tableau[s, 1] * k[n]


@row_function
def trace_slopes_row(tableau, scale, lattices, bases, velocity, i, j, m, k, stage, foot, grad, place, part):
    """As `trace_row`, keeping for each stage s and component c the gradient of u_c and where it was read."""
    for c in range(3):
        average_row(velocity, lattices, bases, c, i, j, m, k, c * m)
    for n in range(3 * m):
        foot[n] = -scale * tableau[0, 1] * k[n]
    for s in range(1, tableau.shape[0]):
        for n in range(3 * m):
            stage[(s - 1) * 3 * m + n] = -scale * tableau[s, 0] * k[n]
        for c in range(3):
            b = (s - 1) * 3 + c
            slope_row(velocity, lattices, bases, c, i, j, stage, (s - 1) * 3 * m, m, k, c * m,
                      grad, b * 3 * m, place, b * 4 * m, part, b * 3 * m)  # fmt: skip
        for n in range(3 * m):
            foot[n] -= scale * tableau[s, 1] * k[n]


@row_function
def trace_tangent_row(tableau, scale, lattices, bases, d_velocity, i, j, m, stage, grad, d_k, d_stage, d_foot):
    """d_foot for a change of velocity, the stages and gradients coming from `trace_slopes_row`."""
    for c in range(3):
        average_row(d_velocity, lattices, bases, c, i, j, m, d_k, c * m)
    for n in range(3 * m):
        d_foot[n] = -scale * tableau[0, 1] * d_k[n]
    for s in range(1, tableau.shape[0]):
        for n in range(3 * m):
            d_stage[n] = -scale * tableau[s, 0] * d_k[n]
        for c in range(3):
            value_row(d_velocity, lattices, bases, c, i, j, stage, (s - 1) * 3 * m, m, d_k, c * m)
            for n in range(m):
                b = ((s - 1) * 3 + c) * 3 * m + n
                d_k[c * m + n] += (
                    grad[b] * d_stage[n] + grad[b + m] * d_stage[m + n] + grad[b + 2 * m] * d_stage[2 * m + n]
                )
        for n in range(3 * m):
            d_foot[n] -= scale * tableau[s, 1] * d_k[n]


@row_function
def trace_adjoint_row(tableau, scale, lattices, bases, i, j, m, foot_bar, grad, place, part, k_bar, carry,
                      velocity_bar):  # fmt: skip
    """Add (d foot / d velocity)^T foot_bar to velocity_bar."""
    for n in range(3 * m):
        carry[n] = 0
    for stage in range(1, tableau.shape[0]):
        s = tableau.shape[0] - stage
        above = tableau[s + 1, 0] if stage > 1 else tableau[0, 0]
        for n in range(3 * m):
            k_bar[n] = -scale * (tableau[s, 1] * foot_bar[n] + above * carry[n])
        for c in range(3):
            b = (s - 1) * 3 + c
            scatter_row(velocity_bar, place, b * 4 * m, part, b * 3 * m, m, k_bar, c * m)
        for n in range(m):
            b = (s - 1) * 9 * m + n
            u, v, w = k_bar[n], k_bar[m + n], k_bar[2 * m + n]
            carry[n] = grad[b] * u + grad[b + 3 * m] * v + grad[b + 6 * m] * w
            carry[m + n] = grad[b + m] * u + grad[b + 4 * m] * v + grad[b + 7 * m] * w
            carry[2 * m + n] = grad[b + 2 * m] * u + grad[b + 5 * m] * v + grad[b + 8 * m] * w
    above = tableau[1, 0] if tableau.shape[0] > 1 else tableau[0, 0]
    for n in range(3 * m):
        k_bar[n] = -scale * (tableau[0, 1] * foot_bar[n] + above * carry[n])
    for c in range(3):
        spread_row(velocity_bar, lattices, bases, c, i, j, m, k_bar, c * m)


@parallel_kernel
def trace(tableau, scale, lattices, bases, points, velocity, feet, slabs):
    """feet = displacements of the backtraces from all points, component by component."""
    m0, m1, m = points[0], points[1], points[2]
    size = m0 * m1 * m
    for slab in prange(slabs):
        k = np.empty(3 * m, velocity.dtype)
        stage = np.empty(3 * m, velocity.dtype)
        foot = np.empty(3 * m, velocity.dtype)
        for i in range(slab * m0 // slabs, (slab + 1) * m0 // slabs):
            for j in range(m1):
                trace_row(tableau, scale, lattices, bases, velocity, i, j, m, k, stage, foot)
                o = (i * m1 + j) * m
                for c in range(3):
                    for n in range(m):
                        feet[c * size + o + n] = foot[c * m + n]


@parallel_kernel
def trace_tangent(tableau, scale, lattices, bases, points, velocity, d_velocity, d_feet, slabs):
    """d_feet for a change of velocity."""
    m0, m1, m = points[0], points[1], points[2]
    size = m0 * m1 * m
    stages = max(1, tableau.shape[0] - 1)
    for slab in prange(slabs):
        k = np.empty(3 * m, velocity.dtype)
        stage = np.empty(stages * 3 * m, velocity.dtype)
        foot = np.empty(3 * m, velocity.dtype)
        d_stage = np.empty(3 * m, velocity.dtype)
        d_foot = np.empty(3 * m, velocity.dtype)
        grad = np.empty(stages * 9 * m, velocity.dtype)
        place = np.empty(stages * 12 * m, np.int32)
        part = np.empty(stages * 9 * m, velocity.dtype)
        for i in range(slab * m0 // slabs, (slab + 1) * m0 // slabs):
            for j in range(m1):
                trace_slopes_row(tableau, scale, lattices, bases, velocity, i, j, m, k, stage, foot, grad,
                                 place, part)  # fmt: skip
                trace_tangent_row(tableau, scale, lattices, bases, d_velocity, i, j, m, stage, grad, k, d_stage,
                                  d_foot)  # fmt: skip
                o = (i * m1 + j) * m
                for c in range(3):
                    for n in range(m):
                        d_feet[c * size + o + n] = d_foot[c * m + n]


@parallel_kernel
def trace_adjoint(tableau, scale, lattices, bases, points, velocity, feet_bar, velocity_bar, slabs, colour):
    """Add (d feet / d velocity)^T feet_bar to velocity_bar, for the slabs of one colour."""
    m0, m1, m = points[0], points[1], points[2]
    size = m0 * m1 * m
    stages = max(1, tableau.shape[0] - 1)
    for pair in prange((slabs + 1 - colour) // 2):
        slab = 2 * pair + colour
        k = np.empty(3 * m, velocity.dtype)
        stage = np.empty(stages * 3 * m, velocity.dtype)
        foot = np.empty(3 * m, velocity.dtype)
        carry = np.empty(3 * m, velocity.dtype)
        grad = np.empty(stages * 9 * m, velocity.dtype)
        place = np.empty(stages * 12 * m, np.int32)
        part = np.empty(stages * 9 * m, velocity.dtype)
        for i in range(slab * m0 // slabs, (slab + 1) * m0 // slabs):
            for j in range(m1):
                trace_slopes_row(tableau, scale, lattices, bases, velocity, i, j, m, k, stage, foot, grad,
                                 place, part)  # fmt: skip
                o = (i * m1 + j) * m
                for c in range(3):
                    for n in range(m):
                        foot[c * m + n] = feet_bar[c * size + o + n]
                trace_adjoint_row(tableau, scale, lattices, bases, i, j, m, foot, grad, place, part, k, carry,
                                  velocity_bar)  # fmt: skip


@parallel_kernel
def advect(tableau, scale, lattices, bases, points, carried, velocity, feet, out, slabs):
    """out = carried, interpolated at the feet of the backtraces."""
    m0, m1, m = points[0], points[1], points[2]
    for slab in prange(slabs):
        k = np.empty(3 * m, velocity.dtype)
        stage = np.empty(3 * m, velocity.dtype)
        foot = np.empty(3 * m, velocity.dtype)
        for i in range(slab * m0 // slabs, (slab + 1) * m0 // slabs):
            for j in range(m1):
                if tableau.shape[0] > 0:
                    trace_row(tableau, scale, lattices, bases, velocity, i, j, m, k, stage, foot)
                else:
                    for c in range(3):
                        average_row(feet, lattices, bases, 4 + c, i, j, m, foot, c * m)
                value_row(carried, lattices, bases, 3, i, j, foot, 0, m, out, (i * m1 + j) * m)


@parallel_kernel
def advect_tangent(tableau, scale, lattices, bases, points, carried, velocity, feet, d_carried, d_velocity,
                   d_feet, d_out, slabs):  # fmt: skip
    """d_out for a change of the carried values and of the velocity (or of the shared feet)."""
    m0, m1, m = points[0], points[1], points[2]
    stages = max(1, tableau.shape[0] - 1)
    for slab in prange(slabs):
        k = np.empty(3 * m, velocity.dtype)
        stage = np.empty(stages * 3 * m, velocity.dtype)
        foot = np.empty(3 * m, velocity.dtype)
        d_stage = np.empty(3 * m, velocity.dtype)
        d_foot = np.empty(3 * m, velocity.dtype)
        grad = np.empty(stages * 9 * m, velocity.dtype)
        place = np.empty(stages * 12 * m, np.int32)
        part = np.empty(stages * 9 * m, velocity.dtype)
        for i in range(slab * m0 // slabs, (slab + 1) * m0 // slabs):
            for j in range(m1):
                if tableau.shape[0] > 0:
                    trace_slopes_row(tableau, scale, lattices, bases, velocity, i, j, m, k, stage, foot, grad,
                                     place, part)  # fmt: skip
                    trace_tangent_row(tableau, scale, lattices, bases, d_velocity, i, j, m, stage, grad, k,
                                      d_stage, d_foot)  # fmt: skip
                else:
                    for c in range(3):
                        average_row(feet, lattices, bases, 4 + c, i, j, m, foot, c * m)
                        average_row(d_feet, lattices, bases, 4 + c, i, j, m, d_foot, c * m)
                o = (i * m1 + j) * m
                value_row(d_carried, lattices, bases, 3, i, j, foot, 0, m, d_out, o)
                slope_row(carried, lattices, bases, 3, i, j, foot, 0, m, k, 0, grad, 0, place, 0, part, 0)
                for n in range(m):
                    d_out[o + n] += (
                        grad[n] * d_foot[n] + grad[m + n] * d_foot[m + n] + grad[2 * m + n] * d_foot[2 * m + n]
                    )


@parallel_kernel
def advect_adjoint(tableau, scale, lattices, bases, points, carried, velocity, feet, out_bar, carried_bar,
                   velocity_bar, feet_bar, slabs, colour):  # fmt: skip
    """Add the transpose of `advect_tangent` applied to out_bar, for the slabs of one colour."""
    m0, m1, m = points[0], points[1], points[2]
    stages = max(1, tableau.shape[0] - 1)
    for pair in prange((slabs + 1 - colour) // 2):
        slab = 2 * pair + colour
        k = np.empty(3 * m, velocity.dtype)
        stage = np.empty(stages * 3 * m, velocity.dtype)
        foot = np.empty(3 * m, velocity.dtype)
        carry = np.empty(3 * m, velocity.dtype)
        grad = np.empty(stages * 9 * m, velocity.dtype)
        place = np.empty(stages * 12 * m, np.int32)
        part = np.empty(stages * 9 * m, velocity.dtype)
        slopes = np.empty(3 * m, velocity.dtype)
        here = np.empty(4 * m, np.int32)
        share = np.empty(3 * m, velocity.dtype)
        for i in range(slab * m0 // slabs, (slab + 1) * m0 // slabs):
            for j in range(m1):
                if tableau.shape[0] > 0:
                    trace_slopes_row(tableau, scale, lattices, bases, velocity, i, j, m, k, stage, foot, grad,
                                     place, part)  # fmt: skip
                else:
                    for c in range(3):
                        average_row(feet, lattices, bases, 4 + c, i, j, m, foot, c * m)
                o = (i * m1 + j) * m
                slope_row(carried, lattices, bases, 3, i, j, foot, 0, m, k, 0, slopes, 0, here, 0, share, 0)
                scatter_row(carried_bar, here, 0, share, 0, m, out_bar, o)
                for c in range(3):
                    for n in range(m):
                        foot[c * m + n] = slopes[c * m + n] * out_bar[o + n]
                if tableau.shape[0] > 0:
                    trace_adjoint_row(tableau, scale, lattices, bases, i, j, m, foot, grad, place, part, k,
                                      carry, velocity_bar)  # fmt: skip
                else:
                    for c in range(3):
                        spread_row(feet_bar, lattices, bases, 4 + c, i, j, m, foot, c * m)
