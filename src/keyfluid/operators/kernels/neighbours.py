"""Neighbours of the cells of a box, by their number in memory.

A cell has six sides, low and high along each axis: side 2 a and 2 a + 1. To the neighbour there it is `jump[side]` on
in memory; only for cells at the box's own side, which have that bit of `rim` set, it is `span[side]`, across the seam
of a periodic axis, or there is none (span 0). So a walk from cell to cell needs neither coordinates nor divisions.
2D is one layer of 3D.
"""

from keyfluid.kernels.compile import row_function, serial_kernel
from keyfluid.kernels.lattice import at


@row_function
def beside(cell, side, edge, jump, span):
    """The neighbour on a side of a cell whose `rim` is `edge`; -1 if there is none."""
    if (edge >> side) & 1:
        return cell + span[at(side)] if span[at(side)] != 0 else -1
    return cell + jump[at(side)]


@serial_kernel
def mark_rim(shape, rim):
    """The bits of the sides that each cell touches."""
    n0, n1, n2 = shape
    for i in range(n0):
        for j in range(n1):
            row = (i == 0) | (i == n0 - 1) << 1 | (j == 0) << 2 | (j == n1 - 1) << 3
            for k in range(n2):
                rim[i, j, k] = row | (k == 0) << 4 | (k == n2 - 1) << 5
