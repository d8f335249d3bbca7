"""Runs in one line each, from their small files alone: no array is opened, and what has not changed is not read again.

RunLine: path, name, kind ("run" or "wedge"), method, status, dim, cells, frames_done, frames, fps, keyframes (frame,
field, relative_error, iou, bound), seconds, modified, scene (the workspace's scene it was started from, or None);
`fault` where its files can't be read; of a wedge also `runs`, the paths of those inside.
"""

from __future__ import annotations

import json
import os
import time
import tomllib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from keyfluid.errors import KeyfluidError
from keyfluid.io.run.layout import FRAMES, RESULT, SCENE
from keyfluid.io.run.owned import is_locked
from keyfluid.io.run.record import MARKER
from keyfluid.io.run.result_file import read_result
from keyfluid.studio.workspace import OURS, Workspace, is_run

RunLine = dict[str, Any]

_KEPT = 4096
"""Runs whose files are remembered."""

_MOST_SCENE = 4 << 20
_KEY_PARTS = ("frame", "field", "relative_error", "iou", "bound")


def run_line(workspace: Workspace, path: Path) -> RunLine:
    """The line of one run or wedge; never raises for what its files hold."""
    inner = runs_of_wedge(workspace, path)
    line = _wedge_line(workspace, path, inner) if inner is not None else _single_line(workspace, path)
    line["scene"] = _started_from(workspace).get(line["path"])
    return line


def run_lines(workspace: Workspace) -> list[RunLine]:
    """All runs of the workspace, the latest first."""
    lines = [run_line(workspace, path) for path in workspace.runs()]
    return sorted(lines, key=lambda line: -line["modified"])


def revision_of(path: Path) -> str:
    """Changes whenever a frame comes or the result is written again."""
    return "-".join(f"{stamp[0]:x}.{stamp[1]:x}" for stamp in map(_stamp, (path / RESULT, path / FRAMES, path / SCENE)))


def is_finished(path: Path) -> bool:
    """Whether a run has ended, so that its frames stay as they are."""
    return _result_line(path / RESULT, _stamp(path / RESULT))["status"] == "finished"


def result_of(path: Path) -> Mapping[str, Any]:
    """result.json of a run; nothing where there is none or it can't be read."""
    try:
        return read_result(path / RESULT) or {}
    except KeyfluidError:
        return {}


def _single_line(workspace: Workspace, path: Path) -> RunLine:
    stamps = {name: _stamp(path / name) for name in (SCENE, RESULT, FRAMES)}
    scene = _scene_line(_held(workspace, path, SCENE), stamps[SCENE])
    result = dict(_result_line(_held(workspace, path, RESULT), stamps[RESULT]))
    if result["status"] in ("running", None):
        result["status"] = "running" if is_locked(path) else "interrupted"
    return {
        "path": workspace.name_of(path),
        "name": path.name,
        "kind": "run",
        **scene,
        **{key: value for key, value in result.items() if value is not None},
        "frames_done": _count(_held(workspace, path, FRAMES), stamps[FRAMES]),
        "modified": max(stamp[0] for stamp in stamps.values()) / 1e9,
    }


def _wedge_line(workspace: Workspace, path: Path, inner: list[Path]) -> RunLine:
    """The numbers of the best run inside, the time of all."""
    lines = [_single_line(workspace, one) for one in inner]
    first = min(lines, key=_worst, default=None)
    running = is_locked(path) is True
    whole = bool(lines) and all(line["status"] == "finished" for line in lines)
    return {
        **(first or {**_scene_line(None, (0, 0)), "frames_done": 0, "keyframes": [], "method": None}),
        "path": workspace.name_of(path),
        "name": path.name,
        "kind": "wedge",
        "status": "running" if running else "finished" if whole else "interrupted",
        "seconds": sum(line["seconds"] for line in lines),
        "modified": max([_stamp(path)[0] / 1e9, *(line["modified"] for line in lines)]),
        "runs": [line["path"] for line in lines],
    }


def _worst(line: RunLine) -> float:
    """The largest error of a run's keyframes."""
    return max((key["relative_error"] for key in line["keyframes"]), default=float("inf"))


