"""What the person who waits for a run sees: how far it is, what it has to say, and that a wish to stop is heard."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from keyfluid.controllers.shell import Stopped
from keyfluid.runs.time_left import METHOD, TimeLeft
from keyfluid.scenes.build.report import Told

_PATIENCE = 1.0


@dataclass(frozen=True)
class Progress:
    """How far a run is: `done` of `total` units of a phase.

    error         over the keyframes that count now; errors: of each, by its key path, the worst of its frames
    seconds_left  of the whole run, None until it is known
    """

    done: int
    total: int
    unit: str
    error: float | None = None
    note: str = ""
    seconds_left: float | None = None
    errors: Mapping[str, float] = field(default_factory=dict)


Listener = Callable[[Progress], None]


def after_a_second(listener: Listener | None) -> Told:
    """Tells the listener what `build` draws once it has taken a second; most scenes are drawn before that."""
    began = time.monotonic()

    def told(what: str, number: int, count: int) -> None:
        if listener is not None and time.monotonic() - began > _PATIENCE:
            listener(Progress(number, count, what))

    return told


class Reporter:
    """Tells a listener, and asks `should_stop` between steps; time_left: of the run with all its outputs."""

    def __init__(
        self,
        listener: Listener | None = None,
        should_stop: Callable[[], bool] = lambda: False,
        time_left: TimeLeft | None = None,
    ) -> None:
        self._listener, self._should_stop = listener, should_stop
        self.time_left = time_left or TimeLeft({})

    @property
    def listens(self) -> bool:
        """Whether anybody hears of the progress."""
        return self._listener is not None

    @property
    def stop_requested(self) -> bool:
        return self._should_stop()

    def check_stop(self) -> None:
        if self._should_stop():
            raise Stopped

    def step(self, progress: Progress, work: tuple[float, float] | None = None) -> None:
        """Between frames or iterations of the method; work: done and left, where units are not alike."""
        done, left = work or (progress.done, progress.total - progress.done)
        self._tell(replace(progress, seconds_left=self.time_left.at(METHOD, done, left)))

    def wrote(self, what: str, done: int, total: int) -> None:
        """Between files of the outputs, where a run may stop too."""
        self.check_stop()
        self._tell(Progress(done, total, what, seconds_left=self.time_left.at(what, done, total - done)))

    def say(self, text: str) -> None:
        self._tell(Progress(0, 0, "note", note=text))

    def _tell(self, progress: Progress) -> None:
        if self._listener is not None:
            self._listener(progress)
