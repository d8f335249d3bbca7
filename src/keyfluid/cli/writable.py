"""Where `render`, `export` and `wedge` may write: the run's own folder, or one that is new, empty or theirs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from keyfluid.errors import KeyfluidError
from keyfluid.io.run import FORMAT
from keyfluid.io.run.owned import OwnedFolder
from keyfluid.io.run.record import Record
from keyfluid.io.run.run_folder import RunFolder
from keyfluid.runs.outputs import Writable


@contextmanager
def writable(output: Path | None, run: Path, kind: str) -> Iterator[Writable]:
    """The folder of the run, or another one if requested; locked while the block writes."""
    if output is None or output.resolve() == run.resolve():
        folder = RunFolder.open(run)
        try:
            yield folder
        finally:
            folder.close()
        return
    with owned_folder(output, kind) as owned:
        yield owned


@contextmanager
def owned_folder(path: Path, kind: str) -> Iterator[OwnedFolder]:
    """A folder for what the command `kind` writes: new, empty, or written by that command before."""
    record = Record.read(path)
    if record is not None and record.header.get("keyfluid") != kind:
        found = record.header.get("keyfluid")
        raise KeyfluidError(f"{path}: holds the output of keyfluid {found}; choose another folder with -o")
    if record is None:
        owned = OwnedFolder.claim(path, {"keyfluid": kind, "format": FORMAT})
    else:
        owned = OwnedFolder.open(path)
    try:
        yield owned
        owned.settle()
    finally:
        if not owned.held():
            owned.forget()
        owned.leave()