def runs_of_wedge(workspace: Workspace, path: Path) -> list[Path] | None:
    """The runs of a wedge, in the order of their names; None for a run."""
    if (path / SCENE).exists() or _kind(path / MARKER, _stamp(path / MARKER)) != "wedge":
        return None
    return [one for one in sorted(path.iterdir()) if not one.is_symlink() and is_run(one)]


def _held(workspace: Workspace, path: Path, name: str) -> Path | None:
    """A file of a run, unless it is a link out of the workspace."""
    file = path / name
    return file if not file.is_symlink() or file.resolve().is_relative_to(workspace.root) else None


def _stamp(path: Path) -> tuple[int, int]:
    """When it was written (ns), and its size; zeros if it is not there."""
    try:
        found = os.stat(path)
    except OSError:
        return 0, 0
    return found.st_mtime_ns, found.st_size


@lru_cache(_KEPT)
def _kind(marker: Path, stamp: tuple[int, int]) -> str | None:
    try:
        with marker.open("rb") as file:
            header = json.loads(file.readline(1 << 20))
    except (OSError, ValueError, RecursionError):
        return None
    return header.get("keyfluid") if isinstance(header, dict) else None


@lru_cache(_KEPT)
def _scene_line(path: Path | None, stamp: tuple[int, int]) -> RunLine:
    """What the line takes from scene.toml, which a run writes with every key."""
    line: RunLine = {
        "dim": None,
        "cells": [],
        "frames": 0,
        "fps": 24.0,
        "method": None,
        "keyframes": [],
        "seconds": 0.0,
    }
    try:
        if path is None or stamp[1] > _MOST_SCENE:
            raise ValueError("not a file of ours")
        data = tomllib.loads(path.read_text(encoding="utf-8"))
        sides, finest = [float(side) for side in data["domain"]["size"]], int(data["domain"]["resolution"])
        spacing = max(sides) / finest
        line |= {
            "dim": len(sides),
            "cells": [max(2, round(side / spacing)) for side in sides],
            "frames": int(data["time"]["frames"]),
            "fps": float(data["time"].get("fps", 24.0)),
            "method": data.get("control", {}).get("method", "none"),
        }
    except (OSError, ValueError, LookupError, TypeError, AttributeError, ArithmeticError, RecursionError):
        line["fault"] = f"{SCENE} can't be read"
    return line


@lru_cache(_KEPT)
def _result_line(path: Path | None, stamp: tuple[int, int]) -> RunLine:
    """What the line takes from result.json; nothing of a run that has none yet."""
    try:
        result = read_result(path) if path is not None and stamp != (0, 0) else None
    except KeyfluidError:
        return {"status": "damaged", "fault": f"{RESULT} can't be read"}
    if result is None:
        return {"status": None}
    keys = [{part: value for part, value in key.items() if part in _KEY_PARTS} for key in result["keyframes"]]
    return {"status": result["status"], "method": result["method"], "keyframes": keys, "seconds": result["seconds"],
            "met": result.get("met")}  # fmt: skip


@lru_cache(_KEPT)
def _count(folder: Path | None, stamp: tuple[int, int]) -> int:
    """Frames in a folder; files come by being renamed, which changes the folder's time."""
    if folder is None or stamp == (0, 0):
        return 0
    with os.scandir(folder) as found:
        return sum(entry.name.endswith(".npz") and entry.name[:-4].isdecimal() for entry in found)


def _started_from(workspace: Workspace) -> dict[str, str]:
    """{run: scene} of the studio's jobs."""
    return _jobs(workspace.root / OURS / "jobs", int(time.monotonic()))


@lru_cache(2)
def _jobs(folder: Path, second: int) -> dict[str, str]:
    """Read again every second: a job's file is written after its folder."""
    return dict(_pairs(folder))


def _pairs(folder: Path) -> Iterator[tuple[str, str]]:
    for file in sorted(folder.glob("*/job.json")):
        try:
            job = json.loads(file.read_bytes()[:_MOST_SCENE])
        except (OSError, ValueError, RecursionError):
            continue
        if isinstance(job, dict) and isinstance(job.get("run"), str) and isinstance(job.get("scene"), str):
            yield job["run"], job["scene"]
