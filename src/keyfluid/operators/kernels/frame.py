"""A lattice with one more plane after the last of each axis, so that every value has a right neighbour in memory.

On a periodic axis the plane repeats the first one, else the last one. `rims[axis]` planes of zeros may surround
an axis: what is carried in from beyond an open side. 2D is a single layer of 3D, its middle axis without a frame.

`shapes[c]` and `frames[c]` are the three sizes of component c without and with its frame; components follow each
other in the flat arrays.
"""

from numba import prange

from keyfluid.kernels.compile import parallel_kernel, row_function
from keyfluid.kernels.lattice import at


@row_function
def _source(i, n, rim, period):
    """Index of the value that plane i of a framed axis repeats; -1 for a plane of zeros."""
    x = i - rim
    if 0 <= x < n:
        return x
    if rim > 0:
        return -1
    return 0 if period > 0 else n - 1


@row_function
def _repeat(x, n, framed, rim, period):
    """The plane beside its own that repeats value x; -1 if there is none."""
    if rim > 0 or framed == n or x != (0 if period > 0 else n - 1):
        return -1
    return n


@parallel_kernel
def frame(a, shapes, frames, rims, periods, out, slabs):
    """out = a with its frame."""
    for slab in prange(slabs):
        start, begin = 0, 0
        for c in range(shapes.shape[0]):
            n0, n1, n2 = shapes[c, 0], shapes[c, 1], shapes[c, 2]
            f0, f1, f2 = frames[c, 0], frames[c, 1], frames[c, 2]
            rim, end = rims[2], _source(f2 - 1, n2, rims[2], periods[2])
            for i in range(slab * f0 // slabs, (slab + 1) * f0 // slabs):
                x = _source(i, n0, rims[0], periods[0])
                for j in range(f1):
                    y = _source(j, n1, rims[1], periods[1])
                    o = begin + (i * f1 + j) * f2
                    if x < 0 or y < 0:
                        for k in range(f2):
                            out[at(o + k)] = 0
                    else:
                        row = start + (x * n1 + y) * n2
                        for k in range(rim):
                            out[at(o + k)] = 0
                            out[at(o + rim + n2 + k)] = 0
                        for k in range(n2):
                            out[at(o + rim + k)] = a[at(row + k)]
                        out[at(o + f2 - 1)] = a[at(row + end)] if end >= 0 else 0
            start += n0 * n1 * n2
            begin += f0 * f1 * f2


@parallel_kernel
def fold(framed, shapes, frames, rims, periods, out, slabs):
    """Transpose of `frame`: out = the sums of all values that repeat one."""
    for slab in prange(slabs):
        start, begin = 0, 0
        for c in range(shapes.shape[0]):
            n0, n1, n2 = shapes[c, 0], shapes[c, 1], shapes[c, 2]
            f0, f1, f2 = frames[c, 0], frames[c, 1], frames[c, 2]
            for i in range(slab * n0 // slabs, (slab + 1) * n0 // slabs):
                other_i = _repeat(i, n0, f0, rims[0], periods[0])
                for j in range(n1):
                    other_j = _repeat(j, n1, f1, rims[1], periods[1])
                    o = start + (i * n1 + j) * n2
                    for k in range(n2):
                        out[at(o + k)] = 0
                    for copy in range(4):
                        x = i + rims[0] if copy < 2 else other_i
                        y = j + rims[1] if copy % 2 == 0 else other_j
                        if x >= 0 and y >= 0:
                            row = begin + (x * f1 + y) * f2
                            for k in range(n2):
                                out[at(o + k)] += framed[at(row + rims[2] + k)]
                            if rims[2] == 0:
                                end = 0 if periods[2] > 0 else n2 - 1
                                out[at(o + end)] += framed[at(row + n2)]
            start += n0 * n1 * n2
            begin += f0 * f1 * f2
