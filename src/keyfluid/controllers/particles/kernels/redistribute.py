"""Algorithm 2 of Madill & Mould 2013: markers that have left the control region are put back into it."""

from __future__ import annotations

import numpy as np
from numba import prange

from keyfluid.controllers.particles.kernels.grid import CHUNKS, read
from keyfluid.controllers.particles.kernels.move import velocity_at
from keyfluid.kernels.compile import parallel_kernel
from keyfluid.kernels.counted_random import below, bits, unit

MOST_DRAWS = 4096
MOST_TRIES = 8


@parallel_kernel
def redistribute(
    key, place_key, trials, x, y, z, bu, bv, bw, potential, smoke, full, inverse, cells, edge, low, high, packed,
    packed_inverse, packed_cells, moved,
):  # fmt: skip
    """`trials` looks at random markers; where the control potential is below `edge` the marker gets a random point
    of the box low .. high at which it is not, and at which the smoke is thinner than `full` (or the
    MOST_TRIES-th such point). moved[chunk] counts.

    The markers are cut into CHUNKS, each of which has its share of trials: a marker can be looked at twice, and then
    the second look must see where the first has put it. A marker's velocity of the step before becomes that of its
    new place.
    """
    nx, ny, nz = cells[0], cells[1], cells[2]
    px, py, pz = packed_cells[0], packed_cells[1], packed_cells[2]
    count = x.size
    length = (count + CHUNKS - 1) // CHUNKS
    lx, ly, lz = low[0], low[1], low[2]
    wx, wy, wz = high[0] - lx, high[1] - ly, high[2] - lz
    for chunk in prange(CHUNKS):
        first = chunk * length
        own = min(count, first + length) - first
        tally = 0
        share = (trials * (chunk + 1)) // CHUNKS - (trials * chunk) // CHUNKS
        if own <= 0:
            share = 0
        for trial in range(share):
            n = np.uint64(trial * CHUNKS + chunk)
            i = np.uint64(first) + below(bits(key, n), np.uint64(own))
            if read(potential, x[i], y[i], z[i], inverse, nx, ny, nz) >= edge:
                continue
            tries = 0
            draw = n * np.uint64(3 * MOST_DRAWS)
            for _ in range(MOST_DRAWS):
                a = lx + wx * unit(place_key, draw)
                b = ly + wy * unit(place_key, draw + np.uint64(1))
                c = lz + wz * unit(place_key, draw + np.uint64(2))
                draw += np.uint64(3)
                if read(potential, a, b, c, inverse, nx, ny, nz) < edge:
                    continue
                tries += 1
                if tries == MOST_TRIES or read(smoke, a, b, c, inverse, nx, ny, nz) < full:
                    x[i], y[i], z[i] = a, b, c
                    u, v, w = velocity_at(packed, a, b, c, packed_inverse, px, py, pz)
                    bu[i], bv[i], bw[i] = u, v, w
                    tally += 1
                    break
        moved[np.uint64(chunk)] = tally
