"""What a run offers to its method: where frames, checkpoints and numbers go, and when to stop.

A run may be killed at any moment and continued from its last checkpoint, and must then end bit-identical. So a method
keeps nothing that matters outside of what it gives to `checkpoint`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np

from keyfluid.crew import Hire
from keyfluid.problem import FrameRecord
from keyfluid.problem.kept import Meta
from keyfluid.tables import Table

Settings = TypeVar("Settings", bound=Table)


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """All that a controller needs to go on: arrays in run precision, and numbers, strings and lists."""

    arrays: Mapping[str, np.ndarray]
    meta: Meta


class Stopped(Exception):
    """The user asked to stop. Raised by a controller, between steps, when all that must be kept is kept."""


class Watcher(Protocol):
    """Who watches the steps of a frame."""

    @property
    def stop_requested(self) -> bool:
        """Look at it between steps; when it is True, save what is worth it and raise Stopped."""
        ...

    def note(self, text: str, about: str = "") -> None:
        """A line for the user that also stays in result.json's history: why something ended early, say.

        about: a subject on which only the first note of a run is taken, before and after a resume together.
        """
        ...


class Shell(Watcher, Protocol):
    """What a run offers to its controller."""

    @property
    def restored(self) -> Checkpoint | None:
        """Where to go on; None: from the start. After `resume --from F` it holds the state of frame F, with its
        `memory` and "frame" in meta; a method that can't go on from a frame says so (`begins_from_frames`)."""
        ...

    @property
    def hire(self) -> Hire | None:
        """Gets workers of other machines (`run --cluster`); None: there are only processes of this one."""
        ...

    def frame(self, record: FrameRecord) -> None:
        """A frame is ready (frame 0 too). It is on disk when this returns. May be repeated with a better one."""
        ...

    def has_frames(self, last: int) -> bool:
        """Whether frames 0 to `last` have been given."""
        ...

    def checkpoint(
        self,
        arrays: Mapping[str, np.ndarray],
        meta: Meta,
        part: str | None = None,
        keep: Sequence[str] = (),
    ) -> None:
        """After each frame or iteration: replaces the checkpoint before it, whole or not at all.

        Where a checkpoint shares most of its arrays with the one before, give only the new ones, as `part`, and
        the names of earlier parts to `keep`; restored, arrays of parts are named "part/array".
        """
        ...

    def show(self, since: float | None = None) -> None:
        """The frames given so far make a film, though not the final one: draw its strip and its curves.

        since: when (time.perf_counter) work on that film began, if it was made to be shown: previews take a tenth of
        a run's time at most, films included.
        """
        ...

    @property
    def show_worth(self) -> bool:
        """Somebody can look at a picture, and it would take no more than a tenth of the time."""
        ...

    @property
    def show_due(self) -> bool:
        """Somebody may be waiting for a picture: it is a while since the last one."""
        ...

    def progress(
        self,
        done: int,
        total: int,
        unit: str = "frame",
        error: float | None = None,
        note: str = "",
        work: tuple[float, float] | None = None,
        errors: Mapping[str, float] | None = None,
    ) -> None:
        """For the person who waits: `done` of `total` frames or iterations, and the error so far.

        errors: of each keyframe by its key path; None: of the last frame against the keyframes that come next
        work: done and left, in any unit, where iterations differ in cost or some will be left out.
        """
        ...

    def control(self, current: Settings) -> Settings:
        """[control] as it should be from the next frame on: `current`, unless somebody edits it (`run --watch`)."""
        ...

    def log(self, **values: float) -> None:
        """One entry of result.json's `history`, such as iteration=3, objective=0.2. No timings: two runs of a
        scene have the same history. Frames make their own entries."""
        ...

    def count(self, iterations: int = 0, evaluations: int = 0) -> None:
        """Add to what result.json reports; an evaluation is one simulation from the start to the last frame."""
        ...
