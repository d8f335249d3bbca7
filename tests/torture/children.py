"""keyfluid's command line in forked children of a process that has imported and compiled everything.

A child is what a user's process would be, but for the three seconds of imports: it parses arguments, prints its lines
and ends with its exit code. Numba's `workqueue` threads survive a fork, OpenMP's do not, so `use_threads_that_fork`
comes before the first kernel; bits do not depend on it.
"""

from __future__ import annotations

import json
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from torture.scenes import CASES, write_scene

PATIENCE = 120.0
"""Seconds after which a child hangs."""


def use_threads_that_fork() -> None:
    """Before Numba is imported."""
    os.environ["NUMBA_THREADING_LAYER"] = "workqueue"
    os.environ.setdefault("NUMBA_NUM_THREADS", "2")


@dataclass
class Outcome:
    """How a child ended. `code` is negative for a signal; `lines` are what it said on standard error."""

    code: int
    lines: list[str]
    reports: list[dict[str, Any]] = field(default_factory=list)
    seconds: float = 0.0
    hung: bool = False

    @property
    def clear(self) -> bool:
        """Refused as promised: exit code 2, one line for each fault, nothing else.

        x264 prints a line of its own, past Python, where it gets no memory.
        """
        said = [line for line in self.lines if not line.startswith(("warning: ", "x264 [error]: malloc"))]
        return self.code == 2 and bool(said) and all(line.startswith("keyfluid: ") for line in said)

    @property
    def quiet(self) -> bool:
        """Finished, and nothing on standard error but warnings and notes."""
        said = [line for line in self.lines if not line.startswith("warning: ")]
        return self.code == 0 and not any("Traceback" in line or "Error" in line for line in said)

    def describe(self) -> str:
        ended = "hung" if self.hung else f"exit {self.code}"
        return f"{ended}: {' | '.join(self.lines[-3:])[:400]}"

    def steps(self, unit: str) -> int:
        """How often it reported an iteration or frame."""
        return sum(report["unit"] == unit for report in self.reports)


class Child:
    """One process that runs `keyfluid ARGUMENTS`."""

    def __init__(self, arguments: Sequence[str], scratch: Path, prepare: Callable[[], None] | None = None) -> None:
        self._said = tempfile.mkdtemp(dir=scratch)
        for name in ("out", "err"):
            Path(self._said, name).touch()
        self._began = time.perf_counter()
        sys.stdout.flush()
        sys.stderr.flush()
        self.pid = os.fork()
        if self.pid == 0:
            _become(arguments, self._said, prepare)

    def wait(self, seconds: float = PATIENCE) -> bool:
        """Whether it has ended within so many seconds; it goes on if not."""
        deadline = time.perf_counter() + seconds
        while True:
            if os.waitid(os.P_PID, self.pid, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                return True
            left = deadline - time.perf_counter()
            if left <= 0:
                return False
            time.sleep(min(0.001, left))

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)

    def printed(self) -> str:
        """Its standard output so far."""
        return Path(self._said, "out").read_text(errors="replace")

    def outcome(self, patience: float = PATIENCE) -> Outcome:
        """Wait for its end; a child that hangs is killed."""
        hung = not self.wait(patience)
        if hung:
            self.kill()
        code = os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])
        seconds = time.perf_counter() - self._began
        lines = [line for line in Path(self._said, "err").read_text(errors="replace").splitlines() if line.strip()]
        reports = _reports(Path(self._said, "out"))
        shutil.rmtree(self._said, ignore_errors=True)
        return Outcome(code, lines, reports, seconds, hung)


def _reports(path: Path) -> list[dict[str, Any]]:
    found = []
    for line in path.read_text(errors="replace").splitlines():
        try:
            event = json.loads(line)
        except ValueError:
            continue  # cut by a kill
        if event.get("event") == "progress":
            found.append(event)
    return found


def _renew_locks() -> None:
    """Numba guards its start with a semaphore that forked processes share; one that was killed would hold it."""
    from numba.np.ufunc import parallel

    parallel._set_init_process_lock()


def _become(arguments: Sequence[str], said: str, prepare: Callable[[], None] | None) -> None:
    """In the child: never returns."""
    code = 70
    try:
        os.setsid()
        for number, name in ((1, "out"), (2, "err")):
            handle = os.open(f"{said}/{name}", os.O_WRONLY | os.O_APPEND)
            os.dup2(handle, number)
            os.close(handle)
        sys.argv = ["keyfluid", *arguments]
        from keyfluid.cli.main import main

        _renew_locks()
        if prepare is not None:
            prepare()
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 0 if end.code is None else 1
    except BaseException:
        code = 1
        traceback.print_exc()
    finally:
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        finally:
            os._exit(code)


def run_words(scene: Path, folder: Path, threads: int = 1) -> list[str]:
    return ["run", str(scene), "-o", str(folder), "--json", "--threads", str(threads)]


def resume_words(folder: Path, threads: int = 1) -> list[str]:
    return ["resume", str(folder), "--json", "--threads", str(threads)]


def warm(names: Sequence[str], folder: Path) -> None:
    """Compile or load every kernel that these scenes use, here, so that children have them."""
    import keyfluid

    folder.mkdir(exist_ok=True)
    for name in names:
        case = CASES[name]
        if case.base is not None and not (folder / case.base).exists():
            warm([case.base], folder)
        scene = write_scene(name, folder / f"{name}.toml", folder / case.base if case.base else None)
        if not (folder / name).exists():
            keyfluid.run(scene, folder / name, threads=1)


def scratch_folder() -> Path:
    """A new folder in memory where there is one: what is tested must not depend on a disk's speed."""
    shared = Path("/dev/shm")
    return Path(tempfile.mkdtemp(prefix="torture-", dir=shared if shared.is_dir() else None))
