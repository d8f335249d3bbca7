"""Where a displaced point falls in a lattice, along one axis.

A point sits at lattice coordinate i + r: the index i of its own place and a displacement r in cells. Working
with r instead of the sum keeps float32 fractions accurate to 1e-7 of a cell on any grid.

A lattice axis has n values and a period: n where it is periodic, 0 where coordinates are clamped to
[0, n - 1]. On a periodic axis a displacement is clamped to one period.

Linear interpolation has kinks where the coordinate is an integer. There the derivative is the mean of the two
one-sided ones: `locate` gives the interval on the right, `locate_left` that on the left. A coordinate that was clamped
has derivative 0, hence half the inner one just at the clamp.
"""

import numpy as np

from keyfluid.kernels.compile import row_function


@row_function
def index(offset):
    """An offset as an index: unsigned, so that Numba does not look for negative ones, and seen by LLVM to be below
    2^31, so that it gathers with 32-bit indices."""
    return np.uint32(offset) & np.uint32(0x7FFFFFFF)


@row_function
def at(offset):
    """An offset along a row as an index: unsigned, so that LLVM sees the row to be contiguous."""
    return np.uint64(offset)


@row_function
def bounds(i, n, period, like):
    """Smallest and largest displacement that are not clamped, seen from index i; in the dtype of `like`."""
    real = like.dtype.type
    if period > 0:
        return real(-n), real(n)
    return real(-i), real(n - 1 - i)


@row_function
def wrap(left, n, period):
    """Index brought into [0, n) by at most one period."""
    left = np.int32(left + (period if left < 0 else np.int32(0)))
    return np.int32(left - (period if left >= n else np.int32(0)))


@row_function
def locate(r, i, low, high, n, period):
    """Index of the left neighbour, fraction from there to the right one."""
    x = min(max(r, low), high)
    whole = np.floor(x)
    return wrap(np.int32(i + np.int32(whole)), n, period), x - whole


@row_function
def locate_left(r, i, low, high, n, period):
    """As `locate`, but an integer coordinate is the right end (fraction 1) of the interval before it.

    Also whether there is a right neighbour: 0 where the first value of a clamped axis stands for all before it.
    """
    x = min(max(r, low), high)
    whole = np.floor(x)
    fraction = x - whole
    if fraction == 0:
        whole -= 1
        fraction = x - whole
    left = wrap(np.int32(i + np.int32(whole)), n, period)
    if left < 0:
        return np.int32(0), np.int32(0), fraction
    return left, np.int32(1), fraction


@row_function
def neighbour(i, n, period):
    """Index i brought into [0, n): wrapped or clamped."""
    if i < 0:
        return i + period if period > 0 else np.int32(0)
    if i >= n:
        return i - period if period > 0 else n - np.int32(1)
    return i
