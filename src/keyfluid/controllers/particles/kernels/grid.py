"""Particles to a lattice and back. Lattices are cell-centred, flat, C order; 2D is one layer of cells (n_z = 1).

    splat      linear weights to the 8 cells around, in chunks of particles; each chunk has its own sums,
               which are then added in order, so that no number of threads changes a bit
    tent       separable blur with weights 1 - |k| h / r, normalised; walls reflect, so the sum is kept
               [Madill & Mould 2013, section 4.1]
    sample     trilinear, clamped at the sides

Positions are in metres; `inverse` is 1 / h.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from keyfluid.kernels.compile import parallel_kernel, row_function

CHUNKS = 8
BLOCKS = 64


@row_function
def corner(p, inverse, n):
    """Left neighbour and fraction of a position along one axis, clamped to the lattice."""
    real = type(p)
    c = min(max(p * inverse - real(0.5), real(0)), real(n - 1))
    left = min(np.int64(c), max(n - 2, 0))
    return left, c - real(left)


@row_function
def span(p, radius, inverse, n):
    """First and last cell whose centre may lie within `radius` of a coordinate."""
    half = type(p)(0.5)
    return max(np.int64((p - radius) * inverse - half), 0), min(np.int64((p + radius) * inverse + half), n - 1)


@parallel_kernel
def splat(x, y, z, inverse, cells, chunks, sums):
    """sums[chunk, cell] of particles, each of weight 1; those outside the box are left out."""
    count = x.size
    nx, ny, nz = cells[0], cells[1], cells[2]
    total = nx * ny * nz
    length = (count + chunks - 1) // chunks
    real = x.dtype.type
    ox = np.uint64(ny * nz) if nx > 1 else np.uint64(0)
    oy = np.uint64(nz) if ny > 1 else np.uint64(0)
    oz = np.uint64(1) if nz > 1 else np.uint64(0)
    for chunk in prange(chunks):
        base = chunk * total
        for c in range(base, base + total):
            sums[np.uint64(c)] = 0
        for i in range(chunk * length, min(count, (chunk + 1) * length)):
            p = np.uint64(i)
            gx, gy, gz = x[p] * inverse, y[p] * inverse, z[p] * inverse
            if gx < 0 or gy < 0 or gz < 0 or gx > nx or gy > ny or gz > nz:
                continue
            a, fa = corner(x[p], inverse, nx)
            b, fb = corner(y[p], inverse, ny)
            c, fc = corner(z[p], inverse, nz)
            ga, gb, gc = real(1) - fa, real(1) - fb, real(1) - fc
            o = np.uint64(base + (a * ny + b) * nz + c)
            sums[o] += ga * gb * gc
            sums[o + oz] += ga * gb * fc
            sums[o + oy] += ga * fb * gc
            sums[o + oy + oz] += ga * fb * fc
            sums[o + ox] += fa * gb * gc
            sums[o + ox + oz] += fa * gb * fc
            sums[o + ox + oy] += fa * fb * gc
            sums[o + ox + oy + oz] += fa * fb * fc


@parallel_kernel
def add_chunks(sums, chunks, factor, out):
    """out = factor times the sum over chunks, in their order."""
    total = out.size
    length = (total + BLOCKS - 1) // BLOCKS
    for block in prange(BLOCKS):
        for c in range(block * length, min(total, (block + 1) * length)):
            value = sums[np.uint64(c)]
            for k in range(1, chunks):
                value += sums[np.uint64(k * total + c)]
            out[np.uint64(c)] = factor * value


@parallel_kernel
def tent(source, n, inner, weights, out):
    """Blur along an axis of n cells whose neighbours lie `inner` values apart; weights[0] is the middle one."""
    rows = source.size // inner
    reach = weights.size - 1
    length = (rows + BLOCKS - 1) // BLOCKS
    for block in prange(BLOCKS):
        for row in range(block * length, min(rows, (block + 1) * length)):
            i = row % n
            first = (row - i) * inner
            at = row * inner
            for j in range(inner):
                out[np.uint64(at + j)] = weights[0] * source[np.uint64(at + j)]
            for k in range(1, reach + 1):
                left = i - k
                if left < 0:
                    left = min(-left - 1, n - 1)
                right = i + k
                if right >= n:
                    right = max(2 * n - 1 - right, 0)
                lower, upper = first + left * inner, first + right * inner
                w = weights[k]
                for j in range(inner):
                    out[np.uint64(at + j)] += w * (source[np.uint64(lower + j)] + source[np.uint64(upper + j)])


@row_function
def read(values, x, y, z, inverse, nx, ny, nz):
    """The scalar lattice `values` at a point."""
    a, fa = corner(x, inverse, nx)
    b, fb = corner(y, inverse, ny)
    c, fc = corner(z, inverse, nz)
    real = type(x)
    ox = np.uint64(ny * nz) if nx > 1 else np.uint64(0)
    oy = np.uint64(nz) if ny > 1 else np.uint64(0)
    oz = np.uint64(1) if nz > 1 else np.uint64(0)
    o = np.uint64((a * ny + b) * nz + c)
    near = (real(1) - fb) * ((real(1) - fc) * values[o] + fc * values[o + oz]) + fb * (
        (real(1) - fc) * values[o + oy] + fc * values[o + oy + oz]
    )
    o += ox
    far = (real(1) - fb) * ((real(1) - fc) * values[o] + fc * values[o + oz]) + fb * (
        (real(1) - fc) * values[o + oy] + fc * values[o + oy + oz]
    )
    return (real(1) - fa) * near + fa * far


@parallel_kernel
def sample(values, x, y, z, inverse, cells, out):
    """A scalar lattice at many points."""
    nx, ny, nz = cells[0], cells[1], cells[2]
    count = x.size
    length = (count + BLOCKS - 1) // BLOCKS
    for block in prange(BLOCKS):
        for i in range(block * length, min(count, (block + 1) * length)):
            p = np.uint64(i)
            out[p] = read(values, x[p], y[p], z[p], inverse, nx, ny, nz)


@parallel_kernel
def resample(values, cells, inverse, out, shape, spacing, sx, sy, sz):
    """A scalar lattice on another: its point (i, j, k) lies at ((i + sx) spacing, ...)."""
    nx, ny, nz = cells[0], cells[1], cells[2]
    mx, my, mz = shape[0], shape[1], shape[2]
    real = values.dtype.type
    for i in prange(mx):
        for j in range(my):
            for k in range(mz):
                x, y, z = (real(i) + sx) * spacing, (real(j) + sy) * spacing, (real(k) + sz) * spacing
                out[np.uint64((i * my + j) * mz + k)] = read(values, x, y, z, inverse, nx, ny, nz)
