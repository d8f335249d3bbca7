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

2D is one layer of 3D. `sides[a]` is 1 where axis a is periodic. One thread: the order is a queue.
"""

import numpy as np

from keyfluid.kernels.compile import row_function, serial_kernel
from keyfluid.kernels.lattice import at

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
def upwind(phi, value, rank, before, at_interface, cell, place, n, stride, wraps):
    """Along an axis the nearer neighbour that was accepted before and the one to use behind it, -1 each if there is
    none; then t and q of the equation above (t = inf: no neighbour)."""
    found, behind, t, q, forward = -1, -1, np.inf, 1.0, False
    for way in range(2):
        m = beside(cell, place, n, stride, wraps, way == 1)
        if m >= 0 and 0 <= rank[at(m)] < before and value[at(m)] < t:
            found, t, forward = m, value[at(m)], way == 1
    if found >= 0:
        there = place + 1 if forward else place - 1
        there = 0 if there == n else n - 1 if there < 0 else there
        m = beside(found, there, n, stride, wraps, forward)
        if m >= 0 and 0 <= rank[at(m)] < max(rank[at(found)], at_interface):
            x = value[at(m)] if (phi[at(m)] < 0) == (phi[at(cell)] < 0) else -value[at(m)]
            if x < t:
                behind, t, q = m, (4.0 * t - x) / 3.0, 2.25
    return found, behind, t, q


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


@serial_kernel
def march(phi, shape, sides, value, rank, order):
    """value = |phi'| in cells, `order` the cells as they were accepted and `rank` their places in it, interface cells
    first. Returns the number of interface cells; if it is 0, the other results are meaningless."""
    n0, n1, n2 = shape[0], shape[1], shape[2]
    plane = n1 * n2
    spot = np.full(phi.size, np.int32(-1), np.int32)
    at_interface = 0
    near, weight = np.empty(6, np.int64), np.empty(6)
    for cell in range(phi.size):
        square, crossed = gradient(phi, cell, shape, sides, near, weight)
        rank[at(cell)] = -1
        if crossed:
            value[at(cell)] = abs(phi[at(cell)]) / np.sqrt(square)
            rank[at(cell)] = at_interface
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
            rank[at(cell)] = done
            order[at(done)] = cell
            size -= 1
            sink(heap, keys, spot, size, 0, heap[at(size)], keys[at(size)])
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
            known = max(done, at_interface)
            _, _, a, p = upwind(phi, value, rank, known, at_interface, m, x, n0, plane, sides[0])
            _, _, b, q = upwind(phi, value, rank, known, at_interface, m, y, n1, n2, sides[1])
            _, _, c, r = upwind(phi, value, rank, known, at_interface, m, z, n2, 1, sides[2])
            new = eikonal(a, b, c, p, q, r)
            if where < 0:
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
    near[0], near[1], a, p = upwind(phi, value, rank, before, at_interface, cell, i, n0, n1 * n2, sides[0])
    near[2], near[3], b, q = upwind(phi, value, rank, before, at_interface, cell, row - i * n1, n1, n2, sides[1])
    near[4], near[5], c, r = upwind(phi, value, rank, before, at_interface, cell, k, n2, 1, sides[2])
    x = value[at(cell)]
    weight[0], weight[2], weight[4] = p * max(x - a, 0.0), q * max(x - b, 0.0), r * max(x - c, 0.0)
    total = weight[0] + weight[2] + weight[4]
    for way in range(0, 6, 2):
        share = weight[way] / total
        weight[way] = share if near[way + 1] < 0 else 4.0 / 3.0 * share
        weight[way + 1] = 0.0 if near[way + 1] < 0 else -1.0 / 3.0 * share
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
