"""Matching control particles with targets: algorithm 1 of Madill & Mould 2013, with pairs that are worth a try.

The paper draws both particles of a pair at random. Once most pairs are sorted out, few draws find anything: only near
particles still gain. So the second particle is, in turn,

    1   any particle, as in the paper
    1   near the first particle
    2   near the place that the first particle's target would come from if it were moved like its neighbours are,
        t - g with g the mean way to the targets in the first particle's cell

where "near" is a random particle of the cell within one cell's width of that place; an empty cell gives any particle.
Every pair is judged as in the paper, so the energy never grows. Pairs are drawn in rounds of one per particle, before
any of the round is tried: a draw has long chains of loads, which overlap as long as no exchange is between them.
"""

from __future__ import annotations

import numpy as np

from keyfluid.kernels.compile import row_function, serial_kernel
from keyfluid.kernels.counted_random import below, below_high, bits

CELLS = 16
"""Cells along each side of the cube around the particles."""

_ONE, _TWO, _THREE, _FOUR, _FIVE, _SIX, _EIGHT = (np.uint64(n) for n in (1, 2, 3, 4, 5, 6, 8))
_FIELD, _S10, _S20 = np.uint64(1023), np.uint64(10), np.uint64(20)


@row_function
def along(place, low, inverse, jitter):
    """The index of a cell along one axis; jitter of -1 .. 1 cells from ten random bits."""
    real = type(place)
    shift = real(np.int64(jitter)) * real(2.0 / 1023.0) - real(1)
    return np.int64(min(max((place - low) * inverse + shift, real(0)), real(CELLS - 1)))


@row_function
def mean_ways(pairs, starts, ways):
    """g of each cell: the mean of target - position over its particles."""
    for cell in range(starts.size - 1):
        first, last = starts[cell], starts[cell + 1]
        if first == last:
            continue
        for axis in range(3):
            total = pairs.dtype.type(0)
            for row in range(first, last):
                total += pairs[8 * row + 4 + axis] - pairs[8 * row + axis]
            ways[3 * cell + axis] = total / pairs.dtype.type(last - first)


@row_function
def draw_pairs(key, first, tries, pairs, cell_of, starts, low, inverse, ways, drawn):
    """The rows of a round's pairs, those of trial `first` on."""
    count = np.uint64(cell_of.size)
    for trial in range(first, first + tries):
        n = _TWO * np.uint64(trial)
        word, other = bits(key, n), bits(key, n + _ONE)
        i, j = below(word, count), below_high(word, count)
        kind = trial & 3
        if kind > 0:
            a = i * _EIGHT
            x, y, z = pairs[a], pairs[a + _ONE], pairs[a + _TWO]
            if kind > 1:
                cell = _THREE * np.uint64(cell_of[i])
                x = pairs[a + _FOUR] - ways[cell]
                y = pairs[a + _FIVE] - ways[cell + _ONE]
                z = pairs[a + _SIX] - ways[cell + _TWO]
            cx = along(x, low[0], inverse, other & _FIELD)
            cy = along(y, low[1], inverse, (other >> _S10) & _FIELD)
            cz = along(z, low[2], inverse, (other >> _S20) & _FIELD)
            near = np.uint64((cx * CELLS + cy) * CELLS + cz)
            inside = np.uint64(starts[near + _ONE] - starts[near])
            if inside > 0:
                j = np.uint64(starts[near]) + below_high(other, inside)
        at = np.uint64(2 * (trial - first))
        drawn[at], drawn[at + _ONE] = i, j


@serial_kernel
def swap_pairs(key, swaps, pairs, match, cell_of, starts, low, inverse, ways, drawn):
    """Algorithm 1, on rows (x, y, z, -, target x, y, z, -) sorted by cell; returns how many pairs changed targets.

    d_new - d_old = 2 (a - b) . (t_a - t_b): two subtractions and a product instead of four distances. Rows of cell c
    are starts[c] .. starts[c + 1] - 1. `ways` is room for g, `drawn` for a round's pairs.
    """
    count = match.size
    changed = 0
    for first in range(0, swaps, count):
        mean_ways(pairs, starts, ways)
        tries = min(count, swaps - first)
        draw_pairs(key, first, tries, pairs, cell_of, starts, low, inverse, ways, drawn)
        for trial in range(tries):
            i, j = drawn[np.uint64(2 * trial)], drawn[np.uint64(2 * trial + 1)]
            a, b = i * _EIGHT, j * _EIGHT
            tx, ty, tz = pairs[a + _FOUR], pairs[a + _FIVE], pairs[a + _SIX]
            ox, oy, oz = pairs[b + _FOUR], pairs[b + _FIVE], pairs[b + _SIX]
            gain = (
                (pairs[a] - pairs[b]) * (tx - ox)
                + (pairs[a + _ONE] - pairs[b + _ONE]) * (ty - oy)
                + (pairs[a + _TWO] - pairs[b + _TWO]) * (tz - oz)
            )
            if gain < 0:
                pairs[a + _FOUR], pairs[a + _FIVE], pairs[a + _SIX] = ox, oy, oz
                pairs[b + _FOUR], pairs[b + _FIVE], pairs[b + _SIX] = tx, ty, tz
                match[i], match[j] = match[j], match[i]
                changed += 1
    return changed
