"""The pictures of a film, drawn by several processes where that is faster; the same bits as by one."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

from keyfluid.crew import Answer, LocalCrew, answers, serve
from keyfluid.io.run.frame_files import FrameFiles
from keyfluid.runs.frames import Frames
from keyfluid.runs.pictures import Film, Painter, packed_picture
from keyfluid.scenes.build.problem import BuiltScene
from keyfluid.threads import processes

WORTH = 8.0
"""Processor seconds of drawing from which processes are started."""

START = 3.0
"""Processor seconds that a process takes to import what it needs."""

_TOGETHER = 8
"""Frames that one process draws in a row where a picture reads the frames before it, of markers."""


def draw(film: Film, check: Callable[[], None]) -> None:
    """Draw what is missing of a film.

    check: called while processes draw; it raises to stop
    """
    missing, store = film.missing, film.frames.store
    if not missing:
        return
    began = time.process_time()
    film[film.indices.index(missing[0])]
    left = (time.process_time() - began) * (len(missing) - 1)
    count = workers_for(left, len(missing) - 1)
    if count > 1 and isinstance(store, FrameFiles):
        _draw_by_crew(film, store, missing[1:], count, check)
    else:
        for index in missing[1:]:
            film[film.indices.index(index)]


def workers_for(seconds: float, frames: int) -> int:
    """Processes for pictures that take so many processor seconds."""
    return min(processes(), frames) if seconds > WORTH else 1


def _draw_by_crew(film: Film, store: FrameFiles, indices: list[int], count: int, check: Callable[[], None]) -> None:
    to_read = copy.copy(store)
    to_read.owned = None
    # Neither the targets nor an edited film are drawn, and they may be large.
    problem = replace(film.painter.problem, keyframes=[], pictures=[], flows=[], edit=None)
    size = _TOGETHER if film.painter.draws_markers else 1
    parts = [tuple(indices[first : first + size]) for first in range(0, len(indices), size)]
    job = _Job(problem, film.painter.size, to_read)
    crew = LocalCrew("keyfluid.runs.drawing", min(count, len(parts)), check, job)
    try:
        for part, pictures in zip(parts, answers(crew, parts)):
            for index, packed in zip(part, pictures):
                film.take(index, packed)
    finally:
        crew.dismiss()


@dataclass(frozen=True, eq=False)
class _Job:
    """What a process needs before its first frame."""

    problem: BuiltScene
    size: int
    store: FrameFiles


class _Worker:
    """Takes a job, then draws frames."""

    def __init__(self) -> None:
        self._painter: Painter | None = None
        self._frames: Frames | None = None

    def answer(self, task: _Job | tuple[int, ...], abandoned: Callable[[], bool]) -> list[bytes] | None:
        if isinstance(task, _Job):
            self._painter, self._frames = Painter(task.problem, task.size), Frames(task.store, task.problem)
            return None
        assert self._painter is not None
        assert self._frames is not None
        packed = []
        for index in task:
            if abandoned():
                return None
            packed.append(packed_picture(self._painter.frame(self._frames, index)))
        return packed


def worker() -> Answer:
    """Answers tasks (keyfluid/crew.py)."""
    return _Worker().answer


if __name__ == "__main__":
    # Tasks name the classes of the imported module, not of __main__.
    from keyfluid.runs import drawing

    serve(drawing.worker())
