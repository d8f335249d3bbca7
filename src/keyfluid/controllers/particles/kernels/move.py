"""Particles carried by a packed velocity lattice: 4 values per cell (u, v, w, and one that is not used here).

    x1 = x0 + dt (3/2 u0 - 1/2 u_before)            [Madill & Mould 2013, equation 9]

Sides: walls hold a particle inside, periodic ones bring it back on the other side, open ones let it go.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from keyfluid.boundary import PERIODIC_SIDE, WALL_SIDE
from keyfluid.controllers.particles.kernels.grid import BLOCKS, corner, read
from keyfluid.kernels.compile import parallel_kernel, row_function


@row_function
def velocity_at(packed, x, y, z, inverse, nx, ny, nz):
    """(u, v, w) of a packed lattice at a point, trilinear."""
    a, fa = corner(x, inverse, nx)
    b, fb = corner(y, inverse, ny)
    c, fc = corner(z, inverse, nz)
    real = type(x)
    ga, gb, gc = real(1) - fa, real(1) - fb, real(1) - fc
    ox = np.uint64(4 * ny * nz) if nx > 1 else np.uint64(0)
    oy = np.uint64(4 * nz) if ny > 1 else np.uint64(0)
    oz = np.uint64(4) if nz > 1 else np.uint64(0)
    o = np.uint64(4 * ((a * ny + b) * nz + c))
    w0, w1, w2, w3 = ga * gb * gc, ga * gb * fc, ga * fb * gc, ga * fb * fc
    w4, w5, w6, w7 = fa * gb * gc, fa * gb * fc, fa * fb * gc, fa * fb * fc
    o1, o2, o3, o4 = o + oz, o + oy, o + oy + oz, o + ox
    o5, o6, o7 = o4 + oz, o4 + oy, o4 + oy + oz
    one, two = np.uint64(1), np.uint64(2)
    u = (
        w0 * packed[o] + w1 * packed[o1] + w2 * packed[o2] + w3 * packed[o3]
        + w4 * packed[o4] + w5 * packed[o5] + w6 * packed[o6] + w7 * packed[o7]
    )  # fmt: skip
    v = (
        w0 * packed[o + one] + w1 * packed[o1 + one] + w2 * packed[o2 + one] + w3 * packed[o3 + one]
        + w4 * packed[o4 + one] + w5 * packed[o5 + one] + w6 * packed[o6 + one] + w7 * packed[o7 + one]
    )  # fmt: skip
    w = (
        w0 * packed[o + two] + w1 * packed[o1 + two] + w2 * packed[o2 + two] + w3 * packed[o3 + two]
        + w4 * packed[o4 + two] + w5 * packed[o5 + two] + w6 * packed[o6 + two] + w7 * packed[o7 + two]
    )  # fmt: skip
    return u, v, w


@row_function
def inside(p, side, kind):
    """A coordinate after the rule of its sides."""
    if kind == WALL_SIDE:
        return min(max(p, type(p)(0)), side)
    if kind == PERIODIC_SIDE:
        if p < 0:
            p += side
        elif p >= side:
            p -= side
        return min(max(p, type(p)(0)), side)
    return p


@parallel_kernel
def advect(x, y, z, bu, bv, bw, first, packed, inverse, cells, sizes, kinds, dt):
    """Move particles; b* are the velocities of the step before, replaced by this step's. Particles from `first`
    on are new: their step is Euler's."""
    nx, ny, nz = cells[0], cells[1], cells[2]
    sx, sy, sz = sizes[0], sizes[1], sizes[2]
    kx, ky, kz = kinds[0], kinds[1], kinds[2]
    count = x.size
    real = x.dtype.type
    new, old = real(1.5), real(0.5)
    length = (count + BLOCKS - 1) // BLOCKS
    for block in prange(BLOCKS):
        for i in range(block * length, min(count, (block + 1) * length)):
            p = np.uint64(i)
            u, v, w = velocity_at(packed, x[p], y[p], z[p], inverse, nx, ny, nz)
            if i >= first:
                bu[p], bv[p], bw[p] = u, v, w
            x[p] = inside(x[p] + dt * (new * u - old * bu[p]), sx, kx)
            y[p] = inside(y[p] + dt * (new * v - old * bv[p]), sy, ky)
            z[p] = inside(z[p] + dt * (new * w - old * bw[p]), sz, kz)
            bu[p], bv[p], bw[p] = u, v, w


@parallel_kernel
def push_out(x, y, z, distance, inverse, cells, spacing):
    """Particles inside bodies go to their surface, along the gradient of the signed distance."""
    nx, ny, nz = cells[0], cells[1], cells[2]
    count = x.size
    real = x.dtype.type
    length = (count + BLOCKS - 1) // BLOCKS
    h = real(0.5) * spacing
    for block in prange(BLOCKS):
        for i in range(block * length, min(count, (block + 1) * length)):
            p = np.uint64(i)
            a, b, c = x[p], y[p], z[p]
            depth = read(distance, a, b, c, inverse, nx, ny, nz)
            if depth < 0:
                gx = read(distance, a + h, b, c, inverse, nx, ny, nz) - read(distance, a - h, b, c, inverse, nx, ny, nz)
                gy = read(distance, a, b + h, c, inverse, nx, ny, nz) - read(distance, a, b - h, c, inverse, nx, ny, nz)
                gz = read(distance, a, b, c + h, inverse, nx, ny, nz) - read(distance, a, b, c - h, inverse, nx, ny, nz)
                steep = np.sqrt(gx * gx + gy * gy + gz * gz)
                if steep > 0:
                    far = -depth / steep
                    x[p], y[p], z[p] = a + far * gx, b + far * gy, c + far * gz
