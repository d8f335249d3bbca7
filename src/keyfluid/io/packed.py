"""Arrays of smooth numbers in less space, without loss.

    integer      a float's bits as a whole number of the same order
    difference   to what other arrays of the file predict, a line or a parabola through them, where they are named;
                 then to the neighbour before, along every axis of every part [Lorenzo: Ibarria et al. 2003]
    bytes        sign folded into the lowest bit, bytes of equal weight together, each group deflated where it pays

Smooth fields leave small differences, so that the upper bytes are mostly zeros; the lowest bytes are noise, which is
seen in a sample and stored as it is. All arithmetic is modulo 2^n: what is read is bit-identical.

    packed   npy header (shape, type) | uint32 length | JSON {parts, after, sizes} | groups of bytes

benchmarks/frame_size.py measures size and speed on frames.
"""

from __future__ import annotations

import io
import json
import math
import struct
import zlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.lib import format as npy

_SAMPLE, _PAYS = 8192, 0.95
_LEVEL, _WINDOW, _MEMORY = 1, 15, 9
_MOST_ABOUT = 1 << 16


@dataclass(frozen=True)
class Packing:
    """How an array is packed.

    parts: shapes of its pieces, one after the other
    after: names of up to three arrays in whose row it comes next, the nearest first
    """

    parts: tuple[tuple[int, ...], ...]
    after: tuple[str, ...] = ()


def pack(array: np.ndarray, packing: Packing, other: Callable[[str], np.ndarray]) -> bytes:
    """The bytes of an array; `other` finds one by its name."""
    numbers = _ordered(array.ravel())
    if packing.after:
        numbers = numbers - _ordered(_next(packing.after, other))
    flat = np.concatenate([_differences(part).ravel() for part in _cut(numbers, packing.parts)])
    groups = np.ascontiguousarray(_folded(flat).view(np.uint8).reshape(array.size, array.itemsize).T)
    stored = [_deflated(group.tobytes()) for group in groups]
    head = io.BytesIO()
    npy.write_array_header_1_0(head, npy.header_data_from_array_1_0(np.empty(0, array.dtype)) | {"shape": array.shape})
    about = {"parts": packing.parts, "after": packing.after, "sizes": [len(group) for group in stored]}
    text = json.dumps(about).encode()
    return b"".join([head.getvalue(), struct.pack("<I", len(text)), text, *stored])


def unpacked_bytes(data: bytes) -> int:
    """What an array takes in memory, by its header alone."""
    shape, dtype = _header(io.BytesIO(data))
    return math.prod(shape) * dtype.itemsize


def unpack(data: bytes, other: Callable[[str], np.ndarray]) -> np.ndarray:
    """The array; `other` finds one by its name. Raises ValueError, LookupError, TypeError or zlib.error for bytes that
    `pack` did not write; takes no more memory than a few times `unpacked_bytes`."""
    file = io.BytesIO(data)
    shape, dtype = _header(file)
    (length,) = struct.unpack("<I", file.read(4))
    if length > _MOST_ABOUT:
        raise ValueError("too long a description")
    about = json.loads(file.read(length))
    parts, sizes, count = [tuple(map(_side, part)) for part in about["parts"]], about["sizes"], math.prod(shape)
    after = about["after"]
    if sum(map(math.prod, parts)) != count or len(sizes) != dtype.itemsize:
        raise ValueError("parts that do not make up the array")
    groups = np.empty((dtype.itemsize, count), np.uint8)
    for group, size in zip(groups, sizes):
        group[:] = np.frombuffer(_inflated(file.read(_side(size)), count), np.uint8)
    if file.read(1):
        raise ValueError("more bytes than were packed")
    whole = np.ascontiguousarray(groups.T).reshape(-1).view(f"u{dtype.itemsize}")
    numbers = np.concatenate([_sums(part).ravel() for part in _cut(_unfolded(whole), parts)])
    if after:
        expected = _next(after, other)
        if expected.dtype != dtype or expected.size != count:
            raise ValueError("an array in a row of others")
        numbers += _ordered(expected)
    return _ordered(numbers, dtype).reshape(shape)


