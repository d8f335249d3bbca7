"""A limited sweep for smoke that wind and gathering carry together: both are conservation laws, speeds add.

    speed = wind + rate weight (e_below - e_above),   e = rho - target, within +-limit
                                                               [Fattal & Lischinski 2004, equation 10, appendix A]

On the sides of the box, unless they are periodic, it is the wind. Arguments as in keyfluid/kernels/limited.py; wind and
weight live on faces, of which those across the axis begin at `start`. Every flux is computed once per chunk of CHUNK
rows, which has two rows of `work`.
"""

from numba import prange

from keyfluid.boundary import OPEN_SIDE, PERIODIC_SIDE, WALL_SIDE
from keyfluid.kernels.compile import parallel_kernel, row_function
from keyfluid.kernels.lattice import at
from keyfluid.kernels.limited import flux, wrapped
from keyfluid.kernels.stencils import planes

CHUNK = 8


def work_size(cells):
    """Values that `work` must hold for sweeps along any axis."""
    n0, n1, n2 = (int(n) for n in cells)
    along = -(-n0 * n1 // CHUNK) * (n2 + 1)
    return 2 * max(-(-n0 // CHUNK) * n1 * n2, -(-n1 // CHUNK) * n0 * n2, along)


@row_function
def _passing(qa, qb, qc, qd, astray, wind, weight, rate, limit, step, second, low, high, zero):
    """What passes a face between b and c; astray: e_b - e_c."""
    speed = min(max(wind + rate * weight * astray, -limit), limit)
    return flux(qa, qb, qc, qd, step * speed, second, low, high, zero)


@row_function
def _row(q, target, weight, wind, first, stride, f, x, n, kind, length, rate, limit, step, second, work, w):
    """work = what passes face x of n + 1 along an axis, for a row of cells: cell 0 of the axis begins at `first`."""
    zero = q[0] - q[0]
    one = zero + 1
    periodic = kind == PERIODIC_SIDE
    side = (x == 0 or x == n) and not periodic
    inner = zero if side else rate
    pace = zero if side and kind == WALL_SIDE else step
    low = zero if kind == OPEN_SIDE and x == 0 else one
    high = zero if kind == OPEN_SIDE and x == n else one
    ra = first + wrapped(x - 2, n, periodic) * stride
    rb = first + wrapped(x - 1, n, periodic) * stride
    rc = first + wrapped(x, n, periodic) * stride
    rd = first + wrapped(x + 1, n, periodic) * stride
    for k in range(length):
        b, c = q[at(rb + k)], q[at(rc + k)]
        astray = b - target[at(rb + k)] - c + target[at(rc + k)]
        work[at(w + k)] = _passing(q[at(ra + k)], b, c, q[at(rd + k)], astray, wind[at(f + k)], weight[at(f + k)],
                                   inner, limit, pace, second, low, high, zero)  # fmt: skip


@parallel_kernel
def carry_across(q, target, weight, wind, start, axis, cells, kinds, rate, limit, step, correction, out, work):
    """A sweep along axis 0 or 1; rows lie along axis 2. step = dt / dx."""
    n0, n1, n2 = cells[0], cells[1], cells[2]
    n, kind = cells[axis], kinds[axis]
    stride = n1 * n2 if axis == 0 else n2
    faces = planes(n, kind)
    chunks = (n + CHUNK - 1) // CHUNK
    lines = n1 if axis == 0 else n0
    for chunk in prange(chunks * lines):
        second = correction / 2
        y = chunk // chunks
        begin = (chunk - y * chunks) * CHUNK
        first = y * n2 if axis == 0 else y * n1 * n2
        bottom = start + (first if axis == 0 else y * faces * n2)
        w = chunk * 2 * n2
        for x in range(begin, min(begin + CHUNK, n) + 1):
            f = bottom + (x if x < faces else 0) * stride
            a, b = w + (1 - x % 2) * n2, w + x % 2 * n2
            _row(q, target, weight, wind, first, stride, f, x, n, kind, n2, rate, limit, step, second, work, b)
            if x > begin:
                o = first + (x - 1) * stride
                for k in range(n2):
                    out[at(o + k)] = q[at(o + k)] - (work[at(b + k)] - work[at(a + k)])


@parallel_kernel
def carry_along(q, target, weight, wind, start, cells, kinds, rate, limit, step, correction, out, work):
    """A sweep along axis 2, the direction of the rows."""
    n, kind = cells[2], kinds[2]
    rows = cells[0] * cells[1]
    faces = planes(n, kind)
    for chunk in prange((rows + CHUNK - 1) // CHUNK):
        zero = q[0] - q[0]
        one = zero + 1
        second = correction / 2
        w = chunk * 2 * (n + 1)
        for row in range(chunk * CHUNK, min((chunk + 1) * CHUNK, rows)):
            r = row * n
            f = start + row * faces
            for e in range(4):
                x = e if e < 2 else n - 3 + e
                _row(q, target, weight, wind, r, 1, f + (x if x < faces else 0), x, n, kind, 1, rate, limit, step,
                     second, work, w + x)  # fmt: skip
            for x in range(2, n - 1):
                b, c = q[at(r + x - 1)], q[at(r + x)]
                astray = b - target[at(r + x - 1)] - c + target[at(r + x)]
                work[at(w + x)] = _passing(q[at(r + x - 2)], b, c, q[at(r + x + 1)], astray, wind[at(f + x)],
                                           weight[at(f + x)], rate, limit, step, second, one, one, zero)  # fmt: skip
            for k in range(n):
                out[at(r + k)] = q[at(r + k)] - (work[at(w + k + 1)] - work[at(w + k)])
