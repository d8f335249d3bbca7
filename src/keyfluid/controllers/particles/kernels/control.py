"""Control particles: dart throwing, and Shepard's interpolation to a lattice."""

from __future__ import annotations

import numpy as np
from numba import prange

from keyfluid.controllers.particles.kernels.grid import read, span
from keyfluid.kernels.compile import parallel_kernel, row_function, serial_kernel
from keyfluid.kernels.counted_random import below, bits


@row_function
def add_tent(field, x, y, z, radius, height, spacing, nx, ny, nz):
    """Add a particle's separable tent, of value `height` at its middle, to a lattice."""
    real = type(x)
    half = real(0.5)
    inverse = real(1) / spacing
    i0, i1 = span(x, radius, inverse, nx)
    j0, j1 = span(y, radius, inverse, ny)
    k0, k1 = span(z, radius, inverse, nz)
    steep = real(1) / radius
    for i in range(i0, i1 + 1):
        a = real(1) - abs((real(i) + half) * spacing - x) * steep
        if a <= 0:
            continue
        for j in range(j0, j1 + 1):
            b = real(1) - abs((real(j) + half) * spacing - y) * steep
            if b <= 0:
                continue
            for k in range(k0, k1 + 1):
                c = real(1) - abs((real(k) + half) * spacing - z) * steep if nz > 1 else real(1)
                if c > 0:
                    field[np.uint64((i * ny + j) * nz + k)] += height * a * b * c


@serial_kernel
def throw_darts(key, darts, mx, my, mz, markers, control, cells, spacing, radius, height, ratio, least, px, py, pz):
    """Place control particles at markers where control / marker density is below `ratio`; returns how many.

    A placed particle raises the control density at once. [Madill & Mould 2013, section 4.1]
    """
    nx, ny, nz = cells[0], cells[1], cells[2]
    inverse = type(spacing)(1) / spacing
    placed = 0
    for dart in range(darts):
        if placed == px.size:
            break
        i = below(bits(key, np.uint64(dart)), np.uint64(mx.size))
        x, y, z = mx[i], my[i], mz[i]
        smoke = read(markers, x, y, z, inverse, nx, ny, nz)
        if smoke > least and read(control, x, y, z, inverse, nx, ny, nz) < ratio * smoke:
            px[placed], py[placed], pz[placed] = x, y, z
            add_tent(control, x, y, z, radius, height, spacing, nx, ny, nz)
            placed += 1
    return placed


@parallel_kernel
def shepard(x, y, z, u, v, w, starts, radius, cells, spacing, out):
    """Equations 1 and 2 at the centres of a packed lattice; 0 where no particle is within `radius`.

    Particles are sorted by plane of cells along x: those of plane i are starts[i] .. starts[i + 1] - 1. A plane of
    the lattice reads its own and its neighbours' particles in that order. The fourth value is used for the sum of
    weights and ends as 0.
    """
    nx, ny, nz = cells[0], cells[1], cells[2]
    real = x.dtype.type
    half = real(0.5)
    inverse = real(1) / spacing
    square = radius * radius
    reach = np.int64(radius * inverse) + 1
    normal = real(1) / square
    for i in prange(nx):
        base = np.uint64(4 * i * ny * nz)
        for c in range(4 * ny * nz):
            out[base + np.uint64(c)] = 0
        cx = (real(i) + half) * spacing
        for n in range(starts[max(i - reach, 0)], starts[min(i + reach, nx - 1) + 1]):
            p = np.uint64(n)
            dx = cx - x[p]
            left = square - dx * dx
            if left <= 0:
                continue
            j0, j1 = span(y[p], radius, inverse, ny)
            k0, k1 = span(z[p], radius, inverse, nz)
            for j in range(j0, j1 + 1):
                dy = (real(j) + half) * spacing - y[p]
                rest = left - dy * dy
                if rest <= 0:
                    continue
                for k in range(k0, k1 + 1):
                    dz = (real(k) + half) * spacing - z[p] if nz > 1 else real(0)
                    near = rest - dz * dz
                    if near > 0:
                        near *= normal
                        weight = near * near * near
                        o = base + np.uint64(4 * (j * nz + k))
                        out[o] += weight * u[p]
                        out[o + np.uint64(1)] += weight * v[p]
                        out[o + np.uint64(2)] += weight * w[p]
                        out[o + np.uint64(3)] += weight
        for c in range(ny * nz):
            o = base + np.uint64(4 * c)
            total = out[o + np.uint64(3)]
            if total > 0:
                out[o] /= total
                out[o + np.uint64(1)] /= total
                out[o + np.uint64(2)] /= total
                out[o + np.uint64(3)] = 0
