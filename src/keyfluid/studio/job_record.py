"""A job on disk: .studio/jobs/ID/ with

    job.json       what to run; written by the server alone
    process.json   the process that looks after it (job.py)
    events.jsonl   what `keyfluid run --json` printed
    errors.txt     what it wrote to stderr
    ended.json     its exit code

While that process lives it holds a lock on the folder (flock), which it inherits from the server: a server that comes
later finds by the lock which jobs are running, whatever became of process ids meanwhile. No command is stored: a
workspace may come from somebody else.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from keyfluid.io.atomic import write_whole
from keyfluid.io.run.owned import is_locked

JOB, PROCESS, EVENTS, ERRORS, ENDED = "job.json", "process.json", "events.jsonl", "errors.txt", "ended.json"
KINDS = ("run", "preview", "resume", "wedge")
_MOST_BYTES = 1 << 20


@dataclass
class JobRecord:
    """job.json. scene and run: names in the workspace; times in seconds since 1970."""

    id: str
    kind: str
    scene: str | None
    run: str
    queued: float
    set: list[str] = field(default_factory=list)
    wedge: list[str] = field(default_factory=list)
    started: float | None = None
    stopping: bool = False

    @classmethod
    def read(cls, folder: Path) -> JobRecord | None:
        """None where there is none, or one that is damaged."""
        data = read_json(folder / JOB)
        try:
            record = cls(**{**data, "id": folder.name})
        except TypeError:
            return None
        return record if record.is_sound() else None

    def is_sound(self) -> bool:
        """Whether every entry is what it should be."""
        texts = [self.run, *([] if self.scene is None else [self.scene])]
        lists = [self.set, self.wedge]
        return (
            self.kind in KINDS
            and (self.scene is not None or self.kind == "resume")
            and all(isinstance(text, str) for text in texts)
            and all(isinstance(one, list) and all(isinstance(text, str) for text in one) for one in lists)
            and isinstance(self.queued, int | float)
            and isinstance(self.started, int | float | None)
        )

    def write(self, folder: Path) -> None:
        write_json(folder / JOB, asdict(self))

    def command(self) -> list[str]:
        """To be started in the workspace; -P: modules are not looked for there."""
        words = [sys.executable, "-P", "-m", "keyfluid"]
        if self.kind == "resume":
            return [*words, "resume", "--json", "--", f"./{self.run}"]
        words += ["wedge" if self.kind == "wedge" else "run", "--json", f"--output=./{self.run}"]
        words += [f"--set={change}" for change in self.set]
        words += ["--preview", "0"] if self.kind == "preview" else []
        return [*words, "--", f"./{self.scene}", *self.wedge]


def is_alive(folder: Path) -> bool:
    """Whether a job's process is there."""
    locked = is_locked(folder)
    if locked is not None:
        return locked
    pid = pid_of(folder)  # a file system without locks
    return pid is not None and _exists(pid)


def pid_of(folder: Path) -> int | None:
    """The process that looks after a job; None before it has begun."""
    pid = read_json(folder / PROCESS).get("pid")
    return pid if isinstance(pid, int) and pid > 1 else None


def read_json(path: Path) -> dict[str, Any]:
    """An object in a small file; empty where there is none."""
    try:
        with path.open("rb") as file:
            data = json.loads(file.read(_MOST_BYTES))
    except (OSError, ValueError, RecursionError):
        return {}
    return data if isinstance(data, dict) else {}


def write_json(path: Path, data: Mapping[str, Any]) -> None:
    text = json.dumps(data, indent=1)
    write_whole(path, lambda file: file.write(text.encode()))


def _exists(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        pass
    return True