def _next(names: Sequence[str], other: Callable[[str], np.ndarray]) -> np.ndarray:
    """What comes after one, two or three arrays, the last of them first: the same, a line's or a parabola's next."""
    last, *earlier = [other(name).ravel() for name in names]
    with np.errstate(all="ignore"):
        if not earlier:
            return last
        if len(earlier) == 1:
            return last + (last - earlier[0])
        return 3 * (last - earlier[0]) + earlier[1]


def _header(file: io.BytesIO) -> tuple[tuple[int, ...], np.dtype]:
    if npy.read_magic(file) != (1, 0):
        raise ValueError("not a header of version 1.0")
    shape, by_columns, dtype = npy.read_array_header_1_0(file)
    if dtype not in (np.float32, np.float64) or by_columns:
        raise ValueError("not an array of floats")
    return tuple(map(_side, shape)), dtype


def _side(value: object) -> int:
    if not isinstance(value, int) or value < 0:
        raise ValueError("not a length")
    return value


def _ordered(values: np.ndarray, dtype: np.dtype | None = None) -> np.ndarray:
    """Floats as integers of the same order; with a dtype, such integers as floats. The map is its own inverse."""
    bits = values.view(f"i{values.dtype.itemsize}")
    width = 8 * bits.dtype.itemsize
    flipped = bits ^ ((bits >> (width - 1)) & bits.dtype.type(2 ** (width - 1) - 1))
    return flipped if dtype is None else flipped.view(dtype)


def _folded(numbers: np.ndarray) -> np.ndarray:
    """0, -1, 1, -2 ... as 0, 1, 2, 3 ..."""
    return (numbers << 1) ^ (numbers >> (8 * numbers.dtype.itemsize - 1))


def _unfolded(whole: np.ndarray) -> np.ndarray:
    half = (whole >> whole.dtype.type(1)).view(f"i{whole.dtype.itemsize}")
    return half ^ -(whole.view(half.dtype) & half.dtype.type(1))


def _cut(numbers: np.ndarray, parts: Sequence[tuple[int, ...]]) -> list[np.ndarray]:
    ends = np.cumsum([math.prod(part) for part in parts])
    return [numbers[end - math.prod(part) : end].reshape(part) for part, end in zip(parts, ends)]


def _differences(part: np.ndarray) -> np.ndarray:
    for axis in range(part.ndim):
        line = np.moveaxis(part, axis, 0)
        part = np.moveaxis(np.concatenate([line[:1], line[1:] - line[:-1]]), 0, axis)
    return np.ascontiguousarray(part)


def _sums(part: np.ndarray) -> np.ndarray:
    for axis in range(part.ndim):
        part = np.cumsum(part, axis=axis, dtype=part.dtype)
    return part


def _deflated(group: bytes) -> bytes:
    """Deflated, runs and frequencies only, where a sample says that it pays; else as it is."""
    middle = len(group) // 2
    samples = (group[:_SAMPLE], group[middle : middle + _SAMPLE])
    if all(len(_deflate(sample)) > _PAYS * len(sample) for sample in samples):
        return group
    packed = _deflate(group)
    return packed if len(packed) < len(group) else group


def _deflate(raw: bytes) -> bytes:
    stream = zlib.compressobj(_LEVEL, zlib.DEFLATED, _WINDOW, _MEMORY, zlib.Z_RLE)
    return stream.compress(raw) + stream.flush()


def _inflated(stored: bytes, count: int) -> bytes:
    if len(stored) == count:
        return stored
    stream = zlib.decompressobj()
    raw = stream.decompress(stored, count + 1)
    if len(raw) != count or not stream.eof or stream.unused_data:
        raise ValueError("a group of another length")
    return raw
