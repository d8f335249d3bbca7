"""Another run's problem, last checkpoint and frames, for a method that begins from what it found."""

from __future__ import annotations

from keyfluid.controllers.method import OtherRun
from keyfluid.controllers.shell import Checkpoint
from keyfluid.errors import KeyfluidError, SceneError
from keyfluid.io.run.run_folder import RunFolder
from keyfluid.problem import FrameRecord
from keyfluid.scenes import load_scene
from keyfluid.scenes.build.problem import build


def open_other_run(folder: str, key: str = "control.start") -> OtherRun:
    """Named by `key` of the scene, which faults are reported under."""
    try:
        place = RunFolder.find(folder)
        place.require_frames()
        found = place.checkpoints.load()
    except KeyfluidError as error:
        raise SceneError(key, str(error)) from None
    if found is None:
        raise SceneError(key, f"{folder} has no checkpoint yet; let it run first")
    try:
        problem = build(load_scene(place.scene_file))
    except KeyfluidError as error:
        raise SceneError(key, f"the scene of {folder}: {' '.join(str(error).split())}") from None

    def record(index: int) -> FrameRecord:
        try:
            return place.frames.read(index).record(problem.grid, problem.carried)
        except KeyfluidError as error:
            raise SceneError(key, str(error)) from None

    def seconds(index: int) -> list[float]:
        try:
            return place.frames.meta(index)["carrier_seconds"]
        except KeyfluidError as error:
            raise SceneError(key, str(error)) from None

    checkpoint = Checkpoint(found.arrays, found.controller)
    return OtherRun(folder, problem, checkpoint, place.finished is not None, record, seconds)
