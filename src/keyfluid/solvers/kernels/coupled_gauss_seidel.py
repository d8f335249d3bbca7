"""Symmetric coupled Gauss-Seidel over all steps of a cell [Vanka 1983; Pan & Manocha 2017, section 4.3].

A cell's unknowns are v and u on its 2d faces and p, pbar in its centre, at every step. With c = 1/h, g the gradient of
the centre's pressure on its own faces (c below, -c above, 0 on walls) and B_k = 1 + the derivative of the faces'
self-advection by the faces' velocities, their corrections solve

    (a)  kappa dv_k + B_k^T du_k - du_{k+1} + g dpbar_k = ra_k        (b)  -g.dv_k = rb_k
    (c)  B_k dv_k - dv_{k-1} - du_k + g dp_k = rc_k                   (d)  -g.du_k = rd_k

where r is what is left of the equations (u_k leads to v_k: flow.py keeps it beside it). The paper solves this as a
block tridiagonal system of 10 (14 in 3D) unknowns per step. It is the same to write dv = Z y - g rb / g.g and du
likewise, with an orthonormal basis Z of the flows through the cell without divergence, and to eliminate du:

    (kappa + 1 + Bz_k^T Bz_k) y_k - Bz_k^T y_{k-1} - Bz_{k+1} y_{k+1} = ...,       Bz = Z^T B Z,

symmetric positive definite, 3 (5 in 3D) unknowns per step; the pressures follow from what is left along g. The `1` is
missing in the last step, and the product in step 0, which has no force before it and is skipped where v_0 is fixed.

Residuals and B come edge by edge with the steps innermost (self_advection.py): a cell's faces touch the cell's own
edges only. Cells of one colour share no unknown and read none that another writes: any order gives the same bits.
"""

from numba import prange

from keyfluid.boundary import PERIODIC_SIDE
from keyfluid.kernels.compile import parallel_kernel, row_function
from keyfluid.kernels.lattice import at
from keyfluid.solvers.kernels.self_advection import spot


@row_function
def cell_index(cells, x0, x1, x2):
    return (x0 * cells[1] + x1) * cells[2] + x2


@row_function
def with_axis(x0, x1, x2, a, i):
    """x with coordinate a set to i."""
    return (i if a == 0 else x0), (i if a == 1 else x1), (i if a == 2 else x2)


