"""Arrays and a few numbers in one file that is whole or absent, and that knows when it is damaged.

The file is a .npz as numpy writes it (uncompressed zip: a CRC-32 per array), with one entry more, "meta": JSON in
bytes. It is written beside its place, flushed to the disk and renamed. Nothing in it depends on the clock, so two
equal runs write equal files.
"""

from __future__ import annotations

import json
import os
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from keyfluid.errors import KeyfluidError

PART = ".part"


class DiskError(KeyfluidError):
    """A file can't be written; what was written before is whole, so a run can go on once there is room."""


def save_arrays(
    path: Path, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any], sync: bool = True
) -> None:
    """Write the file, whole or not at all; sync: wait until it is on the disk, so that it outlives a power cut."""
    written = np.frombuffer(json.dumps(meta).encode(), np.uint8)
    write_whole(path, lambda file: np.savez(file, meta=written, **arrays), sync)  # type: ignore[arg-type]


def load_arrays(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """All arrays, each checked against its checksum, and the meta data."""
    try:
        with np.load(path, allow_pickle=False) as content:
            arrays = {name: content[name] for name in content.files}
        return arrays, _decoded(arrays.pop("meta"))
    except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise damaged(path, error) from None


def load_meta(path: Path) -> dict[str, Any]:
    """Only the meta data."""
    try:
        with np.load(path, allow_pickle=False) as content:
            return _decoded(content["meta"])
    except (OSError, KeyError, ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise damaged(path, error) from None


def check_arrays(path: Path) -> dict[str, Any]:
    """Read the file through, and return its meta data; raises if any byte of it is not what was written."""
    try:
        with zipfile.ZipFile(path) as archive:
            bad = archive.testzip()
        if bad is not None:
            raise zipfile.BadZipFile(f"{bad} does not match its checksum")
    except (OSError, ValueError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError) as error:
        raise damaged(path, error) from None
    return load_meta(path)


def damaged(path: Path, error: Exception) -> KeyfluidError:
    if isinstance(error, FileNotFoundError):
        return KeyfluidError(f"{path}: is missing")
    if isinstance(error, PermissionError):
        return KeyfluidError(f"{path}: can't be read: {error.strerror}; check its rights")
    return KeyfluidError(f"{path}: is damaged or cut short")


def write_whole(path: Path, write: Callable[[IO[bytes]], object], sync: bool = True) -> None:
    """Let `write` fill a file that then takes its place; a fault leaves the old one untouched."""
    temporary = path.with_name(f".{path.name}{PART}")
    try:
        try:
            with temporary.open("wb") as file:
                write(file)
                file.flush()
                if sync:
                    os.fsync(file.fileno())
            os.replace(temporary, path)
        except BaseException:
            temporary.unlink(missing_ok=True)
            raise
    except OSError as error:
        reason = error.strerror or str(error)
        raise DiskError(f"{path}: can't be written: {reason}; free some space or check rights") from None


def _decoded(meta: np.ndarray) -> dict[str, Any]:
    decoded = json.loads(meta.tobytes())
    if not isinstance(decoded, dict):
        raise ValueError("meta is not a table")
    return decoded
