"""Progress of a run: a bar on a terminal, plain lines elsewhere, JSON lines for machines.

Also Ctrl-C: the first asks the run to stop between steps, the second ends the process at once (every file of a run
is whole at any moment, so nothing breaks).
"""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from keyfluid.cli.json_lines import line
from keyfluid.runs.estimate import time_words

if TYPE_CHECKING:
    from keyfluid.runs.progress import Progress

_LINE_EVERY = 2.0
_WORDS = {
    "vdb": "writing VDB",
    "usd": "writing USD",
    "ply": "writing points",
    "mesh": "writing meshes",
    "picture": "drawing",
    "png": "writing PNG",
    "video": "encoding the film",
    "report": "writing the report",
}


class Display:
    """Call it with Progress; use it in a `with`."""

    def __init__(self, as_json: bool = False) -> None:
        self._json = as_json
        self._bar: Any = None
        self._task: Any = None
        self._unit = ""
        self._last_line = 0.0
        self._terminal = not as_json and sys.stderr.isatty()

    def __enter__(self) -> Display:
        if self._terminal:
            from rich.console import Console
            from rich.progress import BarColumn, MofNCompleteColumn, TextColumn
            from rich.progress import Progress as Bar

            self._bar = Bar(
                TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[more]}"),
                console=Console(stderr=True), transient=True,
            )  # fmt: skip
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._bar is not None:
            self._bar.stop()

    def __call__(self, progress: Progress) -> None:
        if self._json:
            line("progress", **asdict(progress))
            return
        if progress.unit == "note":
            self._say(progress.note)
            return
        if self._bar is not None:
            self._show_bar(progress)
            return
        changed = progress.unit != self._unit
        now = time.monotonic()
        if changed or progress.done == progress.total or now - self._last_line >= _LINE_EVERY:
            self._unit, self._last_line = progress.unit, now
            more = _more(progress)
            text = f"{_WORDS.get(progress.unit, progress.unit)} {progress.done} of {progress.total}"
            print(f"{text}, {more}" if more else text, file=sys.stderr, flush=True)

    def _say(self, text: str) -> None:
        if self._bar is not None:
            self._bar.console.print(text)
        else:
            print(text, file=sys.stderr, flush=True)

    def _show_bar(self, progress: Progress) -> None:
        if progress.unit != self._unit:
            if self._task is not None:
                self._bar.remove_task(self._task)
            words = _WORDS.get(progress.unit, progress.unit)
            self._task = self._bar.add_task(words, total=progress.total, more="")
            self._unit = progress.unit
        self._bar.update(self._task, completed=progress.done, total=progress.total, more=_more(progress))


def _more(progress: Progress) -> str:
    parts = []
    if progress.error is not None:
        parts.append(f"error {progress.error:.3f}")
    if progress.seconds_left is not None and progress.seconds_left >= 0.5:
        parts.append(f"{time_words(progress.seconds_left)} left")
    if progress.note:
        parts.append(progress.note)
    return ", ".join(parts)


class StopSwitch:
    """True once Ctrl-C (or a termination signal) was received."""

    def __init__(self) -> None:
        self.pressed = False

    def __call__(self) -> bool:
        return self.pressed

    @contextmanager
    def armed(self) -> Iterator[StopSwitch]:
        signals = (signal.SIGINT, signal.SIGTERM)
        before = [signal.signal(number, self._press) for number in signals]
        try:
            yield self
        finally:
            for number, handler in zip(signals, before):
                signal.signal(number, handler)

    def _press(self, number: int, frame: object) -> None:
        if self.pressed:
            os._exit(130)
        self.pressed = True
        os.write(2, b"\nstopping after this step; once more to stop at once\n")
