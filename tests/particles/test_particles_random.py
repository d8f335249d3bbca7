"""Random numbers by counting: the same for kernels and arrays, apart for every stream, even over [0, 1)."""

from __future__ import annotations

import numba
import numpy as np

from keyfluid.controllers.particles.streams import Stream, key, shuffled, uniform
from keyfluid.kernels.counted_random import bits, unit


@numba.njit
def drawn(word, first, count):
    return [unit(word, np.uint64(first + i)) for i in range(count)], bits(word, np.uint64(first))


def test_kernel_and_array_agree():
    word = key(7, Stream.SWAP, 12, 3)
    assert np.array_equal(np.array(drawn(word, 90, 50)[0], np.float64), uniform(word, 90, 50))


def test_known_value_of_splitmix():
    """SplitMix64 with seed 0 gives 0xE220A8397B1DCDAF first."""
    assert int(drawn(np.uint64(0), 1, 1)[1]) == 0xE220A8397B1DCDAF


def test_streams_steps_and_parts_differ():
    words = {int(key(s, stream, step, part)) for s in (0, 1) for stream in Stream for step in (0, 1) for part in (0, 1)}
    assert len(words) == 2 * len(Stream) * 4


def test_even_and_independent():
    values = uniform(key(1, Stream.MARKERS, 0), 0, 40000).reshape(2, -1)
    counts = np.bincount((values[0] * 20).astype(int), minlength=20)
    assert np.all(np.abs(counts - 1000) < 5 * np.sqrt(1000))
    assert abs(np.corrcoef(values)[0, 1]) < 0.03
    assert sorted(shuffled(key(1, Stream.MATCH, 0), 100)) == list(range(100))
