"""Fast marching: distance to the zero level of a function, in the order of distance [Adalsteinsson & Sethian 1998].

Cells with a neighbour of the other sign (negative is inside) lie at the interface; theirs come from the old values:

    phi'_l = phi_l / n_l,    n_l^2 = sum over axes of the mean of (phi_l - phi_m)^2 over both neighbours m

phi over its gradient: exact for a plane, of second order for a curved surface, and never large where a sheet is thin,
since the differences are squared before the mean. All others, nearest first, solve

    sum over axes of (x - x_m)^2 = 1

over the accepted neighbours m that are nearer than x. Lengths are cells. Marching goes over absolute values: interface
cells part the two sides.

    d x = sum (x - x_m) d x_m / sum (x - x_m)                     from differentiating the quadratic

2D is one layer of 3D. `sides[a]` is 1 where axis a is periodic. One thread: the order is a queue.
"""

import numpy as np

from .compile import row_function, serial_kernel
from .lattice import at

ACCEPTED = np.int32(-2)


@row_function
def beside(cell, place, n, stride, wraps, forward):
    """The neighbour of a cell along an axis; -1 beyond a side. `place`: the cell's index along that axis."""
    if forward:
        if place + 1 < n:
            return cell + stride
        return cell - (n - 1) * stride if wraps and n > 1 else -1
    if place > 0:
        return cell - stride
    return cell + (n - 1) * stride if wraps and n > 1 else -1


@row_function
def steepness(phi, cell, place, n, stride, wraps, near, weight, first):
    """Mean of the squared differences to the neighbours along an axis, and whether one has the other sign.

    near[first], near[first + 1] get the neighbours (-1: none), `weight` the derivative of half the mean by their phi.
    """
    total, parts, crossed = 0.0, 0.0, False
    inside = phi[at(cell)] < 0
    for way in range(2):
        m = beside(cell, place, n, stride, wraps, way == 1)
        near[first + way] = m
        weight[first + way] = 0.0
        if m >= 0:
            difference = phi[at(m)] - phi[at(cell)]
            weight[first + way] = difference
            total += difference * difference
            parts += 1.0
            crossed = crossed or (phi[at(m)] < 0) != inside
    if parts > 0:
        total /= parts
        weight[first] /= parts
        weight[first + 1] /= parts
    return total, crossed


@row_function
def nearest(value, rank, before, cell, place, n, stride, wraps):
    """Along an axis the neighbour of smallest value that was accepted before; -1 if there is none."""
    found, least = -1, np.inf
    for way in range(2):
        m = beside(cell, place, n, stride, wraps, way == 1)
        if m >= 0 and 0 <= rank[at(m)] < before and value[at(m)] < least:
            found, least = m, value[at(m)]
    return found, least


@row_function
def eikonal(a, b, c):
    """x of (x - a)^2 + (x - b)^2 + (x - c)^2 = 1 over those of a, b, c that are below x (inf: no neighbour)."""
    low, high = min(a, b), max(a, b)
    middle = max(low, min(high, c))
    low, high = min(low, c), max(high, c)
    x = low + 1.0
    if x > middle:
        gap = middle - low
        x = 0.5 * (low + middle + np.sqrt(2.0 - gap * gap))
        if x > high:
            total = low + middle + high
            squares = low * low + middle * middle + high * high
            x = (total + np.sqrt(max(total * total - 3.0 * (squares - 1.0), 0.0))) / 3.0
    return x


@row_function
def rise(heap, keys, spot, child):
    """Move an entry of the queue up to its place."""
    cell, key = heap[at(child)], keys[at(child)]
    while child > 0:
        parent = (child - 1) >> 1
        if keys[at(parent)] <= key:
            break
        heap[at(child)], keys[at(child)] = heap[at(parent)], keys[at(parent)]
        spot[at(heap[at(child)])] = child
        child = parent
    heap[at(child)], keys[at(child)] = cell, key
    spot[at(cell)] = child


@row_function
def sink(heap, keys, spot, size):
    """Put the last entry of the queue at its top, and move it down to its place."""
    cell, key = heap[at(size)], keys[at(size)]
    parent = 0
    while True:
        child = 2 * parent + 1
        if child >= size:
            break
        if child + 1 < size and keys[at(child + 1)] < keys[at(child)]:
            child += 1
        if keys[at(child)] >= key:
            break
        heap[at(parent)], keys[at(parent)] = heap[at(child)], keys[at(child)]
        spot[at(heap[at(parent)])] = parent
        parent = child
    heap[at(parent)], keys[at(parent)] = cell, key
    spot[at(cell)] = parent


@row_function
def gradient(phi, cell, shape, sides, near, weight):
    """n_l^2 of a cell and whether it lies at the interface; near, weight: see `steepness`."""
    n1, n2 = shape[1], shape[2]
    row = cell // n2
    i, k = row // n1, cell - row * n2
    a, cut_a = steepness(phi, cell, i, shape[0], n1 * n2, sides[0], near, weight, 0)
    b, cut_b = steepness(phi, cell, row - i * n1, n1, n2, sides[1], near, weight, 2)
    c, cut_c = steepness(phi, cell, k, n2, 1, sides[2], near, weight, 4)
    return a + b + c, cut_a or cut_b or cut_c


