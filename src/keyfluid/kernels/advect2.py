"""Backtraces and semi-Lagrangian interpolation in two dimensions, with tangents and adjoints.

The twin of advect3.py, where the method is described; here a row is the whole of a slab's line i.
`lattices` and `bases` (rows2.py) have a row for each velocity component (0-1), for the carried quantity (2) and
for the components of the centred displacement (3-4).
"""

import numpy as np
from numba import prange

from .compile import parallel_kernel, row_function
from .rows2 import average_row, scatter_row, slope_row, spread_row, value_row


@row_function
def trace_row(tableau, scale, lattices, bases, velocity, i, m, k, stage, foot):
    """Displacement `foot` of the backtrace from row i; `stage` is left with the last stage's points."""
    for c in range(2):
        average_row(velocity, lattices, bases, c, i, m, k, c * m)
    for n in range(2 * m):
        foot[n] = -scale * tableau[0, 1] * k[n]
    for s in range(1, tableau.shape[0]):
        for n in range(2 * m):
            stage[n] = -scale * tableau[s, 0] * k[n]
        for c in range(2):
            value_row(velocity, lattices, bases, c, i, stage, 0, m, k, c * m)
        for n in range(2 * m):
            foot[n] -= scale * tableau[s, 1] * k[n]


@row_function
def trace_slopes_row(tableau, scale, lattices, bases, velocity, i, m, k, stage, foot, grad, place, part):
    """As `trace_row`, keeping for each stage s and component c the gradient of u_c and where it was read."""
    for c in range(2):
        average_row(velocity, lattices, bases, c, i, m, k, c * m)
    for n in range(2 * m):
        foot[n] = -scale * tableau[0, 1] * k[n]
    for s in range(1, tableau.shape[0]):
        for n in range(2 * m):
            stage[(s - 1) * 2 * m + n] = -scale * tableau[s, 0] * k[n]
        for c in range(2):
            b = (s - 1) * 2 + c
            slope_row(velocity, lattices, bases, c, i, stage, (s - 1) * 2 * m, m, k, c * m,
                      grad, b * 2 * m, place, b * 3 * m, part, b * 2 * m)  # fmt: skip
        for n in range(2 * m):
            foot[n] -= scale * tableau[s, 1] * k[n]


@row_function
def trace_tangent_row(tableau, scale, lattices, bases, d_velocity, i, m, stage, grad, d_k, d_stage, d_foot):
    """d_foot for a change of velocity, the stages and gradients coming from `trace_slopes_row`."""
    for c in range(2):
        average_row(d_velocity, lattices, bases, c, i, m, d_k, c * m)
    for n in range(2 * m):
        d_foot[n] = -scale * tableau[0, 1] * d_k[n]
    for s in range(1, tableau.shape[0]):
        for n in range(2 * m):
            d_stage[n] = -scale * tableau[s, 0] * d_k[n]
        for c in range(2):
            value_row(d_velocity, lattices, bases, c, i, stage, (s - 1) * 2 * m, m, d_k, c * m)
            for n in range(m):
                b = ((s - 1) * 2 + c) * 2 * m + n
                d_k[c * m + n] += grad[b] * d_stage[n] + grad[b + m] * d_stage[m + n]
        for n in range(2 * m):
            d_foot[n] -= scale * tableau[s, 1] * d_k[n]


@row_function
def trace_adjoint_row(tableau, scale, lattices, bases, i, m, foot_bar, grad, place, part, k_bar, carry,
                      velocity_bar):  # fmt: skip
    """Add (d foot / d velocity)^T foot_bar to velocity_bar."""
    for n in range(2 * m):
        carry[n] = 0
    for stage in range(1, tableau.shape[0]):
        s = tableau.shape[0] - stage
        above = tableau[s + 1, 0] if stage > 1 else tableau[0, 0]
        for n in range(2 * m):
            k_bar[n] = -scale * (tableau[s, 1] * foot_bar[n] + above * carry[n])
        for c in range(2):
            b = (s - 1) * 2 + c
            scatter_row(velocity_bar, place, b * 3 * m, part, b * 2 * m, m, k_bar, c * m)
        for n in range(m):
            b = (s - 1) * 4 * m + n
            u, v = k_bar[n], k_bar[m + n]
            carry[n] = grad[b] * u + grad[b + 2 * m] * v
            carry[m + n] = grad[b + m] * u + grad[b + 3 * m] * v
    above = tableau[1, 0] if tableau.shape[0] > 1 else tableau[0, 0]
    for n in range(2 * m):
        k_bar[n] = -scale * (tableau[0, 1] * foot_bar[n] + above * carry[n])
    for c in range(2):
        spread_row(velocity_bar, lattices, bases, c, i, m, k_bar, c * m)


