"""How long kernels have been compiled in this process: those that no cache holds, on the first run of their kind."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

from numba.core import event


class _Watch(event.Listener):
    """Adds up the time of compilations; those inside another are part of it."""

    def __init__(self) -> None:
        self.seconds, self._depth, self._began = 0.0, 0, 0.0
        self.when_begun: Callable[[], None] | None = None

    def on_start(self, event: Any) -> None:
        if self._depth == 0:
            self._began = time.perf_counter()
            if self.when_begun is not None:
                say, self.when_begun = self.when_begun, None
                say()
        self._depth += 1

    def on_end(self, event: Any) -> None:
        self._depth -= 1
        if self._depth == 0:
            self.seconds += time.perf_counter() - self._began


_watch = _Watch()
event.register("numba:compile", _watch)


def compiled_seconds() -> float:
    """Seconds spent on compilation so far, since this module was imported."""
    return _watch.seconds


def when_compiling(say: Callable[[], None] | None) -> None:
    """Call `say` once, when the next compilation begins; None: nothing."""
    _watch.when_begun = say
