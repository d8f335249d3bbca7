"""A scene with [edit], written for a finished run: one frame painted over, deformed, or painted from one side.

    {run, frame, first, last, png}                  2D: the frame, painted over (a grey PNG of the whole domain)
    {run, frame, first, last, png, view: "+z"}      3D: its picture from one side, painted over
    {run, frame, first, last, move, twist, bend}    the frame moved (metres), twisted and bent (degrees)

Frames up to `first` stay, bit for bit; control ends with `last`.
"""

from __future__ import annotations

import base64
import binascii
import math
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import tomlkit

from keyfluid.io.atomic import write_whole
from keyfluid.io.run.layout import SCENE
from keyfluid.runs.view_picture import VIEWS
from keyfluid.scenes import Scene, load_scene
from keyfluid.scenes.build.other_run import load_run_body, open_edit
from keyfluid.scenes.build.pictures import place_picture
from keyfluid.studio.answers import Refused, text_in, whole_in
from keyfluid.studio.editable_run import EditableRun
from keyfluid.studio.scene_library import scene_name
from keyfluid.studio.uploads import store
from keyfluid.studio.workspace import SCENES, Workspace

_KEPT = ("domain", "time", "smoke", "source", "wind", "obstacle", "simulation", "camera", "light", "output")
_OF_CONTROL = ("method", "preset", "iterations")
_PAINTED = "painted.png"


def write_edit(workspace: Workspace, request: Mapping[str, Any]) -> Path:
    """The scene's file, in a folder of its own; raises, and leaves nothing, where it would not run."""
    run = EditableRun.open(workspace, text_in(request, "run"))
    entry = _wish(request, run)
    png = _png(request) if "png" in request else None
    folder = workspace.free(SCENES, text_in(request, "name", f"{run.folder.path.name}-edit"))
    folder.mkdir()
    path = folder / SCENE
    try:
        place = Path(os.path.relpath(run.folder.path, folder)).as_posix()
        data = _data(run, folder.name, place, request, entry)
        if png is not None:
            store(path, _PAINTED, png, replace=False)
        text = tomlkit.dumps(data)
        write_whole(path, lambda file: file.write(f"{_comment(run, request, entry)}\n{text}".encode()))
        _try(load_scene(path), run)
    except BaseException:
        shutil.rmtree(folder)
        raise
    return path


def deformation(request: Mapping[str, Any], dim: int) -> dict[str, Any]:
    """move, twist and bend of a request that are not zero."""
    given = request.get("move") or [0.0] * dim
    if not isinstance(given, list) or len(given) != dim or not all(map(_is_number, given)):
        raise Refused(400, f"move: give {dim} numbers, metres")
    angles = {key: request.get(key) or 0.0 for key in ("twist", "bend")}
    for key, value in angles.items():
        if not _is_number(value):
            raise Refused(400, f"{key}: give a number, degrees")
    if dim == 2 and angles["twist"]:
        raise Refused(400, "twist: turns about an upright axis, which 2D lacks; use bend")
    move = {"move": [float(value) for value in given]} if any(given) else {}
    return {**move, **{key: float(value) for key, value in angles.items() if value}}


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value) and abs(value) < 1e6


def _wish(request: Mapping[str, Any], run: EditableRun) -> dict[str, Any]:
    """The [[keyframe]] or [[picture]] of the edit, without the run's folder."""
    given = request.get("field")
    field = {"field": run.field(text_in(request, "field"))} if given is not None else {}
    frame = {"frame": whole_in(request, "frame")}
    if "view" in request:
        view = text_in(request, "view")
        if run.grid.dim == 2 or view not in VIEWS:
            raise Refused(400, f"view: is not a view of a 3D run; use {', '.join(VIEWS)}")
        if "png" not in request:
            raise Refused(400, "png: give the painted picture")
        return {**frame, "image": _PAINTED, "view": view, **field}
    if "png" in request:
        if run.grid.dim == 3:
            raise Refused(400, "view: say from where the picture is seen, such as +z")
        return {**frame, "paint": _PAINTED, **field}
    change = deformation(request, run.grid.dim)
    if not change:
        raise Refused(400, "nothing is changed yet; paint on the frame, or move, twist or bend it")
    return {**frame, **change, **field}


def _png(request: Mapping[str, Any]) -> bytes:
    try:
        return base64.b64decode(text_in(request, "png"), validate=True)
    except (binascii.Error, ValueError):
        raise Refused(400, "png: is not base64") from None


def _data(
    run: EditableRun, name: str, place: str, request: Mapping[str, Any], entry: Mapping[str, Any]
) -> dict[str, Any]:
    """The run's scene as it was, with the edit in the place of keyframes and control."""
    scene = run.scene.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    own = run.scene.control.model_dump(mode="json", exclude_none=True, exclude_defaults=True)
    optimised = run.scene.control.method in ("adjoint", "spectral")
    method = run.scene.control.method if optimised else "spectral"
    control = {"method": method, **({key: own[key] for key in _OF_CONTROL if key in own} if optimised else {})}
    edit = {"run": place, "first": whole_in(request, "first"), "last": whole_in(request, "last")}
    wish = {"picture": [dict(entry)]} if "image" in entry else {"keyframe": [{**entry, "run": place}]}
    kept = {key: scene[key] for key in _KEPT if scene.get(key)}
    return {"name": scene_name(name), **kept, "edit": edit, **wish, "control": control}


def _comment(run: EditableRun, request: Mapping[str, Any], entry: Mapping[str, Any]) -> str:
    what = "painted over" if "paint" in entry else f"painted as seen from {entry['view']}" if "view" in entry else (
        "deformed"
    )  # fmt: skip
    return f"# {run.scene.name} with frame {entry['frame']} {what}; frames 0 to {request['first']} stay as they are."


def _try(scene: Scene, run: EditableRun) -> None:
    """Read what the edit reads, so that its faults are known before it runs."""
    assert scene.edit is not None
    open_edit(scene.edit, scene)
    for key in scene.keyframe:
        load_run_body(key, scene)
    for picture in scene.picture:
        place_picture(picture, scene, run.grid)
