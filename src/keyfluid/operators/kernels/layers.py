"""Values carried outwards from where they are known, layer by layer, and the transpose.

Layer 0 is known. A value of layer n + 1 is the mean of its neighbours of layer n: `sources` has a bit for each side on
which it has one (neighbours.py). Blocked places are never filled nor passed.
"""

import numpy as np

from keyfluid.kernels.compile import row_function, serial_kernel
from keyfluid.kernels.lattice import at
from keyfluid.operators.kernels.neighbours import beside

UNKNOWN, BLOCKED = np.int32(-1), np.int32(-2)


@serial_kernel
def find_layers(known, blocked, rim, jump, span, sources, order):
    """Fill `sources`, and `order` with the places to fill, from the inside out. Returns how many."""
    layer = np.empty(known.size, np.int32)
    for cell in range(known.size):
        layer[at(cell)] = BLOCKED if blocked[at(cell)] else 0 if known[at(cell)] else UNKNOWN
    count = 0
    for cell in range(known.size):
        found = 0
        if layer[at(cell)] == UNKNOWN:
            for side in range(6):
                m = beside(cell, side, rim[at(cell)], jump, span)
                if m >= 0 and layer[at(m)] == 0:
                    found |= 1 << side
        sources[at(cell)] = found
        if found:
            layer[at(cell)] = 1
            order[at(count)] = cell
            count += 1
    done = 0
    while done < count:
        cell = np.int64(order[at(done)])
        done += 1
        following = layer[at(cell)] + 1
        for side in range(6):
            m = beside(cell, side, rim[at(cell)], jump, span)
            if m >= 0:
                if layer[at(m)] == UNKNOWN:
                    layer[at(m)] = following
                    order[at(count)] = m
                    count += 1
                if layer[at(m)] == following:
                    sources[at(m)] |= 1 << (side ^ 1)
    return count


@row_function
def bits(mask):
    """How many sources a place has."""
    found = 0.0
    for side in range(6):
        found += (mask >> side) & 1
    return found


@serial_kernel
def fill(values, rim, jump, span, sources, order):
    """Means of the layer before, in place."""
    for place in range(order.size):
        cell = np.int64(order[at(place)])
        mask = np.int64(sources[at(cell)])
        total = 0.0
        for side in range(6):
            if (mask >> side) & 1:
                total += values[at(beside(cell, side, rim[at(cell)], jump, span))]
        values[at(cell)] = total / bits(mask)


@serial_kernel
def fill_adjoint(bars, rim, jump, span, sources, order):
    """The transpose of `fill`, in place: bars move inwards to the known places, those left elsewhere are void."""
    for place in range(order.size - 1, -1, -1):
        cell = np.int64(order[at(place)])
        if bars[at(cell)] != 0:
            mask = np.int64(sources[at(cell)])
            share = bars[at(cell)] / bits(mask)
            for side in range(6):
                if (mask >> side) & 1:
                    bars[at(beside(cell, side, rim[at(cell)], jump, span))] += share
