"""Numba loops that trace rays to a liquid's surface and light it.

Lengths are in cells; the domain is [0, n]. `level` is a signed distance padded by one cell on each side (edge values
repeated): the cell centre i + 1/2 lies at its index i + 1. `smooth` holds the coefficients of a quadratic spline on
the same points, for normals.
"""

from __future__ import annotations

import math

from numba import prange

from keyfluid.kernels.compile import parallel_kernel, serial_kernel

_LEAST_STEP, _MOST_STEPS = 0.25, 400
_NEAR = 0.01
"""Distance at which a ray counts as having met the surface, before it is placed by bisection."""

_BUNDLE = 64


@serial_kernel
def _read(level, x, y, z):
    """The trilinear level, closed at the walls of the box."""
    nx, ny, nz = level.shape
    px = min(max(x + 0.5, 0.0), nx - 1.0)
    py = min(max(y + 0.5, 0.0), ny - 1.0)
    pz = min(max(z + 0.5, 0.0), nz - 1.0)
    i, j, k = min(int(px), nx - 2), min(int(py), ny - 2), min(int(pz), nz - 2)
    fx, fy, fz = px - i, py - j, pz - k
    a = level[i, j, k] + fz * (level[i, j, k + 1] - level[i, j, k])
    b = level[i, j + 1, k] + fz * (level[i, j + 1, k + 1] - level[i, j + 1, k])
    c = level[i + 1, j, k] + fz * (level[i + 1, j, k + 1] - level[i + 1, j, k])
    d = level[i + 1, j + 1, k] + fz * (level[i + 1, j + 1, k + 1] - level[i + 1, j + 1, k])
    a += fy * (b - a)
    c += fy * (d - c)
    inside = a + fx * (c - a)
    beyond = max(max(-x, x - (nx - 2.0)), max(max(-y, y - (ny - 2.0)), max(-z, z - (nz - 2.0))))
    return max(inside, beyond)


@serial_kernel
def _box(shape, o, d):
    """Where the ray o + t d enters and leaves the domain, t >= 0; leaving first means a miss."""
    near, far = 0.0, 1e30
    for axis in range(3):
        if abs(d[axis]) < 1e-12:
            if o[axis] < 0.0 or o[axis] > shape[axis] - 2.0:
                far = -1.0
        else:
            a, b = -o[axis] / d[axis], (shape[axis] - 2.0 - o[axis]) / d[axis]
            near, far = max(near, min(a, b)), min(far, max(a, b))
    return near, far


@serial_kernel
def _meet(level, o, d):
    """First t at which o + t d meets the surface, by sphere tracing and bisection; -1 where it does not."""
    near, far = _box(level.shape, o, d)
    if near >= far:
        return -1.0
    t = near
    for _ in range(_MOST_STEPS):
        value = _read(level, o[0] + t * d[0], o[1] + t * d[1], o[2] + t * d[2])
        if value <= _NEAR:
            low, high = max(t - _LEAST_STEP, near), t
            for _ in range(6):
                middle = 0.5 * (low + high)
                if _read(level, o[0] + middle * d[0], o[1] + middle * d[1], o[2] + middle * d[2]) <= 0.0:
                    high = middle
                else:
                    low = middle
            return high
        t += max(0.9 * value, _LEAST_STEP)
        if t >= far:
            return -1.0
    return -1.0


@serial_kernel
def _spline(position, count):
    """The middle index of a quadratic B-spline's three, their weights and the weights' slopes; ends repeat."""
    p = min(max(position + 0.5, 0.0), count - 1.0)
    i = int(math.floor(p + 0.5))
    f = p - i
    return i, (0.5 * (0.5 - f) ** 2, 0.75 - f * f, 0.5 * (0.5 + f) ** 2), (f - 0.5, -2.0 * f, f + 0.5)


