"""Faces across one axis of a box, and the cells beside them.

Cells are seen as (outer, n, inner), n of them along the axis. Face f lies below cell f and above cell f - 1; a periodic
axis has n faces, any other one more. `free` faces are neither on a wall nor part of a body.
"""

from keyfluid.kernels.compile import row_function, serial_kernel
from keyfluid.kernels.lattice import at
from keyfluid.operators.kernels.neighbours import beside


@row_function
def faces_along(n, wraps):
    return n if wraps else n + 1


@row_function
def cells_beside(o, f, k, n, inner, wraps):
    """The cells below and above a face; -1 beyond the box."""
    above = (o * n + f) * inner + k
    below = above - inner
    if f == 0:
        below = below + n * inner if wraps else -1
    return below, above if f < n else -1


@serial_kernel
def wet_faces(wet, free, outer, n, inner, wraps, out):
    """Which faces have a wet cell beside them and are free."""
    count = faces_along(n, wraps)
    for o in range(outer):
        for f in range(count):
            for k in range(inner):
                face = (o * count + f) * inner + k
                below, above = cells_beside(o, f, k, n, inner, wraps)
                touched = (below >= 0 and wet[at(below)]) or (above >= 0 and wet[at(above)])
                out[at(face)] = touched and free[at(face)]


@serial_kernel
def rises(p, outer, n, inner, wraps, out):
    """The value above each face less the one below, zero beyond the box."""
    count = faces_along(n, wraps)
    for o in range(outer):
        for f in range(count):
            for k in range(inner):
                below, above = cells_beside(o, f, k, n, inner, wraps)
                high = p[at(above)] if above >= 0 else 0.0
                low = p[at(below)] if below >= 0 else 0.0
                out[at((o * count + f) * inner + k)] = high - low


@serial_kernel
def weigh_faces(wet, phi, faces, outer, n, inner, wraps, least, weight, links, shift, crossed, cells, slopes):
    """W of the wet faces (operators/project_liquid.py), 0 on others, and what it gives to the matrix: `links` from a
    cell to the next between wet cells, `shift` of a cell beside air. Faces that the surface crosses are listed in
    `crossed`, with the cells below and above in `cells` and W's derivatives by their phi in `slopes`. Returns how many.
    """
    count = faces_along(n, wraps)
    found = 0
    for o in range(outer):
        for f in range(count):
            for k in range(inner):
                face = (o * count + f) * inner + k
                below, above = cells_beside(o, f, k, n, inner, wraps)
                weight[at(face)] = 0.0
                if below >= 0:
                    links[at(below)] = 0.0
                if not faces[at(face)]:
                    continue
                if below >= 0 and above >= 0 and wet[at(below)] and wet[at(above)]:
                    weight[at(face)] = 1.0
                    links[at(below)] = 1.0
                    continue
                liquid, air = (below, above) if below >= 0 and wet[at(below)] else (above, below)
                w = 1.0
                if air >= 0:
                    inside, outside = phi[at(liquid)], max(phi[at(air)], 0.0)
                    w = 1.0 - outside / inside
                    by_inside, by_outside = 0.0, 0.0
                    if w < 1.0 / least:
                        by_inside = outside / (inside * inside)
                        by_outside = -1.0 / inside if outside > 0 else 0.0
                    w = min(w, 1.0 / least)
                    crossed[at(found)] = face
                    cells[0, found], cells[1, found] = below, above
                    slopes[0, found] = by_inside if liquid == below else by_outside
                    slopes[1, found] = by_outside if liquid == below else by_inside
                    found += 1
                weight[at(face)] = w
                shift[at(liquid)] += w
    return found


@serial_kernel
def held_neighbours(wet, held, body, rim, jump, span, number, shift, dragged):
    """For the laplacian of one component: shift = 1 + number times how many neighbours of a wet face are held
    (neighbours.py), dragged = number times the sum of their velocities `body`. Other faces count as having none."""
    for face in range(wet.size):
        count, total = 0.0, 0.0
        if wet[at(face)]:
            for side in range(6):
                m = beside(face, side, rim[at(face)], jump, span)
                if m >= 0 and held[at(m)]:
                    count += 1.0
                    total += body[at(m)]
        shift[at(face)] = 1.0 + number * count
        dragged[at(face)] = number * total
