"""The shell that a method talks to (controllers/shell.py), of a recorder, a reporter and a preview."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from math import inf

from keyfluid.controllers.shell import Checkpoint, Settings
from keyfluid.crew import Hire
from keyfluid.errors import KeyfluidError
from keyfluid.io.run import layout
from keyfluid.problem import FrameRecord
from keyfluid.runs.output_costs import output_seconds
from keyfluid.runs.outputs import Outputs
from keyfluid.runs.preview import Preview
from keyfluid.runs.progress import Progress, Reporter
from keyfluid.runs.recorder import Recorder
from keyfluid.runs.watch import SceneWatch

_TRIES = (0.0, 0.15, 0.5)
"""Shares of a method's work after which its outputs are measured; not the first if they were before the run."""

_PATIENCE = 30
"""How many times what the last measurement took a run waits at least before the next."""


class RunShell:
    """watch: who edits [control] meanwhile, and sees each frame; hire: gets workers of other machines."""

    def __init__(self, recorder: Recorder, reporter: Reporter) -> None:
        self.recorder, self.reporter = recorder, reporter
        self.preview = Preview(recorder)
        self.watch: SceneWatch | None = None
        self.hire: Hire | None = None
        self.has_frames, self.checkpoint = recorder.has_frames, recorder.checkpoint
        self._began, self._try_took = time.perf_counter(), 0.0
        self._next_try = _TRIES[1] if reporter.time_left.expected else _TRIES[0]
        self.log, self.count = recorder.log, recorder.count

    @property
    def restored(self) -> Checkpoint | None:
        return self.recorder.restored

    @property
    def stop_requested(self) -> bool:
        return self.reporter.stop_requested

    @property
    def show_worth(self) -> bool:
        return self.preview.worth(time.perf_counter())

    @property
    def show_due(self) -> bool:
        return self.preview.due

    def frame(self, record: FrameRecord) -> None:
        self.recorder.frame(record)
        self._write_live(record.index)
        if self.watch is not None:
            self.watch.show(self.recorder.frames, record.index)

    def _write_live(self, index: int) -> None:
        """The VDB file of a frame as soon as it is computed, where `output.live` is set; outputs write all again."""
        recorder, output = self.recorder, self.recorder.problem.scene.output
        if recorder.folder is not None and output.live and output.vdb:
            Outputs(recorder.problem, recorder.frames, recorder.folder).write_vdb(f"{layout.VDB}/", [index])

    def show(self, since: float | None = None) -> None:
        began = time.perf_counter() if since is None else since
        self.preview.show(since)
        self.reporter.time_left.pause(time.perf_counter() - began)

    def note(self, text: str, about: str = "") -> None:
        if self.recorder.note(text, about):
            self.reporter.say(text)

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
        metas = self.recorder.metas
        if error is None and metas:
            error = metas[max(metas)]["error"]
        spent, left = work or (done, total - done)
        self._try_outputs(spent / max(spent + left, 1e-9))
        known = self.recorder.errors if errors is None else errors
        self.reporter.step(Progress(done, total, unit, error, note, errors=known), work)

    def _try_outputs(self, share: float) -> None:
        """Measure the outputs on the last frame, for the time left: a film's later pictures take longer than the first.

        share: of the method's work that is done
        """
        recorder, known = self.recorder, self.reporter.time_left.expected
        if not self.reporter.listens or recorder.folder is None or not recorder.metas:
            return
        if share < self._next_try or time.perf_counter() - self._began < _PATIENCE * self._try_took:
            return
        began = time.perf_counter()
        with suppress(KeyfluidError):  # the outputs themselves will say what is wrong
            known.update(output_seconds(recorder.problem, recorder.frames, recorder.last_frame))
        self._try_took = time.perf_counter() - began
        self.reporter.time_left.pause(self._try_took)
        self._next_try = next((s for s in _TRIES if s > share), inf)

    def control(self, current: Settings) -> Settings:
        return current if self.watch is None else self.watch.control(current, max(self.recorder.metas, default=0) + 1)