@parallel_kernel
def trace(tableau, scale, lattices, bases, points, velocity, feet, slabs):
    """feet = displacements of the backtraces from all points, component by component."""
    m0, m = points[0], points[1]
    size = m0 * m
    for slab in prange(slabs):
        k = np.empty(2 * m, velocity.dtype)
        stage = np.empty(2 * m, velocity.dtype)
        foot = np.empty(2 * m, velocity.dtype)
        for i in range(slab * m0 // slabs, (slab + 1) * m0 // slabs):
            trace_row(tableau, scale, lattices, bases, velocity, i, m, k, stage, foot)
            o = i * m
            for c in range(2):
                for n in range(m):
                    feet[c * size + o + n] = foot[c * m + n]


@parallel_kernel
def trace_tangent(tableau, scale, lattices, bases, points, velocity, d_velocity, d_feet, slabs):
    """d_feet for a change of velocity."""
    m0, m = points[0], points[1]
    size = m0 * m
    stages = max(1, tableau.shape[0] - 1)
    for slab in prange(slabs):
        k = np.empty(2 * m, velocity.dtype)
        stage = np.empty(stages * 2 * m, velocity.dtype)
        foot = np.empty(2 * m, velocity.dtype)
        d_stage = np.empty(2 * m, velocity.dtype)
        d_foot = np.empty(2 * m, velocity.dtype)
        grad = np.empty(stages * 4 * m, velocity.dtype)
        place = np.empty(stages * 6 * m, np.int32)
        part = np.empty(stages * 4 * m, velocity.dtype)
        for i in range(slab * m0 // slabs, (slab + 1) * m0 // slabs):
            trace_slopes_row(tableau, scale, lattices, bases, velocity, i, m, k, stage, foot, grad,
                             place, part)  # fmt: skip
            trace_tangent_row(tableau, scale, lattices, bases, d_velocity, i, m, stage, grad, k, d_stage,
                              d_foot)  # fmt: skip
            o = i * m
            for c in range(2):
                for n in range(m):
                    d_feet[c * size + o + n] = d_foot[c * m + n]


@parallel_kernel
def trace_adjoint(tableau, scale, lattices, bases, points, velocity, feet_bar, velocity_bar, slabs, colour):
    """Add (d feet / d velocity)^T feet_bar to velocity_bar, for the slabs of one colour."""
    m0, m = points[0], points[1]
    size = m0 * m
    stages = max(1, tableau.shape[0] - 1)
    for pair in prange((slabs + 1 - colour) // 2):
        slab = 2 * pair + colour
        k = np.empty(2 * m, velocity.dtype)
        stage = np.empty(stages * 2 * m, velocity.dtype)
        foot = np.empty(2 * m, velocity.dtype)
        carry = np.empty(2 * m, velocity.dtype)
        grad = np.empty(stages * 4 * m, velocity.dtype)
        place = np.empty(stages * 6 * m, np.int32)
        part = np.empty(stages * 4 * m, velocity.dtype)
        for i in range(slab * m0 // slabs, (slab + 1) * m0 // slabs):
            trace_slopes_row(tableau, scale, lattices, bases, velocity, i, m, k, stage, foot, grad,
                             place, part)  # fmt: skip
            o = i * m
            for c in range(2):
                for n in range(m):
                    foot[c * m + n] = feet_bar[c * size + o + n]
            trace_adjoint_row(tableau, scale, lattices, bases, i, m, foot, grad, place, part, k, carry,
                              velocity_bar)  # fmt: skip


@parallel_kernel
def advect(tableau, scale, lattices, bases, points, carried, velocity, feet, out, slabs):
    """out = carried, interpolated at the feet of the backtraces."""
    m0, m = points[0], points[1]
    for slab in prange(slabs):
        k = np.empty(2 * m, velocity.dtype)
        stage = np.empty(2 * m, velocity.dtype)
        foot = np.empty(2 * m, velocity.dtype)
        for i in range(slab * m0 // slabs, (slab + 1) * m0 // slabs):
            if tableau.shape[0] > 0:
                trace_row(tableau, scale, lattices, bases, velocity, i, m, k, stage, foot)
            else:
                for c in range(2):
                    average_row(feet, lattices, bases, 3 + c, i, m, foot, c * m)
            value_row(carried, lattices, bases, 2, i, foot, 0, m, out, i * m)


@parallel_kernel
def advect_tangent(tableau, scale, lattices, bases, points, carried, velocity, feet, d_carried, d_velocity,
                   d_feet, d_out, slabs):  # fmt: skip
    """d_out for a change of the carried values and of the velocity (or of the shared feet)."""
    m0, m = points[0], points[1]
    stages = max(1, tableau.shape[0] - 1)
    for slab in prange(slabs):
        k = np.empty(2 * m, velocity.dtype)
        stage = np.empty(stages * 2 * m, velocity.dtype)
        foot = np.empty(2 * m, velocity.dtype)
        d_stage = np.empty(2 * m, velocity.dtype)
        d_foot = np.empty(2 * m, velocity.dtype)
        grad = np.empty(stages * 4 * m, velocity.dtype)
        place = np.empty(stages * 6 * m, np.int32)
        part = np.empty(stages * 4 * m, velocity.dtype)
        for i in range(slab * m0 // slabs, (slab + 1) * m0 // slabs):
            if tableau.shape[0] > 0:
                trace_slopes_row(tableau, scale, lattices, bases, velocity, i, m, k, stage, foot, grad,
                                 place, part)  # fmt: skip
                trace_tangent_row(tableau, scale, lattices, bases, d_velocity, i, m, stage, grad, k,
                                  d_stage, d_foot)  # fmt: skip
            else:
                for c in range(2):
                    average_row(feet, lattices, bases, 3 + c, i, m, foot, c * m)
                    average_row(d_feet, lattices, bases, 3 + c, i, m, d_foot, c * m)
            o = i * m
            value_row(d_carried, lattices, bases, 2, i, foot, 0, m, d_out, o)
            slope_row(carried, lattices, bases, 2, i, foot, 0, m, k, 0, grad, 0, place, 0, part, 0)
            for n in range(m):
                d_out[o + n] += grad[n] * d_foot[n] + grad[m + n] * d_foot[m + n]


@parallel_kernel
def advect_adjoint(tableau, scale, lattices, bases, points, carried, velocity, feet, out_bar, carried_bar,
                   velocity_bar, feet_bar, slabs, colour):  # fmt: skip
    """Add the transpose of `advect_tangent` applied to out_bar, for the slabs of one colour."""
    m0, m = points[0], points[1]
    stages = max(1, tableau.shape[0] - 1)
    for pair in prange((slabs + 1 - colour) // 2):
        slab = 2 * pair + colour
        k = np.empty(2 * m, velocity.dtype)
        stage = np.empty(stages * 2 * m, velocity.dtype)
        foot = np.empty(2 * m, velocity.dtype)
        carry = np.empty(2 * m, velocity.dtype)
        grad = np.empty(stages * 4 * m, velocity.dtype)
        place = np.empty(stages * 6 * m, np.int32)
        part = np.empty(stages * 4 * m, velocity.dtype)
        slopes = np.empty(2 * m, velocity.dtype)
        here = np.empty(3 * m, np.int32)
        share = np.empty(2 * m, velocity.dtype)
        for i in range(slab * m0 // slabs, (slab + 1) * m0 // slabs):
            if tableau.shape[0] > 0:
                trace_slopes_row(tableau, scale, lattices, bases, velocity, i, m, k, stage, foot, grad,
                                 place, part)  # fmt: skip
            else:
                for c in range(2):
                    average_row(feet, lattices, bases, 3 + c, i, m, foot, c * m)
            o = i * m
            slope_row(carried, lattices, bases, 2, i, foot, 0, m, k, 0, slopes, 0, here, 0, share, 0)
            scatter_row(carried_bar, here, 0, share, 0, m, out_bar, o)
            for c in range(2):
                for n in range(m):
                    foot[c * m + n] = slopes[c * m + n] * out_bar[o + n]
            if tableau.shape[0] > 0:
                trace_adjoint_row(tableau, scale, lattices, bases, i, m, foot, grad, place, part, k,
                                  carry, velocity_bar)  # fmt: skip
            else:
                for c in range(2):
                    spread_row(feet_bar, lattices, bases, 3 + c, i, m, foot, c * m)
