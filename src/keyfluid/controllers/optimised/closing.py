"""The closing of shooting: the last layer once more, in order, each window from where the one before really ended.

A window also needs what its layer found for it, and the state that the next window's forces were made for. So where it
is known that a round is the last one, its first windows are closed while others are still solved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from keyfluid.controllers.optimised.evaluation import Goal
from keyfluid.controllers.optimised.window_task import WindowFound, WindowTask
from keyfluid.controllers.optimised.windows import Window
from keyfluid.models.state import State

_PENALTY = 0.3
"""For missing the state at a window's end, which only says what the next window will find useful."""

Search = Callable[[Window, State | None, Goal | None, np.ndarray | None], WindowTask]


class Closing:
    """solved: windows of the layer that are found already; closed: those that are closed."""

    def __init__(
        self, layer: Sequence[Window], solved: Sequence[WindowFound], closed: Sequence[WindowFound], search: Search
    ) -> None:
        self._layer, self._search = layer, search
        self._solved, self._closed = dict(enumerate(solved)), list(closed)
        self._first, self._asked = len(solved), len(closed)

    def ready(self) -> list[WindowTask]:
        """The next window, if it can be closed by now and nobody does it."""
        place, last = len(self._closed), len(self._layer) - 1
        if self._asked > place or place > last or not {place, min(place + 1, last)} <= self._solved.keys():
            return []
        self._asked += 1
        window = self._layer[place]
        goal = Goal(self._solved[place + 1].states[window.last], _PENALTY) if place < last else None
        start = self._closed[-1].states[window.first] if place > 0 else None
        return [self._search(window, start, goal, self._solved[place].vector)]

    def follow(self, place: int, found: WindowFound | Exception) -> list[WindowTask]:
        """What can be closed after an answer (keyfluid/crew.py): first come those of the layer that were missing."""
        if isinstance(found, Exception):
            return []
        if self._first + place < len(self._layer):
            self._solved[self._first + place] = found
        else:
            self._closed.append(found)
        return self.ready()
