"""What the home page lists: scenes and runs of the workspace, and scenes to begin with."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from keyfluid.errors import KeyfluidError
from keyfluid.gallery import bundled
from keyfluid.scenes import scene_from
from keyfluid.scenes.build.memory import make_grid
from keyfluid.scenes.schema.load import parse_toml
from keyfluid.studio.runs_listing import run_line
from keyfluid.studio.scene_check import outside
from keyfluid.studio.scene_files import read_scene
from keyfluid.studio.scene_library import offered, templates
from keyfluid.studio.watcher import Stamp, stamp
from keyfluid.studio.workspace import SCENES, Workspace

_TABLES = {"domain", "time", "smoke", "liquid", "keyframe", "control", "source"}
_MOST_KEPT = 5000


class HomeListing:
    """Keeps the line of each scene until its file changes."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._kept: dict[Path, tuple[Stamp | None, dict[str, Any] | None]] = {}
        self._gallery: dict[str, list[dict[str, Any]]] = {}

    def home(self) -> dict[str, Any]:
        if not self._gallery:
            self._gallery = {"gallery": offered(bundled()), "templates": offered(templates())}
        scenes = [line for path in self._workspace.scenes() if (line := self._scene(path)) is not None]
        runs = [run_line(self._workspace, path) for path in self._workspace.runs()]
        return {
            "scenes": sorted(scenes, key=lambda line: -line["modified"]),
            "runs": sorted(runs, key=lambda line: -line["modified"]),
            **self._gallery,
        }

    def _scene(self, path: Path) -> dict[str, Any] | None:
        now = stamp(path)
        kept = self._kept.get(path)
        if kept is not None and kept[0] == now:
            return kept[1]
        if len(self._kept) > _MOST_KEPT:
            self._kept.clear()
        line = scene_line(self._workspace, path) if now is not None else None
        self._kept[path] = (now, line)
        return line


def scene_line(workspace: Workspace, path: Path) -> dict[str, Any] | None:
    """What the home page says of a scene; None for TOML files that are no scenes."""
    mine = path.is_relative_to(workspace.root / SCENES)
    line: dict[str, Any] = {
        "path": workspace.name_of(path), "name": path.parent.name if path.name == "scene.toml" else path.stem,
        "method": None, "dim": None, "cells": None, "frames": None, "fps": None, "keyframes": 0,
        "modified": path.stat().st_mtime, "fault": None,
    }  # fmt: skip
    try:
        data = parse_toml(read_scene(path).text, path.name)
        if not mine and not _TABLES & data.keys():
            return None
        faults = outside(workspace, data, path.parent)
        if faults:
            raise faults[0]
        scene = scene_from(data, path.parent)
    except KeyfluidError as error:
        return line | {"fault": str(error).split("\n")[0]}
    return line | {
        "method": scene.control.method, "dim": scene.dimension, "cells": list(make_grid(scene).cells),
        "frames": scene.time.frames, "fps": scene.time.fps, "keyframes": len(scene.keyframe),
    }  # fmt: skip
