"""Values carried outwards from where they are known, layer by layer, and the transpose.

Layer 0 is known. A value of layer n + 1 is the mean of its neighbours of layer n; `layer` says which is which, BLOCKED
(-2) marks places that are never filled nor passed, UNKNOWN (-1) those not reached. 2D is one layer of 3D.
"""

from keyfluid.kernels.compile import row_function, serial_kernel
from keyfluid.kernels.lattice import at
from keyfluid.operators.kernels.fast_marching import beside

UNKNOWN, BLOCKED = -1, -2


@row_function
def neighbour_of(cell, way, shape, wraps):
    """The neighbour on one of six sides; -1 if there is none."""
    n1, n2 = shape[1], shape[2]
    if way < 2:
        return beside(cell, cell // (n1 * n2), shape[0], n1 * n2, wraps[0], way == 1)
    if way < 4:
        return beside(cell, cell // n2 % n1, n1, n2, wraps[1], way == 3)
    return beside(cell, cell % n2, n2, 1, wraps[2], way == 5)


@serial_kernel
def find_layers(layer, shape, wraps, order):
    """Number the layers; `order` gets the places to fill, from the inside out. Returns how many."""
    count = 0
    for cell in range(layer.size):
        if layer[at(cell)] == UNKNOWN:
            for way in range(6):
                m = neighbour_of(cell, way, shape, wraps)
                if m >= 0 and layer[at(m)] == 0:
                    layer[at(cell)] = 1
                    order[at(count)] = cell
                    count += 1
                    break
    done = 0
    while done < count:
        cell = order[at(done)]
        done += 1
        for way in range(6):
            m = neighbour_of(cell, way, shape, wraps)
            if m >= 0 and layer[at(m)] == UNKNOWN:
                layer[at(m)] = layer[at(cell)] + 1
                order[at(count)] = m
                count += 1
    return count


@serial_kernel
def fill(values, layer, shape, wraps, order, count):
    """Means of the layer before, in place."""
    for place in range(count):
        cell = order[at(place)]
        total, parts = 0.0, 0.0
        for way in range(6):
            m = neighbour_of(cell, way, shape, wraps)
            if m >= 0 and layer[at(m)] == layer[at(cell)] - 1:
                total += values[at(m)]
                parts += 1.0
        values[at(cell)] = total / parts


@serial_kernel
def fill_adjoint(bars, layer, shape, wraps, order, count):
    """The transpose of `fill`, in place: bars move inwards, those of filled places end at zero."""
    for back in range(count):
        cell = order[at(count - 1 - back)]
        parts = 0.0
        for way in range(6):
            m = neighbour_of(cell, way, shape, wraps)
            if m >= 0 and layer[at(m)] == layer[at(cell)] - 1:
                parts += 1.0
        share = bars[at(cell)] / parts
        bars[at(cell)] = 0.0
        for way in range(6):
            m = neighbour_of(cell, way, shape, wraps)
            if m >= 0 and layer[at(m)] == layer[at(cell)] - 1:
                bars[at(m)] += share
