"""Files by which a run and its workers exchange tasks and answers, in a folder of the session in `.crew` of the run.

    nonce                     says that this is the same folder, and that somebody waits
    job.task  0001.task       what goes to workers: pickled, after a MAC
    0001.answer               what comes back, likewise
    0001.by                   a line for each worker that began it: host and process

Only a Ticket goes through the scheduler. It has the key of the MACs, so nothing is unpickled that was not written by
the run or by one of its workers. Files are whole or not there, and are removed with the session; a worker that comes
too late finds no folder to write to.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import pickle
import secrets
import socket
import time
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from keyfluid.cluster.machine import Machine
from keyfluid.errors import KeyfluidError
from keyfluid.io.atomic import part_of, write_whole
from keyfluid.io.run.layout import CREW
from keyfluid.io.run.owned import OwnedFolder

NONCE, JOB = "nonce", "job.task"
_PATIENCE, _ANSWER = 5.0, 65.0
"""Seconds until a file that was just written is seen by other machines; by one that looked for it before it was there,
as the run does for answers, NFS hides it for up to a minute."""


@dataclass(frozen=True)
class Ticket:
    """What a worker needs to find a task: about a kilobyte.

    folder: of the session; name: of the task, without ending; machine: what the worker must have
    """

    module: str
    folder: str
    nonce: str
    key: bytes = field(repr=False)
    machine: Machine
    has_job: bool
    name: str


class Session:
    """The run's side: writes tasks, reads answers, and removes both."""

    def __init__(self, owned: OwnedFolder) -> None:
        self._owned, self._tasks = owned, 0
        self._names: list[str] = []
        self.nonce, self._key = secrets.token_hex(16), secrets.token_bytes(32)
        self._inside = f"{CREW}/{self.nonce[:8]}"
        self.folder = (owned.path / self._inside).absolute()
        nonce = self.nonce.encode()
        with owned.writing(self._listed(NONCE)) as path:
            write_whole(path, lambda file: file.write(nonce))

    def put_job(self, job: object) -> None:
        self._write(JOB, job)

    def put(self, module: str, task: object, has_job: bool) -> Ticket:
        """Write a task; its answer and its log are expected."""
        name = f"{self._tasks:04d}"
        self._tasks += 1
        self._owned.expect([self._listed(f"{name}.answer"), self._listed(f"{name}.by")])
        self._write(f"{name}.task", task)
        return Ticket(module, str(self.folder), self.nonce, self._key, Machine.here(), has_job, name)

    def answer(self, ticket: Ticket) -> Any:
        """The answer to a task, whose files then go; raises FileNotFoundError where the worker gave none."""
        found = open_parcel(self.folder / f"{ticket.name}.answer", self._key, _ANSWER)
        for ending in ("task", "answer", "by"):
            self._owned.remove(f"{self._inside}/{ticket.name}.{ending}")
        return found

    def begun_by(self, ticket: Ticket) -> list[str]:
        """The workers that began a task, one for each time."""
        with suppress(OSError):
            return (self.folder / f"{ticket.name}.by").read_text(encoding="utf-8").splitlines()
        return []

    def close(self) -> None:
        """Remove what is left; workers that are still at work see it and give up."""
        for name in self._names:
            self._owned.remove(name)
            part_of(self._owned.path / name).unlink(missing_ok=True)
        with suppress(OSError):  # a worker was just writing
            self._owned.remove_empty(self._inside)
            self._owned.remove_empty(CREW)

    def _listed(self, name: str) -> str:
        self._names.append(f"{self._inside}/{name}")
        return self._names[-1]

    def _write(self, name: str, value: object) -> None:
        with self._owned.writing(self._listed(name)) as path:
            seal_parcel(path, value, self._key)


def seal_parcel(path: Path, value: object, key: bytes) -> None:
    """Write a value, with a MAC of its name and content before it; raises OSError where its folder is gone."""
    data = pickle.dumps(value, protocol=5)
    part = part_of(path)
    with part.open("wb") as file:
        file.write(_mac(path.name, data, key))
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(part, path)


def open_parcel(path: Path, key: bytes, patience: float = _PATIENCE) -> Any:
    """The value in a file; raises if it is not there after so many seconds, or not from this session."""
    content = _seen(path, patience)
    mac, data = content[:32], content[32:]
    if not hmac.compare_digest(mac, _mac(path.name, data, key)):
        raise KeyfluidError(f"{path}: is damaged or from elsewhere; resume the run")
    return pickle.loads(data)


def is_open(folder: Path, nonce: str) -> bool:
    """Whether somebody waits for answers in a folder: it is the same one, and its session has not ended."""
    try:
        return (folder / NONCE).read_bytes() == nonce.encode()
    except OSError:
        return False


def sees(folder: Path, nonce: str) -> bool:
    """The same for a folder that was just written."""
    deadline = time.monotonic() + _PATIENCE
    while not is_open(folder, nonce):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def sign(folder: Path, name: str) -> None:
    """Note that this process begins a task."""
    handle = os.open(folder / f"{name}.by", os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o666)
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.write(f"{socket.gethostname()} {os.getpid()}\n")


def _seen(path: Path, patience: float) -> bytes:
    """A file's content, once this machine sees it."""
    deadline = time.monotonic() + patience
    while True:
        try:
            return path.read_bytes()
        except OSError:
            if time.monotonic() > deadline:
                raise
        time.sleep(0.05)


def _mac(name: str, data: bytes, key: bytes) -> bytes:
    return hmac.new(key, name.encode() + b"\0" + data, hashlib.sha256).digest()