@row_function
def gather_edges(v, u, steps, starts, shapes, cells, kinds, axes, x0, x1, x2, scale, viscosity, half, work, m, t, n):
    """Self-advection of the cell's faces to work[n ...], its transpose applied to u to work[t ...], the local
    derivative to work[m ...]; all of them zero before."""
    lead, sides = 3 - axes, 2 * axes
    for a in range(lead, 3):
        for b in range(a + 1, 3):
            xa = x0 if a == 0 else x1
            xb = x1 if b == 1 else x2
            na, nb = cells[a], cells[b]
            for side in range(4):
                up_a, up_b = side // 2, side % 2
                ea, eb = xa + up_a, xb + up_b
                if kinds[a] != PERIODIC_SIDE and (ea == 0 or ea == na):
                    continue
                if kinds[b] != PERIODIC_SIDE and (eb == 0 or eb == nb):
                    continue
                ea, eb = (0 if ea == na else ea), (0 if eb == nb else eb)
                under_a = ea - 1 if ea > 0 else na - 1
                under_b = eb - 1 if eb > 0 else nb - 1
                y0, y1, y2 = with_axis(x0, x1, x2, a, ea)
                z0, z1, z2 = with_axis(y0, y1, y2, b, eb)
                a0 = spot(starts, shapes, a, z0, z1, z2) * steps
                b0 = spot(starts, shapes, b, z0, z1, z2) * steps
                w0, w1, w2 = with_axis(y0, y1, y2, b, under_b)
                a1 = spot(starts, shapes, a, w0, w1, w2) * steps
                q0, q1, q2 = with_axis(z0, z1, z2, a, under_a)
                b1 = spot(starts, shapes, b, q0, q1, q2) * steps
                fa, fb = 2 * (a - lead) + up_a, 2 * (b - lead) + up_b
                # Sign of the face's own velocity in the vorticity: + for component a, - for component b.
                sign_a = half + half if up_b == 1 else -half - half
                sign_b = half + half if up_a == 1 else -half - half
                aa, ab = m + (fa * sides + fa) * steps, m + (fa * sides + fb) * steps
                ba, bb = m + (fb * sides + fa) * steps, m + (fb * sides + fb) * steps
                ta, tb, oa, ob = t + fa * steps, t + fb * steps, n + fa * steps, n + fb * steps
                slip_a, slip_b = viscosity * sign_a, viscosity * sign_b
                for k in range(steps):
                    w = v[at(b0 + k)] - v[at(b1 + k)] - v[at(a0 + k)] + v[at(a1 + k)]
                    mean_a = half * (v[at(a0 + k)] + v[at(a1 + k)])
                    mean_b = half * (v[at(b0 + k)] + v[at(b1 + k)])
                    by_a = slip_a - half * scale * mean_b
                    by_b = half * scale * mean_a - slip_b
                    work[at(oa + k)] += by_a * w
                    work[at(ob + k)] += by_b * w
                    turn = half * half * scale * w
                    work[at(aa + k)] += by_a * sign_a
                    work[at(ab + k)] += -by_a * sign_b - turn
                    work[at(bb + k)] += -by_b * sign_b
                    work[at(ba + k)] += by_b * sign_a + turn
                    u_w = u[at(b0 + k)] - u[at(b1 + k)] - u[at(a0 + k)] + u[at(a1 + k)]
                    u_a = half * (u[at(a0 + k)] + u[at(a1 + k)])
                    u_b = half * (u[at(b0 + k)] + u[at(b1 + k)])
                    torque = scale * (u_a * mean_b - u_b * mean_a)
                    work[at(ta + k)] += half * scale * w * u_b - sign_a * torque + slip_a * u_w
                    work[at(tb + k)] += sign_b * torque - half * scale * w * u_a - slip_b * u_w


@row_function
def gather_residuals(v, u, p, pbar, ra, rc, rb, rd, steps, starts, shapes, cells, kinds, axes, x0, x1, x2, scale,
                     kappa, work, left_a, left_c, left_b, left_d, t, n, faces, push, f0):  # fmt: skip
    """What is left of the four equations at the cell, over t and n of `gather_edges`; gives the mask of free faces."""
    lead, mask = 3 - axes, 0
    here = cell_index(cells, x0, x1, x2) * steps
    zero = scale - scale
    for k in range(steps):
        work[at(left_b + k)] = rb[at(here + k)]
        work[at(left_d + k)] = rd[at(here + k)]
    for a in range(lead, 3):
        xa = x0 if a == 0 else (x1 if a == 1 else x2)
        na = cells[a]
        for up in range(2):
            f = 2 * (a - lead) + up
            plane = xa + up
            wall = kinds[a] != PERIODIC_SIDE and (plane == 0 or plane == na)
            y0, y1, y2 = with_axis(x0, x1, x2, a, 0 if kinds[a] == PERIODIC_SIDE and plane == na else plane)
            face = spot(starts, shapes, a, y0, y1, y2) * steps
            faces[f0 + f] = face
            push[f0 + f] = zero if wall else (-scale if up == 1 else scale)
            la, lc, tf, nf = left_a + f * steps, left_c + f * steps, t + f * steps, n + f * steps
            if wall:
                for k in range(steps):
                    work[at(la + k)] = zero
                    work[at(lc + k)] = zero
                continue
            mask += 1 << f
            beyond = (0 if xa == na - 1 else xa + 1) if up == 1 else (na - 1 if xa == 0 else xa - 1)
            z0, z1, z2 = with_axis(x0, x1, x2, a, beyond)
            there = cell_index(cells, z0, z1, z2) * steps
            g = push[f0 + f]
            for k in range(steps):
                slope_b = g * (pbar[at(here + k)] - pbar[at(there + k)])
                slope = g * (p[at(here + k)] - p[at(there + k)])
                vk, uk = v[at(face + k)], u[at(face + k)]
                work[at(la + k)] = ra[at(face + k)] - kappa * vk - uk - work[at(tf + k)] - slope_b
                work[at(lc + k)] = rc[at(face + k)] - vk - work[at(nf + k)] + uk - slope
                work[at(left_b + k)] += g * vk
                work[at(left_d + k)] += g * uk
            for k in range(1, steps):
                work[at(la + k - 1)] += u[at(face + k)]
                work[at(lc + k)] += v[at(face + k - 1)]
    return mask


