"""Divergence and pressure gradient of many steps at once, v[face, step], in cell units; walls or periodic axes.

Values are flat with the steps innermost, as in self_advection.py. Faces on walls count as zero and become zero. A 2D
grid is one layer of a 3D one (keyfluid/kernels/stencils.py).
"""

from numba import prange

from keyfluid.boundary import PERIODIC_SIDE
from keyfluid.kernels.compile import parallel_kernel, row_function
from keyfluid.kernels.lattice import at
from keyfluid.solvers.kernels.self_advection import spot


@row_function
def add_row(out, o, v, f, count):
    for k in range(count):
        out[at(o + k)] += v[at(f + k)]


@row_function
def subtract_row(out, o, v, f, count):
    for k in range(count):
        out[at(o + k)] -= v[at(f + k)]


@row_function
def faces_of_row(starts, shapes, a, x0, x1, i):
    """Offset of a row of faces in plane i across the first or second axis."""
    return spot(starts, shapes, a, i if a == 0 else x0, i if a == 1 else x1, 0)


@parallel_kernel
def divergence(v, out, steps, starts, shapes, cells, kinds, axes):
    """out = sum over axes of v above - v below."""
    n1, m = cells[1], cells[2] * steps
    for row in prange(cells[0] * n1):
        x0 = row // n1
        x1 = row - x0 * n1
        o, f = row * m, spot(starts, shapes, 2, x0, x1, 0) * steps
        for k in range(m - steps):
            out[at(o + k)] = v[at(f + steps + k)]
        for k in range(steps):
            out[at(o + m - steps + k)] = v[at(f + k)] if kinds[2] == PERIODIC_SIDE else 0
        subtract_row(out, o + steps, v, f + steps, m - steps)
        if kinds[2] == PERIODIC_SIDE:
            subtract_row(out, o, v, f, steps)
        for a in range(3 - axes, 2):
            x, n, periodic = x0 if a == 0 else x1, cells[a], kinds[a] == PERIODIC_SIDE
            if periodic or x < n - 1:
                add_row(out, o, v, faces_of_row(starts, shapes, a, x0, x1, x + 1 if x < n - 1 else 0) * steps, m)
            if periodic or x > 0:
                subtract_row(out, o, v, faces_of_row(starts, shapes, a, x0, x1, x) * steps, m)


@row_function
def slope_row(v, f, p, high, low, count):
    """v -= p above - p below along a row."""
    for k in range(count):
        v[at(f + k)] -= p[at(high + k)] - p[at(low + k)]


@row_function
def clear_row(v, f, count):
    for k in range(count):
        v[at(f + k)] = 0


@parallel_kernel
def subtract_gradient(v, p, steps, starts, shapes, cells, kinds, axes):
    """v -= gradient of p; zero on walls."""
    n1, m = cells[1], cells[2] * steps
    for row in prange(cells[0] * n1):
        x0 = row // n1
        x1 = row - x0 * n1
        o, f = row * m, spot(starts, shapes, 2, x0, x1, 0) * steps
        slope_row(v, f + steps, p, o + steps, o, m - steps)
        if kinds[2] == PERIODIC_SIDE:
            slope_row(v, f, p, o, o + m - steps, steps)
        else:
            clear_row(v, f, steps)
            clear_row(v, f + m, steps)
        for a in range(3 - axes, 2):
            x, n, periodic = x0 if a == 0 else x1, cells[a], kinds[a] == PERIODIC_SIDE
            f = faces_of_row(starts, shapes, a, x0, x1, x) * steps
            if periodic or x > 0:
                below = x - 1 if x > 0 else n - 1
                low = ((below if a == 0 else x0) * n1 + (below if a == 1 else x1)) * m
                slope_row(v, f, p, o, low, m)
            else:
                clear_row(v, f, m)
            if not periodic and x == n - 1:
                clear_row(v, faces_of_row(starts, shapes, a, x0, x1, n) * steps, m)
