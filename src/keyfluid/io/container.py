"""Arrays and a few numbers in one file that is whole or absent, and that knows when it is damaged.

The file is a .npz as numpy writes it (uncompressed zip: a CRC-32 per array), with one entry more, "meta": JSON in
bytes. Arrays that were packed (packed.py) are entries NAME.packed instead of NAME.npy. Nothing in it depends on the
clock, so two equal runs write equal files.

Reading trusts nothing: entries must be stored as we write them, uncompressed by the zip itself and unencrypted, and an
array's header must describe exactly the bytes that follow it. Arrays never take more memory than the file has bytes;
packed ones at most eight times as much, or 256 MiB (what packs better and is larger is written plainly).
"""

from __future__ import annotations

import json
import struct
import zipfile
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from tokenize import TokenError
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from keyfluid.errors import KeyfluidError
from keyfluid.io.atomic import DiskError, write_whole
from keyfluid.io.packed import Packing, pack, unpack, unpacked_bytes

__all__ = ["DiskError", "check_arrays", "is_packed", "load_arrays", "load_meta", "save_arrays"]

_ENCRYPTED = 0x1
_KINDS = "biuf"
_MOST_META = 64 << 20
_PLAIN, _PACKED = ".npy", ".packed"
_SMALL, _MOST_TIMES = 256 << 20, 8
"""Bytes that packed arrays may always take, and how many times the file's size they may take beyond that."""

_FAULTS = (
    OSError, LookupError, ValueError, TypeError, AttributeError, EOFError, RuntimeError, ArithmeticError, SyntaxError,
    TokenError, struct.error, zipfile.BadZipFile, zlib.error,
)  # fmt: skip
"""What zipfile, numpy and json raise for files that are not what they seem."""


def save_arrays(
    path: Path,
    arrays: Mapping[str, np.ndarray],
    meta: Mapping[str, Any],
    entry: bool = True,
    packing: Mapping[str, Packing] | None = None,
) -> None:
    """Write the file, whole or not at all; it is on the disk when this returns (entry: see atomic.replacing).

    packing: of the arrays to pack; those that an array is packed after come before it in `arrays`.
    """
    written = np.frombuffer(json.dumps(meta).encode(), np.uint8)
    packed = {name: pack(arrays[name], how, arrays.__getitem__) for name, how in (packing or {}).items()}
    if not _may_be_read(sum(arrays[name].nbytes for name in packed), sum(map(len, packed.values()))):
        packed = {}

    def write(file: IO[bytes]) -> None:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            for name, array in {"meta": written, **arrays}.items():
                inner = name + (_PACKED if name in packed else _PLAIN)
                with archive.open(inner, "w", force_zip64=True) as out:
                    if name in packed:
                        out.write(packed[name])
                    else:
                        npy.write_array(out, np.asanyarray(array), allow_pickle=False)

    write_whole(path, write, entry)


def load_arrays(
    path: Path, wanted: Callable[[str], bool] = lambda name: True
) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
    """All arrays, each checked against its checksum, and the meta data.

    wanted: which arrays to read, by name; none of them may be packed after one that is not read.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            arrays = _arrays(archive, path, lambda name: name == "meta" or wanted(name))
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


def is_packed(path: Path) -> bool:
    """Whether some of the arrays are."""
    try:
        with zipfile.ZipFile(path) as archive:
            return any(entry.filename.endswith(_PACKED) for entry in _entries(archive, path).values())
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
        name = entry.filename.removesuffix(_PACKED).removesuffix(_PLAIN)
        if not stored or entry.flag_bits & _ENCRYPTED or entry.file_size > size or name in found:
            raise ValueError("an entry that keyfluid does not write")
        found[name] = entry
    if sum(entry.file_size for entry in found.values()) > size:
        raise ValueError("entries overlap")
    return found


def _arrays(archive: zipfile.ZipFile, path: Path, wanted: Callable[[str], bool]) -> dict[str, np.ndarray]:
    size, taken = path.stat().st_size, 0
    arrays: dict[str, np.ndarray] = {}
    for name, entry in _entries(archive, path).items():
        if not wanted(name):
            continue
        if not entry.filename.endswith(_PACKED):
            arrays[name] = _array(archive, entry)
            continue
        data = archive.read(entry)
        taken += unpacked_bytes(data)
        if not _may_be_read(taken, size):
            raise ValueError("arrays that take too much memory")
        arrays[name] = unpack(data, arrays.__getitem__)
    return arrays


def _may_be_read(taken: int, size: int) -> bool:
    """Whether so much memory is allowed for the packed arrays of a file of this size."""
    return taken <= max(_SMALL, _MOST_TIMES * size)


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