@serial_kernel
def _normal(smooth, x, y, z):
    """The unit slope, outwards; at a wall the wall's own."""
    nx, ny, nz = smooth.shape
    for axis, (at, side) in enumerate(((z, nz - 2), (y, ny - 2), (x, nx - 2))):
        if at < 0.02 or at > side - 0.02:
            sign = -1.0 if at < 0.02 else 1.0
            return (sign if axis == 2 else 0.0, sign if axis == 1 else 0.0, sign if axis == 0 else 0.0)
    i, wx, sx = _spline(x, nx)
    j, wy, sy = _spline(y, ny)
    k, wz, sz = _spline(z, nz)
    gx, gy, gz = 0.0, 0.0, 0.0
    for a in range(3):
        ia = min(max(i + a - 1, 0), nx - 1)
        for b in range(3):
            jb = min(max(j + b - 1, 0), ny - 1)
            line, slope = 0.0, 0.0
            for c in range(3):
                value = smooth[ia, jb, min(max(k + c - 1, 0), nz - 1)]
                line += wz[c] * value
                slope += sz[c] * value
            gx += sx[a] * wy[b] * line
            gy += wx[a] * sy[b] * line
            gz += wx[a] * wy[b] * slope
    size = max(math.sqrt(gx * gx + gy * gy + gz * gz), 1e-12)
    return gx / size, gy / size, gz / size


@parallel_kernel
def light_rays(image, level, smooth, solid, eye, directions, to_light, up, colours, sky_strength, floor):
    """Replace, in `image` (m, 3, linear light), what rays from `eye` see of the liquid, the solids and the floor.

    solid   their distance by cells; an array of no cells: none
    colours own, solid, key light, sky and floor, (5, 3)
    floor   whether the domain stands on one, which takes the liquid's shadow
    """
    count = len(directions)
    nx, ny, nz = level.shape[0] - 2, level.shape[1] - 2, level.shape[2] - 2
    light = (to_light[0], to_light[1], to_light[2])
    widest = float(max(nx, max(ny, nz)))
    for bundle in prange((count + _BUNDLE - 1) // _BUNDLE):
        for r in range(bundle * _BUNDLE, min((bundle + 1) * _BUNDLE, count)):
            d = (directions[r, 0], directions[r, 1], directions[r, 2])
            o = (eye[0], eye[1], eye[2])
            t = _meet(level, o, d)
            if t < 0.0:
                descent = -(d[0] * up[0] + d[1] * up[1] + d[2] * up[2])
                if floor and descent > 1e-4:
                    t = (o[0] * up[0] + o[1] * up[1] + o[2] * up[2]) / descent
                    x, y, z = o[0] + t * d[0], o[1] + t * d[1], o[2] + t * d[2]
                    ax, ay, az = (x - nx / 2) * (1 - up[0]), (y - ny / 2) * (1 - up[1]), (z - nz / 2) * (1 - up[2])
                    radius = math.sqrt(ax * ax + ay * ay + az * az) / widest
                    if radius < 2.0:
                        above = (x + 0.1 * up[0], y + 0.1 * up[1], z + 0.1 * up[2])
                        lit = math.exp(-((radius / 0.95) ** 2)) * (0.3 if _meet(level, above, light) >= 0.0 else 1.0)
                        for channel in range(3):
                            image[r, channel] += lit * colours[4, channel]
                continue
            x, y, z = o[0] + t * d[0], o[1] + t * d[1], o[2] + t * d[2]
            n = _normal(smooth, x, y, z)
            off = (x + 1.5 * n[0], y + 1.5 * n[1], z + 1.5 * n[2])
            cosine = n[0] * light[0] + n[1] * light[1] + n[2] * light[2]
            hx, hy, hz = light[0] - d[0], light[1] - d[1], light[2] - d[2]
            half = max(math.sqrt(hx * hx + hy * hy + hz * hz), 1e-12)
            shine = min(max((n[0] * hx + n[1] * hy + n[2] * hz) / half, 0.0), 1.0) ** 60
            open_to_key = 1.0
            if (cosine > 0.0 or shine > 1e-4) and _meet(level, off, light) >= 0.0:
                open_to_key = 0.25
            facing = 0.75 * min(max(cosine, 0.0), 1.0) * open_to_key
            sky = 0.08 + sky_strength * (0.5 + 0.5 * (n[0] * up[0] + n[1] * up[1] + n[2] * up[2]))
            rim = 0.5 * sky_strength * (1.0 - min(max(-(n[0] * d[0] + n[1] * d[1] + n[2] * d[2]), 0.0), 1.0)) ** 4
            body = 0
            if solid.size > 0:
                i, j, k = min(max(int(x), 0), nx - 1), min(max(int(y), 0), ny - 1), min(max(int(z), 0), nz - 1)
                body = 1 if solid[i, j, k] < 0.8 else 0
            for channel in range(3):
                own, key, above_it = colours[body, channel], colours[2, channel], colours[3, channel]
                image[r, channel] = (
                    own * (facing * key + sky * above_it) + 0.5 * shine * open_to_key * key + rim * above_it
                )