@row_function
def invert_spd(work, s, size, tiny):
    """work[at(s ...)] (size x size, row by row) replaced by its inverse: Gauss-Jordan without pivots."""
    for i in range(size):
        pivot = tiny / work[at(s + i * size + i)]
        work[at(s + i * size + i)] = tiny
        for j in range(size):
            work[at(s + i * size + j)] *= pivot
        for r in range(size):
            if r != i:
                factor = work[at(s + r * size + i)]
                work[at(s + r * size + i)] = tiny - tiny
                for j in range(size):
                    work[at(s + r * size + j)] -= factor * work[at(s + i * size + j)]


@row_function
def solve_cell(steps, first, sides, mask, bases, kappa, one, work, m, left_a, left_c, left_b, left_d, bz, sinv, q, s, y,
               push, f0):  # fmt: skip
    """Corrections dv, du in place of left_a, left_c; dpbar, dp in place of left_b, left_d."""
    zero, size = one - one, sides - 1
    z = mask * sides * size
    gg = zero
    for f in range(sides):
        gg += push[at(f0 + f)] * push[at(f0 + f)]
    for k in range(first, steps):
        along_v, along_u = -work[at(left_b + k)] / gg, -work[at(left_d + k)] / gg
        # B = 1 + local derivative, once here.
        for f in range(sides):
            work[at(m + (f * sides + f) * steps + k)] += one
        for i in range(size):
            for j in range(size):
                total = zero
                if k > 0:
                    for f in range(sides):
                        inner = zero
                        for h in range(sides):
                            inner += work[at(m + (f * sides + h) * steps + k)] * bases[at(z + h * size + j)]
                        total += bases[at(z + f * size + i)] * inner
                work[at(bz + (k * size + i) * size + j)] = total
        # s_k = Z^T (B dv - rc) with dv along g; the right side begins with Z^T (ra - B^T du).
        for i in range(size):
            total, right = zero, zero
            for f in range(sides):
                moved, turned = zero, zero
                if k > 0:
                    for h in range(sides):
                        moved += work[at(m + (f * sides + h) * steps + k)] * push[at(f0 + h)]
                        turned += work[at(m + (h * sides + f) * steps + k)] * push[at(f0 + h)]
                share = bases[at(z + f * size + i)]
                if k > 0:
                    total += share * (moved * along_v - work[at(left_c + f * steps + k)])
                right += share * (work[at(left_a + f * steps + k)] - turned * along_u)
            work[at(s + k * size + i)] = total
            work[at(q + k * size + i)] = right
    for k in range(first, steps):
        block, before = sinv + k * size * size, sinv + (k - 1) * size * size
        here = bz + k * size * size
        for i in range(size):
            right = work[at(q + k * size + i)]
            if k + 1 < steps:
                right += work[at(s + (k + 1) * size + i)]
            for j in range(size):
                right -= work[at(here + j * size + i)] * work[at(s + k * size + j)]
                if k > first:
                    carried = zero
                    for h in range(size):
                        carried += work[at(before + j * size + h)] * work[at(q + (k - 1) * size + h)]
                    right += work[at(here + j * size + i)] * carried
            work[at(q + k * size + i)] = right
        for i in range(size):
            for j in range(size):
                total = zero
                for f in range(size):
                    inner = work[at(here + f * size + j)]
                    if k > first:
                        for h in range(size):
                            inner -= work[at(before + f * size + h)] * work[at(here + h * size + j)]
                    total += work[at(here + f * size + i)] * inner
                if i == j:
                    total += kappa + (one if k + 1 < steps else zero)
                work[at(block + i * size + j)] = total
        invert_spd(work, block, size, one)
    for n in range(steps - first):
        k = steps - 1 - n
        block = sinv + k * size * size
        for i in range(size):
            total = zero
            for j in range(size):
                right = work[at(q + k * size + j)]
                if k + 1 < steps:
                    for h in range(size):
                        right += work[at(bz + ((k + 1) * size + j) * size + h)] * work[at(y + (k + 1) * size + h)]
                total += work[at(block + i * size + j)] * right
            work[at(y + k * size + i)] = total
    unfold(steps, first, sides, z, bases, kappa, one, gg, work, m, left_a, left_c, left_b, left_d, bz, s, y, push, f0)


