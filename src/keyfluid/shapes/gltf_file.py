"""A .gltf or .glb file: its JSON and its buffers (glTF 2.0 specification, sections 3.6.1 and 4).

    .glb  uint32 "glTF" | uint32 version 2 | uint32 length | chunks: uint32 length | uint32 "JSON" or "BIN" | bytes

A buffer is the BIN chunk, a base64 data URI, or a file. A file is only read from the folder of the mesh or below:
a URI with a scheme, an absolute path, and what leads out of the folder (.. or a link) are refused.
"""

from __future__ import annotations

import base64
import binascii
import struct
from pathlib import Path
from urllib.parse import unquote

from keyfluid.errors import KeyfluidError
from keyfluid.io.budget import Budget
from keyfluid.shapes.gltf_json import Json, entry, parse_json, whole, word

_MAGIC, _VERSION, _JSON, _BIN = b"glTF", 2, b"JSON", b"BIN\0"


class GltfFile:
    """`document`: the JSON; `buffer(index)`: the bytes of a buffer, read on first use."""

    def __init__(self, path: Path, budget: Budget) -> None:
        self.folder = path.parent
        self.budget = budget
        self._buffers: dict[int, memoryview] = {}
        budget.spend(path.stat().st_size, "the file")
        content = path.read_bytes()
        binary = content[:4] == _MAGIC or path.suffix.lower() == ".glb"
        text, self._chunk = _chunks(memoryview(content)) if binary else (content, None)
        self.document: Json = parse_json(text, budget)
        asset = self.document.get("asset")
        version = asset.get("version") if isinstance(asset, dict) else None
        if not (isinstance(version, str) and version.startswith("2.")):
            raise KeyfluidError("it is not marked as glTF 2; export it as glTF 2.0")

    def buffer(self, index: int) -> memoryview:
        if index not in self._buffers:
            described = entry(self.document, "buffers", index)
            data, length = self._content(described, index), whole(described, "byteLength")
            if len(data) < length:
                raise KeyfluidError(f"buffers[{index}] has {len(data)} bytes and should have {length}")
            self._buffers[index] = data[:length]
        return self._buffers[index]

    def _content(self, described: Json, index: int) -> memoryview:
        if "uri" not in described:
            if index != 0 or self._chunk is None:
                raise KeyfluidError(f"buffers[{index}] has no content: its binary part is missing")
            return self._chunk
        uri = word(described, "uri")
        if uri[:5].lower() == "data:":
            return memoryview(self._embedded(uri))
        file = file_in_folder(self.folder, uri)
        self.budget.spend(file.stat().st_size, f"its buffer {uri[:60]}")
        return memoryview(file.read_bytes())

    def _embedded(self, uri: str) -> bytes:
        head, comma, data = uri.partition(",")
        if not comma or not head.lower().endswith(";base64"):
            raise KeyfluidError("a data URI must be base64")
        self.budget.spend(2 * len(data), "an embedded buffer")
        try:
            return base64.b64decode(data.encode("ascii"), validate=True)
        except (binascii.Error, ValueError):
            raise KeyfluidError("a data URI holds broken base64") from None


def buffer_files(path: Path) -> list[Path]:
    """The files that a .gltf keeps its buffers in."""
    try:
        described = GltfFile(path, Budget()).document.get("buffers")
        uris = [one.get("uri") for one in described if isinstance(one, dict)] if isinstance(described, list) else []
        named = [uri for uri in uris if isinstance(uri, str) and uri[:5].lower() != "data:"]
        return [file_in_folder(path.parent, uri) for uri in named]
    except KeyfluidError as error:
        raise KeyfluidError(f"mesh {path}: {error}") from None


def file_in_folder(folder: Path, uri: str) -> Path:
    """The file that a relative URI names, if it lies in the folder or below."""
    name = unquote(uri, errors="replace")
    shown = repr(uri[:60])
    outside = KeyfluidError(f"it refers to {shown}; only files in the mesh's own folder are read, copy it there")
    if not name or ":" in name or "\\" in name or "\0" in name or name.startswith("/"):
        raise outside
    try:
        file = (folder / name).resolve()
        inside, exists = file.is_relative_to(folder.resolve()), file.is_file()
    except (OSError, RuntimeError):  # too long a name, or links in a circle
        inside, exists = True, False
    if not inside:
        raise outside
    if not exists:
        raise KeyfluidError(f"its buffer {shown} is missing")
    return file


def _chunks(content: memoryview) -> tuple[bytes, memoryview | None]:
    """The JSON and, if there is one, the binary chunk."""
    if len(content) < 20 or content[:4] != _MAGIC:
        raise KeyfluidError("it is not a glb file")
    version, length = struct.unpack("<II", content[4:12])
    if version != _VERSION or length > len(content):
        raise KeyfluidError(f"its glb header has version {version} and length {length}; is it cut short?")
    found: list[tuple[bytes, memoryview]] = []
    position = 12
    while position + 8 <= length and len(found) < 2:
        size, kind = struct.unpack("<I4s", content[position : position + 8])
        position += 8
        if size > length - position:
            raise KeyfluidError("a chunk of it is longer than the file; is it cut short?")
        found.append((kind, content[position : position + size]))
        position += size
    if not found or found[0][0] != _JSON:
        raise KeyfluidError("it has no JSON chunk")
    binary = found[1][1] if len(found) > 1 and found[1][0] == _BIN else None
    return bytes(found[0][1]), binary
