"""The values of one node: flag, inactive values, selection mask and the stored values, unpacked."""

from __future__ import annotations

import zlib
from dataclasses import dataclass

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.io.vdb import layout
from keyfluid.io.vdb.cursor import Cursor

_KNOWN_COMPRESSION = layout.COMPRESS_ZIP | layout.COMPRESS_ACTIVE_MASK | layout.COMPRESS_BLOSC


@dataclass(frozen=True)
class ValueFormat:
    """How a grid stores its values: `dtype` and `components` of one, half precision, compression flags."""

    dtype: np.dtype
    components: int
    half: bool
    compression: int

    def __post_init__(self) -> None:
        if self.compression & ~_KNOWN_COMPRESSION:
            raise KeyfluidError(f"the file is damaged: compression {self.compression} is unknown")

    @property
    def size(self) -> int:
        """Bytes of one value in full precision."""
        return self.dtype.itemsize * self.components

    def read_value(self, cursor: Cursor) -> np.ndarray:
        return np.frombuffer(cursor.take(self.size), dtype=self.dtype)


def unpack_mask(raw: memoryview) -> np.ndarray:
    """The bits of a mask as bools; bit p is bit p % 8 of byte p // 8."""
    return np.unpackbits(np.frombuffer(raw, dtype=np.uint8), bitorder="little").view(bool)


def read_values(cursor: Cursor, active: np.ndarray, background: np.ndarray, form: ValueFormat) -> np.ndarray:
    """All values of a node, shape (active.size, components); those of its children are meaningless."""
    flag = cursor.number("B")
    if flag > layout.ALL_STORED:
        raise KeyfluidError(f"the file is damaged: byte {cursor.position - 1} is not a node flag")
    first = background if flag == layout.ALL_BACKGROUND else -background
    second = background
    if flag in layout.HAS_FIRST_VALUE:
        first = form.read_value(cursor)
    if flag == layout.TWO_VALUES:
        second = form.read_value(cursor)
    selection = unpack_mask(cursor.take(active.size // 8)) if flag in layout.HAS_SELECTION else None

    sparse = form.compression & layout.COMPRESS_ACTIVE_MASK and flag != layout.ALL_STORED
    stored = int(np.count_nonzero(active)) if sparse else active.size
    values = _read_stored(cursor, stored, form)
    if stored == active.size:
        return values
    full = np.empty((active.size, form.components), dtype=form.dtype)
    full[:] = first
    if selection is not None:
        full[selection] = second
    full[active] = values
    return full


def _read_stored(cursor: Cursor, count: int, form: ValueFormat) -> np.ndarray:
    dtype = np.dtype("<f2") if form.half else form.dtype
    size = count * form.components * dtype.itemsize
    if form.half and count == 0:
        raw: bytes | memoryview = b""
    elif form.compression & (layout.COMPRESS_BLOSC | layout.COMPRESS_ZIP):
        raw = _read_packed(cursor, size, bool(form.compression & layout.COMPRESS_BLOSC))
    else:
        raw = cursor.take(size)
    values = np.frombuffer(raw, dtype=dtype).reshape(count, form.components)
    return values.astype(form.dtype) if form.half else values


def _read_packed(cursor: Cursor, size: int, blosc: bool) -> bytes | memoryview:
    packed = cursor.number("q")
    if packed <= 0:
        if -packed != size:
            raise KeyfluidError(f"the file is damaged: {-packed} bytes of values, expected {size}")
        return cursor.take(size)
    chunk = cursor.take(packed)
    if blosc:
        from keyfluid.io.vdb.blosc import decompress  # brings in numba, which zip files do not need

        return decompress(chunk, size)
    stream = zlib.decompressobj()
    try:
        raw = stream.decompress(chunk, size + 1)
    except zlib.error:
        raise KeyfluidError("the file is damaged: a zip chunk does not unpack") from None
    if len(raw) != size or not stream.eof:
        raise KeyfluidError("the file is damaged: a zip chunk has the wrong length")
    return raw
