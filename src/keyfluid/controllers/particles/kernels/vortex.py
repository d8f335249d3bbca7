"""Vortex particles: velocity on a lattice, strength exchange, spinning, spawning.

u(x) = sum_i  omega_i x (x - x_i)  xi(|x - x_i|^2 / sigma_i^2)             [Madill & Mould 2013, equation 4]
xi(q) = (4 - 20 / (q + 4))^2 for q < 1, else 0                                               [equation 5]
e(x) = sum_i  1/2 |omega_i|^2 sigma_i^2  xi(...)                           turbulent energy, m^2/s^2

The text below equation 5 gives a vortex the vorticity xi sigma, which has the unit of a length; the factor sigma is
left out here, so that omega is in 1/s and means the same for small vortices and large ones. Equation 4 writes
(x - x_i) x omega, which turns against the right hand's rule.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from keyfluid.controllers.particles.kernels.grid import BLOCKS, corner, read, span
from keyfluid.kernels.compile import parallel_kernel, row_function, serial_kernel
from keyfluid.kernels.counted_random import below, bits, unit


@row_function
def kernel(q):
    """xi for q < 1."""
    f = type(q)(4) - type(q)(20) / (q + type(q)(4))
    return f * f


@parallel_kernel
def splat_vortices(x, y, z, ox, oy, oz, sigma, starts, widest, cells, spacing, out):
    """Velocity and energy at the centres of a packed lattice. Vortices are sorted by plane along x, as in `shepard`;
    `widest` is the largest radius."""
    nx, ny, nz = cells[0], cells[1], cells[2]
    real = x.dtype.type
    half = real(0.5)
    inverse = real(1) / spacing
    reach = np.int64(widest * inverse) + 1
    for i in prange(nx):
        base = np.uint64(4 * i * ny * nz)
        for c in range(4 * ny * nz):
            out[base + np.uint64(c)] = 0
        cx = (real(i) + half) * spacing
        for n in range(starts[max(i - reach, 0)], starts[min(i + reach, nx - 1) + 1]):
            p = np.uint64(n)
            r = sigma[p]
            square = r * r
            dx = cx - x[p]
            if dx * dx >= square:
                continue
            normal = real(1) / square
            a, b, c = ox[p], oy[p], oz[p]
            energy = half * (a * a + b * b + c * c) * square
            j0, j1 = span(y[p], r, inverse, ny)
            k0, k1 = span(z[p], r, inverse, nz)
            for j in range(j0, j1 + 1):
                dy = (real(j) + half) * spacing - y[p]
                near = dx * dx + dy * dy
                if near >= square:
                    continue
                for k in range(k0, k1 + 1):
                    dz = (real(k) + half) * spacing - z[p] if nz > 1 else real(0)
                    q = (near + dz * dz) * normal
                    if q < 1:
                        xi = kernel(q)
                        o = base + np.uint64(4 * (j * nz + k))
                        out[o] += (b * dz - c * dy) * xi
                        out[o + np.uint64(1)] += (c * dx - a * dz) * xi
                        out[o + np.uint64(2)] += (a * dy - b * dx) * xi
                        out[o + np.uint64(3)] += energy * xi


@parallel_kernel
def exchange(x, y, z, ox, oy, oz, volume, starts, bins, size, reach, gx, gy, gz, load):
    """Equation 6 before it is applied: g_i = sum_j d_ij (V_j omega_j - V_i omega_i) and load_i = V_i sum_j d_ij,
    with d_ij of equation 7. Vortices are sorted by cubic bins of side `size` >= reach."""
    nx, ny, nz = bins[0], bins[1], bins[2]
    real = x.dtype.type
    count = x.size
    inverse = real(1) / size
    steep = real(1) / reach
    length = (count + BLOCKS - 1) // BLOCKS
    for block in prange(BLOCKS):
        for n in range(block * length, min(count, (block + 1) * length)):
            p = np.uint64(n)
            sx, sy, sz, total = real(0), real(0), real(0), real(0)
            own = volume[p]
            a = min(max(np.int64(x[p] * inverse), 0), nx - 1)
            b = min(max(np.int64(y[p] * inverse), 0), ny - 1)
            c = min(max(np.int64(z[p] * inverse), 0), nz - 1)
            for i in range(max(a - 1, 0), min(a + 2, nx)):
                for j in range(max(b - 1, 0), min(b + 2, ny)):
                    row = (i * ny + j) * nz
                    for m in range(starts[row + max(c - 1, 0)], starts[row + min(c + 1, nz - 1) + 1]):
                        q = np.uint64(m)
                        dx, dy, dz = x[q] - x[p], y[q] - y[p], z[q] - z[p]
                        far = dx * dx + dy * dy + dz * dz
                        if m == n or far >= reach * reach:
                            continue
                        d = real(1) - np.sqrt(far) * steep
                        sx += d * (volume[q] * ox[q] - own * ox[p])
                        sy += d * (volume[q] * oy[q] - own * oy[p])
                        sz += d * (volume[q] * oz[q] - own * oz[p])
                        total += d
            gx[p], gy[p], gz[p], load[p] = sx, sy, sz, own * total


@row_function
def slope(packed, component, x, y, z, inverse, nx, ny, nz):
    """Gradient of one component of a packed lattice at a point, per cell: of its trilinear interpolant."""
    a, fa = corner(x, inverse, nx)
    b, fb = corner(y, inverse, ny)
    c, fc = corner(z, inverse, nz)
    real = type(x)
    ga, gb, gc = real(1) - fa, real(1) - fb, real(1) - fc
    ox = np.uint64(4 * ny * nz) if nx > 1 else np.uint64(0)
    oy = np.uint64(4 * nz) if ny > 1 else np.uint64(0)
    oz = np.uint64(4) if nz > 1 else np.uint64(0)
    o = np.uint64(4 * ((a * ny + b) * nz + c)) + component
    v0, v1, v2, v3 = packed[o], packed[o + oz], packed[o + oy], packed[o + oy + oz]
    o += ox
    v4, v5, v6, v7 = packed[o], packed[o + oz], packed[o + oy], packed[o + oy + oz]
    dx = gb * (gc * (v4 - v0) + fc * (v5 - v1)) + fb * (gc * (v6 - v2) + fc * (v7 - v3))
    dy = ga * (gc * (v2 - v0) + fc * (v3 - v1)) + fa * (gc * (v6 - v4) + fc * (v7 - v5))
    dz = ga * (gb * (v1 - v0) + fb * (v3 - v2)) + fa * (gb * (v5 - v4) + fb * (v7 - v6))
    return dx, dy, dz


@parallel_kernel
def spin(x, y, z, ox, oy, oz, packed, inverse, cells, dt):
    """omega + dt J(u) omega, brought back to its length.                                       [equation 8]"""
    nx, ny, nz = cells[0], cells[1], cells[2]
    count = x.size
    step = dt * inverse
    length = (count + BLOCKS - 1) // BLOCKS
    for block in prange(BLOCKS):
        for n in range(block * length, min(count, (block + 1) * length)):
            p = np.uint64(n)
            a, b, c = ox[p], oy[p], oz[p]
            ux, uy, uz = slope(packed, np.uint64(0), x[p], y[p], z[p], inverse, nx, ny, nz)
            vx, vy, vz = slope(packed, np.uint64(1), x[p], y[p], z[p], inverse, nx, ny, nz)
            wx, wy, wz = slope(packed, np.uint64(2), x[p], y[p], z[p], inverse, nx, ny, nz)
            na = a + step * (ux * a + uy * b + uz * c)
            nb = b + step * (vx * a + vy * b + vz * c)
            nc = c + step * (wx * a + wy * b + wz * c)
            before, after = a * a + b * b + c * c, na * na + nb * nb + nc * nc
            if after > 0:
                scale = np.sqrt(before / after)
                ox[p], oy[p], oz[p] = na * scale, nb * scale, nc * scale


@serial_kernel
def spawn(
    key, darts, flat, mx, my, mz, density, density_inverse, density_cells, least, packed, cells, spacing, most,
    radius, strength, px, py, pz, ox, oy, oz, sigma,
):  # fmt: skip
    """Throw darts at markers; where smoke is denser than `least` and turbulence weaker than `most`, place a vortex
    whose radius and strength are uniform within half of their means, in a random direction (`flat`: along z).
    A placed vortex raises the energy at once. Returns how many were placed.            [section 5.5]"""
    nx, ny, nz = cells[0], cells[1], cells[2]
    dx, dy, dz = density_cells[0], density_cells[1], density_cells[2]
    real = type(spacing)
    half, inverse = real(0.5), real(1) / spacing
    three = np.uint64(3)
    placed = 0
    for dart in range(darts):
        if placed == px.size:
            break
        n = np.uint64(dart) * np.uint64(5)
        marker = below(bits(key, n), np.uint64(mx.size))
        x, y, z = mx[marker], my[marker], mz[marker]
        if read(density, x, y, z, density_inverse, dx, dy, dz) <= least:
            continue
        a, fa = corner(x, inverse, nx)
        b, fb = corner(y, inverse, ny)
        c, fc = corner(z, inverse, nz)
        near = np.uint64(
            4 * (((a + np.int64(fa + half)) * ny + b + np.int64(fb + half)) * nz + c + np.int64(fc + half))
        )
        if packed[near + three] >= most:
            continue
        r = radius * (half + unit(key, n + np.uint64(1)))
        size = strength * (half + unit(key, n + np.uint64(2)))
        up = real(2) * unit(key, n + three) - real(1)
        turn = real(2 * np.pi) * unit(key, n + np.uint64(4))
        if flat:
            ox[placed], oy[placed], oz[placed] = real(0), real(0), size if up >= 0 else -size
        else:
            level = np.sqrt(max(real(1) - up * up, real(0)))
            ox[placed], oy[placed], oz[placed] = size * level * np.cos(turn), size * level * np.sin(turn), size * up
        px[placed], py[placed], pz[placed], sigma[placed] = x, y, z, r
        placed += 1
        energy = half * size * size * r * r
        i0, i1 = span(x, r, inverse, nx)
        j0, j1 = span(y, r, inverse, ny)
        k0, k1 = span(z, r, inverse, nz)
        for i in range(i0, i1 + 1):
            ex = (real(i) + half) * spacing - x
            for j in range(j0, j1 + 1):
                ey = (real(j) + half) * spacing - y
                for k in range(k0, k1 + 1):
                    ez = (real(k) + half) * spacing - z if nz > 1 else real(0)
                    q = (ex * ex + ey * ey + ez * ez) / (r * r)
                    if q < 1:
                        packed[np.uint64(4 * ((i * ny + j) * nz + k)) + three] += energy * kernel(q)
    return placed
