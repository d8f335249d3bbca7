"""Lines and numbers of a large text file, a block at a time: memory stays small whatever the file holds."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any, BinaryIO

import numpy as np

from keyfluid.errors import KeyfluidError

_BLOCK = 1 << 20
_LONGEST_LINE = 16 << 20


def line_blocks(file: BinaryIO, continued: bool = False) -> Iterator[list[bytes]]:
    """Lists of lines, without white space at their ends; `continued`: a backslash joins a line to the next one."""
    rest = b""
    while chunk := file.read(_BLOCK):
        block = rest + chunk
        cut = _last_break(block, continued)
        if cut == 0 and len(block) > _LONGEST_LINE:
            raise KeyfluidError(f"a line is longer than {_LONGEST_LINE >> 20} MiB; is it a text file?")
        rest = block[cut:]
        if cut:
            yield _lines(block[:cut], continued)
    if rest:
        yield _lines(rest, continued)


def all_numbers(text: bytes, kind: type[Any], what: str) -> np.ndarray:
    """The numbers of a text that white space separates."""
    if not text or text.isspace():
        return np.empty(0, kind)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # numpy only warns if a word is not a number
            return np.fromstring(text, dtype=kind, sep=" ")
    except (ValueError, DeprecationWarning, OverflowError):
        raise KeyfluidError(f"{what} holds something that is not a number; the file is broken") from None


def _last_break(block: bytes, continued: bool) -> int:
    """Where the last complete line ends, or 0."""
    end = block.rfind(b"\n")
    while continued and end >= 0 and block[max(end - 2, 0) : end].endswith((b"\\", b"\\\r")):
        end = block.rfind(b"\n", 0, end)
    return end + 1


def _lines(block: bytes, continued: bool) -> list[bytes]:
    block = block.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
    if continued:
        block = block.replace(b"\\\n", b" ")
    return [line.strip() for line in block.split(b"\n")]
