"""Numba loops of the volume renderer: light sweep, shading of cells, ray march.

All volumes are float32, C order, a[x, y, z]; lengths are in cells, so extinctions are per cell.

Emission-absorption along a ray x(t) = o + t d, with extinction s and in-scattered light S (colour):
    L = integral T(t) s(x) S(x) dt + T(end) background,   T(t) = exp(-integral_0^t s)
and over one step of length h with s and S constant, exactly  T (1 - exp(-s h)) S.

`shade` stores (s S, s) for each cell as four neighbouring floats in an array padded by one cell on each side
(edge values repeated), so that a trilinear sample is eight 16-byte loads without bounds checks. The cell
centre i lies at the padded coordinate i + 1, the domain is [0.5, n + 0.5].
"""

from __future__ import annotations

import math

import numpy as np
from numba import prange

from keyfluid.kernels.compile import parallel_kernel, serial_kernel

BLOCK = 8
"""Edge of the blocks that a ray skips when they hold nothing, in cells."""

_OPAQUE = np.float32(1e-3)
_EMPTY = np.float32(1e-5)
_ZERO = np.float32(0.0)
_HALF = np.float32(0.5)
_ONE = np.float32(1.0)


@serial_kernel
def sweep_light(extinction, solid, shift_b, shift_c, length):
    """Transmittance from the light to each cell centre, by one sweep over the slices of axis 0.

    The light comes from slice 0. The ray to cell (a, b, c) met slice a - 1 at (b - shift_b, c - shift_c),
    `length` cells earlier:  T(a) = T(a-1 there) exp(-length (s(a-1 there) + s(a)) / 2) (1 - solid(a)).
    Interpolating T, not its logarithm, keeps the edge of a shadow symmetric; outside the domain T = 1.
    `solid` is the covered fraction of a cell.
    """
    na, nb, nc = extinction.shape
    light = np.empty((na, nb, nc), np.float32)
    # Axis 0 leads, so shifts are at most one cell and a border of two is never left.
    before = np.ones((nb + 4, nc + 4), np.float32)
    passed = np.zeros((nb + 4, nc + 4), np.float32)
    base_b = int(math.floor(-shift_b)) + 2
    base_c = int(math.floor(-shift_c)) + 2
    fb = np.float32(-shift_b - math.floor(-shift_b))
    fc = np.float32(-shift_c - math.floor(-shift_c))
    w00, w01, w10, w11 = (_ONE - fb) * (_ONE - fc), (_ONE - fb) * fc, fb * (_ONE - fc), fb * fc
    half = np.float32(0.5 * length)
    for a in range(na):
        for b in range(nb):
            ib = b + base_b
            for c in range(nc):
                ic = c + base_c
                depth = w00 * passed[ib, ic] + w01 * passed[ib, ic + 1]
                depth += w10 * passed[ib + 1, ic] + w11 * passed[ib + 1, ic + 1]
                depth += extinction[a, b, c]
                incoming = w00 * before[ib, ic] + w01 * before[ib, ic + 1]
                incoming += w10 * before[ib + 1, ic] + w11 * before[ib + 1, ic + 1]
                incoming *= _ONE - solid[a, b, c]
                if depth > _ZERO:
                    incoming *= math.exp(-half * depth)
                light[a, b, c] = incoming
        for b in range(nb):
            for c in range(nc):
                before[b + 2, c + 2] = light[a, b, c]
                passed[b + 2, c + 2] = extinction[a, b, c]
    return light


@serial_kernel
def _sample(volume, x, y, z):
    """Trilinear value of a scalar volume whose cell centres lie at i + 1/2, clamped at the edges."""
    nx, ny, nz = volume.shape
    x = min(max(x - _HALF, _ZERO), np.float32(nx - 1))
    y = min(max(y - _HALF, _ZERO), np.float32(ny - 1))
    z = min(max(z - _HALF, _ZERO), np.float32(nz - 1))
    i, j, k = int(x), int(y), int(z)
    i1, j1, k1 = min(i + 1, nx - 1), min(j + 1, ny - 1), min(k + 1, nz - 1)
    fx, fy, fz = x - np.float32(i), y - np.float32(j), z - np.float32(k)
    a = volume[i, j, k] + fz * (volume[i, j, k1] - volume[i, j, k])
    b = volume[i, j1, k] + fz * (volume[i, j1, k1] - volume[i, j1, k])
    c = volume[i1, j, k] + fz * (volume[i1, j, k1] - volume[i1, j, k])
    d = volume[i1, j1, k] + fz * (volume[i1, j1, k1] - volume[i1, j1, k])
    a += fy * (b - a)
    c += fy * (d - c)
    return a + fx * (c - a)


