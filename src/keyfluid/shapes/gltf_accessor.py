"""Typed arrays out of glTF buffers (specification 3.6.2), checked against buffer and view before they are made."""

from __future__ import annotations

from typing import Any

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.shapes.gltf_file import GltfFile
from keyfluid.shapes.gltf_json import entry, flag, whole, word

_TYPES: dict[int, Any] = {
    5120: np.int8,
    5121: np.uint8,
    5122: np.int16,
    5123: np.uint16,
    5125: np.uint32,
    5126: np.float32,
}
_COMPONENTS = {"SCALAR": 1, "VEC3": 3, "VEC4": 4, "MAT4": 16}


class AccessorReader:
    """read(index, "VEC3") -> array (count, 3); normalised integers come as float in [0, 1] or [-1, 1]."""

    def __init__(self, file: GltfFile) -> None:
        self.file = file

    def __call__(self, index: int, expected: str) -> np.ndarray:
        accessor = entry(self.file.document, "accessors", index)
        if "sparse" in accessor or "bufferView" not in accessor:
            raise KeyfluidError("sparse or compressed accessors are not supported; export without them")
        if word(accessor, "type") != expected:
            raise KeyfluidError(f"accessors[{index}] must be of type {expected}")
        kind = _TYPES.get(whole(accessor, "componentType"))
        if kind is None:
            raise KeyfluidError(f"accessors[{index}] has an unknown component type")
        stored, width = np.dtype(kind).newbyteorder("<"), _COMPONENTS[expected]
        view = entry(self.file.document, "bufferViews", whole(accessor, "bufferView"))
        data = self.file.buffer(whole(view, "buffer"))
        start, length = whole(view, "byteOffset", 0), whole(view, "byteLength")
        offset, count = whole(accessor, "byteOffset", 0), whole(accessor, "count")
        one = stored.itemsize * width
        stride = whole(view, "byteStride", 0) or one
        if count < 1 or stride < one or start + length > len(data) or offset + stride * (count - 1) + one > length:
            raise KeyfluidError(f"accessors[{index}]: {count} values do not fit their buffer of {len(data)} bytes")
        normalized = flag(accessor, "normalized")
        if normalized and kind is np.float32:
            raise KeyfluidError(f"accessors[{index}]: only integers can be normalized")
        self.file.budget.spend(count * width * (stored.itemsize + (24 if normalized else 0)), f"{count} values")
        values = np.ndarray((count, width), stored, data, start + offset, (stride, stored.itemsize)).copy()
        if normalized:
            return np.maximum(values.astype(float) / np.iinfo(kind).max, -1.0)
        return values
