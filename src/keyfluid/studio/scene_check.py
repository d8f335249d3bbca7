"""What is wrong with the text of a scene, each fault with its line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from keyfluid.errors import KeyfluidError, SceneError
from keyfluid.scenes import scene_from
from keyfluid.scenes.schema.load import parse_toml
from keyfluid.studio.answers import faults_of
from keyfluid.studio.toml_lines import entries, line_of
from keyfluid.studio.workspace import Workspace

FILE_KEYS = ("image", "mesh", "vdb", "npy", "font", "run", "paint")
"""Keys whose text names a file or a folder; `start` does in [control] alone (a test compares them with the models)."""


def check_text(workspace: Workspace, text: str, folder: Path) -> tuple[dict[str, Any] | None, list[dict[str, Any]]]:
    """The data of a scene, None if it does not parse, and its faults: {path, message, line}."""
    try:
        data = parse_toml(text, "")
    except KeyfluidError as error:
        return None, [_unparsed(fault["message"]) for fault in faults_of(error)]
    faults = [{"path": error.key, "message": error.message} for error in outside(workspace, data, folder)]
    if not faults:
        try:
            scene_from(data, folder)
        except KeyfluidError as error:
            faults = faults_of(error) or [{"path": "", "message": " ".join(str(error).split())}]
    found = entries(text) if faults else []
    return data, [{**fault, "line": line_of(found, fault["path"])} for fault in faults]


def _unparsed(message: str) -> dict[str, Any]:
    line = re.match(r"line (\d+)", message)
    return {"path": "", "message": message, "line": int(line[1]) if line is not None else None}


def named_files(data: Any, path: str = "") -> Iterator[tuple[str, str]]:
    """Key paths and values of all keys that name files."""
    if isinstance(data, dict):
        for key, value in data.items():
            here = f"{path}.{key}" if path else str(key)
            if isinstance(value, str) and (key in FILE_KEYS or here == "control.start"):
                yield here, value
            else:
                yield from named_files(value, here)
    elif isinstance(data, list):
        for index, value in enumerate(data):
            yield from named_files(value, f"{path}[{index}]")


def outside(workspace: Workspace, data: dict[str, Any], folder: Path) -> list[SceneError]:
    """Faults of keys that name a file which the studio may not read."""
    faults = []
    for path, name in named_files(data):
        try:
            inside = "\0" not in name and workspace.may_read(folder / Path(name).expanduser())
        except (OSError, RuntimeError, ValueError):
            inside = False
        if not inside:
            text = "lies outside the workspace; copy it beside the scene, or start the studio with --allow FOLDER"
            faults.append(SceneError(path, text))
    return faults
