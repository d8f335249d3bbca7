"""Long scenes in pieces: windows of time that are solved one after the other, each from where the last one ended.

    all        one window to the last keyframe
    sequence   a window to each keyframe                            [Tang 2021, section 5.3: solid obstacles]
    halves     two windows, cut at the keyframe nearest the middle  [McNamara 2004, section 7: the smoke man]
    shooting   two layers of short windows that overlap (layers.py, shooting.py)
    auto       sequence if there are four keyframes or more, over 120 frames or more, or if the states of all steps
               would take half of the machine's memory; else all

A window begins in the very state that the one before ended in: there is no seam. The first one begins where the control
begins to act (`control.act`): what comes before is simulated once.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from keyfluid.controllers.optimised.settings import SearchNumbers
from keyfluid.errors import SceneError
from keyfluid.grid import Kind
from keyfluid.problem import Problem

_MANY_KEYS, _LONG = 4, 120
_MOST_MEMORY = 0.5
_SHORTEST, _LONGEST = 4, 48
"""Steps along which paths are followed before they may, and must, begin again."""


class AtFrame(Protocol):
    """A keyframe, a picture or a flow."""

    @property
    def frame(self) -> int: ...


@dataclass(frozen=True)
class Window:
    """Frames `first` to `last`, of which `first` is given. The search looks `ahead` frames farther, so that it does not
    buy its last keyframe with a flow that misses the next; the forces there are found anew by the next window."""

    first: int
    last: int
    ahead: int = 0

    @property
    def seen(self) -> int:
        """The last frame that the search looks at."""
        return self.last + self.ahead


def search_windows(problem: Problem, settings: SearchNumbers, schedule: str | None = None) -> list[Window]:
    """The windows of a search, in order; schedule: another than its own."""
    begin = 0 if settings.act is None else settings.act[0]
    return plan_windows(problem, schedule or settings.schedule, settings.span, settings.ahead, begin)


def plan_windows(
    problem: Problem, schedule: str, span: int | None = None, ahead: int = 0, begin: int = 0
) -> list[Window]:
    """The windows of a scene, in order.

    span: least frames of a window of a sequence, but for its last; ahead: as Window has it; begin: the frame from which
    on the control acts, unless all keyframes come before it.
    """
    if not problem.keyframes and not problem.pictures and not problem.flows:
        raise SceneError("keyframe", "there is none; this method needs a shape or a picture to reach")
    lists: list[Sequence[AtFrame]] = [problem.keyframes, problem.pictures, problem.flows]
    frames = sorted({item.frame for items in lists for item in items})
    last = max([frames[-1], *(min(key.frame + key.hold, problem.frames) for key in problem.keyframes)])
    first = 0
    if problem.edit is not None:
        first, last = problem.edit.first, max(last, problem.edit.last or 0)
    if first < begin < last:
        first, frames = begin, [frame for frame in frames if frame > begin]
    if schedule == "auto":
        schedule = "sequence" if _is_long(problem, len(frames), last - first) else "all"
    if schedule == "sequence":
        ends = [*_apart(first, frames[:-1], span or 1), last]
    elif schedule == "halves" and len(frames) > 1:
        ends = [min(frames[:-1], key=lambda frame: abs(frame - (first + last) / 2)), last]
    else:
        ends = [last]
    return [Window(begin, end, min(ahead, last - end)) for begin, end in zip([first, *ends], ends)]


def _apart(first: int, frames: Sequence[int], span: int) -> list[int]:
    """Those of the frames that are at least `span` after the one before."""
    found = [first]
    for frame in frames:
        if frame - found[-1] >= span:
            found.append(frame)
    return found[1:]


def cut_frames(problem: Problem, window: Window) -> list[int]:
    """Frames of a window at which the paths of smoke begin, and its last: keyframes that are far enough from the cut
    before, so that every step is followed about once, and others where there is no keyframe for long."""
    steps = problem.steps_per_frame or 1
    frames = {frame for key in problem.keyframes for frame in key.acting(window.first, window.seen)}
    found, before = [window.first], window.first
    for frame in range(window.first + 1, window.seen):
        run = (frame - before) * steps
        if run >= _LONGEST or (run >= _SHORTEST and frame in frames):
            found.append(frame)
            before = frame
    return [*found, window.seen]


def _is_long(problem: Problem, keys: int, frames: int) -> bool:
    """Many keyframes over many frames, or states that would take most of the memory if they were all kept."""
    if keys < 2:
        return False
    values = problem.grid.value_count(Kind.FACES) + len(problem.carried) * problem.grid.count
    states = frames * (problem.steps_per_frame or 1) * values * problem.dtype.itemsize
    limit = problem.memory_limit_bytes
    return (keys >= _MANY_KEYS and frames >= _LONG) or (limit is not None and states > _MOST_MEMORY * limit)
