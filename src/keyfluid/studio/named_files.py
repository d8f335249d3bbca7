"""Files that a scene names: the studio reads those in the workspace, and in folders that `--allow` names.

A scene may come from somebody else, and what it names would be drawn on the page.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from keyfluid.errors import KeyfluidError, SceneError, SceneErrors
from keyfluid.io.run.layout import scene_file
from keyfluid.scenes import Scene, load_scene
from keyfluid.scenes.build.inputs import named_files
from keyfluid.studio.workspace import Workspace

_ADVICE = "copy it into the scene's folder, or start the studio with --allow FOLDER"


def require_inside(workspace: Workspace, scene: Scene) -> None:
    """Raise SceneErrors if the scene, or a run that it names, reads a file that it may not."""
    faults = list(_outside(workspace, scene, set()))
    if faults:
        raise SceneErrors(faults)


def _outside(workspace: Workspace, scene: Scene, seen: set[Path]) -> Iterator[SceneError]:
    for path, files in named_files(scene):
        if not all(workspace.may_read(file) for file in files):
            yield SceneError(path, f"{files[0].name!r} is outside the workspace; {_ADVICE}")
            continue
        # A run's own scene is built too, with the files that it names.
        for folder in files[:1]:
            inner = scene_file(folder)
            if inner in seen or not inner.is_file():
                continue
            seen.add(inner)
            if not workspace.may_read(inner):
                yield SceneError(path, f"the scene of {folder.name!r} is outside the workspace; {_ADVICE}")
                continue
            try:
                of_run = load_scene(inner)
            except KeyfluidError:
                continue  # what reads the run will say so
            for fault in _outside(workspace, of_run, seen):
                yield SceneError(path, f"{folder.name!r} names a file outside the workspace ({fault.key}); {_ADVICE}")