@row_function
def unfold(steps, first, sides, z, bases, kappa, one, gg, work, m, left_a, left_c, left_b, left_d, bz, s, y, push, f0):
    """From y back to faces and pressures; from the last step to the first, so that nothing is overwritten early."""
    zero, size = one - one, sides - 1
    for n in range(steps - first):
        k = steps - 1 - n
        along_v, along_u = -work[at(left_b + k)] / gg, -work[at(left_d + k)] / gg
        # x_k = Bz y_k - y_{k-1} + s_k takes the place of s.
        for i in range(size):
            x = work[at(s + k * size + i)]
            for j in range(size):
                x += work[at(bz + (k * size + i) * size + j)] * work[at(y + k * size + j)]
            if k > first:
                x -= work[at(y + (k - 1) * size + i)]
            work[at(s + k * size + i)] = x if k > 0 else zero
        pressure, pressure_b = zero, zero
        for f in range(sides):
            pressure += push[at(f0 + f)] * work[at(left_c + f * steps + k)]
            pressure_b += push[at(f0 + f)] * work[at(left_a + f * steps + k)]
        for f in range(sides):
            dv, du = push[at(f0 + f)] * along_v, (push[at(f0 + f)] * along_u if k > 0 else zero)
            for i in range(size):
                dv += bases[at(z + f * size + i)] * work[at(y + k * size + i)]
                du += bases[at(z + f * size + i)] * work[at(s + k * size + i)]
            work[at(left_a + f * steps + k)] = dv
            work[at(left_c + f * steps + k)] = du
        for f in range(sides):
            dv, du = work[at(left_a + f * steps + k)], work[at(left_c + f * steps + k)]
            pressure_b -= push[at(f0 + f)] * kappa * dv
            pressure += push[at(f0 + f)] * du
            if k > 0:
                for h in range(sides):
                    entry = work[at(m + (f * sides + h) * steps + k)]
                    pressure -= push[at(f0 + f)] * entry * work[at(left_a + h * steps + k)]
                    pressure_b -= push[at(f0 + h)] * entry * du
            if k + 1 < steps:
                pressure_b += push[at(f0 + f)] * work[at(left_c + f * steps + k + 1)]
        work[at(left_b + k)] = pressure_b / gg
        # g.dv_{k-1} is known from (b) of that step: -rb.
        if k > first:
            pressure -= work[at(left_b + k - 1)]
        work[at(left_d + k)] = pressure / gg if k > 0 else zero


