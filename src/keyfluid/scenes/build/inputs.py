"""The files that a scene reads, with a hash of their contents."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from keyfluid.errors import KeyfluidError
from keyfluid.io.run.fingerprint import FILE
from keyfluid.io.run.layout import frame_files
from keyfluid.io.run.run_folder import RunFolder
from keyfluid.scenes.schema.check_bodies import is_sequence
from keyfluid.scenes.schema.load import dump_data
from keyfluid.scenes.schema.scene import Scene
from keyfluid.shapes.animated_mesh import sequence_files
from keyfluid.shapes.gltf_file import buffer_files

FILE_KEYS = ("image", "mesh", "vdb", "npy", "font", "paint")
RUN_KEY = "run"
"""Names another run's folder. (control.start does too, but only until the run has begun.)"""

_PIECE = 1 << 20


def input_files(scene: Scene) -> list[Path]:
    """Every file that a scene reads."""
    return [file for _, key, value in _named(dump_data(scene)) for file in files_of(key, value)]


def named_files(scene: Scene) -> Iterator[tuple[str, list[Path]]]:
    """Key path of every file or run that a scene names, and what is read for it; a run's folder comes first."""
    for path, key, value in _named(dump_data(scene)):
        yield path, [*([Path(value)] if key == RUN_KEY else []), *files_of(key, value)]
    start = getattr(scene.control, "start", None)
    if start is not None:
        yield "control.start", [Path(start), *frame_files(Path(start))]


def hashed_scene(scene: Scene) -> dict[str, Any]:
    """The scene's tables with a hash of its content in the place of each file."""
    known: dict[tuple[str, str], str] = {}

    def replaced(node: Any) -> Any:
        if isinstance(node, list):
            return [replaced(entry) for entry in node]
        if not isinstance(node, dict):
            return node
        return {key: hashed(key, value) for key, value in node.items()}

    def hashed(key: str, value: Any) -> Any:
        if not _is_file(key, value):
            return replaced(value)
        if (key, value) not in known:
            known[key, value] = FILE + (_run_name(Path(value)) if key == RUN_KEY else _digest(files_of(key, value)))
        return known[key, value]

    tables: dict[str, Any] = replaced(dump_data(scene))
    return tables


def _is_file(key: str, value: Any) -> bool:
    return isinstance(value, str) and (key in FILE_KEYS or key == RUN_KEY)


def _named(node: Any, path: str = "") -> Iterator[tuple[str, str, str]]:
    """Key path, key and value of every key that names a file."""
    if isinstance(node, list):
        for number, entry in enumerate(node):
            yield from _named(entry, f"{path}[{number}]")
    elif isinstance(node, dict):
        for key, value in node.items():
            inner = f"{path}.{key}" if path else key
            if _is_file(key, value):
                yield inner, key, value
            else:
                yield from _named(value, inner)


def files_of(key: str, value: str) -> list[Path]:
    path = Path(value)
    if key == RUN_KEY:
        return frame_files(path)
    if key == "mesh" and is_sequence(value):
        return sequence_files(path)
    return [path, *buffer_files(path)] if path.suffix.lower() == ".gltf" else [path]


def _digest(files: list[Path]) -> str:
    total = hashlib.sha256()
    for path in files:
        try:
            with path.open("rb") as file:
                while piece := file.read(_PIECE):
                    total.update(piece)
        except OSError as error:
            raise KeyfluidError(f"{path}: can't be read: {error.strerror or error}") from None
    return total.hexdigest()[:24]


def _run_name(folder: Path) -> str:
    """The run's name; older runs have none, and get the hash of their scene."""
    run = RunFolder.read(folder)
    return run.fingerprint.run if run.fingerprint is not None else _digest([run.scene_file])
