"""Fast marching: distance to the zero level of a function, in the order of distance [Adalsteinsson & Sethian 1998].

Cells with a neighbour of the other sign (negative is inside) lie at the interface; theirs come from the old values:

    phi'_l = phi_l / n_l,    n_l^2 = sum over axes of the mean of (phi_l - phi_m)^2 over both neighbours m

phi over its gradient: exact for a plane, of second order for a curved surface, and never large where a sheet is thin,
since the differences are squared before the mean. All others, nearest first, solve

    sum over axes of q (x - t)^2 = 1 over those with t < x
    q = 1,    t = x_m                            m: the nearer of the two neighbours, if accepted
    q = 9/4,  t = (4 x_m - x_l) / 3              and if l behind it, nearer than m, was accepted before m or lies at
                                                 the interface: second order [Sethian 1999, Level Set Methods, 8.4]

Lengths are cells. Marching goes over absolute values: interface cells part the two sides; an l across it counts as
negative. Differentiating the quadratic:

    d x = sum q (x - t) d t / sum q (x - t)

What a cell was solved from is one number, `chosen`: three bits for each axis, 0 without a neighbour, else 1 if m is on
the low side and 2 if on the high one, and 2 more if l is used. It changes only when another m is accepted. Where cells
lie: neighbours.py. One thread: the order is a queue.
"""

import numpy as np

from keyfluid.kernels.compile import row_function, serial_kernel
from keyfluid.kernels.lattice import at
from keyfluid.operators.kernels.neighbours import beside

WAITING, ACCEPTED = np.int32(-1), np.int32(-2)
SECOND_ORDER = 2.25


@row_function
def gradient(phi, cell, edge, jump, span, near, weight):
    """n_l^2 of a cell. `near` gets its neighbours (-1: none), `weight` the derivatives of n_l^2 / 2 by their phi."""
    square = 0.0
    for low in range(0, 6, 2):
        total, parts = 0.0, 0.0
        for side in range(low, low + 2):
            m = beside(cell, side, edge, jump, span)
            near[at(side)] = m
            weight[at(side)] = 0.0
            if m >= 0:
                difference = phi[at(m)] - phi[at(cell)]
                weight[at(side)] = difference
                total += difference * difference
                parts += 1.0
        if parts > 0:
            square += total / parts
            weight[at(low)] /= parts
            weight[at(low + 1)] /= parts
    return square


@row_function
def order_of(code):
    """q of the equation above."""
    return SECOND_ORDER if code > 2 else 1.0


@row_function
def eikonal(a, b, c, p, q, r):
    """x of p (x - a)^2 + q (x - b)^2 + r (x - c)^2 = 1 over those of a, b, c that are below x (inf: no neighbour)."""
    if b < a:
        a, b, p, q = b, a, q, p
    if c < b:
        b, c, q, r = c, b, r, q
        if b < a:
            a, b, p, q = b, a, q, p
    x = a + 1.0 / np.sqrt(p)
    if x > b:
        gap, total = b - a, p + q
        x = (p * a + q * b + np.sqrt(max(total - p * q * gap * gap, 0.0))) / total
        if x > c:
            middle = p * a + q * b + r * c
            squares = p * a * a + q * b * b + r * c * c
            total += r
            x = (middle + np.sqrt(max(middle * middle - total * (squares - 1.0), 0.0))) / total
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
def sink(heap, keys, spot, size, parent, cell, key):
    """Put a cell at a place of the queue, and move it down to where it belongs."""
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


@serial_kernel
def march(phi, rim, jump, span, value, chosen, order):
    """value = |phi'| in cells, `chosen` what it was solved from, `order` the cells as accepted, interface cells
    first. Returns the number of interface cells; if it is 0, the other results are meaningless."""
    spot = np.full(phi.size, WAITING, np.int32)
    near, weight = np.empty(6, np.int64), np.empty(6)
    for cell in range(phi.size):
        value[at(cell)] = np.inf
        chosen[at(cell)] = 0
        for side in range(1, 6, 2):
            m = beside(cell, side, rim[at(cell)], jump, span)
            if m >= 0 and (phi[at(m)] < 0) != (phi[at(cell)] < 0):
                spot[at(cell)] = ACCEPTED
                spot[at(m)] = ACCEPTED
    at_interface = 0
    for cell in range(phi.size):
        if spot[at(cell)] == ACCEPTED:
            value[at(cell)] = abs(phi[at(cell)]) / np.sqrt(gradient(phi, cell, rim[at(cell)], jump, span, near, weight))
            order[at(at_interface)] = cell
            at_interface += 1
    heap = np.empty(phi.size, np.int32)
    keys = np.empty(phi.size, np.float64)
    ahead = np.empty(3 * phi.size, np.float64)
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
            sink(heap, keys, spot, size, 0, heap[at(size)], keys[at(size)])
        done += 1
        edge, x = rim[at(cell)], value[at(cell)]
        for side in range(6):
            m = beside(cell, side, edge, jump, span)
            if m < 0 or spot[at(m)] == ACCEPTED:
                continue
            opposite = beside(m, side, rim[at(m)], jump, span)
            if opposite >= 0 and (value[at(opposite)] < x or (value[at(opposite)] == x and side & 1 == 0)):
                continue
            t, code = x, 2 - (side & 1)
            behind = beside(cell, side ^ 1, edge, jump, span)
            if behind >= 0 and spot[at(behind)] == ACCEPTED:
                y = value[at(behind)] if (phi[at(behind)] < 0) == (phi[at(m)] < 0) else -value[at(behind)]
                if y < x:
                    t, code = (4.0 * x - y) / 3.0, code + 2
            where = spot[at(m)]
            if where == WAITING:
                for axis in range(3):
                    ahead[at(3 * m + axis)] = np.inf
            axis = side >> 1
            ahead[at(3 * m + axis)] = t
            codes = (np.int64(chosen[at(m)]) & ~(7 << 3 * axis)) | code << 3 * axis
            chosen[at(m)] = codes
            new = eikonal(
                ahead[at(3 * m)], ahead[at(3 * m + 1)], ahead[at(3 * m + 2)],
                order_of(codes & 7), order_of(codes >> 3 & 7), order_of(codes >> 6),
            )  # fmt: skip
            if where == WAITING:
                where = np.int32(size)
                heap[at(where)] = m
                size += 1
            elif new > keys[at(where)]:
                sink(heap, keys, spot, size, where, m, new)
                continue
            keys[at(where)] = new
            rise(heap, keys, spot, where)
    return at_interface


