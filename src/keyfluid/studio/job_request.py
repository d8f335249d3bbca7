"""What the page may ask to compute, checked before it is queued and once more before it starts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from keyfluid.io.run.layout import SCENE, scene_file
from keyfluid.runs.wedge import Wedge
from keyfluid.scenes import load_scene
from keyfluid.studio.answers import Refused, text_in
from keyfluid.studio.job_record import KINDS, JobRecord
from keyfluid.studio.named_files import require_inside
from keyfluid.studio.workspace import Workspace

_MOST_CHANGES, _LONGEST = 100, 4096


@dataclass
class JobRequest:
    """run: the folder to resume; name: of a new run's folder."""

    kind: str
    scene: str | None
    run: str | None
    name: str
    set: list[str] = field(default_factory=list)
    wedge: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, workspace: Workspace, data: Mapping[str, Any]) -> JobRequest:
        """Checked: raises what is wrong with the request or with the scene."""
        kind = text_in(data, "kind")
        if kind not in KINDS:
            raise Refused(400, f"kind: {kind[:40]!r} is not known; use {', '.join(KINDS)}")
        if kind == "resume":
            run = workspace.name_of(workspace.run(text_in(data, "run")))
            check_resume(workspace, run)
            return cls(kind, None, run, "")
        path = workspace.scene(text_in(data, "scene"))
        sets, wedge = _texts(data, "set"), _texts(data, "wedge") if kind == "wedge" else []
        check_scene(workspace, path, sets, wedge if kind == "wedge" else None)
        name = text_in(data, "name", "") or f"{_name_of(path)}{'' if kind == 'run' else f'-{kind}'}"
        return cls(kind, workspace.name_of(path), None, name, sets, wedge)


def check_again(workspace: Workspace, record: JobRecord) -> None:
    """Raise what is wrong with a job that is about to start."""
    if record.kind == "resume":
        check_resume(workspace, workspace.name_of(workspace.run(record.run)))
        return
    workspace.inside(record.run, must_exist=False)
    assert record.scene is not None
    check_scene(workspace, workspace.scene(record.scene), record.set, record.wedge if record.kind == "wedge" else None)


def check_scene(workspace: Workspace, path: Path, sets: list[str], wedge: list[str] | None) -> None:
    """Raise the faults of a scene and of what it would become, and files that it may not read."""
    if wedge is not None and not wedge:
        raise Refused(400, "wedge: give a key and its values, such as smoke.buoyancy=0,1")
    variants = Wedge.of(wedge).variants.values() if wedge is not None else [[]]
    for changes in variants:
        require_inside(workspace, load_scene(path, [*sets, *changes]))


def check_resume(workspace: Workspace, run: str) -> None:
    folder = workspace.inside(run)
    if not scene_file(folder).is_file():
        raise Refused(409, f"{run}: has no {SCENE} to resume; resume the runs inside it one by one")
    if not workspace.may_read(scene_file(folder)):
        raise Refused(403, f"{run}: its {SCENE} leads out of the workspace")
    require_inside(workspace, load_scene(scene_file(folder)))


def _name_of(path: Path) -> str:
    return path.parent.name if path.name == SCENE else path.stem


def _texts(data: Mapping[str, Any], key: str) -> list[str]:
    value = data.get(key) or []
    if not isinstance(value, list) or len(value) > _MOST_CHANGES:
        raise Refused(400, f"{key}: give a list of at most {_MOST_CHANGES} changes such as domain.resolution=64")
    if not all(isinstance(one, str) and len(one) <= _LONGEST and "\0" not in one for one in value):
        raise Refused(400, f"{key}: give changes such as domain.resolution=64")
    return list(value)
