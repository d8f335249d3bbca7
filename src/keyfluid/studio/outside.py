"""Files that a scene names: the studio reads those in its workspace, and in folders that were allowed."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from keyfluid.errors import KeyfluidError, SceneError
from keyfluid.scenes.build.inputs import FILE_KEYS, RUN_KEY, files_of
from keyfluid.scenes.schema.load import dump_data
from keyfluid.scenes.schema.scene import Scene
from keyfluid.studio.workspace import Workspace


def outside_faults(scene: Scene, workspace: Workspace) -> list[SceneError]:
    """One line for each file that the scene names and the studio may not read, by links or buffers of a mesh too."""
    faults = []
    for path, key, value in _named(dump_data(scene), ""):
        if not workspace.may_read(Path(value)) or not all(map(workspace.may_read, _read_too(key, value))):
            faults.append(
                SceneError(path, "lies outside the workspace; copy it there, or start the studio with --allow FOLDER")
            )
    return faults


def _named(node: Any, path: str) -> Iterator[tuple[str, str, str]]:
    if isinstance(node, list):
        for i, entry in enumerate(node):
            yield from _named(entry, f"{path}[{i}]")
    elif isinstance(node, dict):
        for key, value in node.items():
            here = f"{path}.{key}".lstrip(".")
            if isinstance(value, str) and key in (*FILE_KEYS, RUN_KEY):
                yield here, key, value
            else:
                yield from _named(value, here)


def _read_too(key: str, value: str) -> list[Path]:
    """Files that come with one: those of a sequence, buffers of a mesh; what can't be listed is not read either."""
    try:
        return files_of(key, value) if key != RUN_KEY else []
    except (KeyfluidError, OSError):
        return []
