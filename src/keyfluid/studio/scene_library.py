"""Scenes to begin with, and what a person does with scenes and runs as a whole: new, rename, duplicate, delete."""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from keyfluid.errors import KeyfluidError
from keyfluid.gallery import bundled, description
from keyfluid.io.atomic import write_whole
from keyfluid.io.run.owned import is_locked
from keyfluid.scenes.schema.load import parse_toml
from keyfluid.studio.answers import Refused
from keyfluid.studio.scene_changes import read_changes
from keyfluid.studio.scene_check import named_files
from keyfluid.studio.scene_files import read_scene
from keyfluid.studio.toml_changes import changed_text
from keyfluid.studio.workspace import SCENES, Workspace, is_run, plain_name

_TEMPLATES = Path(__file__).parent / "templates"
_SCENE = "scene.toml"


def templates() -> dict[str, Path]:
    """Names and files of the scenes to begin with, the plainest first."""
    found = {path.stem: path for path in _TEMPLATES.glob("*.toml")}
    return dict(sorted(found.items(), key=lambda item: (not item[0].startswith("blank"), item[0])))


def offered(scenes: Mapping[str, Path]) -> list[dict[str, Any]]:
    """Scenes for the page: name, what it is, method and dimension."""
    return [{"name": name, "text": description(path), **_kind(path)} for name, path in scenes.items()]


def _kind(path: Path) -> dict[str, Any]:
    data = parse_toml(path.read_text(encoding="utf-8"), path.name)
    return {
        "method": data.get("control", {}).get("method", "none"),
        "dim": len(data.get("domain", {}).get("size", (1, 1))),
    }


def new_scene(workspace: Workspace, name: str, source: Path) -> Path:
    """A scene in a folder of its own, with copies of the files beside `source` that it names."""
    text = read_scene(source).text
    folder = workspace.free(SCENES, name)
    try:
        data = parse_toml(text, source.name)
    except KeyfluidError:
        data = {}
    copies, changes = _files(data, source.parent, folder)
    if data:
        text = changed_text(text, read_changes([{"path": "name", "value": scene_name(folder.name)}, *changes]))
    folder.mkdir()
    for relative in copies:
        (folder / relative).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source.parent / relative, folder / relative)
    write_whole(folder / _SCENE, lambda file: file.write(text.encode()))
    return folder / _SCENE


def _files(data: dict[str, Any], here: Path, folder: Path) -> tuple[set[str], list[dict[str, Any]]]:
    """Files below a scene's folder, to copy; and changes of keys that name others, so that they still find them."""
    copies: set[str] = set()
    changes = []
    for path, name in named_files(data):
        if Path(name).expanduser().is_absolute():
            continue
        file = here / name
        if ".." not in Path(name).parts and file.is_file() and file.resolve() == here.resolve() / name:
            copies.add(name)
        else:
            changes.append({"path": path, "value": Path(os.path.relpath(file, folder)).as_posix()})
    return copies, changes


def scene_name(text: str) -> str:
    """A name as scenes take it, for their output files."""
    return re.sub(r"[^A-Za-z0-9._]+", "-", text).strip("-._")[:80] or "scene"


def find_item(workspace: Workspace, name: str) -> Path:
    """A scene's file or a run's folder; raises for anything else, and for a run that is being written."""
    if name.endswith(".toml"):
        return workspace.scene(name)
    path = workspace.run(name)
    folders = [path, *(child for child in path.iterdir() if child.is_dir() and is_run(child))]
    if any(is_locked(folder) for folder in folders):
        raise Refused(409, f"{name}: is being written by a run; stop it first")
    return path


def renamed(workspace: Workspace, path: Path, name: str) -> Path:
    """Give a scene or a run another name; its folder's, or for a scene outside scenes/ its file's."""
    plain = plain_name(name)
    whole = path.name == _SCENE and path.parent.parent == workspace.root / SCENES
    item = path.parent if whole else path
    target = item.with_name(plain + (".toml" if item.suffix == ".toml" and item.is_file() else ""))
    if target == item:
        return path
    if os.path.lexists(target):
        raise Refused(409, f"{plain}: is there already; choose another name")
    item.rename(target)
    return target / _SCENE if whole else target


def duplicated(workspace: Workspace, path: Path, name: str) -> Path:
    """A copy of a scene in scenes/, or of a run beside it."""
    if path.suffix == ".toml" and path.is_file():
        return new_scene(workspace, name, path)
    target = workspace.free(path.parent.relative_to(workspace.root).as_posix(), name)
    shutil.copytree(path, target, symlinks=True)
    return target


def source_of(workspace: Workspace, request: Mapping[str, Any]) -> Path:
    """The file that a new scene begins as: gallery, template or scene in a request."""
    if "scene" in request:
        return workspace.scene(str(request["scene"]))
    kind = "gallery" if "gallery" in request else "template"
    known = bundled() if kind == "gallery" else templates()
    name = str(request.get(kind, "blank_2d"))
    if name not in known:
        raise Refused(404, f"{name[:80]}: is not a {kind} scene")
    return known[name]
