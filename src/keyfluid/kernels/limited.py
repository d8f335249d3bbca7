"""One-dimensional sweeps of flux-limited conservative advection; driving forces and kicks.

    q1[i] = q[i] - (H[i+1/2] - H[i-1/2]),    c = dt / dx times the speed on the interface
    H = max(c, 0) q[i] + min(c, 0) q[i+1] + |c| (1 - |c|) / 2 mml(q)  [Fattal & Lischinski 2004, appendix A]
    mml: the smallest of three neighbouring differences if their signs agree, else 0

The appendix leaves out the factor |c| / 2 of the correction. Beyond a side values are repeated, so that the
correction vanishes there. Walls let nothing pass; what comes in through an open side is `ghost` times the
value of the side (0: no smoke, 1: the side's own velocity).

`cells`, `kinds`: as in stencils.py; 2D is one layer of 3D. A quantity is a flat array with its lattice of
shape `m` beginning at an offset, and so is the velocity component along the sweep, with lattice `p`.
`across`: the axis whose planes the quantity lives on, -1 for centres; speeds are averaged to its interfaces.
"""

from numba import prange

from keyfluid.boundary import OPEN_SIDE, PERIODIC_SIDE, WALL_SIDE
from keyfluid.kernels.compile import parallel_kernel, row_function
from keyfluid.kernels.lattice import at
from keyfluid.kernels.stencils import planes


@row_function
def limited(d0, d1, d2, zero):
    """mml of three differences."""
    return max(zero, min(min(d0, d1), d2)) + min(zero, max(max(d0, d1), d2))


@row_function
def flux(qa, qb, qc, qd, c, second, low, high, zero):
    """What passes between b and c in one step; `low`, `high` scale what comes from outside the box."""
    forward = max(c, zero)
    backward = min(c, zero)
    size = forward - backward
    steepest = limited(qb - qa, qc - qb, qd - qc, zero)
    return forward * qb * low + backward * qc * high + second * size * (1 - size) * steepest


@row_function
def wrapped(i, n, periodic):
    """Index i brought into [0, n): wrapped or clamped."""
    if i < 0:
        return i + n if periodic else 0
    if i >= n:
        return i - n if periodic else n - 1
    return i


