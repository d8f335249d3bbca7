"""Monotone cubic interpolation at displaced points, in two or three dimensions, with tangent and adjoint.

Along a line, between q1 and q2 with outer neighbours q0 and q3, at the fraction t:

    q(t) = q1 + t^2 (3 - 2 t) D + t (1 - t)^2 d1 - t^2 (1 - t) d2,     D = q2 - q1
    d1 = median(0, (q2 - q0) / 2, 3 D),   d2 = median(0, (q3 - q1) / 2, 3 D)

The median with 0 is the limiter of [Fedkiw, Stam & Jensen 2001, appendix B]; slopes of the right sign can
still overshoot unless they also stay below 3 D [Fritsch & Carlson 1980, SIAM J. Numer. Anal. 17(2)]. Every
value lies between q1 and q2, to the bit. Third order where the data is smooth and monotone.

Several axes: lines of four along the last axis first, then along the middle one, then along the first. Beyond
an end, the last value is repeated.

The interpolant has a kink in a coordinate at an integer where the limiter acts: there the mean of the one-sided
derivatives is taken (keyfluid/kernels/lattice.py). Just at a switch of the limiter, the limiter counts as off.

Work goes by batches of m points of a row, so that all but gather and scatter is vectorised. The 4^dim values
around each point are values[n m + b], point b last, the first axis before it. With c lines left, line n < c
of point b has the values n m + b + (0, 1, 2, 3) c m, whatever the axis, and its result is the new value n.
`weight` holds the derivatives of lines by their values: first the line along the first axis, then the four
along the second, then the sixteen along the third. `slope` holds those of lines by their fraction, likewise.

Row dim of `lattices` and `bases` (rows.py) is the carried quantity. `feet` are displacements in cells from
the points of the lattice `points`, axis by axis.
"""

import numpy as np
from numba import prange

from keyfluid.kernels.compile import parallel_kernel, row_function
from keyfluid.kernels.lattice import at, bounds, index, neighbour

BATCH = 32


