"""The problem and the last checkpoint of another run, for a method that begins from what it found."""

from __future__ import annotations

from keyfluid.controllers.shell import Checkpoint
from keyfluid.errors import KeyfluidError, SceneError
from keyfluid.io.run.run_folder import RunFolder
from keyfluid.scenes import load_scene
from keyfluid.scenes.build.problem import BuiltScene, build


def open_other_run(folder: str) -> tuple[BuiltScene, Checkpoint]:
    """Named by control.start, the only key that asks for one."""
    try:
        place = RunFolder.find(folder)
        found = place.checkpoints.load()
    except KeyfluidError as error:
        raise SceneError("control.start", str(error)) from None
    if found is None:
        raise SceneError("control.start", f"{folder} has no checkpoint yet; let it run first")
    try:
        return build(load_scene(place.scene_file)), Checkpoint(found.arrays, found.controller)
    except KeyfluidError as error:
        raise SceneError("control.start", f"the scene of {folder}: {' '.join(str(error).split())}") from None
