"""A sweep of limited.py for smoke that wind and gathering carry together: both are conservation laws, speeds add.

    speed = wind + rate weight (e_below - e_above),   e = rho - target, within +-limit
                                                               [Fattal & Lischinski 2004, equation 10, appendix A]

On the sides of the box, unless they are periodic, it is the wind. Arguments as in limited.py; wind and weight live on
faces, of which those across the axis begin at `start`.
"""

from numba import prange

from .compile import parallel_kernel, row_function
from .lattice import at
from .limited import flux, wrapped
from .stencils import planes


@row_function
def _within(speed, limit):
    return min(max(speed, -limit), limit)


@parallel_kernel
def carry_across(q, target, weight, wind, start, axis, cells, kinds, rate, limit, step, correction, out):
    """A sweep along axis 0 or 1; rows lie along axis 2. step = dt / dx."""
    n0, n1, n2 = cells[0], cells[1], cells[2]
    n, kind = cells[axis], kinds[axis]
    periodic = kind == 1
    stride = n1 * n2 if axis == 0 else n2
    p1 = planes(n1, kinds[1]) if axis == 1 else n1
    for row in prange(n0 * n1):
        zero = q[0] - q[0]
        one = zero + 1
        second = correction * one / 2
        i = row // n1
        j = row - i * n1
        x = i if axis == 0 else j
        o = row * n2
        r0 = o + (wrapped(x - 2, n, periodic) - x) * stride
        r1 = o + (wrapped(x - 1, n, periodic) - x) * stride
        r3 = o + (wrapped(x + 1, n, periodic) - x) * stride
        r4 = o + (wrapped(x + 2, n, periodic) - x) * stride
        above = 0 if periodic and x == n - 1 else x + 1
        lower = start + ((x * p1 + j) * n2 if axis == 0 else (i * p1 + x) * n2)
        upper = start + ((above * p1 + j) * n2 if axis == 0 else (i * p1 + above) * n2)
        inner_low = rate if periodic or x > 0 else zero
        inner_high = rate if periodic or x < n - 1 else zero
        step_low = zero if x == 0 and kind == 0 else step
        step_high = zero if x == n - 1 and kind == 0 else step
        ghost_low = zero if x == 0 and kind == 2 else one
        ghost_high = zero if x == n - 1 and kind == 2 else one
        for k in range(n2):
            a, b, c = q[at(r1 + k)], q[at(o + k)], q[at(r3 + k)]
            astray = b - target[at(o + k)]
            s_low = wind[at(lower + k)] + inner_low * weight[at(lower + k)] * (a - target[at(r1 + k)] - astray)
            s_high = wind[at(upper + k)] + inner_high * weight[at(upper + k)] * (astray - c + target[at(r3 + k)])
            low = flux(q[at(r0 + k)], a, b, c, step_low * _within(s_low, limit), second, ghost_low, one, zero)
            high = flux(a, b, c, q[at(r4 + k)], step_high * _within(s_high, limit), second, one, ghost_high, zero)
            out[at(o + k)] = b - (high - low)


@parallel_kernel
def carry_along(q, target, weight, wind, start, cells, kinds, rate, limit, step, correction, out):
    """A sweep along axis 2, the direction of the rows."""
    n, kind = cells[2], kinds[2]
    periodic = kind == 1
    length = planes(n, kind)
    for row in prange(cells[0] * cells[1]):
        zero = q[0] - q[0]
        one = zero + 1
        second = correction * one / 2
        r = row * n
        f = start + row * length
        for e in range(4):
            k = e if e < 2 else n - 4 + e
            down = r + wrapped(k - 1, n, periodic)
            up = r + wrapped(k + 1, n, periodic)
            upper = f + (0 if periodic and k == n - 1 else k + 1)
            inner_low = rate if periodic or k > 0 else zero
            inner_high = rate if periodic or k < n - 1 else zero
            step_low = zero if k == 0 and kind == 0 else step
            step_high = zero if k == n - 1 and kind == 0 else step
            a, b, c = q[at(down)], q[at(r + k)], q[at(up)]
            astray = b - target[at(r + k)]
            s_low = wind[at(f + k)] + inner_low * weight[at(f + k)] * (a - target[at(down)] - astray)
            s_high = wind[at(upper)] + inner_high * weight[at(upper)] * (astray - c + target[at(up)])
            low = flux(q[at(r + wrapped(k - 2, n, periodic))], a, b, c, step_low * _within(s_low, limit), second,
                       zero if k == 0 and kind == 2 else one, one, zero)  # fmt: skip
            high = flux(a, b, c, q[at(r + wrapped(k + 2, n, periodic))], step_high * _within(s_high, limit), second,
                        one, zero if k == n - 1 and kind == 2 else one, zero)  # fmt: skip
            out[at(r + k)] = b - (high - low)
        for k in range(2, n - 2):
            a, b, c = q[at(r + k - 1)], q[at(r + k)], q[at(r + k + 1)]
            astray = b - target[at(r + k)]
            s_low = wind[at(f + k)] + rate * weight[at(f + k)] * (a - target[at(r + k - 1)] - astray)
            s_high = wind[at(f + k + 1)] + rate * weight[at(f + k + 1)] * (astray - c + target[at(r + k + 1)])
            low = flux(q[at(r + k - 2)], a, b, c, step * _within(s_low, limit), second, one, one, zero)
            high = flux(a, b, c, q[at(r + k + 2)], step * _within(s_high, limit), second, one, one, zero)
            out[at(r + k)] = b - (high - low)