@row_function
def smooth_cell(cell, v, u, p, pbar, ra, rc, rb, rd, steps, starts, shapes, cells, kinds, axes, scale, viscosity, kappa,
                first, damping, half, bases, work, m, faces, push, f0):  # fmt: skip
    """Solve one cell's system and add the corrections. `axes` is a literal, so that the small loops unroll."""
    sides = 2 * axes
    size = sides - 1
    left_a = m + sides * sides * steps
    left_c = left_a + sides * steps
    left_b = left_c + sides * steps
    left_d = left_b + steps
    t = left_d + steps
    n = t + sides * steps
    bz = n + sides * steps
    sinv = bz + size * size * steps
    q = sinv + size * size * steps
    s = q + size * steps
    y = s + size * steps
    x0 = cell // (cells[1] * cells[2])
    x1 = cell // cells[2] - x0 * cells[1]
    x2 = cell % cells[2]
    for k in range(m, left_a):
        work[at(k)] = half - half
    for k in range(t, bz):
        work[at(k)] = half - half
    gather_edges(v, u, steps, starts, shapes, cells, kinds, axes, x0, x1, x2, scale, viscosity, half, work, m, t, n)
    mask = gather_residuals(
        v, u, p, pbar, ra, rc, rb, rd, steps, starts, shapes, cells, kinds, axes, x0, x1, x2, scale, kappa, work,
        left_a, left_c, left_b, left_d, t, n, faces, push, f0,
    )  # fmt: skip
    solve_cell(steps, first, sides, mask, bases, kappa, half + half, work, m, left_a, left_c, left_b, left_d, bz, sinv,
               q, s, y, push, f0)  # fmt: skip
    for f in range(sides):
        face = faces[at(f0 + f)]
        for k in range(first, steps):
            v[at(face + k)] += damping * work[at(left_a + f * steps + k)]
            u[at(face + k)] += damping * work[at(left_c + f * steps + k)]
    here = cell * steps
    for k in range(first, steps):
        pbar[at(here + k)] += damping * work[at(left_b + k)]
        p[at(here + k)] += damping * work[at(left_d + k)]


@parallel_kernel
def smooth2(v, u, p, pbar, ra, rc, rb, rd, steps, starts, shapes, cells, kinds, scale, viscosity, kappa, first, damping,
            half, bases, colours, firsts, work, faces, push, slabs):  # fmt: skip
    """One sweep in 2D: all cells, colour by colour. colours lists the cells, firsts where each colour begins."""
    for colour in range(firsts.size - 1):
        begin, end = firsts[colour], firsts[colour + 1]
        for slab in prange(slabs):
            m = slab * (work.size // slabs)
            for index in range(begin + slab * (end - begin) // slabs, begin + (slab + 1) * (end - begin) // slabs):
                smooth_cell(colours[index], v, u, p, pbar, ra, rc, rb, rd, steps, starts, shapes, cells, kinds, 2,
                            scale, viscosity, kappa, first, damping, half, bases, work, m, faces, push,
                            slab * 4)  # fmt: skip


@parallel_kernel
def smooth3(v, u, p, pbar, ra, rc, rb, rd, steps, starts, shapes, cells, kinds, scale, viscosity, kappa, first, damping,
            half, bases, colours, firsts, work, faces, push, slabs):  # fmt: skip
    """One sweep in 3D: all cells, colour by colour. colours lists the cells, firsts where each colour begins."""
    for colour in range(firsts.size - 1):
        begin, end = firsts[colour], firsts[colour + 1]
        for slab in prange(slabs):
            m = slab * (work.size // slabs)
            for index in range(begin + slab * (end - begin) // slabs, begin + (slab + 1) * (end - begin) // slabs):
                smooth_cell(colours[index], v, u, p, pbar, ra, rc, rb, rd, steps, starts, shapes, cells, kinds, 3,
                            scale, viscosity, kappa, first, damping, half, bases, work, m, faces, push,
                            slab * 6)  # fmt: skip
