"""Long scenes in pieces: windows of time that are solved one after the other, each from where the last one ended.

    all        one window to the last keyframe
    sequence   a window to each keyframe                            [Tang 2021, section 5.3: solid obstacles]
    halves     two windows, cut at the keyframe nearest the middle  [McNamara 2004, section 7: the smoke man]
    shooting   two layers of short windows that overlap (layers.py, shooting.py)
    auto       sequence if there are four keyframes or more, over 120 frames or more, or if the states of all steps
               would take half of the machine's memory; else all

A window begins in the very state that the one before ended in: there is no seam.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from keyfluid.controls import Control
from keyfluid.controls.resample import to_grid
from keyfluid.errors import SceneError
from keyfluid.fields import Field, density
from keyfluid.grid import Kind
from keyfluid.models.state import State
from keyfluid.problem import Problem

_MANY_KEYS, _LONG = 4, 120
_MOST_MEMORY = 0.5

Forces = Callable[[int], Field | None]
"""The force of a step."""


class Wanted(Protocol):
    """A keyframe, a picture or a flow."""

    @property
    def frame(self) -> int: ...


@dataclass(frozen=True)
class Window:
    """Frames `first` to `last`, of which `first` is given."""

    first: int
    last: int


def plan_windows(problem: Problem, schedule: str) -> list[Window]:
    """The windows of a scene, in order."""
    if not problem.keyframes and not problem.pictures and not problem.flows:
        raise SceneError("keyframe", "there is none; this method needs a shape or a picture to reach")
    lists: list[Sequence[Wanted]] = [problem.keyframes, problem.pictures, problem.flows]
    frames = sorted({wanted.frame for wanteds in lists for wanted in wanteds})
    last = max([frames[-1], *(min(key.frame + key.hold, problem.frames) for key in problem.keyframes)])
    first = 0
    if problem.edit is not None:
        first, last = problem.edit.first, max(last, problem.edit.last or 0)
    if schedule == "auto":
        schedule = "sequence" if _is_long(problem, len(frames), last - first) else "all"
    if schedule == "sequence":
        ends = [*frames[:-1], last]
    elif schedule == "halves" and len(frames) > 1:
        ends = [min(frames[:-1], key=lambda frame: abs(frame - (first + last) / 2)), last]
    else:
        ends = [last]
    return [Window(begin, end) for begin, end in zip([first, *ends], ends)]


def _is_long(problem: Problem, keys: int, frames: int) -> bool:
    """Many keyframes over many frames, or states that would take most of the memory if they were all kept."""
    if keys < 2:
        return False
    values = problem.grid.value_count(Kind.FACES) + len(problem.densities) * problem.grid.count
    states = frames * (problem.steps_per_frame or 1) * values * problem.dtype.itemsize
    limit = problem.memory_limit_bytes
    return (keys >= _MANY_KEYS and frames >= _LONG) or (limit is not None and states > _MOST_MEMORY * limit)


class Pieces:
    """The forces of several controls, each in its own window; under: forces that act beside them, by step."""

    def __init__(self, under: Forces | None = None) -> None:
        self.parts: list[tuple[Control, np.ndarray]] = []
        self._under = under

    def force(self, step: int) -> Field | None:
        total = self._under(step) if self._under is not None else None
        for control, vector in self.parts:
            force = control.force(vector, step)
            if force is not None:
                total = force if total is None else total + force
        return total

    def coefficients(self, step: int) -> np.ndarray:
        """Of the force at a step, where all controls have one basis and one of them acts."""
        parts = [mixed for control, vector in self.parts if (mixed := control.mixed(vector, step)) is not None]
        return parts[0]

    def source(self, step: int) -> Field | None:
        """What is added to a liquid's level set."""
        total: Field | None = None
        for control, vector in self.parts:
            source = control.source(vector, step)
            if source is not None:
                total = source if total is None else total + source
        return total

    def and_then(self, control: Control, vector: np.ndarray) -> Pieces:
        """These, and one more."""
        more = Pieces(self._under)
        more.parts = [*self.parts, (control, vector)]
        return more


def state_on(problem: Problem, state: Mapping[str, Field]) -> State:
    """A state of the scene's own grid on the grid of `problem`: means over cells, velocities between faces."""
    found: dict[str, Field] = {}
    for name, field in state.items():
        factors = [a // b for a, b in zip(field.grid.cells, problem.grid.cells)]
        whole = all(a == b * f for a, b, f in zip(field.grid.cells, problem.grid.cells, factors))
        if field.grid == problem.grid:
            found[name] = field
        elif field.kind is Kind.CENTRES and whole:
            shape = [n for b, f in zip(problem.grid.cells, factors) for n in (b, f)]
            means = field.array.reshape(shape).mean(axis=tuple(range(1, 2 * problem.grid.dim, 2)))
            found[name] = density(problem.grid, means, field.dtype)
        else:
            found[name] = to_grid(field, problem.grid)
    return found
