"""Random numbers of the method: keys for keyfluid/kernels/counted_random.py, and the same numbers for whole arrays.

A key is made of the scene's seed, what the numbers are for, and the step they belong to; the number itself of its
place (particle and draw). So a run that is resumed, or split over threads, draws the same.
"""

from __future__ import annotations

from enum import IntEnum

import numpy as np

from keyfluid.kernels.counted_random import GOLDEN

_MASK = (1 << 64) - 1


class Stream(IntEnum):
    """What random numbers are for."""

    MARKERS = 1
    CONTROL = 2
    STRATA = 3
    THIN = 4
    FILL = 5
    MATCH = 6
    SWAP = 7
    SPAWN = 8
    CHOOSE = 9
    PLACE = 10
    EMIT = 11
    SHADOW = 12


def key(seed: int, stream: Stream, step: int, part: int = 0) -> np.uint64:
    """The key of a stream at a step; `part` tells fields or targets apart."""
    word = _finalise(seed + int(GOLDEN))
    for value in (int(stream), step, part):
        word = _finalise((word ^ value) + int(GOLDEN))
    return np.uint64(word)


def uniform(key: np.uint64, first: int, count: int) -> np.ndarray:
    """float64 in [0, 1): what `unit` of the kernels gives at places first, first + 1, ..."""
    with np.errstate(over="ignore"):
        z = key + np.arange(first, first + count, dtype=np.uint64) * GOLDEN
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z ^= z >> np.uint64(31)
    return (z >> np.uint64(40)).astype(np.float64) * 2.0**-24


def shuffled(key: np.uint64, count: int) -> np.ndarray:
    """A random order of 0 .. count - 1."""
    return np.argsort(uniform(key, 0, count), kind="stable")


def _finalise(z: int) -> int:
    z &= _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)
