"""From a request for the stage to its answer. Imports the engine, so the route does so when it is first asked."""

from __future__ import annotations

from typing import Any

from keyfluid.errors import SceneErrors
from keyfluid.scenes.schema.load import parse_toml, read_scene_text, scene_from
from keyfluid.studio.answers import Refused, faults_of, text_in, whole_in
from keyfluid.studio.arrays import packed
from keyfluid.studio.outside import outside_faults
from keyfluid.studio.scene_changes import changed_data, read_changes
from keyfluid.studio.stage import Asked
from keyfluid.studio.state import Studio


def stage_answer(studio: Studio, data: dict[str, Any]) -> bytes:
    """The scene's bodies as arrays; a scene with faults has those instead of bodies."""
    path = studio.workspace.scene(text_in(data, "path"))
    text = text_in(data, "text") if data.get("text") is not None else read_scene_text(path)
    asked, changes = _asked(data), read_changes(data.get("changes") or [])
    try:
        tables = parse_toml(text, path.name)
        scene = scene_from(changed_data(tables, changes), path.parent)
        faults = outside_faults(scene, studio.workspace)
        if faults:
            raise SceneErrors(faults)
        header, arrays = studio.stage.draw(scene, asked)
    except SceneErrors as errors:
        header, arrays = {"bodies": None, "warnings": [], "faults": faults_of(errors)}, {}
    return packed(header, arrays)


def _asked(data: dict[str, Any]) -> Asked:
    bodies = data.get("bodies")
    if bodies is not None and not (isinstance(bodies, list) and all(isinstance(body, str) for body in bodies)):
        raise Refused(400, "bodies: give a list of ids such as keyframe[0]")
    frame = whole_in(data, "frame", 0)
    if not 0 <= frame < 10_000_000:
        raise Refused(400, "frame: give a frame of the scene")
    return Asked(None if bodies is None else frozenset(bodies), frame, data.get("draft") is True)
