"""Stochastic shadow mapping and compositing of points [Swoboda 2011, after Madill & Mould 2013, section 7.1].

A shadow map holds, per texel, the least depth (from the light) of the markers in it; whoever lies deeper is in
shadow. The share of texels around a marker that shade it is its shadow. Minima do not depend on the order of work.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from keyfluid.kernels.compile import parallel_kernel
from keyfluid.kernels.counted_random import unit

FAR = np.float32(1e30)
BANDS = 16
BLOCKS = 64


@parallel_kernel
def insert(key, across, along, depth, inverse, spread, columns, rows, chunks, maps):
    """Markers into maps[chunk, row, column], at a random offset of up to `spread` texels."""
    count, total = across.size, rows * columns
    length = (count + chunks - 1) // chunks
    two, one = np.float32(2), np.float32(1)
    for chunk in prange(chunks):
        base = chunk * total
        for t in range(base, base + total):
            maps[np.uint64(t)] = FAR
        for i in range(chunk * length, min(count, (chunk + 1) * length)):
            p = np.uint64(i)
            c = np.int64(across[p] * inverse + spread * (two * unit(key, np.uint64(2) * p) - one))
            r = np.int64(along[p] * inverse + spread * (two * unit(key, np.uint64(2) * p + np.uint64(1)) - one))
            if 0 <= c < columns and 0 <= r < rows:
                t = np.uint64(base + r * columns + c)
                maps[t] = min(maps[t], depth[p])


@parallel_kernel
def nearest(maps, chunks, out):
    """The least of all chunks."""
    total = out.size
    length = (total + BLOCKS - 1) // BLOCKS
    for block in prange(BLOCKS):
        for t in range(block * length, min(total, (block + 1) * length)):
            least = maps[np.uint64(t)]
            for k in range(1, chunks):
                least = min(least, maps[np.uint64(k * total + t)])
            out[np.uint64(t)] = least


@parallel_kernel
def shade(across, along, depth, inverse, columns, rows, shadow_map, reach, bias, out):
    """Share of the (2 reach + 1)^2 texels around each marker that are not nearer to the light than it is."""
    count = across.size
    length = (count + BLOCKS - 1) // BLOCKS
    whole = np.float32(1) / np.float32((2 * reach + 1) * (2 * reach + 1))
    for block in prange(BLOCKS):
        for i in range(block * length, min(count, (block + 1) * length)):
            p = np.uint64(i)
            c, r = np.int64(across[p] * inverse), np.int64(along[p] * inverse)
            limit = depth[p] - bias
            first, last = max(c - reach, 0), min(c + reach, columns - 1)
            dark = np.int32(0)
            for row in range(max(r - reach, 0), min(r + reach, rows - 1) + 1):
                base = row * columns
                for t in range(base + first, base + last + 1):
                    dark += np.int32(shadow_map[np.uint64(t)] < limit)
            out[p] = max(np.float32(1) - np.float32(dark) * whole, np.float32(0))


@parallel_kernel
def composite(x, y, radius, thickness, red, green, blue, height, width, image):
    """Discs over an image (linear light, 3 values per pixel), in the order given: back to front.

    A disc of `radius` pixels has the profile (1 - d^2 / r^2)^2 and covers 1 - exp(-thickness profile) of a pixel.
    Each band of rows takes the discs that touch it, all in the same order.
    """
    count = x.size
    one, zero = np.float32(1), np.float32(0)
    deep = (height + BANDS - 1) // BANDS
    for band in prange(BANDS):
        top, bottom = band * deep, min(height, (band + 1) * deep) - 1
        for i in range(count):
            p = np.uint64(i)
            r = radius[p]
            if y[p] + r < top or y[p] - r > bottom + 1:
                continue
            square = one / (r * r)
            first, last = max(np.int64(y[p] - r), top), min(np.int64(y[p] + r), bottom)
            left, right = max(np.int64(x[p] - r), 0), min(np.int64(x[p] + r), width - 1)
            t, cr, cg, cb = thickness[p], red[p], green[p], blue[p]
            for row in range(first, last + 1):
                dy = np.float32(row) + np.float32(0.5) - y[p]
                rest = one - dy * dy * square
                if rest <= zero:
                    continue
                for column in range(left, right + 1):
                    dx = np.float32(column) + np.float32(0.5) - x[p]
                    near = rest - dx * dx * square
                    if near > zero:
                        depth = t * near * near
                        cover = one - np.exp(-depth)
                        o = np.uint64(3 * (row * width + column))
                        image[o] += cover * (cr - image[o])
                        image[o + np.uint64(1)] += cover * (cg - image[o + np.uint64(1)])
                        image[o + np.uint64(2)] += cover * (cb - image[o + np.uint64(2)])
