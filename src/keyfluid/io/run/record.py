"""The marker of a folder that keyfluid writes to, and its record of every file written there.

`.keyfluid` holds JSON lines, a header and then one for each change:

    {"keyfluid": "run", "format": 2, ...}            what the folder is
    {"file": "frames/0003.npz"}                      about to be written: ours, whatever its size
    {"file": "frames/0003.npz", "bytes": 10342}      written: ours as long as it has this size
    {"file": "frames/0003.npz", "gone": true}        removed

A name is on the disk before its file is, so after a kill or a power cut no file of ours is missing from the list. A
last line that was cut short is ignored: what it would have said was not acted upon yet.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Any

from keyfluid.errors import KeyfluidError
from keyfluid.io.atomic import write_whole

MARKER = ".keyfluid"
_MOST_BYTES = 256 << 20
_NOT_UTF8 = "replace"


class Record:
    """header: what the folder is. files: {name: size, or None while it is being written}."""

    def __init__(self, folder: Path, header: Mapping[str, Any], files: Mapping[str, int | None]) -> None:
        self.folder, self.header, self.files = folder, dict(header), dict(files)
        self._handle: int | None = None

    @classmethod
    def read(cls, folder: Path) -> Record | None:
        """The record of a folder; None if it has none."""
        path = folder / MARKER
        try:
            if path.is_symlink() or not path.is_file():
                return None
            with path.open("rb") as file:
                content = file.read(min(_MOST_BYTES, path.stat().st_size) + 1)
        except OSError as error:
            raise KeyfluidError(f"{path}: can't be read: {error.strerror or error}; check its permissions") from None
        lines = content.decode("utf-8", _NOT_UTF8).split("\n")
        header = _object(lines[0])
        if len(content) > _MOST_BYTES or "keyfluid" not in header:
            raise KeyfluidError(f"{path}: is damaged; nothing was changed; choose another folder")
        files: dict[str, int | None] = {}
        for line in lines[1:]:
            _apply(_object(line), files)
        return cls(folder, header, files)

    def write(self) -> None:
        """The whole record anew, short: one line per file."""
        self.close()
        lines = [json.dumps(self.header), *(_line(name, size) for name, size in self.files.items())]
        text = "\n".join(lines) + "\n"
        write_whole(self.folder / MARKER, lambda file: file.write(text.encode("utf-8")))

    def opened(self, *names: str) -> None:
        """These files are about to be written; the list is on the disk when this returns."""
        self.files.update(dict.fromkeys(names))
        self._append("\n".join(_line(name, None) for name in names))
        assert self._handle is not None
        os.fsync(self._handle)

    def wrote(self, name: str, size: int) -> None:
        self.files[name] = size
        self._append(_line(name, size))

    def removed(self, name: str) -> None:
        self.files.pop(name, None)
        self._append(json.dumps({"file": name, "gone": True}))

    def close(self) -> None:
        if self._handle is not None:
            os.close(self._handle)
            self._handle = None

    def _append(self, line: str) -> None:
        if self._handle is None:
            self._handle = os.open(self.folder / MARKER, os.O_RDWR | os.O_APPEND)
        data = line.encode("utf-8") + b"\n"
        before = os.fstat(self._handle).st_size
        try:
            if before and os.pread(self._handle, 1, before - 1) != b"\n":
                data = b"\n" + data  # a line before it was cut short
            if os.write(self._handle, data) != len(data):
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self.folder / MARKER))
        except OSError:
            os.ftruncate(self._handle, before)
            raise


def safe_name(name: object) -> bool:
    """Whether a name of the record stays inside its folder."""
    if not isinstance(name, str) or not name or "\0" in name or "\\" in name:
        return False
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and str(path) == name and name not in (".", MARKER)


def _line(name: str, size: int | None) -> str:
    return json.dumps({"file": name} if size is None else {"file": name, "bytes": size})


def _object(line: str) -> dict[str, Any]:
    """What a line says; nothing if it does not parse."""
    try:
        found = json.loads(line) if line.strip() else {}
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _apply(entry: Mapping[str, Any], files: dict[str, int | None]) -> None:
    name = entry.get("file")
    if not safe_name(name):
        return
    assert isinstance(name, str)
    size = entry.get("bytes")
    if entry.get("gone"):
        files.pop(name, None)
    elif size is None or (isinstance(size, int) and size >= 0):
        files[name] = size
