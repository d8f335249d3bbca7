"""The named, typed values that a VDB file and each of its grids carry."""

from __future__ import annotations

import struct
from collections.abc import Mapping
from typing import Any

from keyfluid.errors import KeyfluidError
from keyfluid.io.vdb.cursor import Cursor

# type name: struct format
_FIXED = {
    "bool": "<?",
    "int32": "<i",
    "int64": "<q",
    "float": "<f",
    "double": "<d",
    "vec2i": "<2i",
    "vec2s": "<2f",
    "vec2d": "<2d",
    "vec3i": "<3i",
    "vec3s": "<3f",
    "vec3d": "<3d",
}
_MOST_ENTRIES = 65536


def encode_string(text: str) -> bytes:
    raw = text.encode("utf-8")
    return struct.pack("<I", len(raw)) + raw


def encode_metadata(entries: Mapping[str, object]) -> bytes:
    """Strings, bools, integers (32 bits where they fit), floats (as double), triples of integers (vec3i)."""
    parts = [struct.pack("<I", len(entries))]
    for name in sorted(entries):
        kind, raw = _encode_value(name, entries[name])
        parts += [encode_string(name), encode_string(kind), struct.pack("<I", len(raw)), raw]
    return b"".join(parts)


def _encode_value(name: str, value: object) -> tuple[str, bytes]:
    if isinstance(value, str):
        return "string", value.encode("utf-8")
    if isinstance(value, bool):
        return "bool", struct.pack("<?", value)
    if isinstance(value, int) and -(2**63) <= value < 2**63:
        kind = "int32" if -(2**31) <= value < 2**31 else "int64"
        return kind, struct.pack(_FIXED[kind], value)
    if isinstance(value, float):
        return "double", struct.pack("<d", value)
    if isinstance(value, Int64):
        return "int64", struct.pack("<q", value.value)
    if isinstance(value, tuple):
        return "vec3i", struct.pack("<3i", *value)
    raise KeyfluidError(f"VDB metadata {name!r} must be text, a number or a bool, not {value!r}")


class Int64:
    """An integer that is stored in 64 bits though it would fit in 32, as libopenvdb stores counts."""

    def __init__(self, value: int) -> None:
        self.value = value


def decode_metadata(cursor: Cursor) -> dict[str, Any]:
    """Entries of unknown type are left out; vectors come as tuples."""
    count = cursor.number("I")
    if count > _MOST_ENTRIES:
        raise KeyfluidError(f"the file is damaged: it claims {count} metadata entries")
    entries: dict[str, Any] = {}
    for _ in range(count):
        name, kind = cursor.string(), cursor.string()
        raw = bytes(cursor.take(cursor.number("I")))
        if kind == "string":
            entries[name] = raw.decode("utf-8", errors="replace")
        elif kind in _FIXED and struct.calcsize(_FIXED[kind]) == len(raw):
            values = struct.unpack(_FIXED[kind], raw)
            entries[name] = values[0] if len(values) == 1 else values
    return entries