@row_function
def stencil(lattices, bases, points, feet, i, j, k, m, side, near, place, part, free):
    """Where the points (i, j, k) to (i, j, k + m - 1) fall; j is 0 in two dimensions.

    `place` of the 4^dim values around each; per axis the fraction `part`, and whether the coordinate was left
    free (1) or clamped (0). Returns how many coordinates are integers: those are the left end of the interval
    after them for side 0, the right end of the one before for side 1.
    """
    dim = points.size
    real = bases.dtype.type
    size = feet.size // dim
    start = (i * points[dim - 2] + j) * points[dim - 1] + k if dim == 3 else i * points[dim - 1] + k
    stride = np.int32(1)
    for axis in range(dim):
        stride *= lattices[dim, 1 + axis]
    for b in range(m):
        place[at(b)] = lattices[dim, 0]
    kinks = np.int32(0)
    count = 1
    for axis in range(dim):
        n, period = lattices[dim, 1 + axis], lattices[dim, 1 + dim + axis]
        stride = np.int32(stride // n)
        last = np.int32(axis == dim - 1)
        own = np.int32(i) if axis == 0 else np.int32(k) if axis == dim - 1 else np.int32(j)
        low, high = bounds(own, n, period, bases)
        moving = real(last) if period == 0 else real(0)
        for b in range(m):
            shift = moving * real(b)
            here = own + last * np.int32(b)
            u = feet[at(axis * size + start + b)] + bases[dim, axis]
            x = min(max(u, low - shift), high - shift)
            whole = np.floor(x)
            f = x - whole
            back = side if f == 0 else np.int32(0)
            left = here + np.int32(whole) - back
            left += period if left < 0 else np.int32(0)
            left += period if left < 0 else np.int32(0)
            left -= period if left >= n else np.int32(0)
            near[at(b)] = neighbour(left - np.int32(1), n, period) * stride
            near[at(m + b)] = neighbour(left, n, period) * stride
            near[at(2 * m + b)] = neighbour(left + np.int32(1), n, period) * stride
            near[at(3 * m + b)] = neighbour(left + np.int32(2), n, period) * stride
            part[at(axis * m + b)] = f + real(back)
            free[at(axis * m + b)] = real(x == u)
            kinks += np.int32(f == 0)
        for inverse in range(4):
            c = 3 - inverse
            for e in range(count):
                for b in range(m):
                    place[at((c * count + e) * m + b)] = place[at(e * m + b)] + near[at(c * m + b)]
        count *= 4
    return kinks


@row_function
def value_batch(carried, place, part, dim, m, values):
    """values[:m] = `carried` interpolated."""
    real = values.dtype.type
    one, half, three = real(1), real(0.5), real(3)
    count = 4**dim
    for e in range(count * m):
        values[at(e)] = carried[index(place[at(e)])]
    for inverse in range(dim):
        axis = dim - 1 - inverse
        count //= 4
        for n in range(count):
            for b in range(m):
                e = n * m + b
                t = part[at(axis * m + b)]
                q0, q1 = values[at(e)], values[at(e + count * m)]
                q2, q3 = values[at(e + 2 * count * m)], values[at(e + 3 * count * m)]
                rise = q2 - q1
                least, most = min(three * rise, real(0)), max(three * rise, real(0))
                d1 = min(max(half * (q2 - q0), least), most)
                d2 = min(max(half * (q3 - q1), least), most)
                s = one - t
                value = q1 + t * (t * (three - t - t) * rise + s * (s * d1 - t * d2))
                low, high = min(q1, q2), max(q1, q2)
                value = low if value < low else value
                values[at(e)] = high if value > high else value


@row_function
def weight_batch(carried, place, part, dim, m, values, weight, slope):
    """Derivatives of every line by its four values and by its fraction."""
    real = values.dtype.type
    zero, one, half, three = real(0), real(1), real(0.5), real(3)
    count = 4**dim
    for e in range(count * m):
        values[at(e)] = carried[index(place[at(e)])]
    for inverse in range(dim):
        axis = dim - 1 - inverse
        count //= 4
        lines = (count - 1) // 3 * m
        for n in range(count):
            for b in range(m):
                e = n * m + b
                t = part[at(axis * m + b)]
                q0, q1 = values[at(e)], values[at(e + count * m)]
                q2, q3 = values[at(e + 2 * count * m)], values[at(e + 3 * count * m)]
                rise = q2 - q1
                least, most = min(three * rise, zero), max(three * rise, zero)
                c1, c2 = half * (q2 - q0), half * (q3 - q1)
                d1, d2 = min(max(c1, least), most), min(max(c2, least), most)
                s = one - t
                h, h1, h2 = t * t * (three - t - t), t * s * s, -t * t * s
                values[at(e)] = q1 + h * rise + h1 * d1 + h2 * d2
                slope[at(lines + e)] = (
                    real(6) * t * s * rise + s * (one - three * t) * d1 + t * (three * t - real(2)) * d2
                )
                # A slope follows its central difference, or 3 D, or it is 0.
                h += three * h1 if (d1 != c1) & (d1 != zero) else zero
                h += three * h2 if (d2 != c2) & (d2 != zero) else zero
                h1 = half * h1 if d1 == c1 else zero
                h2 = half * h2 if d2 == c2 else zero
                weight[at(4 * lines + e)] = -h1
                weight[at(4 * lines + e + count * m)] = one - h - h2
                weight[at(4 * lines + e + 2 * count * m)] = h + h1
                weight[at(4 * lines + e + 3 * count * m)] = h2


@row_function
def derivative_batch(carried, lattices, bases, points, feet, i, j, k, m, near, place, part, free, values,
                     weight, slope, grad):  # fmt: skip
    """Gradient of the interpolant by the coordinates, grad[axis m + b], and its derivatives by the values at
    `place`: the last 4^dim m of `weight`. All else is scratch.

    A second pass, needed only if some point is at a kink, takes the mean with the left-hand derivative.
    """
    dim = points.size
    real = values.dtype.type
    for side in range(2):
        kinks = stencil(lattices, bases, points, feet, i, j, k, m, np.int32(side), near, place, part, free)
        weight_batch(carried, place, part, dim, m, values, weight, slope)
        fresh = real(1.0) if side == 0 else real(0.5)
        kept = real(0.0) if side == 0 else real(0.5)
        for e in range(dim * m):
            grad[at(e)] = kept * grad[at(e)] if side == 1 else real(0)
        for b in range(m):
            grad[at(b)] += fresh * free[at(b)] * slope[at(b)]
        count = 1
        lines = 0
        for axis in range(1, dim):
            above = 4 * lines
            lines += count * m
            count *= 4
            for n in range(count):
                for b in range(m):
                    e = n * m + b
                    share = weight[at(above + e)]
                    grad[at(axis * m + b)] += fresh * free[at(axis * m + b)] * share * slope[at(lines + e)]
                    weight[at(4 * lines + e)] *= share
                    weight[at(4 * lines + e + count * m)] *= share
                    weight[at(4 * lines + e + 2 * count * m)] *= share
                    weight[at(4 * lines + e + 3 * count * m)] *= share
        if kinks == 0:
            break


@parallel_kernel
def interpolate(lattices, bases, points, carried, feet, out, slabs):
    """out = carried, interpolated at the feet."""
    dim = points.size
    m0, m1, m2 = points[0], points[1] if dim == 3 else 1, points[dim - 1]
    count = 4**dim
    for slab in prange(slabs):
        near = np.empty(4 * BATCH, np.int32)
        place = np.empty(count * BATCH, np.int32)
        part = np.empty(dim * BATCH, carried.dtype)
        free = np.empty(dim * BATCH, carried.dtype)
        values = np.empty(count * BATCH, carried.dtype)
        for i in range(slab * m0 // slabs, (slab + 1) * m0 // slabs):
            for j in range(m1):
                for k in range(0, m2, BATCH):
                    m = min(BATCH, m2 - k)
                    o = (i * m1 + j) * m2 + k
                    stencil(lattices, bases, points, feet, i, j, k, m, np.int32(0), near, place, part, free)
                    value_batch(carried, place, part, dim, m, values)
                    for b in range(m):
                        out[at(o + b)] = values[at(b)]


@parallel_kernel
def interpolate_tangent(lattices, bases, points, carried, feet, d_carried, d_feet, d_out, slabs):
    """d_out for a change of the carried values and of the feet."""
    dim = points.size
    m0, m1, m2 = points[0], points[1] if dim == 3 else 1, points[dim - 1]
    count = 4**dim
    lines = (count - 1) // 3
    for slab in prange(slabs):
        near = np.empty(4 * BATCH, np.int32)
        place = np.empty(count * BATCH, np.int32)
        part = np.empty(dim * BATCH, carried.dtype)
        free = np.empty(dim * BATCH, carried.dtype)
        values = np.empty(count * BATCH, carried.dtype)
        weight = np.empty(4 * lines * BATCH, carried.dtype)
        slope = np.empty(lines * BATCH, carried.dtype)
        grad = np.empty(dim * BATCH, carried.dtype)
        for i in range(slab * m0 // slabs, (slab + 1) * m0 // slabs):
            for j in range(m1):
                for k in range(0, m2, BATCH):
                    m = min(BATCH, m2 - k)
                    o = (i * m1 + j) * m2 + k
                    derivative_batch(carried, lattices, bases, points, feet, i, j, k, m, near, place, part,
                                     free, values, weight, slope, grad)  # fmt: skip
                    for b in range(m):
                        d_out[at(o + b)] = 0
                    for axis in range(dim):
                        for b in range(m):
                            d_out[at(o + b)] += grad[at(axis * m + b)] * d_feet[at(axis * d_out.size + o + b)]
                    for n in range(count):
                        for b in range(m):
                            w = weight[at((lines - 1 + n) * m + b)]
                            d_out[at(o + b)] += w * d_carried[index(place[at(n * m + b)])]


@parallel_kernel
def interpolate_adjoint(lattices, bases, points, carried, feet, out_bar, carried_bar, feet_bar, slabs,
                        colour):  # fmt: skip
    """Add the transpose of `interpolate_tangent` applied to out_bar, for slabs of one colour (advect.py).

    Slabs must be thicker than for linear interpolation: a scatter reaches one cell farther. A batch begins and ends
    with points whose out_bar is not zero: behind a liquid's redistancing only those beside its surface are not.
    """
    dim = points.size
    m0, m1, m2 = points[0], points[1] if dim == 3 else 1, points[dim - 1]
    count = 4**dim
    lines = (count - 1) // 3
    for pair in prange((slabs + 1 - colour) // 2):
        slab = 2 * pair + colour
        near = np.empty(4 * BATCH, np.int32)
        place = np.empty(count * BATCH, np.int32)
        part = np.empty(dim * BATCH, carried.dtype)
        free = np.empty(dim * BATCH, carried.dtype)
        values = np.empty(count * BATCH, carried.dtype)
        weight = np.empty(4 * lines * BATCH, carried.dtype)
        slope = np.empty(lines * BATCH, carried.dtype)
        grad = np.empty(dim * BATCH, carried.dtype)
        for i in range(slab * m0 // slabs, (slab + 1) * m0 // slabs):
            for j in range(m1):
                for first in range(0, m2, BATCH):
                    k, last = first, min(first + BATCH, m2)
                    row = (i * m1 + j) * m2
                    while k < last and out_bar[at(row + k)] == 0:
                        k += 1
                    while k < last and out_bar[at(row + last - 1)] == 0:
                        last -= 1
                    m, o = last - k, row + k
                    if m == 0:
                        continue
                    derivative_batch(carried, lattices, bases, points, feet, i, j, k, m, near, place, part,
                                     free, values, weight, slope, grad)  # fmt: skip
                    for axis in range(dim):
                        for b in range(m):
                            w = grad[at(axis * m + b)]
                            feet_bar[at(axis * out_bar.size + o + b)] += w * out_bar[at(o + b)]
                    for n in range(count):
                        for b in range(m):
                            w = weight[at((lines - 1 + n) * m + b)]
                            carried_bar[index(place[at(n * m + b)])] += w * out_bar[at(o + b)]
