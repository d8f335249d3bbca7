"""The long waves of a solved run's air over time.

The run's smoke was moved by velocities that each lasted a step. Between two steps the air is taken to have the velocity
of the line through both; within a step it follows the parabola through these two whose mean is the step's velocity. So
a film with more steps sees no jumps, and over each step of the run its air goes as far as the run's did.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import Protocol

import numpy as np

from keyfluid.controllers.method import OtherRun
from keyfluid.fields import Field
from keyfluid.operators.long_waves import Coefficients

_KEPT = 2
"""Waves are kept of frames that are at most so far apart."""


class Followed(Protocol):
    """What of a velocity is followed: LongWaves of smoke's, all of a liquid's."""

    dtype: np.dtype

    def of(self, velocity: Field, /) -> Coefficients: ...


class SolvedAir:
    """`last`: the last frame that has velocities."""

    def __init__(self, other: OtherRun, waves: Followed, last: int) -> None:
        self._other, self._waves = other, waves
        self._times = [0.0]
        """Where steps begin and end, seconds."""
        self._places: list[tuple[int, int]] = []
        self._found: dict[tuple[int, int], Coefficients] = {}
        fps = other.problem.fps
        for frame in range(1, last + 1):
            seconds = other.seconds(frame)
            ends = list(accumulate(seconds))
            self._times += [(frame - 1 + end / ends[-1]) / fps for end in ends]
            self._places += [(frame, i) for i in range(len(seconds))]

    def over(self, begin: float, end: float) -> Coefficients:
        """Mean weighted coefficients between two times in seconds; after the last step they stay."""
        weights: dict[int, float] = {}
        for step, weight in self._weights(begin, end):
            weights[step] = weights.get(step, 0.0) + weight
        total: Coefficients = ()
        for step in sorted(weights):
            waves = self._waves_of(self._places[step])
            parts = [values.dtype.type(weights[step]) * values for values in waves]
            total = tuple(a + b for a, b in zip(total, parts)) if total else tuple(parts)
        return total

    def _weights(self, begin: float, end: float) -> Iterator[tuple[int, float]]:
        """Steps and their weights in the mean; a step may come several times."""
        last = len(self._places) - 1
        step = min(bisect_right(self._times, begin) - 1, last)
        while step <= last and self._times[step] < end:
            first, until = self._times[step : step + 2]
            length = until - first
            s, t = (min(max((time - first) / length, 0.0), 1.0) for time in (begin, end))
            for other, integral in self._parabola(step, s, t):
                yield other, integral * length / (end - begin)
            step += 1
        after = end - max(begin, self._times[-1])
        if after > 0:
            yield last, after / (end - begin)

    def _parabola(self, step: int, s: float, t: float) -> Iterator[tuple[int, float]]:
        """Steps and their weights in the integral from s to t, which are shares of a step.

        With p and q at its ends and mean m, the integral from 0 to s is
        p (s - 2 s^2 + s^3) + q (s^3 - s^2) + m (3 s^2 - 2 s^3).
        """
        integrals = [(x - 2 * x**2 + x**3, x**3 - x**2, 3 * x**2 - 2 * x**3) for x in (s, t)]
        at_begin, at_end, mean = (b - a for a, b in zip(*integrals))
        yield step, mean
        for weight, other in ((at_begin, step - 1), (at_end, step + 1)):
            if not 0 <= other < len(self._places):
                yield step, weight
                continue
            own, theirs = (self._times[i + 1] - self._times[i] for i in (step, other))
            yield step, weight * theirs / (own + theirs)
            yield other, weight * own / (own + theirs)

    def _waves_of(self, place: tuple[int, int]) -> Coefficients:
        if place not in self._found:
            frame, _ = place
            for i, (_, velocity) in enumerate(self._other.record(frame).carriers):
                self._found[frame, i] = self._waves.of(velocity.astype(self._waves.dtype))
            self._found = {key: value for key, value in self._found.items() if abs(key[0] - frame) <= _KEPT}
        return self._found[place]
