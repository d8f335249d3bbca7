# SPDX-License-Identifier: GPL-3.0-or-later
"""keyfluid as a process of its own, looked at now and then: nothing here waits.

What it prints goes to files, RUN.jsonl and RUN.log beside the run. So a run outlives Blender, and `Job.attach` finds it
again when the .blend is opened.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from . import program
from .messages import Fault, failed

ACTIVE = ("running", "stopping")
STOPPED = 130


class Job:
    """Commands one after the other; the last prints JSON lines.

    state: "running", "stopping", "finished", "stopped" or "failed"; message: one line for the panel.
    checks: called with what the command of the same number printed; raises a Fault to end the job.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.folder, self.name = folder, name
        self.state, self.message = "running", "starting"
        self.fraction: float | None = None
        self.seconds_left: float | None = None
        self.errors: dict[str, float] = {}
        self.result: dict[str, Any] | None = None
        self.warnings: list[str] = []
        self._commands: list[list[str]] = []
        self._checks: list[Callable[[str], None] | None] = []
        self._process: subprocess.Popen[bytes] | None = None
        self._pid: int | None = None
        self._read, self._rest = 0, b""
        self._error = ""

    @property
    def lines_file(self) -> Path:
        return self.folder / f"{self.name}.jsonl"

    @property
    def log_file(self) -> Path:
        return self.folder / f"{self.name}.log"

    @property
    def _pid_file(self) -> Path:
        return self.folder / f"{self.name}.pid"

    @property
    def active(self) -> bool:
        return self.state in ACTIVE

    def start(self, commands: Sequence[Sequence[str]], checks: Sequence[Callable[[str], None] | None] = ()) -> Job:
        """Launch the first command; `look` launches the others."""
        self._commands = [list(command) for command in commands]
        self._checks = [*checks, *[None] * (len(commands) - len(checks))]
        self.folder.mkdir(parents=True, exist_ok=True)
        self._launch()
        return self

    def attach(self) -> bool:
        """Follow a run that an earlier session left; False where none is at work, or on Windows, which can't tell."""
        try:
            pid = int(self._pid_file.read_text(encoding="ascii"))
        except (OSError, ValueError):
            return False
        if not _is_alive(pid):
            return False
        self._pid = pid
        self._read_lines()
        return True

    def stop(self) -> None:
        """As Ctrl-C does: keyfluid ends between two steps and can be resumed. A second time: at once."""
        if not self.active:
            return
        pid = self._process.pid if self._process is not None else self._pid
        again = self.state == "stopping"
        self.state, self.message = "stopping", "stopping after this step"
        try:
            if os.name == "nt":
                os.kill(pid, signal.SIGTERM if again else signal.CTRL_BREAK_EVENT)  # type: ignore[arg-type, attr-defined]
            else:
                os.kill(pid, signal.SIGTERM if again else signal.SIGINT)  # type: ignore[arg-type]
        except (OSError, ProcessLookupError):
            pass

    def look(self) -> bool:
        """Take in what happened since the last look; True where something did."""
        if not self.active:
            return False
        changed = self._read_lines()
        code = self._exit_code()
        if code is None:
            return changed
        self._read_lines()
        self._ended(code)
        return True

    def _launch(self) -> None:
        command = self._commands[0]
        flags = (
            {"creationflags": subprocess.CREATE_NEW_PROCESS_GROUP} if os.name == "nt" else {"start_new_session": True}
        )  # type: ignore[attr-defined]
        self._read, self._rest = 0, b""
        try:
            with self.lines_file.open("wb") as out, self.log_file.open("wb") as log:
                self._process = subprocess.Popen(
                    command, stdin=subprocess.DEVNULL, stdout=out, stderr=log, env=program.environment(),
                    cwd=self.folder, **flags,  # type: ignore[call-overload]
                )  # fmt: skip
            self._pid_file.write_text(str(self._process.pid), encoding="ascii")
        except OSError as error:
            self._fail(
                f"{command[0]}: can't be started ({error.strerror or error}); correct its path in the preferences"
            )

    def _exit_code(self) -> int | None:
        if self._process is not None:
            return self._process.poll()
        if self._pid is not None and _is_alive(self._pid):
            return None
        # A run of an earlier session: its last line says how it ended.
        return 0 if self.result is not None else STOPPED if self.state == "stopping" else 1

    def _ended(self, code: int) -> None:
        self._process, self._pid = None, None
        self._pid_file.unlink(missing_ok=True)
        check = self._checks.pop(0) if self._checks else None
        if code == 0:
            try:
                if check is not None:
                    check(_text(self.lines_file))
            except Fault as fault:
                self._fail(str(fault))
                return
            self._commands = self._commands[1:]
            if self._commands and self.state == "running":
                self._launch()
            elif self.state == "stopping" and self.result is None:
                self.state, self.message = "stopped", "stopped; press Resume to continue"
            else:
                self.state, self.message, self.fraction, self.seconds_left = "finished", "finished", 1.0, 0.0
        elif code == STOPPED or self.state == "stopping":
            self.state, self.message, self.seconds_left = "stopped", "stopped; press Resume to continue", None
        else:
            self._fail(self._error or failed(code, _text(self.log_file)))

    def _fail(self, message: str) -> None:
        self.state, self.message, self.seconds_left = "failed", message, None

    def _read_lines(self) -> bool:
        try:
            with self.lines_file.open("rb") as file:
                file.seek(self._read)
                fresh = file.read()
        except OSError:
            return False
        self._read += len(fresh)
        *whole, self._rest = (self._rest + fresh).split(b"\n")
        for line in whole:
            self._take(line)
        return bool(whole)

    def _take(self, line: bytes) -> None:
        try:
            event = json.loads(line)
        except ValueError:
            return
        if not isinstance(event, dict):
            return
        kind = event.get("event")
        if kind == "progress":
            self._progress(event)
        elif kind == "compiling":
            self.message = "compiling, once"
        elif kind == "warning":
            self.warnings.append(str(event.get("message", "")))
        elif kind == "error":
            first, *others = str(event.get("message", "")).splitlines() or [""]
            self._error = first + (f" (and {len(others)} more; see {self.log_file.name})" if others else "")
        elif kind == "result":
            self.result = event

    def _progress(self, event: dict[str, Any]) -> None:
        if event.get("unit") == "note":
            return
        done, total = event.get("done", 0), event.get("total", 0)
        self.fraction = done / total if total else None
        self.seconds_left = event.get("seconds_left")
        self.errors = {str(key): float(value) for key, value in (event.get("errors") or {}).items()}
        if self.state == "running":
            self.message = f"{event.get('unit', 'frame')} {done} of {total}"

    def status(self) -> str:
        """One line for the status bar."""
        left = f", {words(self.seconds_left)} left" if self.active and self.seconds_left is not None else ""
        return f"keyfluid: {self.message}{left}"


def words(seconds: float) -> str:
    """A time for people."""
    if seconds < 90:
        return f"{max(round(seconds), 1)} s"
    minutes = seconds / 60
    return f"{round(minutes)} min" if minutes < 90 else f"{minutes / 60:.1f} h"


def wait(job: Job, seconds: float, each: Callable[[], object] = lambda: None) -> None:
    """Look until a job has ended: for scripts and tests, never for the interface."""
    until = time.monotonic() + seconds
    while job.active and time.monotonic() < until:
        job.look()
        each()
        time.sleep(0.05)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


def _is_alive(pid: int) -> bool:
    if os.name == "nt":
        return False
    try:
        os.kill(pid, 0)
    except PermissionError:
        return True
    except OSError:
        return False
    return True