@parallel_kernel
def sweep_across(q, q_start, m, v, v_start, p, axis, across, cells, kinds, step, ghost, correction, out, out_start):
    """A sweep along axis 0 or 1; rows lie along axis 2. step = dt / dx; correction 1, or 0: first order."""
    m0, m1, m2 = m[0], m[1], m[2]
    p1, p2 = p[1], p[2]
    n = m[axis]
    periodic = kinds[axis] == PERIODIC_SIDE
    stride = m1 * m2 if axis == 0 else m2
    for row in prange(m0 * m1):
        zero = q[0] - q[0]
        one = zero + 1
        half = one / 2
        c = step * half
        second = correction * half
        i = row // m1
        j = row - i * m1
        x = i if axis == 0 else j
        o = row * m2
        r0 = q_start + o + (wrapped(x - 2, n, periodic) - x) * stride
        r1 = q_start + o + (wrapped(x - 1, n, periodic) - x) * stride
        r2 = q_start + o
        r3 = q_start + o + (wrapped(x + 1, n, periodic) - x) * stride
        r4 = q_start + o + (wrapped(x + 2, n, periodic) - x) * stride
        w = out_start + o
        pass_low = zero if x == 0 and kinds[axis] == WALL_SIDE else one
        pass_high = zero if x == n - 1 and kinds[axis] == WALL_SIDE else one
        ghost_low = ghost if x == 0 and kinds[axis] == OPEN_SIDE else one
        ghost_high = ghost if x == n - 1 and kinds[axis] == OPEN_SIDE else one
        # The two rows of speeds whose mean is the speed on the lower and on the upper interface.
        if across == axis:
            l1, l2 = wrapped(x - 1, n, periodic), x
            h1, h2 = x, wrapped(x + 1, n, periodic)
        else:
            l1 = l2 = x
            h1 = h2 = 0 if periodic and x == n - 1 else x + 1
        y1 = y2 = j if axis == 0 else i
        if across == 1 - axis:
            other = cells[across]
            y1 = wrapped(y1 - 1, other, kinds[across] == PERIODIC_SIDE)
            y2 = wrapped(y2, other, False)
        if axis == 0:
            l1, l2 = v_start + (l1 * p1 + y1) * p2, v_start + (l2 * p1 + y2) * p2
            h1, h2 = v_start + (h1 * p1 + y1) * p2, v_start + (h2 * p1 + y2) * p2
        else:
            l1, l2 = v_start + (y1 * p1 + l1) * p2, v_start + (y2 * p1 + l2) * p2
            h1, h2 = v_start + (y1 * p1 + h1) * p2, v_start + (y2 * p1 + h2) * p2
        low_c = c * pass_low
        high_c = c * pass_high
        first, last, shift = 0, m2, 0
        if across == 2:
            first, last, shift = 1, m2 - 1, -1
            for e in range(2):
                k = e * (m2 - 1)
                k1 = wrapped(k - 1, cells[2], kinds[2] == PERIODIC_SIDE)
                k2 = wrapped(k, cells[2], False)
                s_low = low_c * (v[at(l1 + k1)] + v[at(l2 + k2)])
                s_high = high_c * (v[at(h1 + k1)] + v[at(h2 + k2)])
                low = flux(q[at(r0 + k)], q[at(r1 + k)], q[at(r2 + k)], q[at(r3 + k)],
                           s_low, second, ghost_low, one, zero)  # fmt: skip
                high = flux(q[at(r1 + k)], q[at(r2 + k)], q[at(r3 + k)], q[at(r4 + k)],
                            s_high, second, one, ghost_high, zero)  # fmt: skip
                out[at(w + k)] = q[at(r2 + k)] - (high - low)
        l1 += shift
        h1 += shift
        for k in range(first, last):
            low = flux(q[at(r0 + k)], q[at(r1 + k)], q[at(r2 + k)], q[at(r3 + k)],
                       low_c * (v[at(l1 + k)] + v[at(l2 + k)]), second, ghost_low, one, zero)  # fmt: skip
            high = flux(q[at(r1 + k)], q[at(r2 + k)], q[at(r3 + k)], q[at(r4 + k)],
                        high_c * (v[at(h1 + k)] + v[at(h2 + k)]), second, one, ghost_high, zero)  # fmt: skip
            out[at(w + k)] = q[at(r2 + k)] - (high - low)


@parallel_kernel
def sweep_along(q, q_start, m, v, v_start, p, across, cells, kinds, step, ghost, correction, out, out_start):
    """A sweep along axis 2, the direction of the rows."""
    m0, m1, n = m[0], m[1], m[2]
    p1, p2 = p[1], p[2]
    periodic = kinds[2] == PERIODIC_SIDE
    for row in prange(m0 * m1):
        zero = q[0] - q[0]
        one = zero + 1
        half = one / 2
        c = step * half
        second = correction * half
        i = row // m1
        j = row - i * m1
        r = q_start + row * n
        w = out_start + row * n
        i1 = i2 = i
        j1 = j2 = j
        if across == 0:
            i1 = wrapped(i - 1, cells[0], kinds[0] == PERIODIC_SIDE)
            i2 = wrapped(i, cells[0], False)
        if across == 1:
            j1 = wrapped(j - 1, cells[1], kinds[1] == PERIODIC_SIDE)
            j2 = wrapped(j, cells[1], False)
        s1 = v_start + (i1 * p1 + j1) * p2
        s2 = v_start + (i2 * p1 + j2) * p2
        for e in range(4):
            k = e if e < 2 else n - 4 + e
            down2 = r + wrapped(k - 2, n, periodic)
            down = r + wrapped(k - 1, n, periodic)
            up = r + wrapped(k + 1, n, periodic)
            up2 = r + wrapped(k + 2, n, periodic)
            if across == 2:
                a1, a2 = wrapped(k - 1, n, periodic), k
                b1, b2 = k, wrapped(k + 1, n, periodic)
            else:
                a1 = a2 = k
                b1 = b2 = 0 if periodic and k == n - 1 else k + 1
            pass_low = zero if k == 0 and kinds[2] == WALL_SIDE else one
            pass_high = zero if k == n - 1 and kinds[2] == WALL_SIDE else one
            ghost_low = ghost if k == 0 and kinds[2] == OPEN_SIDE else one
            ghost_high = ghost if k == n - 1 and kinds[2] == OPEN_SIDE else one
            s_low = pass_low * c * (v[at(s1 + a1)] + v[at(s2 + a2)])
            s_high = pass_high * c * (v[at(s1 + b1)] + v[at(s2 + b2)])
            low = flux(q[at(down2)], q[at(down)], q[at(r + k)], q[at(up)],
                       s_low, second, ghost_low, one, zero)  # fmt: skip
            high = flux(q[at(down)], q[at(r + k)], q[at(up)], q[at(up2)],
                        s_high, second, one, ghost_high, zero)  # fmt: skip
            out[at(w + k)] = q[at(r + k)] - (high - low)
        if across == 2:
            s1 -= 1
        for k in range(2, n - 2):
            low = flux(q[at(r + k - 2)], q[at(r + k - 1)], q[at(r + k)], q[at(r + k + 1)],
                       c * (v[at(s1 + k)] + v[at(s2 + k)]), second, one, one, zero)  # fmt: skip
            high = flux(q[at(r + k - 1)], q[at(r + k)], q[at(r + k + 1)], q[at(r + k + 2)],
                        c * (v[at(s1 + k + 1)] + v[at(s2 + k + 1)]), second, one, one, zero)  # fmt: skip
            out[at(w + k)] = q[at(r + k)] - (high - low)


