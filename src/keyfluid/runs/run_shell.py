"""The shell that a method talks to (controllers/shell.py), of a recorder, a reporter and a preview."""

from __future__ import annotations

from keyfluid.controllers.shell import Checkpoint, Settings
from keyfluid.problem import FrameRecord
from keyfluid.runs.preview import Preview
from keyfluid.runs.progress import Progress, Reporter
from keyfluid.runs.recorder import Recorder
from keyfluid.runs.watch import SceneWatch


class RunShell:
    """watch: who edits [control] meanwhile, and sees each frame."""

    def __init__(self, recorder: Recorder, reporter: Reporter) -> None:
        self.recorder, self.reporter = recorder, reporter
        self.preview = Preview(recorder)
        self.watch: SceneWatch | None = None
        self.has_frames, self.checkpoint = recorder.has_frames, recorder.checkpoint
        self.log, self.count, self.show = recorder.log, recorder.count, self.preview.show

    @property
    def restored(self) -> Checkpoint | None:
        return self.recorder.restored

    @property
    def stop_requested(self) -> bool:
        return self.reporter.stop_requested

    @property
    def show_due(self) -> bool:
        return self.preview.due

    def frame(self, record: FrameRecord) -> None:
        self.recorder.frame(record)
        if self.watch is not None:
            self.watch.show(self.recorder.frames, record.index)

    def note(self, text: str, about: str = "") -> None:
        if self.recorder.note(text, about):
            self.reporter.say(text)

    def progress(self, done: int, total: int, unit: str = "frame", error: float | None = None, note: str = "") -> None:
        metas = self.recorder.metas
        if error is None and metas:
            error = metas[max(metas)]["error"]
        self.reporter.step(Progress(done, total, unit, error, note))

    def control(self, current: Settings) -> Settings:
        return current if self.watch is None else self.watch.control(current, max(self.recorder.metas, default=0) + 1)
