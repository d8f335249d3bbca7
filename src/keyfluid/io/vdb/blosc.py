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
    starts = struct.unpack_from(f"<{blocks}i", chunk, _HEADER.size)
    source = np.frombuffer(chunk, dtype=np.uint8)
    output = np.empty(count, dtype=np.uint8)
    splittable = (
        not flags & _NOT_SPLIT and type_size <= _MOST_SPLITS and block_size // type_size >= _FEWEST_ITEMS
    )
    for block, start in enumerate(starts):
        target = output[block * block_size : (block + 1) * block_size]
        splits = type_size if splittable and len(target) == block_size else 1
        if len(target) % splits or not _unpack_streams(source, start, target, splits):
            raise KeyfluidError(_BROKEN)
        if flags & _SHUFFLED and type_size > 1:
            _unshuffle(target, type_size)
    return output.tobytes()


def _unshuffle(block: np.ndarray, type_size: int) -> None:
    """Bytes come ordered by their place in an item; a rest shorter than an item was left as it is."""
    whole = len(block) - len(block) % type_size
    block[:whole] = block[:whole].reshape(type_size, -1).T.ravel()


@njit(cache=True, nogil=True)
def _unpack_streams(source: np.ndarray, start: int, target: np.ndarray, splits: int) -> bool:
    position = np.int64(start)
    size = target.size // splits
    for split in range(splits):
        if position < 0 or position + 4 > source.size:
            return False
        packed = np.int64(0)
        for byte in range(4):
            packed |= np.int64(source[position + byte]) << (8 * byte)
        position += 4
        if packed > source.size - position:
            return False
        part = target[split * size : (split + 1) * size]
        if packed == size:
            part[:] = source[position : position + packed]
        elif not _unpack_lz4(source[position : position + packed], part):
            return False
        position += packed
    return True


@njit(cache=True, nogil=True)
def _unpack_lz4(source: np.ndarray, target: np.ndarray) -> bool:
    """Fill `target` exactly from the LZ4 block `source`; False where the block says otherwise."""
    read = np.int64(0)
    written = np.int64(0)
    while read < source.size:
        token = source[read]
        read += 1

        literals = np.int64(token >> 4)
        if literals == 15:
            more = np.int64(255)
            while more == 255:
                if read >= source.size:
                    return False
                more = np.int64(source[read])
                read += 1
                literals += more
        if literals > source.size - read or literals > target.size - written:
            return False
        for k in range(literals):
            target[written + k] = source[read + k]
        read += literals
        written += literals
        if read == source.size:
            return written == target.size

        if read + 2 > source.size:
            return False
        distance = np.int64(source[read]) | np.int64(source[read + 1]) << 8
        read += 2
        length = np.int64(token & 15)
        if length == 15:
            more = np.int64(255)
            while more == 255:
                if read >= source.size:
                    return False
                more = np.int64(source[read])
                read += 1
                length += more
        length += 4
        if distance == 0 or distance > written or length > target.size - written:
            return False
        for k in range(length):
            target[written + k] = target[written + k - distance]
        written += length
    return False