@row_function
def interface_slopes(phi, cell, edge, jump, span, near, weight):
    """Derivatives of an interface cell's new value by old ones: `weight` by those at `near`, returned: by its own."""
    square = gradient(phi, cell, edge, jump, span, near, weight)
    root = np.sqrt(square)
    own = 1.0 / root
    for side in range(6):
        push = phi[at(cell)] * weight[at(side)] / (square * root)
        own += push
        weight[at(side)] = -push
    return own


@row_function
def slopes(phi, value, cell, codes, rim, jump, span, near, weight):
    """Derivatives `weight` of any other cell's new value by those at `near` (weight 0: none). They are of absolute
    values, and the same for phi' itself, both sides having one sign."""
    total = 0.0
    for axis in range(3):
        code = codes >> 3 * axis & 7
        weight[at(2 * axis)] = 0.0
        weight[at(2 * axis + 1)] = 0.0
        if code > 0:
            side = 2 * axis + (code - 1 & 1)
            m = beside(cell, side, rim[at(cell)], jump, span)
            near[at(2 * axis)] = m
            t = value[at(m)]
            if code > 2:
                behind = beside(m, side, rim[at(m)], jump, span)
                near[at(2 * axis + 1)] = behind
                y = value[at(behind)] if (phi[at(behind)] < 0) == (phi[at(cell)] < 0) else -value[at(behind)]
                t = (4.0 * t - y) / 3.0
            share = order_of(code) * max(value[at(cell)] - t, 0.0)
            total += share
            weight[at(2 * axis)] = share if code <= 2 else 4.0 / 3.0 * share
            weight[at(2 * axis + 1)] = 0.0 if code <= 2 else -1.0 / 3.0 * share
    for way in range(6):
        weight[at(way)] /= total


@serial_kernel
def march_tangent(phi, d_phi, rim, jump, span, value, chosen, order, at_interface, d_out):
    """Change of phi' (with its sign, in cells) for a change of phi, the order kept."""
    near, weight = np.zeros(6, np.int64), np.empty(6)
    for place in range(at_interface):
        cell = np.int64(order[at(place)])
        total = interface_slopes(phi, cell, rim[at(cell)], jump, span, near, weight) * d_phi[at(cell)]
        for side in range(6):
            if weight[at(side)] != 0:
                total += weight[at(side)] * d_phi[at(near[at(side)])]
        d_out[at(cell)] = total
    for place in range(at_interface, order.size):
        cell = np.int64(order[at(place)])
        slopes(phi, value, cell, np.int64(chosen[at(cell)]), rim, jump, span, near, weight)
        total = 0.0
        for way in range(6):
            if weight[at(way)] != 0:
                total += weight[at(way)] * d_out[at(near[at(way)])]
        d_out[at(cell)] = total


@serial_kernel
def march_adjoint(phi, rim, jump, span, value, chosen, order, at_interface, out_bar, phi_bar):
    """The transpose: last cell first; `out_bar` is used up, phi_bar must be zero before."""
    near, weight = np.zeros(6, np.int64), np.empty(6)
    for place in range(order.size - 1, at_interface - 1, -1):
        cell = np.int64(order[at(place)])
        bar = out_bar[at(cell)]
        if bar != 0:
            slopes(phi, value, cell, np.int64(chosen[at(cell)]), rim, jump, span, near, weight)
            for way in range(6):
                if weight[at(way)] != 0:
                    out_bar[at(near[at(way)])] += weight[at(way)] * bar
    for place in range(at_interface - 1, -1, -1):
        cell = np.int64(order[at(place)])
        bar = out_bar[at(cell)]
        phi_bar[at(cell)] += interface_slopes(phi, cell, rim[at(cell)], jump, span, near, weight) * bar
        for side in range(6):
            if weight[at(side)] != 0:
                phi_bar[at(near[at(side)])] += weight[at(side)] * bar
