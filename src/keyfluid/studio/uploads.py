"""Files that a person drops on the page or paints: checked by their content, then put beside the scene.

What a file is, its ending says; that it is so, keyfluid's own reader, which counts the memory before it takes any.
"""

from __future__ import annotations

import io
import os
import re
import tempfile
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock
from typing import Any

from keyfluid.errors import KeyfluidError
from keyfluid.io.atomic import write_whole
from keyfluid.studio.answers import Refused
from keyfluid.studio.workspace import plain_name

MOST_UPLOAD = 64 << 20
"""Bytes of a file."""

MOST_PIXELS = 1 << 24
"""Limit for a picture that is dropped on the page."""

_MEDIA = {"PNG": "image/png", "JPEG": "image/jpeg", "WEBP": "image/webp", "GIF": "image/gif"}
_PAINTED = re.compile(r"painted[\w-]*\.png")
_lock = Lock()


@dataclass(frozen=True)
class _FileKind:
    """key: of a body; check: raises if the file at a path is not what its name says."""

    key: str
    check: Callable[[Path], object]


def store(scene: Path, name: str, content: bytes, replace: bool) -> dict[str, Any]:
    """Put a file beside a scene, under another name if that one is taken; replace: over a picture painted here."""
    plain = plain_name(name)
    suffix = Path(plain).suffix.lower()
    kind = _KINDS.get(suffix)
    if kind is None or plain.startswith("."):
        raise Refused(415, f"{plain}: give a picture, a mesh, a VDB, a .npy array or a font ({', '.join(_KINDS)})")
    with tempfile.TemporaryDirectory(prefix="keyfluid-upload-") as folder:
        copy = Path(folder) / f"file{suffix}"
        copy.write_bytes(content)
        animated = _checked(copy, plain, kind)
    with _lock:
        path = scene.parent / plain
        if os.path.lexists(path) and not (replace and _PAINTED.fullmatch(plain) and not path.is_symlink()):
            path = _free(path)
        write_whole(path, lambda file: file.write(content))
    return {"name": path.name, "key": kind.key, "animated": animated}


def picture(path: Path) -> tuple[bytes, str]:
    """The content of a picture and its media type; raises if it is anything else."""
    if path.suffix.lower() not in _KINDS or not path.is_file() or path.stat().st_size > MOST_UPLOAD:
        raise Refused(404, f"{path.name}: is not a picture")
    content = path.read_bytes()
    return content, _media(content, path.name)


def _checked(copy: Path, name: str, kind: _FileKind) -> bool:
    """Whether what was read is animated; its faults name the file as the person does."""
    try:
        if kind.key == "image":
            _media(copy.read_bytes(), name)
        kind.check(copy)
        return copy.suffix in (".gltf", ".glb") and _is_animated(copy)
    except Refused:
        raise
    except KeyfluidError as error:
        raise Refused(415, " ".join(str(error).replace(str(copy), name).split())) from None
    except (OSError, MemoryError, RecursionError):
        raise Refused(415, f"{name}: can't be read; is it whole?") from None


def _is_animated(path: Path) -> bool:
    from keyfluid.shapes.gltf_skin import read_skinned_scene

    try:
        return read_skinned_scene(path).duration > 0
    except KeyfluidError:
        return False


def _media(content: bytes, name: str) -> str:
    """The media type of a picture, by what is in it; nothing is decoded."""
    from PIL import Image

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            with Image.open(io.BytesIO(content), formats=list(_MEDIA)) as image:
                width, height = image.size
                kind = _MEDIA[str(image.format)]
    except Exception:  # Pillow's readers raise almost anything for a damaged file
        raise Refused(415, f"{name}: is not a whole PNG, JPEG, WebP or GIF picture") from None
    if width * height > MOST_PIXELS:
        raise Refused(413, f"{name}: is {width} x {height} pixels; at most {MOST_PIXELS >> 20} million are taken")
    return kind


def _free(path: Path) -> Path:
    candidates = (path.with_name(f"{path.stem}-{number}{path.suffix}") for number in range(2, 100_000))
    return next(one for one in candidates if not os.path.lexists(one))


# Readers are imported when a file comes: the engine takes seconds, and the page should be there before.


def _image(path: Path) -> None:
    from keyfluid.shapes import load_image

    load_image(path)


def _mesh(path: Path) -> None:
    from keyfluid.shapes import load_mesh

    load_mesh(path)


def _vdb(path: Path) -> None:
    from keyfluid.io.vdb import read_vdb

    if not any(grid.data.ndim == 3 for grid in read_vdb(path, vectors=False)):
        raise KeyfluidError(f"{path}: has no grid of numbers, such as density")


def _array(path: Path) -> None:
    from keyfluid.shapes import load_array

    load_array(path)


def _font(path: Path) -> None:
    from keyfluid.shapes import Text

    Text("A", path).ink()


_KINDS: dict[str, _FileKind] = {
    **dict.fromkeys((".png", ".jpg", ".jpeg", ".webp", ".gif"), _FileKind("image", _image)),
    **dict.fromkeys((".obj", ".ply", ".stl", ".gltf", ".glb"), _FileKind("mesh", _mesh)),
    ".vdb": _FileKind("vdb", _vdb),
    ".npy": _FileKind("npy", _array),
    **dict.fromkeys((".ttf", ".otf"), _FileKind("font", _font)),
}
