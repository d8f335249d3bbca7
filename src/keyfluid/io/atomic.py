"""Files that appear whole or not at all, and that outlive a power cut.

A file is written beside its place, as `.NAME.part`, flushed to the disk and renamed; then the folder's own entry is
flushed. After a crash of the program or of the machine there is the old file or the new one, never a mixture.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import IO

from keyfluid.errors import KeyfluidError

PART = ".part"
"""Ends the name of a file that is being written."""

_NO_SYNC = (errno.EINVAL, errno.ENOTSUP, errno.EBADF)
"""What fsync answers for a folder on file systems that can't flush one."""


class DiskError(KeyfluidError):
    """A file can't be written; what was written before is whole, so a run can go on once there is room."""


@contextmanager
def replacing(path: str | os.PathLike[str], entry: bool = True) -> Iterator[Path]:
    """A temporary path beside `path` that takes its place when the block ends well and is removed when not.

    entry: flush the folder too; without it the content is durable, but its name only when the folder is next flushed.
    """
    final = Path(path)
    try:
        final.parent.mkdir(parents=True, exist_ok=True)
        temporary = _new_part(final)
        try:
            yield temporary
            _flush(temporary)
            os.replace(temporary, final)
            if entry:
                flush_folder(final.parent)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise DiskError(f"{final}: can't be written: {reason}; free some space or check permissions") from None


def write_whole(path: Path, write: Callable[[IO[bytes]], object], entry: bool = True) -> None:
    """Let `write` fill a file that then takes its place; a fault leaves the old one untouched. entry: see replacing."""
    with replacing(path, entry) as temporary, temporary.open("wb") as file:
        write(file)


def flush_folder(folder: Path) -> None:
    """Make renames and removals in a folder durable."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in _NO_SYNC:
            raise
    finally:
        os.close(handle)


def part_of(path: Path) -> Path:
    """Where a file is written before it takes its place."""
    return path.with_name(f".{path.name}{PART}")


def _new_part(final: Path) -> Path:
    """A new file; never one that is there already, nor through a link."""
    for number in count():
        path = part_of(final) if number == 0 else final.with_name(f".{final.name}.{number}{PART}")
        try:
            os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o666))
        except FileExistsError:
            continue
        return path
    raise AssertionError("unreachable")


def _flush(path: Path) -> None:
    handle = os.open(path, os.O_RDWR if os.name == "nt" else os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
