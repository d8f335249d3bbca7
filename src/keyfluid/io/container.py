"""Arrays and a few numbers in one file that is whole or absent, and that knows when it is damaged.

The file is a .npz as numpy writes it (uncompressed zip: a CRC-32 per array), with one entry more, "meta": JSON in
bytes. Nothing in it depends on the clock, so two equal runs write equal files.

Reading trusts nothing: entries must be stored uncompressed and unencrypted, as we write them, so a file never takes
more memory than it has bytes; an array's header must describe exactly the bytes that follow it.
"""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from tokenize import TokenError
from typing import Any

import numpy as np
from numpy.lib import format as npy

from keyfluid.errors import KeyfluidError
from keyfluid.io.atomic import DiskError, write_whole

__all__ = ["DiskError", "check_arrays", "load_arrays", "load_meta", "save_arrays"]

_ENCRYPTED = 0x1
_KINDS = "biuf"
_MOST_META = 64 << 20
_FAULTS = (
    OSError, LookupError, ValueError, TypeError, AttributeError, EOFError, RuntimeError, ArithmeticError, SyntaxError,
    TokenError, struct.error, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""What zipfile, numpy and json raise for files that are not what they seem."""


def save_arrays(path: Path, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any], entry: bool = True) -> None:
    """Write the file, whole or not at all; it is on the disk when this returns (entry: see atomic.replacing)."""
    written = np.frombuffer(json.dumps(meta).encode(), np.uint8)
    write_whole(path, lambda file: np.savez(file, meta=written, **arrays), entry)  # type: ignore[arg-type]


def load_arrays(path: Path) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """All arrays, each checked against its checksum, and the meta data."""
    try:
        with zipfile.ZipFile(path) as archive:
            arrays = {name: _array(archive, entry) for name, entry in _entries(archive, path).items()}
        return arrays, _decoded(arrays.pop("meta"))
    except MemoryError:
        raise KeyfluidError(f"{path}: not enough free memory to read it") from None
    except _FAULTS as error:
        raise damaged(path, error) from None


def load_meta(path: Path) -> dict[str, Any]:
    """Only the meta data."""
    try:
        with zipfile.ZipFile(path) as archive:
            return _decoded(_array(archive, _entries(archive, path)["meta"]))
    except _FAULTS as error:
        raise damaged(path, error) from None


def check_arrays(path: Path) -> dict[str, Any]:
    """Read the file through, and return its meta data; raises if a byte has changed or a value is not finite."""
    arrays, meta = load_arrays(path)
    for name, array in arrays.items():
        if array.dtype.kind == "f" and not np.isfinite(array).all():
            raise KeyfluidError(f"{path}: {name} holds values that are not finite")
    return meta


def damaged(path: Path, error: BaseException) -> KeyfluidError:
    if isinstance(error, FileNotFoundError):
        return KeyfluidError(f"{path}: is missing")
    if isinstance(error, PermissionError):
        return KeyfluidError(f"{path}: can't be read: {error.strerror}; check its permissions")
    return KeyfluidError(f"{path}: is damaged or cut short")


def _entries(archive: zipfile.ZipFile, path: Path) -> dict[str, zipfile.ZipInfo]:
    """The archive's entries by array name, once they are seen to be as we write them."""
    size = path.stat().st_size
    found: dict[str, zipfile.ZipInfo] = {}
    for entry in archive.infolist():
        stored = entry.compress_type == zipfile.ZIP_STORED and entry.compress_size == entry.file_size
        name = entry.filename.removesuffix(".npy")
        if not stored or entry.flag_bits & _ENCRYPTED or entry.file_size > size or name in found:
            raise ValueError("an entry that keyfluid does not write")
        found[name] = entry
    if sum(entry.file_size for entry in found.values()) > size:
        raise ValueError("entries overlap")
    return found


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> np.ndarray:
    """One array; zipfile compares the checksum when the last byte is read."""
    with archive.open(entry) as file:
        version = npy.read_magic(file)
        read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
        shape, by_columns, dtype = read(file)
        if dtype.kind not in _KINDS or any(side < 0 for side in shape):
            raise ValueError("not an array of numbers")
        data = file.read()
    count = 1
    for side in shape:
        count *= int(side)
    if count * dtype.itemsize != len(data):
        raise ValueError("an array's header does not describe its bytes")
    return np.frombuffer(bytearray(data), dtype).reshape(shape, order="F" if by_columns else "C")


def _decoded(meta: np.ndarray) -> dict[str, Any]:
    if meta.nbytes > _MOST_META:
        raise ValueError("too much meta data")
    decoded = json.loads(meta.tobytes())
    if not isinstance(decoded, dict):
        raise ValueError("meta is not a table")
    return decoded