@parallel_kernel
def shade(fields, scatter, extinction, key, sky, ratio, eye, to_light, key_colour, sky_colour, g):
    """The padded volume (s S, s).

    With the density rho_f and the albedo c_f of field f (`fields`, `scatter`) and s_f = extinction rho_f:
        s = sum s_f,   s S = (sum s_f c_f) (key_colour phase M(T) + sky_colour A)
    phase is Henyey & Greenstein 1941 scaled to 1 for g = 0, taken for the ray from the eye to the cell
    centre. M(T) = (6 T + 2 T^(1/2) + T^(1/4)) / 9 stands in for multiple scattering: each bounce sees thinner
    smoke (Wrenninge, Kulla & Lundqvist 2013, "Oz: the great and volumetric"). `key` is T, `sky` is A, the
    visibility of the sky, on cells `ratio` times as large.
    """
    count, nx, ny, nz = fields.shape
    packed = np.empty((nx + 2, ny + 2, nz + 2, 4), np.float32)
    numerator = np.float32(1.0 - g * g)
    base = np.float32(1.0 + g * g)
    twice = np.float32(2.0 * g)
    inverse = np.float32(1.0 / ratio)
    for pi in prange(nx + 2):
        i = min(max(pi - 1, 0), nx - 1)
        for pj in range(ny + 2):
            j = min(max(pj - 1, 0), ny - 1)
            for pk in range(nz + 2):
                k = min(max(pk - 1, 0), nz - 1)
                s = _ZERO
                red = _ZERO
                green = _ZERO
                blue = _ZERO
                for f in range(count):
                    sf = max(fields[f, i, j, k], _ZERO) * extinction
                    s += sf
                    red += sf * scatter[f, 0]
                    green += sf * scatter[f, 1]
                    blue += sf * scatter[f, 2]
                if s > _ZERO:
                    x, y, z = np.float32(i) + _HALF, np.float32(j) + _HALF, np.float32(k) + _HALF
                    dx, dy, dz = x - eye[0], y - eye[1], z - eye[2]
                    along = dx * to_light[0] + dy * to_light[1] + dz * to_light[2]
                    cosine = along / math.sqrt(dx * dx + dy * dy + dz * dz + np.float32(1e-12))
                    q = base - twice * cosine
                    t = key[i, j, k]
                    root = math.sqrt(t)
                    many = (np.float32(6.0) * t + np.float32(2.0) * root + math.sqrt(root)) / np.float32(9.0)
                    direct = many * numerator / (q * math.sqrt(q))
                    ambient = _sample(sky, x * inverse, y * inverse, z * inverse)
                    red *= direct * key_colour[0] + ambient * sky_colour[0]
                    green *= direct * key_colour[1] + ambient * sky_colour[1]
                    blue *= direct * key_colour[2] + ambient * sky_colour[2]
                packed[pi, pj, pk, 0] = red
                packed[pi, pj, pk, 1] = green
                packed[pi, pj, pk, 2] = blue
                packed[pi, pj, pk, 3] = s
    return packed


