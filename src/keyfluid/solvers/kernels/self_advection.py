"""Self-advection (curl v) x v with viscosity, its derivative and transpose, on many time steps at once.

Values are flat with the steps innermost: v[face, step]. Then sides of the box are settled once per row of faces and the
inner loop, over faces of a row and all steps, vectorises. All components of a row are done together, while their
neighbours are in the cache. A 2D grid is one layer of a 3D one (keyfluid/kernels/stencils.py).

On the edge e between the axes a and b, with e - a the place one cell below along a,

    w_ab(e) = v_b[e] - v_b[e - a] - v_a[e] + v_a[e - b]            vorticity, antisymmetric in a and b
    m_a(e)  = (v_a[e] + v_a[e - b]) / 2                            mean of the two faces beside the edge

    Adv_a[x] = sum over b and the edges e = x, x + b of   (s nu - m_b(e) / 2) w_ab(e),   s = -1, +1

The sum of v . Adv is zero without viscosity: each edge adds -w (m_a m_b - m_b m_a). On walls and open sides w = 0, a
free slip. The viscous part is nu curl w = -nu laplacian v for fields without divergence.
"""

from numba import prange

from keyfluid.boundary import PERIODIC_SIDE
from keyfluid.kernels.compile import parallel_kernel, row_function
from keyfluid.kernels.lattice import at


@row_function
def spot(starts, shapes, c, x0, x1, x2):
    """Offset of a face of component c, in faces."""
    return starts[c] + (x0 * shapes[c, 1] + x1) * shapes[c, 2] + x2


@row_function
def moved(starts, shapes, c, x0, x1, x2, a, i, b, j):
    """As `spot`, with coordinate a set to i and coordinate b set to j."""
    y0 = i if a == 0 else (j if b == 0 else x0)
    y1 = i if a == 1 else (j if b == 1 else x1)
    y2 = i if a == 2 else (j if b == 2 else x2)
    return spot(starts, shapes, c, y0, y1, y2)


@row_function
def run_of(part, count):
    """First face and number of faces of a part of a row: its first face, those between, its last."""
    if part == 0:
        return 0, 1
    if part == 1:
        return 1, count - 2
    return count - 1, 1


@row_function
def edge_beside(starts, shapes, cells, kinds, a, b, above, x0, x1, x2):
    """The four faces around an edge of face x of component a, and whether it lies inside the box.

    Gives v_a[e], v_a[e - b], v_b[e], v_b[e - a].
    """
    xa = x0 if a == 0 else (x1 if a == 1 else x2)
    xb = x0 if b == 0 else (x1 if b == 1 else x2)
    ea, eb = xa, xb + above
    na, nb = cells[a], cells[b]
    inside = (kinds[a] == PERIODIC_SIDE or (0 < ea < na)) and (kinds[b] == PERIODIC_SIDE or (0 < eb < nb))
    if eb == nb:
        eb = 0
    under_a = ea - 1 if ea > 0 else na - 1
    under_b = eb - 1 if eb > 0 else nb - 1
    a0 = moved(starts, shapes, a, x0, x1, x2, a, ea, b, eb)
    a1 = moved(starts, shapes, a, x0, x1, x2, a, ea, b, under_b)
    b0 = moved(starts, shapes, b, x0, x1, x2, a, ea, b, eb)
    b1 = moved(starts, shapes, b, x0, x1, x2, a, under_a, b, eb)
    return inside, a0, a1, b0, b1


@row_function
def tangent_row(v, d, out, steps, count, o, a0, a1, b0, b1, quarter, slip):
    """One edge's share of a run of faces."""
    o, a0, a1, b0, b1 = o * steps, a0 * steps, a1 * steps, b0 * steps, b1 * steps
    for k in range(count * steps):
        w = v[at(b0 + k)] - v[at(b1 + k)] - v[at(a0 + k)] + v[at(a1 + k)]
        d_w = d[at(b0 + k)] - d[at(b1 + k)] - d[at(a0 + k)] + d[at(a1 + k)]
        m = v[at(b0 + k)] + v[at(b1 + k)]
        d_m = d[at(b0 + k)] + d[at(b1 + k)]
        out[at(o + k)] += slip * d_w - quarter * (d_w * m + w * d_m)


@row_function
def transpose_row(v, g, out, steps, count, o, a0, a1, b0, b1, quarter, signed, slip):
    """One edge's share of the transpose for a run of faces."""
    o, a0, a1, b0, b1 = o * steps, a0 * steps, a1 * steps, b0 * steps, b1 * steps
    for k in range(count * steps):
        w = v[at(b0 + k)] - v[at(b1 + k)] - v[at(a0 + k)] + v[at(a1 + k)]
        m_a = v[at(a0 + k)] + v[at(a1 + k)]
        m_b = v[at(b0 + k)] + v[at(b1 + k)]
        g_a = g[at(a0 + k)] + g[at(a1 + k)]
        g_b = g[at(b0 + k)] + g[at(b1 + k)]
        g_w = g[at(b0 + k)] - g[at(b1 + k)] - g[at(a0 + k)] + g[at(a1 + k)]
        out[at(o + k)] += slip * g_w + quarter * w * g_b - signed * (g_a * m_b - g_b * m_a)


@row_function
def max_rows(shapes, axes, b):
    """Most faces along axis b of any component."""
    return max(max(shapes[1, b], shapes[2, b]), shapes[0, b] if axes == 3 else 0)


@parallel_kernel
def advect_self_tangent(v, d, out, steps, starts, shapes, cells, kinds, axes, quarter, viscosity):
    """Add the derivative of (curl v) x v along d, times 4 quarter, and viscosity times curl curl d to out."""
    rows = max_rows(shapes, axes, 1)
    for row in prange(max_rows(shapes, axes, 0) * rows):
        x0 = row // rows
        x1 = row - x0 * rows
        for a in range(3 - axes, 3):
            if x0 >= shapes[a, 0] or x1 >= shapes[a, 1]:
                continue
            for part in range(3):
                x2, count = run_of(part, shapes[a, 2])
                o = spot(starts, shapes, a, x0, x1, x2)
                for b in range(3 - axes, 3):
                    if b == a:
                        continue
                    for above in range(2):
                        inside, a0, a1, b0, b1 = edge_beside(starts, shapes, cells, kinds, a, b, above, x0, x1, x2)
                        if inside:
                            slip = viscosity if above == 1 else -viscosity
                            tangent_row(v, d, out, steps, count, o, a0, a1, b0, b1, quarter, slip)


@parallel_kernel
def advect_self_transpose(v, g, out, steps, starts, shapes, cells, kinds, axes, quarter, viscosity):
    """Add the transpose of `advect_self_tangent` applied to g to out."""
    rows = max_rows(shapes, axes, 1)
    for row in prange(max_rows(shapes, axes, 0) * rows):
        x0 = row // rows
        x1 = row - x0 * rows
        for a in range(3 - axes, 3):
            if x0 >= shapes[a, 0] or x1 >= shapes[a, 1]:
                continue
            for part in range(3):
                x2, count = run_of(part, shapes[a, 2])
                o = spot(starts, shapes, a, x0, x1, x2)
                for b in range(3 - axes, 3):
                    if b == a:
                        continue
                    for above in range(2):
                        inside, a0, a1, b0, b1 = edge_beside(starts, shapes, cells, kinds, a, b, above, x0, x1, x2)
                        if inside:
                            signed = quarter if above == 1 else -quarter
                            slip = viscosity if above == 1 else -viscosity
                            transpose_row(v, g, out, steps, count, o, a0, a1, b0, b1, quarter, signed, slip)
