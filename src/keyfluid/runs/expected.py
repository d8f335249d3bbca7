"""How long a run will take, measured: its first frames or iterations, and one file of each output, for a try.

Nothing of the try is kept: it runs in a folder of its own, without large checkpoints, and the run begins afresh. So the
estimate knows the scene, the machine and what else runs on it; and what has to be compiled is compiled before the
estimate is printed.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

import numpy as np

from keyfluid.controllers import controller_for
from keyfluid.controllers.method import Plan
from keyfluid.controllers.shell import Stopped
from keyfluid.problem import FrameRecord
from keyfluid.problem.kept import Meta
from keyfluid.runs.compiling import clock_without_compilation
from keyfluid.runs.estimate import likely_steps
from keyfluid.runs.new_folder import new_folder
from keyfluid.runs.output_costs import output_seconds
from keyfluid.runs.progress import Progress, Reporter
from keyfluid.runs.recorder import Recorder
from keyfluid.runs.run_shell import RunShell
from keyfluid.runs.time_left import METHOD
from keyfluid.scenes.build.problem import BuiltScene

_LONG_ENOUGH, _MOST_REPORTS = 0.5, 5
"""Seconds, or reports, after which a try knows the method's pace."""

_DEAR = 5.0
"""Seconds of a first frame from which no second one is tried."""

_LARGE = 2**25
"""Bytes of a checkpoint that a try does not write: the iteration before it took far longer than writing would."""


class PaceReport(NamedTuple):
    """Seconds until a method reported, without compilation, and its work done and left."""

    seconds: float
    done: float
    left: float


def expected_seconds(problem: BuiltScene, plan: Plan, should_stop: Callable[[], bool]) -> dict[str, float]:
    """Seconds of each phase of a run (time_left.py); plan: of the problem, for the try alone."""
    with tempfile.TemporaryDirectory(prefix="keyfluid-") as folder:
        place = new_folder(Path(folder) / "try", problem.scene)
        try:
            recorder, timed = _TrialRecorder(problem, place), _Timed(should_stop)
            with suppress(Stopped):
                controller_for(problem.method).trial(plan, RunShell(recorder, timed))
            if not recorder.metas:
                recorder.frame(FrameRecord(0, problem.start))
            outputs = output_seconds(problem, recorder.frames, recorder.last_frame)
            steps = [len(meta["step_seconds"]) for meta in recorder.metas.values() if meta["index"] > 0]
        finally:
            place.close()
    method = timed.seconds() * plan.likely * _growth(problem, steps)
    return {METHOD: method, **outputs}


def method_seconds(reports: list[PaceReport]) -> float:
    """Seconds of all the work of a method, from its first reports."""
    if not reports:
        return 0.0
    first, last = reports[0], reports[-1]
    if last.done > first.done:
        pace = (last.seconds - first.seconds) / (last.done - first.done)
    else:
        pace = last.seconds / max(last.done, 1.0)
    return pace * (last.done + last.left)


def known_pace(reports: list[PaceReport]) -> bool:
    """Whether a try has run for long enough."""
    if not reports:
        return False
    first, last = reports[0], reports[-1]
    if last.done <= first.done:
        return last.done > 0 and last.seconds > _DEAR
    return last.seconds - first.seconds > _LONG_ENOUGH or len(reports) >= _MOST_REPORTS


class _TrialRecorder(Recorder):
    """Writes frames, whose cost is part of the run's, and checkpoints until there is a large one."""

    _large = False

    def checkpoint(
        self, arrays: Mapping[str, np.ndarray], meta: Meta, part: str | None = None, keep: Sequence[str] = ()
    ) -> None:
        self._large |= sum(array.nbytes for array in arrays.values()) > _LARGE
        if not self._large:
            super().checkpoint(arrays, meta, part, keep)


class _Timed(Reporter):
    """Keeps the reports of a method and stops it when they are enough."""

    def __init__(self, should_stop: Callable[[], bool]) -> None:
        super().__init__(None, lambda: should_stop() or known_pace(self.reports))
        self._began = self._last = clock_without_compilation()
        self.reports: list[PaceReport] = []

    def step(self, progress: Progress, work: tuple[float, float] | None = None) -> None:
        done, left = work or (progress.done, progress.total - progress.done)
        self._last = clock_without_compilation()
        self.reports.append(PaceReport(self._last.since(self._began).processor, done, left))

    def seconds(self) -> float:
        """Seconds of all the method's work: processor seconds of the reports, as many on the wall as in the whole try.

        The reports are too close together for the wall: a busy machine gives a process its turn now and then.
        """
        taken = self._last.since(self._began)
        return method_seconds(self.reports) * taken.wall / max(taken.processor, 1e-6)


def _growth(problem: BuiltScene, steps: list[int]) -> float:
    """How many times the steps of the first frames a later one takes on average, where steps follow the speed."""
    if problem.steps_per_frame is not None or not steps:
        return 1.0
    first = sum(steps) / len(steps)
    return max(1.0, 0.5 * (1.0 + likely_steps(problem) / max(first, 1.0)))
