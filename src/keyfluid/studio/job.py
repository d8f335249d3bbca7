"""The process that looks after one job: `python -m keyfluid.studio.job FOLDER`.

It starts `keyfluid run ... --json`, keeps what that prints in the job's folder, passes a request to stop on to it, and
records how it ended. The server may end meanwhile: this process is in a session of its own.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import IO

from keyfluid.studio.job_record import ENDED, ERRORS, EVENTS, PROCESS, JobRecord, write_json

_NICE = 5
"""A run gives way to the page, which a person looks at."""


class Stops:
    """Passes every SIGINT or SIGTERM on as a SIGINT, also one that comes before there is a process to take it."""

    def __init__(self) -> None:
        self.asked = self._passed = 0
        self._child: subprocess.Popen[bytes] | None = None
        for number in (signal.SIGINT, signal.SIGTERM):
            signal.signal(number, self._ask)  # not SIG_IGN, which the run would inherit

    def watch(self, child: subprocess.Popen[bytes]) -> None:
        self._child = child
        self._pass()

    def _ask(self, number: int, frame: object) -> None:
        self.asked += 1
        self._pass()

    def _pass(self) -> None:
        while self._child is not None and self._passed < self.asked:
            self._passed += 1
            self._child.send_signal(signal.SIGINT)


def main(folder: Path) -> int:
    record = JobRecord.read(folder)
    if record is None:
        return 2
    stops = Stops()
    write_json(folder / PROCESS, {"pid": os.getpid(), "started": time.time()})
    os.nice(_NICE)
    with _appended(folder / EVENTS) as output, _appended(folder / ERRORS) as errors:
        child = subprocess.Popen(
            record.command(), cwd=folder.parents[2], stdin=subprocess.DEVNULL, stdout=output, stderr=errors
        )
        stops.watch(child)
        code = child.wait()
    write_json(folder / ENDED, {"exit": code, "ended": time.time(), "asked": stops.asked > 0})
    return 0


def _appended(path: Path) -> IO[bytes]:
    """A file to write to, never through a link."""
    flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND | getattr(os, "O_NOFOLLOW", 0)
    return os.fdopen(os.open(path, flags, 0o600), "ab")


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
