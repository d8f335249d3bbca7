"""The long waves of a solved run's air over time.

The run's smoke was moved by velocities that each lasted a step. Their waves are taken to be those in the middle of the
step, and between two middles they are interpolated linearly, so that a film with more steps sees no jumps.
"""

from __future__ import annotations

from bisect import bisect_right
from itertools import accumulate

import numpy as np

from keyfluid.controllers.method import OtherRun
from keyfluid.errors import SceneError
from keyfluid.operators.long_waves import Coefficients, LongWaves


class SolvedAir:
    """`last`: the last frame that has velocities."""

    def __init__(self, other: OtherRun, waves: LongWaves, last: int) -> None:
        self._other, self._waves, self._fps = other, waves, other.problem.fps
        self._middles: list[float] = []
        self._places: list[tuple[int, int]] = []
        self._found: dict[tuple[int, int], Coefficients] = {}
        for frame in range(1, last + 1):
            seconds = [length for length, _ in other.record(frame).carriers]
            if not seconds:
                raise SceneError("control.run", f"{other.folder} kept no velocities of its steps before frame {frame}")
            begins = [0.0, *accumulate(seconds)]
            scale = 1.0 / (self._fps * begins[-1])
            for i, length in enumerate(seconds):
                self._middles.append((frame - 1) / self._fps + scale * (begins[i] + 0.5 * length))
                self._places.append((frame, i))

    def at(self, time: float) -> Coefficients:
        """Weighted coefficients at a time in seconds; before the first middle and after the last they stay."""
        after = bisect_right(self._middles, time)
        if after == 0 or after == len(self._middles):
            return self._waves_of(self._places[min(after, len(self._places) - 1)])
        begin, end = self._middles[after - 1 : after + 1]
        share = (time - begin) / (end - begin)
        one, other = self._waves_of(self._places[after - 1]), self._waves_of(self._places[after])
        return tuple(_between(a, b, share) for a, b in zip(one, other))

    def _waves_of(self, place: tuple[int, int]) -> Coefficients:
        if place not in self._found:
            frame, _ = place
            for i, (_, velocity) in enumerate(self._other.record(frame).carriers):
                self._found[frame, i] = self._waves.of(velocity.astype(self._waves.dtype))
            frames = sorted({kept for kept, _ in self._found})
            for old in frames[:-2]:
                self._found = {key: value for key, value in self._found.items() if key[0] != old}
        return self._found[place]


def _between(a: np.ndarray, b: np.ndarray, share: float) -> np.ndarray:
    return a + a.dtype.type(share) * (b - a)
