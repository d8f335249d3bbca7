"""Where `render`, `export` and `wedge` may write: the run's own folder, or one that is new, empty or theirs."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TypeVar

from keyfluid.errors import KeyfluidError
from keyfluid.io.run import FORMAT
from keyfluid.io.run.owned import FolderLocked, OwnedFolder
from keyfluid.io.run.record import Record
from keyfluid.io.run.run_folder import RunFolder
from keyfluid.runs.outputs import Writable

Folder = TypeVar("Folder", OwnedFolder, RunFolder)

_LOOK = 0.1
"""Seconds between two looks at whether a folder is free."""


@contextmanager
def writable(output: Path | None, run: Path, kind: str, wait: float = 0.0) -> Iterator[Writable]:
    """The folder of the run, or another one if requested; locked while the block writes. wait: as for owned_folder."""
    if output is None or output.resolve() == run.resolve():
        folder = _when_free(lambda: RunFolder.open(run), wait)
        try:
            yield folder
        finally:
            folder.close()
        return
    with owned_folder(output, kind, wait) as owned:
        yield owned


@contextmanager
def owned_folder(path: Path, kind: str, wait: float = 0.0) -> Iterator[OwnedFolder]:
    """A folder for what the command `kind` writes: new, empty, or written by that command before.

    wait: seconds for which another process may still write there
    """
    owned = _when_free(lambda: _claimed(path, kind), wait)
    try:
        yield owned
        owned.settle()
    finally:
        if not owned.held():
            owned.forget()
        owned.leave()


def _when_free(lock: Callable[[], Folder], wait: float) -> Folder:
    """What `lock` gives, once no other process writes there."""
    deadline = time.monotonic() + wait
    while True:
        try:
            return lock()
        except FolderLocked:
            if time.monotonic() > deadline:
                raise
        time.sleep(_LOOK)


def _claimed(path: Path, kind: str) -> OwnedFolder:
    record = Record.read(path)
    if record is not None and record.header.get("keyfluid") != kind:
        found = record.header.get("keyfluid")
        raise KeyfluidError(f"{path}: holds the output of keyfluid {found}; choose another folder with -o")
    if record is None:
        return OwnedFolder.claim(path, {"keyfluid": kind, "format": FORMAT})
    return OwnedFolder.open(path)
