"""Where a displaced point falls in a lattice, along one axis.

A point sits at lattice coordinate i + r: the index i of its own place and a displacement r in cells. Working
with r instead of the sum keeps float32 fractions accurate to 1e-7 of a cell on any grid.

A lattice axis has n values and a period: n where it is periodic, 0 where coordinates are clamped to
[0, n - 1]. On a periodic axis a displacement is clamped to one period.

Linear interpolation has kinks where the coordinate is an integer. There the derivative is the mean of the two
one-sided ones: `locate` gives the right-hand interval, or `from_left` the left-hand one. A coordinate that was
clamped has derivative 0, hence half the inner one just at the clamp.
"""

import numpy as np

from .compile import row_function


@row_function
def bounds(i, n, period, like):
    """Smallest and largest displacement that are not clamped, seen from index i; in the dtype of `like`."""
    real = like.dtype.type
    if period > 0:
        return real(-n), real(n)
    return real(-i), real(n - 1 - i)


@row_function
def step_right(left, n, period, stride):
    """Offset from value `left` to its right neighbour; 0 at a clamped end."""
    if left < n - 1:
        return stride
    return stride * (np.int32(1) - n) if period > 0 else np.int32(0)


@row_function
def locate(r, i, low, high, n, period, stride, from_left):
    """Offset of the left neighbour, step to the right one, fraction between them, clamped displacement.

    An integer coordinate is the left end (fraction 0) of the interval after it, or, `from_left`, the right
    end (fraction 1) of the interval before it.
    """
    x = min(max(r, low), high)
    whole = np.floor(x)
    fraction = x - whole
    left = np.int32(i) + np.int32(whole)
    outside = False
    if from_left and fraction == 0:
        left -= np.int32(1)
        fraction += 1
        outside = left < 0 and period == 0
    if left < 0:
        left += period
    if left >= n:
        left -= period
    step = step_right(left, n, period, stride)
    if outside:
        left = np.int32(0)
        step = np.int32(0)
    return left * stride, step, fraction, x


@row_function
def neighbour(i, n, period):
    """Index i brought into [0, n): wrapped or clamped."""
    if i < 0:
        return i + period if period > 0 else np.int32(0)
    if i >= n:
        return i - period if period > 0 else n - np.int32(1)
    return i
