"""Random numbers by counting: a number is a function of its key and its place, so no order of work changes it.

    bits(key, n) = finalise(key + n GOLDEN)       SplitMix64 [Steele, Lea, Flood 2014, figure 15]

A key stands for (seed, stream, step), see controllers/particles/streams.py; n counts particles and draws.
Numba turns a mixed uint64 and int64 into float64: everything here is uint64.
"""

from __future__ import annotations

import numpy as np

from keyfluid.kernels.compile import row_function

GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_MIX_1, _MIX_2 = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_S30, _S27, _S31, _S32, _S40 = np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(32), np.uint64(40)
_LOW = np.uint64(0xFFFFFFFF)
_STEP = np.float32(2.0**-24)


@row_function
def bits(key, n):
    """64 random bits; key and n are uint64."""
    z = key + n * GOLDEN
    z = (z ^ (z >> _S30)) * _MIX_1
    z = (z ^ (z >> _S27)) * _MIX_2
    return z ^ (z >> _S31)


@row_function
def unit(key, n):
    """A float32 in [0, 1), a multiple of 2^-24."""
    return np.float32(bits(key, n) >> _S40) * _STEP


@row_function
def below(word, count):
    """One of 0 .. count - 1 from the low 32 bits of `word`: multiply and shift, no division."""
    return ((word & _LOW) * count) >> _S32


@row_function
def below_high(word, count):
    """As `below`, from the high 32 bits: one word gives two independent choices."""
    return ((word >> _S32) * count) >> _S32