@row_function
def least(value, cell, place, n, stride, wraps):
    """Along an axis the smaller of the two neighbours' values; those not accepted yet are infinite."""
    a = value[at(cell - stride)] if place > 0 else np.inf
    b = value[at(cell + stride)] if place + 1 < n else np.inf
    if wraps and n > 1:
        a = value[at(cell + (n - 1) * stride)] if place == 0 else a
        b = value[at(cell - (n - 1) * stride)] if place + 1 == n else b
    return min(a, b)


@serial_kernel
def march(phi, shape, sides, value, rank, order):
    """value = |phi'| in cells, `order` the cells as they were accepted and `rank` their places in it, interface cells
    first. Returns how many lie at the interface; if none does, nothing else is of use."""
    n0, n1, n2 = shape[0], shape[1], shape[2]
    plane = n1 * n2
    spot = np.full(phi.size, np.int32(-1), np.int32)
    at_interface = 0
    near, weight = np.empty(6, np.int64), np.empty(6)
    for cell in range(phi.size):
        square, crossed = gradient(phi, cell, shape, sides, near, weight)
        value[at(cell)] = np.inf
        if crossed:
            value[at(cell)] = abs(phi[at(cell)]) / np.sqrt(square)
            order[at(at_interface)] = cell
            spot[at(cell)] = ACCEPTED
            at_interface += 1
    heap = np.empty(phi.size, np.int32)
    keys = np.empty(phi.size, np.float64)
    done, size = 0, 0
    while done < at_interface or size > 0:
        if done < at_interface:
            cell = np.int64(order[at(done)])
        else:
            cell = np.int64(heap[0])
            value[at(cell)] = keys[0]
            spot[at(cell)] = ACCEPTED
            order[at(done)] = cell
            size -= 1
            sink(heap, keys, spot, size)
        done += 1
        row = cell // n2
        i, k = row // n1, cell - row * n2
        j = row - i * n1
        for way in range(6):
            step = 1 - 2 * (way & 1)
            x, y, z = i + (step if way < 2 else 0), j + (step if 2 <= way < 4 else 0), k + (step if way >= 4 else 0)
            if x < 0 or y < 0 or z < 0 or x >= n0 or y >= n1 or z >= n2:
                if not sides[way >> 1]:
                    continue
                x, y, z = x % n0, y % n1, z % n2
            m = x * plane + y * n2 + z
            where = spot[at(m)]
            if where == ACCEPTED:
                continue
            a = least(value, m, x, n0, plane, sides[0])
            b = least(value, m, y, n1, n2, sides[1])
            c = least(value, m, z, n2, 1, sides[2])
            new = eikonal(a, b, c)
            if where < 0:
                where = np.int32(size)
                heap[at(where)] = m
                size += 1
            elif new >= keys[at(where)]:
                continue
            keys[at(where)] = new
            rise(heap, keys, spot, where)
    for place in range(done):
        rank[at(order[at(place)])] = place
    return at_interface


@row_function
def slopes(phi, value, rank, at_interface, cell, shape, sides, near, weight):
    """Derivatives of a cell's new value: `weight` by those at `near` (-1: none), returned: by its own old one.

    For interface cells `near` are old values of phi, with signs; for others new absolute values, whose weights are
    the same for phi' itself, both sides having one sign.
    """
    if rank[at(cell)] < at_interface:
        square, _ = gradient(phi, cell, shape, sides, near, weight)
        root = np.sqrt(square)
        own = 1.0 / root
        for side in range(6):
            push = phi[at(cell)] * weight[side] / (square * root)
            own += push
            weight[side] = -push
        return own
    n0, n1, n2 = shape[0], shape[1], shape[2]
    row = cell // n2
    i, k = row // n1, cell - row * n2
    before = rank[at(cell)]
    near[0], weight[0] = nearest(value, rank, before, cell, i, n0, n1 * n2, sides[0])
    near[1], weight[1] = nearest(value, rank, before, cell, row - i * n1, n1, n2, sides[1])
    near[2], weight[2] = nearest(value, rank, before, cell, k, n2, 1, sides[2])
    total = 0.0
    for axis in range(3):
        weight[axis] = max(value[at(cell)] - weight[axis], 0.0)
        weight[axis + 3] = 0.0
        total += weight[axis]
    for axis in range(3):
        weight[axis] /= total
    return 0.0


@serial_kernel
def march_tangent(phi, d_phi, shape, sides, value, rank, order, at_interface, d_out):
    """Change of phi' (with its sign, in cells) for a change of phi, the order kept."""
    near, weight = np.empty(6, np.int64), np.empty(6)
    for place in range(order.size):
        cell = order[at(place)]
        own = slopes(phi, value, rank, at_interface, cell, shape, sides, near, weight)
        source = d_phi if place < at_interface else d_out
        total = own * d_phi[at(cell)]
        for side in range(6):
            if weight[side] != 0:
                total += weight[side] * source[at(near[side])]
        d_out[at(cell)] = total


@serial_kernel
def march_adjoint(phi, shape, sides, value, rank, order, at_interface, out_bar, phi_bar):
    """The transpose: last cell first; `out_bar` is used up, phi_bar must be zero before."""
    near, weight = np.empty(6, np.int64), np.empty(6)
    for back in range(order.size):
        place = order.size - 1 - back
        cell = order[at(place)]
        own = slopes(phi, value, rank, at_interface, cell, shape, sides, near, weight)
        bar = out_bar[at(cell)]
        if place < at_interface:
            phi_bar[at(cell)] += own * bar
        target = phi_bar if place < at_interface else out_bar
        for side in range(6):
            if weight[side] != 0:
                target[at(near[side])] += weight[side] * bar
