"""Blosc 1 chunks with the LZ4 codec and byte shuffle, as libopenvdb writes them; decoding only.

    chunk   uint8 version, codec version, flags, type size | uint32 bytes, block size, chunk size | ...
    flags   1 byte shuffle | 2 stored raw behind the header | 4 bit shuffle | 16 blocks not split |
            the upper three bits name the codec, 1 is LZ4
    blocks  int32 start of each block in the chunk | blocks
    block   one stream, or one for each byte of the type where blocks are split: int32 size | LZ4 or,
            where the size is that of the output, raw bytes

A block is split where it is a full one, the type has at most 16 bytes and the block at least 128 items
(c-blosc, README_CHUNK_FORMAT.rst; the limits are MAX_SPLITS and MIN_BUFFERSIZE in blosc.c).

LZ4 block: sequences of token | literals | uint16 distance back | match, lengths above 14 (+ 4 for a
match) continued in bytes of 255; the last sequence has only literals (lz4_Block_format.md).
"""

from __future__ import annotations

import struct

import numpy as np
from numba import njit

from keyfluid.errors import KeyfluidError

Index = int | np.int64

_HEADER = struct.Struct("<4B3I")
_SHUFFLED, _RAW, _BIT_SHUFFLED, _NOT_SPLIT = 1, 2, 4, 16
_LZ4 = 1
_MOST_SPLITS, _FEWEST_ITEMS = 16, 128
_BROKEN = "the file is damaged: a blosc chunk does not unpack"


def decompress(chunk: memoryview, expected: int) -> bytes:
    """The `expected` bytes that `chunk` holds, or KeyfluidError."""
    if len(chunk) < _HEADER.size:
        raise KeyfluidError(_BROKEN)
    _, _, flags, type_size, count, block_size, chunk_size = _HEADER.unpack(chunk[: _HEADER.size])
    if count != expected or chunk_size != len(chunk):
        raise KeyfluidError(_BROKEN)
    if flags & _RAW:
        raw = bytes(chunk[_HEADER.size : _HEADER.size + count])
        if len(raw) != count:
            raise KeyfluidError(_BROKEN)
        return raw
    if flags >> 5 != _LZ4 or flags & _BIT_SHUFFLED:
        raise KeyfluidError("a blosc codec other than LZ4 with byte shuffle; save the file with zip")
    if type_size == 0 or block_size == 0:
        raise KeyfluidError(_BROKEN)

    blocks = -(-count // block_size)
    if _HEADER.size + 4 * blocks > len(chunk):
        raise KeyfluidError(_BROKEN)
    starts = np.frombuffer(chunk, dtype="<i4", count=blocks, offset=_HEADER.size).astype(np.int64)
    source = np.frombuffer(chunk, dtype=np.uint8)
    output = np.empty(count, dtype=np.uint8)
    splittable = not flags & _NOT_SPLIT and type_size <= _MOST_SPLITS and block_size // type_size >= _FEWEST_ITEMS
    item = type_size if flags & _SHUFFLED else 1
    if not _unpack_blocks(source, starts, output, block_size, type_size if splittable else 1, item):
        raise KeyfluidError(_BROKEN)
    return output.tobytes()


@njit(cache=True, nogil=True)
def _unpack_lz4(source: np.ndarray, read: Index, end: Index, target: np.ndarray, written: Index, stop: Index) -> bool:
    """Fill target[written:stop] exactly from the LZ4 block source[read:end]; False where it does not fit."""
    start = written
    while read < end:
        token = np.int64(source[read])
        read += 1

        literals = token >> 4
        if literals == 15:
            more = np.int64(255)
            while more == 255:
                if read >= end:
                    return False
                more = np.int64(source[read])
                read += 1
                literals += more
        if literals > end - read or literals > stop - written:
            return False
        for k in range(literals):
            target[written + k] = source[read + k]
        read += literals
        written += literals
        if read == end:
            return written == stop

        if read + 2 > end:
            return False
        distance = np.int64(source[read]) | np.int64(source[read + 1]) << 8
        read += 2
        length = token & 15
        if length == 15:
            more = np.int64(255)
            while more == 255:
                if read >= end:
                    return False
                more = np.int64(source[read])
                read += 1
                length += more
        length += 4
        if distance == 0 or distance > written - start or length > stop - written:
            return False
        for k in range(length):
            target[written + k] = target[written + k - distance]
        written += length
    return False


@njit(cache=True, nogil=True)
def _unpack_blocks(
    source: np.ndarray, starts: np.ndarray, target: np.ndarray, block_size: int, splits: int, item: int
) -> bool:
    """`splits` streams in a full block, one in the last, shorter one; `item` bytes were shuffled."""
    block = np.empty(min(block_size, target.size), dtype=np.uint8)
    for number in range(starts.size):
        first = number * block_size
        size = min(block_size, target.size - first)
        streams = splits if size == block_size else 1
        stream_size = size // streams
        if stream_size * streams != size:
            return False
        read = starts[number]
        for stream in range(streams):
            if read < 0 or read + 4 > source.size:
                return False
            packed = np.int64(0)
            for byte in range(4):
                packed |= np.int64(source[read + byte]) << (8 * byte)
            read += 4
            if packed > source.size - read:
                return False
            start = stream * stream_size
            if packed == stream_size:
                for k in range(packed):
                    block[start + k] = source[read + k]
            elif not _unpack_lz4(source, read, read + packed, block, start, start + stream_size):
                return False
            read += packed

        # A rest shorter than an item was not shuffled.
        items = size // item
        for k in range(items):
            for byte in range(item):
                target[first + k * item + byte] = block[byte * items + k]
        for k in range(items * item, size):
            target[first + k] = block[k]
    return True
