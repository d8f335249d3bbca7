"""How long kernels have been compiled in this process: those that no cache holds, on the first run of their kind."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, NamedTuple

from numba.core import event


class Spent(NamedTuple):
    """Seconds on the wall, and of processors."""

    wall: float
    processor: float

    def since(self, before: Spent) -> Spent:
        return Spent(self.wall - before.wall, self.processor - before.processor)


def _clock() -> Spent:
    return Spent(time.perf_counter(), time.process_time())


class _Watch(event.Listener):
    """Adds up the time of compilations; those inside another are part of it."""

    def __init__(self) -> None:
        self.total, self._began, self._depth = Spent(0.0, 0.0), _clock(), 0
        self.when_begun: Callable[[], None] | None = None

    def on_start(self, event: Any) -> None:
        if self._depth == 0:
            self._began = _clock()
            if self.when_begun is not None:
                say, self.when_begun = self.when_begun, None
                say()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if self._depth == 0:
            more = _clock().since(self._began)
            self.total = Spent(self.total.wall + more.wall, self.total.processor + more.processor)


_watch = _Watch()
event.register("numba:compile", _watch)


def clock_without_compilation() -> Spent:
    """Clocks that stand still while kernels are compiled."""
    return _clock().since(_watch.total)


def when_compiling(say: Callable[[], None] | None) -> None:
    """Call `say` once, when the next compilation begins; None: nothing."""
    _watch.when_begun = say
