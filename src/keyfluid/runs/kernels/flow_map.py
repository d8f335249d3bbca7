"""Points carried back through a staggered velocity, and values read where they end.

2D is one layer of 3D: arrays have three axes, positions three numbers, in cells from the box's corner.
A coordinate beyond an array's last value reads that value; a periodic axis goes round.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from keyfluid.kernels.compile import parallel_kernel, row_function


@row_function
def _pair(x, count, periodic):
    """The two indices around a coordinate, and the share of the second."""
    if periodic:
        low = np.floor(x)
        share = x - low
        first = int(low) % count
        return first, (first + 1) % count, share
    x = min(max(x, 0.0), count - 1.0)
    first = min(int(x), max(count - 2, 0))
    return first, min(first + 1, count - 1), x - first


@row_function
def _sample(values, x, y, z, around):
    i, i1, a = _pair(x, values.shape[0], around[0])
    j, j1, b = _pair(y, values.shape[1], around[1])
    k, k1, c = _pair(z, values.shape[2], around[2])
    low = (1 - b) * ((1 - c) * values[i, j, k] + c * values[i, j, k1]) + b * (
        (1 - c) * values[i, j1, k] + c * values[i, j1, k1]
    )
    high = (1 - b) * ((1 - c) * values[i1, j, k] + c * values[i1, j, k1]) + b * (
        (1 - c) * values[i1, j1, k] + c * values[i1, j1, k1]
    )
    return (1 - a) * low + a * high


@row_function
def _velocity(u, v, w, x, y, z, around):
    return (
        _sample(u, x, y - 0.5, z - 0.5, around),
        _sample(v, x - 0.5, y, z - 0.5, around),
        _sample(w, x - 0.5, y - 0.5, z, around),
    )


@parallel_kernel
def trace_back(points, u, v, w, cells_per_speed, parts, around, walls, cells):
    """Move `points` (n, 3) back by one step in place: `parts` Runge-Kutta steps of order 4.

    cells_per_speed: dt / dx of a part; walls: per axis, points stay inside.
    """
    h = -cells_per_speed
    for n in prange(points.shape[0]):
        x, y, z = points[n, 0], points[n, 1], points[n, 2]
        for _ in range(parts):
            ua, va, wa = _velocity(u, v, w, x, y, z, around)
            ub, vb, wb = _velocity(u, v, w, x + 0.5 * h * ua, y + 0.5 * h * va, z + 0.5 * h * wa, around)
            uc, vc, wc = _velocity(u, v, w, x + 0.5 * h * ub, y + 0.5 * h * vb, z + 0.5 * h * wb, around)
            ud, vd, wd = _velocity(u, v, w, x + h * uc, y + h * vc, z + h * wc, around)
            x += h / 6.0 * (ua + 2.0 * (ub + uc) + ud)
            y += h / 6.0 * (va + 2.0 * (vb + vc) + vd)
            z += h / 6.0 * (wa + 2.0 * (wb + wc) + wd)
            if walls[0]:
                x = min(max(x, 0.0), float(cells[0]))
            if walls[1]:
                y = min(max(y, 0.0), float(cells[1]))
            if walls[2]:
                z = min(max(z, 0.0), float(cells[2]))
        points[n, 0], points[n, 1], points[n, 2] = x, y, z


@parallel_kernel
def read_centres(points, values, around, walls, out):
    """Centred values at points, linear; 0 beyond an open side."""
    for n in prange(points.shape[0]):
        x, y, z = points[n, 0], points[n, 1], points[n, 2]
        inside = (
            (walls[0] or around[0] or (x >= 0.0 and x <= values.shape[0]))
            and (walls[1] or around[1] or (y >= 0.0 and y <= values.shape[1]))
            and (walls[2] or around[2] or (z >= 0.0 and z <= values.shape[2]))
        )
        out[n] = _sample(values, x - 0.5, y - 0.5, z - 0.5, around) if inside else 0.0
