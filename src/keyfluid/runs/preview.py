"""Strip and report of a film that is not finished: somebody may be waiting for a picture."""

from __future__ import annotations

import time

from keyfluid.runs.outputs import Outputs
from keyfluid.runs.recorder import Recorder

_INTERVAL, _PATIENCE = 30.0, 9
"""Seconds between previews where nothing else asks for one; how many times its own time one waits for the next."""


class Preview:
    """Draws what a recorder has; previews take a tenth of a run's time at most."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._shown, self._seconds = time.perf_counter(), 0.0

    def show(self, since: float | None = None) -> None:
        """The frames so far; skipped where that would take more than a tenth of the time."""
        recorder, began = self._recorder, time.perf_counter() if since is None else since
        if recorder.folder is None or not recorder.metas or not self.worth(began):
            return
        outputs = Outputs(recorder.problem, recorder.frames, recorder.folder)
        outputs.write_strip()
        outputs.write_report(recorder.result("running"))
        self._shown = time.perf_counter()
        self._seconds = self._shown - began

    def worth(self, now: float) -> bool:
        """Whether a preview that begins now takes a tenth of the time at most, and leaves anything to look at."""
        return self._recorder.folder is not None and now - self._shown >= _PATIENCE * self._seconds

    @property
    def due(self) -> bool:
        wait = max(_INTERVAL, _PATIENCE * self._seconds)
        return self._recorder.folder is not None and time.perf_counter() - self._shown > wait