@serial_kernel
def occupied(packed):
    """Which blocks of the padded volume hold something, uint8."""
    nx, ny, nz = packed.shape[:3]
    full = np.zeros((nx // BLOCK + 1, ny // BLOCK + 1, nz // BLOCK + 1), np.uint8)
    for a in range(full.shape[0]):
        for b in range(full.shape[1]):
            for c in range(full.shape[2]):
                # A sample in this block also reads the first cells of the next.
                top = _ZERO
                for i in range(a * BLOCK, min(a * BLOCK + BLOCK + 1, nx)):
                    for j in range(b * BLOCK, min(b * BLOCK + BLOCK + 1, ny)):
                        for k in range(c * BLOCK, min(c * BLOCK + BLOCK + 1, nz)):
                            top = max(top, packed[i, j, k, 3])
                full[a, b, c] = 1 if top > _EMPTY else 0
    return full


@serial_kernel
def _box(o, d, shape):
    """Where the ray o + t d enters and leaves the domain, t >= 0; leaving first means a miss."""
    near, far = 0.0, 1e30
    for axis in range(3):
        if abs(d[axis]) < 1e-12:
            if o[axis] < 0.0 or o[axis] > shape[axis]:
                far = -1.0
        else:
            a, b = -o[axis] / d[axis], (shape[axis] - o[axis]) / d[axis]
            near, far = max(near, min(a, b)), min(far, max(a, b))
    return near, far


@serial_kernel
def _mix(packed, i, j, k, c, w0, w1, w2, w3, w4, w5, w6, w7):
    """Channel c at the eight corners of cell (i, j, k), weighted."""
    low = w0 * packed[i, j, k, c] + w1 * packed[i, j, k + 1, c]
    low += w2 * packed[i, j + 1, k, c] + w3 * packed[i, j + 1, k + 1, c]
    high = w4 * packed[i + 1, j, k, c] + w5 * packed[i + 1, j, k + 1, c]
    high += w6 * packed[i + 1, j + 1, k, c] + w7 * packed[i + 1, j + 1, k + 1, c]
    return low + high


@serial_kernel
def _gather(packed, full, o, d, start, stop, step):
    """Light gathered from start to stop and the transmittance that is left: (red, green, blue, left).

    Samples lie at the middle of steps of a fixed lattice on the ray, so skipping a block changes no bit.
    """
    px = np.float32(o[0] + start * d[0] + 0.5)
    py = np.float32(o[1] + start * d[1] + 0.5)
    pz = np.float32(o[2] + start * d[2] + 0.5)
    vx, vy, vz = np.float32(d[0]), np.float32(d[1]), np.float32(d[2])
    ix = _ONE / vx if abs(vx) > _EMPTY else np.float32(1e30)
    iy = _ONE / vy if abs(vy) > _EMPTY else np.float32(1e30)
    iz = _ONE / vz if abs(vz) > _EMPTY else np.float32(1e30)
    ux, uy, uz = 1 if vx > 0 else 0, 1 if vy > 0 else 0, 1 if vz > 0 else 0
    span = np.float32(stop - start)
    h = np.float32(step)
    nx, ny, nz = packed.shape[0] - 2, packed.shape[1] - 2, packed.shape[2] - 2
    steps = int(math.ceil((stop - start) / step))
    red = _ZERO
    green = _ZERO
    blue = _ZERO
    left = _ONE
    n = 0
    while n < steps and left > _OPAQUE:
        t = np.float32(n) * h
        length = min(h, span - t)
        t += _HALF * length
        x, y, z = px + t * vx, py + t * vy, pz + t * vz
        i, j, k = min(max(int(x), 0), nx), min(max(int(y), 0), ny), min(max(int(z), 0), nz)
        a, b, c = i // BLOCK, j // BLOCK, k // BLOCK
        n += 1
        if full[a, b, c] == 0:
            ex = (np.float32((a + ux) * BLOCK) - px) * ix
            ey = (np.float32((b + uy) * BLOCK) - py) * iy
            ez = (np.float32((c + uz) * BLOCK) - pz) * iz
            # An axis the ray does not move along gives +-1e30 or so: it never ends the block.
            leave = span
            leave = min(leave, ex) if ex > t else leave
            leave = min(leave, ey) if ey > t else leave
            leave = min(leave, ez) if ez > t else leave
            n = max(n, int(math.ceil(leave / h - _HALF)))
            continue
        fx, fy, fz = x - np.float32(i), y - np.float32(j), z - np.float32(k)
        gx, gy, gz = _ONE - fx, _ONE - fy, _ONE - fz
        w0, w1, w2, w3 = gx * gy * gz, gx * gy * fz, gx * fy * gz, gx * fy * fz
        w4, w5, w6, w7 = fx * gy * gz, fx * gy * fz, fx * fy * gz, fx * fy * fz
        s = _mix(packed, i, j, k, 3, w0, w1, w2, w3, w4, w5, w6, w7)
        if s > _ZERO:
            passed = math.exp(-s * length)
            weight = left * (_ONE - passed) / s
            red += weight * _mix(packed, i, j, k, 0, w0, w1, w2, w3, w4, w5, w6, w7)
            green += weight * _mix(packed, i, j, k, 1, w0, w1, w2, w3, w4, w5, w6, w7)
            blue += weight * _mix(packed, i, j, k, 2, w0, w1, w2, w3, w4, w5, w6, w7)
            left *= passed
    return red, green, blue, left


@serial_kernel
def _along(volume, o, d, t):
    """The volume's value at o + t d."""
    return _sample(volume, np.float32(o[0] + t * d[0]), np.float32(o[1] + t * d[1]), np.float32(o[2] + t * d[2]))


@serial_kernel
def _hit(distance, o, d, near, far):
    """First t in [near, far] where the signed distance (cells) turns negative, or far + 1: sphere tracing."""
    t = near
    before = near
    while t < far:
        value = _along(distance, o, d, t)
        if value < _ZERO:
            for _ in range(10):
                middle = 0.5 * (before + t)
                if _along(distance, o, d, middle) < _ZERO:
                    t = middle
                else:
                    before = middle
            return t
        before = t
        t += max(0.25, 0.9 * value)
    return far + 1.0


@parallel_kernel
def march(
    packed,
    full,
    distance,
    key,
    sky,
    ratio,
    to_light,
    key_colour,
    sky_colour,
    solid_colour,
    origins,
    directions,
    step,
    stride,
):
    """Light and transmittance (m, 4) along m rays, and where each met a solid (m,; 0 where it met none).

    `origins` and `directions` are float64 (m, 3) in cells; `distance` is the solids' signed distance in cells
    (an array of no cells: no solids). A solid is matte:  solid_colour (key_colour T f(n.l) + sky_colour A),
    where f(c) = 1.2 c^2 / (c + 0.2) for c > 0 is a cosine that ends softly, as under a broad light. T and A
    are taken three cells off the surface, beyond the blur of the sweeps. Rays go in bundles of 256; `stride`
    has no divisor in common with the number of bundles and spreads costly neighbours over the threads.
    """
    count = len(origins)
    out = np.empty((count, 4), np.float32)
    met = np.zeros(count, np.float32)
    nx, ny, nz = packed.shape[0] - 2, packed.shape[1] - 2, packed.shape[2] - 2
    solids = distance.size > 0
    inverse = np.float32(1.0 / ratio)
    off = np.float32(3.0)
    soft = np.float32(0.2)
    bundles = (count + 255) // 256
    for bundle in prange(bundles):
        first = ((bundle * stride) % bundles) * 256
        for r in range(first, min(first + 256, count)):
            o = (origins[r, 0], origins[r, 1], origins[r, 2])
            d = (directions[r, 0], directions[r, 1], directions[r, 2])
            near, far = _box(o, d, (nx, ny, nz))
            if near >= far:
                out[r, 0], out[r, 1], out[r, 2], out[r, 3] = _ZERO, _ZERO, _ZERO, _ONE
                continue
            stop = far
            if solids:
                stop = min(far, _hit(distance, o, d, near, far))
            red, green, blue, left = _gather(packed, full, o, d, near, stop, step)
            if stop < far:
                met[r] = np.float32(stop)
                x = np.float32(o[0] + stop * d[0])
                y = np.float32(o[1] + stop * d[1])
                z = np.float32(o[2] + stop * d[2])
                gx = _sample(distance, x + _ONE, y, z) - _sample(distance, x - _ONE, y, z)
                gy = _sample(distance, x, y + _ONE, z) - _sample(distance, x, y - _ONE, z)
                gz = _sample(distance, x, y, z + _ONE) - _sample(distance, x, y, z - _ONE)
                size = max(math.sqrt(gx * gx + gy * gy + gz * gz), np.float32(1e-6))
                gx, gy, gz = gx / size, gy / size, gz / size
                x, y, z = x + off * gx, y + off * gy, z + off * gz
                facing = max(gx * to_light[0] + gy * to_light[1] + gz * to_light[2], _ZERO)
                facing *= facing / (facing + soft) * (_ONE + soft)
                direct = facing * _sample(key, x, y, z)
                ambient = _sample(sky, x * inverse, y * inverse, z * inverse)
                red += left * solid_colour[0] * (direct * key_colour[0] + ambient * sky_colour[0])
                green += left * solid_colour[1] * (direct * key_colour[1] + ambient * sky_colour[1])
                blue += left * solid_colour[2] * (direct * key_colour[2] + ambient * sky_colour[2])
                left = _ZERO
            out[r, 0] = red
            out[r, 1] = green
            out[r, 2] = blue
            out[r, 3] = left
    return out, met
