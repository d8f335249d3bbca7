"""Arrays for the page: a JSON header and the numbers themselves, in one binary answer (`unpack` in static/api.js).

    uint32 length of the header | header, padded to 8 bytes | arrays, each at a multiple of 8

Axes are [x, y(, z)] as everywhere in keyfluid; `packed` stores x fastest, as textures are read.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import numpy as np

_DTYPES = {"uint8": "u1", "uint16": "u2", "uint32": "u4", "int8": "i1", "int16": "i2", "float32": "f4"}


def packed(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """The answer's bytes; the header gains `arrays`: name, dtype, shape, offset and count of each."""
    listed = [
        {"name": name, "dtype": _DTYPES[array.dtype.name], "shape": array.shape, "offset": 0, "count": array.size}
        for name, array in arrays.items()
    ]
    # Offsets have a fixed width, so that writing them does not move what they point to.
    start = 4 + len(_json(header, listed)) + 16 * len(listed)
    start += -start % 8
    end = start
    for entry, array in zip(listed, arrays.values()):
        entry["offset"] = end
        end += array.nbytes + -array.nbytes % 8
    text = _json(header, listed)
    text += b" " * (start - 4 - len(text))
    parts = [len(text).to_bytes(4, "little"), text]
    for array in arrays.values():
        data = array.astype(array.dtype.newbyteorder("<"), copy=False).tobytes(order="F")
        parts += [data, bytes(-len(data) % 8)]
    return b"".join(parts)


def as_bytes(values: np.ndarray, peak: float) -> np.ndarray:
    """Densities from 0 to `peak` as 0 to 255."""
    return np.clip(values * (255.0 / peak if peak > 0 else 0.0) + 0.5, 0, 255).astype(np.uint8)


def as_words(values: np.ndarray, peak: float) -> np.ndarray:
    """Densities from 0 to `peak` as 0 to 65535, for thin smoke."""
    return np.clip(values * (65535.0 / peak if peak > 0 else 0.0) + 0.5, 0, 65535).astype(np.uint16)


def _json(header: Mapping[str, Any], listed: list[dict[str, Any]]) -> bytes:
    return json.dumps({**header, "arrays": listed}, separators=(",", ":")).encode()
