"""A run in one line of a list."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from keyfluid.errors import KeyfluidError
from keyfluid.io.run.layout import RESULT, SCENE, frame_files
from keyfluid.io.run.run_folder import RunFolder
from keyfluid.scenes import load_scene
from keyfluid.scenes.build.memory import make_grid
from keyfluid.studio.workspace import Workspace


def run_line(workspace: Workspace, path: Path) -> dict[str, Any]:
    """What the home page says of a run."""
    line: dict[str, Any] = {
        "path": workspace.name_of(path), "name": path.name, "kind": "run", "method": None, "status": None, "dim": None,
        "cells": None, "frames_done": max(0, len(frame_files(path)) - 1), "frames": None, "fps": None, "keyframes": [],
        "seconds": None, "modified": path.stat().st_mtime, "scene": None,
    }  # fmt: skip
    try:
        scene = load_scene(path / SCENE)
        line |= {
            "method": scene.control.method, "dim": scene.dimension, "cells": list(make_grid(scene).cells),
            "frames": scene.time.frames, "fps": scene.time.fps,
        }  # fmt: skip
        result = RunFolder.read(path).result()
    except KeyfluidError:
        return line | ({"kind": "wedge"} if not (path / SCENE).is_file() else {})
    if result is not None:
        keys = ("frame", "field", "relative_error", "iou", "bound")
        line |= {
            "status": result["status"], "seconds": result["seconds"], "modified": (path / RESULT).stat().st_mtime,
            "keyframes": [{key: dict(score).get(key) for key in keys} for score in result["keyframes"]],
        }  # fmt: skip
    return line
