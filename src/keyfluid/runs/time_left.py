"""How long a run will still take, its outputs included.

A run is a row of phases: its method ("frames" or "iterations"), then one for each kind of output. Each has an expected
time, measured before (expected.py). Within a phase the pace of its own units replaces what was expected as they come
in: the mean pace of the phase or that of its last quarter, whichever is slower, because frames tend to become dearer.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping

METHOD = "method"
"""The phase of the method's own frames, iterations, rounds or windows."""

_SURE = 0.3
"""Share of a phase after which its own pace alone counts."""


class TimeLeft:
    """expected: seconds of each phase, in their order; phases that are not named take no time."""

    def __init__(self, expected: Mapping[str, float], clock: Callable[[], float] = time.perf_counter) -> None:
        self.expected = dict(expected)
        self._clock = clock
        self._phase = METHOD
        self._began = clock()
        self._reports: list[tuple[float, float]] = []

    def at(self, phase: str, done: float, left: float) -> float | None:
        """Seconds left of the run when `done` units of a phase are done and `left` are left; None: nobody knows yet.

        The phases before it are over. Units may be of any size, as long as they cost about the same.
        """
        now = self._clock()
        if phase != self._phase:
            self._phase, self._began, self._reports = phase, now, []
        self._reports.append((now, done))
        here = self._here(now, done, left)
        return None if here is None else here + self._later(phase)

    def pause(self, seconds: float) -> None:
        """Something else took this long, which says nothing about the pace: pictures of a film that is not finished."""
        self._began += seconds
        self._reports = [(at + seconds, done) for at, done in self._reports]

    def _here(self, now: float, done: float, left: float) -> float | None:
        """Seconds left of the phase: what its pace says, and at its start what was expected."""
        pace, total = self._pace(now), done + left
        if left <= 0 or total <= 0:
            return 0.0
        if self._phase not in self.expected:
            return None if pace is None else pace * left
        expected = max(self.expected[self._phase] * left / total, 0.0)
        if pace is None:
            return max(expected - (now - self._began), 0.0) if done == 0 else expected
        (_, first), *_ = self._reports
        sure = min((done - first) / total / _SURE, 1.0)
        return sure * pace * left + (1 - sure) * expected

    def _pace(self, now: float) -> float | None:
        """Seconds of a unit, since the first report of the phase: what came before it may have been compilation."""
        began, first = self._reports[0]
        _, done = self._reports[-1]
        if done <= first:
            return None
        recent = next((t, d) for t, d in reversed(self._reports) if t <= now - 0.25 * (now - began) and d < done)
        return max((now - began) / (done - first), (now - recent[0]) / (done - recent[1]))

    def _later(self, phase: str) -> float:
        """Seconds of the phases after this one."""
        names = list(self.expected)
        if phase not in names:
            return sum(self.expected.values()) if phase == METHOD else 0.0
        return sum(self.expected[name] for name in names[names.index(phase) + 1 :])
