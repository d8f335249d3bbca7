"""One job as the server sees it: launched, followed while it runs, asked to stop."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from keyfluid.errors import KeyfluidError, faults_of
from keyfluid.io.run.layout import FRAMES
from keyfluid.studio.answers import Refused
from keyfluid.studio.events import Events
from keyfluid.studio.job_course import Course
from keyfluid.studio.job_record import ENDED, JobRecord, is_alive, pid_of, read_json, write_json
from keyfluid.studio.job_request import check_again
from keyfluid.studio.workspace import Workspace, is_run

ACTIVE = ("running", "stopping")
_LOOK = 0.5
"""Seconds between two looks at the frames of a run."""


class FollowedJob:
    """`state` is queued, running, stopping, finished, stopped, failed or lost (its process is gone without a word)."""

    def __init__(self, folder: Path, record: JobRecord, events: Events) -> None:
        self.folder, self.record, self._events = folder, record, events
        self.course = Course(folder)
        for _ in self.course.read():
            pass
        self.exit: int | None = None
        self.ended: float | None = None
        self.message, self.faults = "", list[dict[str, str]]()
        self._process: subprocess.Popen[bytes] | None = None
        self._signals, self._looked = 0, 0.0
        self._frames: dict[str, dict[int, int]] = {}
        self.state = self._found_state()
        if self.state in ACTIVE:
            self._new_frames()  # the page asks for those that are there

    @property
    def root(self) -> Path:
        return self.folder.parents[2]

    def public(self) -> dict[str, Any]:
        """The job as the page gets it."""
        record, course = self.record, self.course
        return {
            "id": record.id, "kind": record.kind, "scene": record.scene, "run": record.run, "set": record.set,
            "wedge": record.wedge, "state": self.state, "exit": self.exit, "message": self.message,
            "faults": self.faults, "queued": record.queued, "started": record.started, "ended": self.ended,
            "last": course.last, "estimate": course.estimate, "plan": course.plan, "variant": course.variant,
            "result": course.result, "notes": course.notes, "lines": course.lines, "resumable": self._resumable(),
        }  # fmt: skip

    def publish(self) -> None:
        self._events.publish("job", job=self.public())

    def launch(self, workspace: Workspace) -> None:
        """Start its process, once more looked at: the scene may have changed since it was queued."""
        try:
            check_again(workspace, self.record)
            self._process = _start(self.folder)
            self.record.started = time.time()
            self.record.write(self.folder)
            self.state = "running"
        except (KeyfluidError, OSError) as error:
            self.message, self.exit, self.ended = str(error), 2, time.time()
            self.faults = faults_of(error) if isinstance(error, KeyfluidError) else []
            self.state = "failed"
            with suppress(KeyfluidError):
                write_json(self.folder / ENDED, self._ending())
        self.publish()

    def follow(self) -> None:
        """Publish what is new."""
        alive = is_alive(self.folder)
        if self._process is not None:
            self._process.poll()  # takes leave of a process that has ended
        self._send_signals()
        for event in self.course.read():
            content = {key: value for key, value in event.items() if key not in ("n", "type", "kind", "id", "run")}
            self._events.publish("progress", id=self.record.id, run=self.record.run, **content)
        if not alive or time.monotonic() - self._looked > _LOOK:
            self._looked = time.monotonic()
            for run, frames in self._new_frames().items():
                self._events.publish("frames", run=run, frames=frames)
        if not alive:
            self.state = self._found_state()
            self.publish()

    def stop(self) -> None:
        if self.state == "queued":
            self.exit, self.ended, self.state = 130, time.time(), "stopped"
            write_json(self.folder / ENDED, self._ending(asked=True))
        elif self.state in ACTIVE:
            self._signals += 1
            self.state, self.record.stopping = "stopping", True
            self.record.write(self.folder)
            self._send_signals()
        else:
            raise Refused(409, f"{self.record.run}: has ended already")
        self.publish()

    def _send_signals(self) -> None:
        """To its process, once that is ready to take them (process.json), and only while it holds the lock."""
        pid = pid_of(self.folder) if self._signals else None
        while self._signals and pid is not None and is_alive(self.folder):
            self._signals -= 1
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGINT)

    def _ending(self, asked: bool = False) -> dict[str, Any]:
        return {"exit": self.exit, "ended": self.ended, "asked": asked, "message": self.message, "faults": self.faults}

    def _found_state(self) -> str:
        """From what is on disk."""
        alive = is_alive(self.folder)
        ended = read_json(self.folder / ENDED)
        if not ended:
            if alive:
                return "stopping" if self.record.stopping else "running"
            if self.record.started is None and pid_of(self.folder) is None:
                return "queued"
            self.message = "its process is gone, perhaps since the machine was switched off; resume it"
            return "lost"
        code, self.ended = ended.get("exit"), ended.get("ended")
        self.exit = code if isinstance(code, int) else 1
        if self.exit == 0:
            return "finished"
        if self.exit == 130 or (ended.get("asked") and self.exit != 2):
            return "stopped"
        self.faults = self.course.faults or ended.get("faults", [])
        self.message = self.course.message or ended.get("message") or self._reason()
        return "failed"

    def _reason(self) -> str:
        if self.exit == -signal.SIGKILL:
            return "the run was killed, perhaps because memory ran out; lower domain.resolution, or resume it"
        words = self.course.last_words()
        return words or f"the run ended with code {self.exit}; .studio/jobs/{self.folder.name}/errors.txt says more"

    def _resumable(self) -> bool:
        return (
            self.state in ("stopped", "failed", "lost") and self.record.kind != "wedge"
            and is_run(self.root / self.record.run)
        )  # fmt: skip

    def _new_frames(self) -> dict[str, list[int]]:
        """Frames that were written since the last look, by run; a wedge has a run in each folder inside."""
        runs = [self.record.run]
        if self.record.kind == "wedge":
            with suppress(OSError):
                runs = sorted(f"{self.record.run}/{name}" for name in os.listdir(self.root / self.record.run))
        found = {}
        for run in runs:
            known = self._frames.setdefault(run, {})
            times = _frame_times(self.root / run / FRAMES)
            new = sorted(index for index, when in times.items() if known.get(index) != when)
            if new:
                found[run], self._frames[run] = new, times
        return found


def _frame_times(folder: Path) -> dict[int, int]:
    """When each frame was written."""
    times = {}
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            stem, _, ending = entry.name.partition(".")
            if ending == "npz" and stem.isascii() and stem.isdecimal():
                with suppress(OSError):
                    times[int(stem)] = entry.stat().st_mtime_ns
    return times


def _start(folder: Path) -> subprocess.Popen[bytes]:
    """The process inherits the lock on the job's folder, so there is no moment at which it runs without."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        _lock(handle)
        return subprocess.Popen(
            [sys.executable, "-P", "-m", "keyfluid.studio.job", str(folder)], cwd=folder, pass_fds=(handle,),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
    finally:
        os.close(handle)


def _lock(handle: int) -> None:
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except ImportError:
        return
    except BlockingIOError:
        raise Refused(409, "the job is running already") from None
    except OSError:
        return  # a file system without locks