@parallel_kernel
def drive(x, slope, half, keep, cells, kinds, axes, out):
    """out = keep out + half slope (x_below + x_above) on all faces; x is 0 outside the box."""
    n0, n1, n2 = cells[0], cells[1], cells[2]
    f0, f1, f2 = planes(n0, kinds[0]), planes(n1, kinds[1]), planes(n2, kinds[2])
    start1 = f0 * n1 * n2 if axes == 3 else 0
    start2 = start1 + n0 * f1 * n2
    for row in prange(f0 * f1):
        i = row // f1
        j = row - i * f1
        zero = x[0] - x[0]
        here = (i * n1 + j) * n2
        if axes == 3 and j < n1:
            below, above, low, high = beside(i, n0, kinds[0], n1 * n2, here, half)
            for k in range(n2):
                f = at((i * n1 + j) * n2 + k)
                out[f] = keep * out[f] + slope[f] * (low * x[at(below + k)] + high * x[at(above + k)])
        if i < n0:
            below, above, low, high = beside(j, n1, kinds[1], n2, here, half)
            for k in range(n2):
                f = at(start1 + (i * f1 + j) * n2 + k)
                out[f] = keep * out[f] + slope[f] * (low * x[at(below + k)] + high * x[at(above + k)])
        if i < n0 and j < n1:
            line = start2 + (i * n1 + j) * f2
            for k in range(1, n2):
                f = at(line + k)
                out[f] = keep * out[f] + half * slope[f] * (x[at(here + k - 1)] + x[at(here + k)])
            for k in range(0, f2, n2):
                f = at(line + k)
                before = x[at(here + n2 - 1)] if k > 0 or kinds[2] == PERIODIC_SIDE else zero
                after = x[at(here)] if k == 0 else zero
                out[f] = keep * out[f] + half * slope[f] * (before + after)


@parallel_kernel
def kick(v, force, dt, keep, impulse, out):
    """out = keep (v + dt force), and impulse += out - v."""
    length = 8192
    for slab in prange((v.size + length - 1) // length):
        for k in range(slab * length, min((slab + 1) * length, v.size)):
            pushed = keep * (v[at(k)] + dt * force[at(k)])
            impulse[at(k)] += pushed - v[at(k)]
            out[at(k)] = pushed


@row_function
def beside(i, n, kind, stride, here, factor):
    """Offsets of the rows below and above plane i of an axis of n cells, and `factor` for each, 0 outside the box.

    here: the offset of row i, stride: that from one row to the next.
    """
    nothing = factor - factor
    if kind == PERIODIC_SIDE:
        return here - stride if i > 0 else here + (n - 1) * stride, here, factor, factor
    if i == 0:
        return here, here, nothing, factor
    if i == n:
        return here - stride, here - stride, factor, nothing
    return here - stride, here, factor, factor
