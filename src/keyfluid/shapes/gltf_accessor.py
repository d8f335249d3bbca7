"""Typed arrays out of glTF buffers (specification 3.6.1 and 3.6.2), checked against the buffer's length."""

from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import numpy as np

from keyfluid.errors import KeyfluidError

_TYPES: dict[int, Any] = {
    5120: np.int8,
    5121: np.uint8,
    5122: np.int16,
    5123: np.uint16,
    5125: np.uint32,
    5126: np.float32,
}
_COMPONENTS = {"SCALAR": 1, "VEC2": 2, "VEC3": 3, "VEC4": 4, "MAT3": 9, "MAT4": 16}


class AccessorReader:
    """read(index) -> array (count, components); normalised integers come as float in [0, 1] or [-1, 1]."""

    def __init__(self, gltf: Any, path: Path) -> None:
        self.gltf = gltf
        self.folder = path.parent
        self._buffers: dict[int, bytes] = {}

    def __call__(self, index: int) -> np.ndarray:
        accessor = self.gltf.accessors[index]
        if accessor.sparse is not None or accessor.bufferView is None:
            raise KeyfluidError("sparse or compressed accessors are not read; export without them")
        view = self.gltf.bufferViews[accessor.bufferView]
        kind, width = np.dtype(_TYPES[accessor.componentType]).newbyteorder("<"), _COMPONENTS[accessor.type]
        stride = view.byteStride or kind.itemsize * width
        offset = (view.byteOffset or 0) + (accessor.byteOffset or 0)
        data = self._buffer(view.buffer)
        needed = offset + stride * (accessor.count - 1) + kind.itemsize * width
        if accessor.count < 1 or offset < 0 or stride < kind.itemsize * width or needed > len(data):
            raise KeyfluidError(f"{accessor.count} values do not fit a buffer of {len(data)} bytes")
        strides = (stride, kind.itemsize)
        values = np.ndarray((accessor.count, width), kind, data, offset, strides).copy()
        if accessor.normalized:
            return np.maximum(values.astype(float) / np.iinfo(_TYPES[accessor.componentType]).max, -1.0)
        return values

    def _buffer(self, index: int) -> bytes:
        if index not in self._buffers:
            uri = self.gltf.buffers[index].uri
            if uri is None:
                data = self.gltf.binary_blob()
                if data is None:
                    raise KeyfluidError("its binary part is missing")
            elif uri.startswith("data:"):
                data = base64.b64decode(uri.split(",", 1)[1])
            else:
                file = self.folder / uri
                if not file.is_file():
                    raise KeyfluidError(f"its buffer {uri} is missing")
                data = file.read_bytes()
            self._buffers[index] = bytes(data)
        return self._buffers[index]
