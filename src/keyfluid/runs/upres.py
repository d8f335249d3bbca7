"""The scene of a finer film of a solved run: `keyfluid upres`, and [upres] in a scene."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from keyfluid.controllers.guided.settings import RESOLVED, GuideNumbers
from keyfluid.errors import KeyfluidError
from keyfluid.io.run.result_file import KeyScore
from keyfluid.io.run.run_folder import RunFolder
from keyfluid.problem import Problem
from keyfluid.scenes import Scene, load_scene, scene_from
from keyfluid.scenes.build.memory import make_grid
from keyfluid.scenes.schema.checks import upres_keys
from keyfluid.scenes.schema.load import dump_data
from keyfluid.scenes.schema.upres import Upres

_ONLY_SEARCHED = ("edit", "picture", "flow", "upres")
"""Tables that the film's scene does not have: only a search reads them."""


def film_folder(folder: Path) -> Path:
    """Where the film of a run with [upres] goes."""
    return folder / "upres"


def upres_scene(
    folder: str | Path, factor: int | None = None, overrides: Sequence[str] = (), polish: int | None = None
) -> Scene:
    """The scene of the run in `folder` on a finer grid, guided by that run, or polished.

    Sources, bodies and keyframes are drawn again on the fine grid. What is not given is as [upres] of the run's scene
    says; overrides: keys of the film's scene.
    """
    place = RunFolder.find(folder)
    solved = load_scene(place.scene_file)
    _require_solved(place, solved)
    table = solved.upres or Upres()
    factor, polish = factor or table.factor, table.polish if polish is None else polish
    for fault in upres_keys(solved.fluid, table.model_copy(update={"polish": polish})):
        raise fault
    path = str(place.path.absolute())
    data = dump_data(solved)
    for name in _ONLY_SEARCHED:
        data.pop(name, None)
    data["name"] = f"{solved.name}_x{factor}"
    data["domain"]["size"] = list(make_grid(solved).size)  # whole cells of the run, and so of the film
    data["domain"]["resolution"] = factor * solved.domain.resolution
    before = solved.time.steps_per_frame
    steps = table.steps or (before if before == "auto" else int(before) * -(-factor // solved.fluid.stride))
    data["time"]["steps_per_frame"] = steps
    for name in ("vorticity", "buoyancy"):
        if getattr(table, name) is not None:
            data[solved.fluid.table][name] = getattr(table, name)
    data["control"] = _polished(path, solved, table, polish, steps) if polish else _guided(path, table)
    return scene_from(data, None, overrides)


def solved_scores(problem: Problem) -> list[KeyScore]:
    """How well the run that a film follows met its keyframes; empty for other scenes, and where it is gone."""
    control = problem.control
    followed = getattr(control, "start", None) if getattr(control, "handover", None) == "air" else None
    folder = getattr(control, "run", followed)
    if folder is None:
        return []
    try:
        result = RunFolder.find(folder).result()
    except KeyfluidError:
        return []
    return [] if result is None else result["keyframes"]


def _require_solved(place: RunFolder, solved: Scene) -> None:
    method = solved.control.method
    if method in ("none", "guided") or not solved.keyframe:
        what = f'method "{method}"' if method in ("none", "guided") else "a scene without keyframes"
        raise KeyfluidError(f"{place.path}: is a run of {what}; give a run that steers to keyframes")
    if place.finished is None:
        raise KeyfluidError(f"{place.path}: is not finished; finish it first: keyfluid resume {place.path}")
    place.require_frames()


def _guided(path: str, table: Upres) -> dict[str, Any]:
    shared = {name: getattr(table, name) for name in GuideNumbers.model_fields}
    return {"method": "guided", "run": path, **{name: value for name, value in shared.items() if value is not None}}


def _polished(path: str, solved: Scene, table: Upres, polish: int, steps: int | str) -> dict[str, Any]:
    """A search over the long waves of the fine grid, one set of unknowns per frame."""
    cutoff = table.cutoff or RESOLVED[solved.dimension] * solved.domain.resolution
    return {
        "method": "spectral", "start": path, "handover": "air", "cutoff": cutoff, "iterations": polish, "coarse": 0,
        "gamma": "none", "window": steps if isinstance(steps, int) else 1,
    }  # fmt: skip
