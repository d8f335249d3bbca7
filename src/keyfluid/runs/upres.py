"""The scene of a finer film of a solved run: `keyfluid upres`, and [upres] in a scene."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from keyfluid.errors import KeyfluidError
from keyfluid.io.run.run_folder import RunFolder
from keyfluid.scenes import Scene, load_scene, scene_from
from keyfluid.scenes.schema.load import dump_data

_ASKED = ("edit", "picture", "flow")
"""Tables that only a search reads."""


def upres_scene(folder: str | Path, factor: int, overrides: Sequence[str] = ()) -> Scene:
    """The scene of the run in `folder` on a grid of `factor` times the cells per axis, guided by that run.

    Sources, bodies and keyframes are drawn again on the fine grid. Steps: half as many more per frame as cells.
    """
    place = RunFolder.find(folder)
    solved = load_scene(place.scene_file)
    if solved.control.method in ("none", "guided"):
        raise KeyfluidError(
            f'{place.path}: is a run of method "{solved.control.method}"; give the run of a method that steers smoke'
        )
    data = dump_data(solved)
    data["name"] = f"{solved.name}_x{factor}"
    data["domain"]["resolution"] = factor * solved.domain.resolution
    steps = solved.time.steps_per_frame
    data["time"]["steps_per_frame"] = steps if steps == "auto" else int(steps) * max(1, factor // 2)
    data["control"] = {"method": "guided", "run": str(place.path.absolute())}
    for name in _ASKED:
        data.pop(name, None)
    return scene_from(data, None, overrides)
