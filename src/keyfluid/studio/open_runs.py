"""Runs that a page looks at: their scenes built once and kept, a few at a time.

A run's frames say nothing without its scene (grid, peaks, obstacles, targets), and building one may take seconds.
Files that a scene names outside of the workspace are not read, unless they were allowed or are keyfluid's own.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from threading import Lock

import keyfluid.gallery
from keyfluid.io.run.layout import FRAMES, RESULT, SCENE
from keyfluid.io.run.result_file import Result
from keyfluid.io.run.run_folder import RunFolder
from keyfluid.io.run.stored_frame import StoredFrame
from keyfluid.scenes import Scene, load_scene
from keyfluid.scenes.build.inputs import input_files
from keyfluid.scenes.build.problem import BuiltScene, build
from keyfluid.studio.answers import Refused
from keyfluid.studio.runs_listing import revision_of
from keyfluid.studio.workspace import Workspace

MOST_OPEN = 6
MOST_BYTES = 24 << 20
"""Memory for scenes that are kept: as many as fit, at least one."""

_GALLERY = Path(keyfluid.gallery.__file__).parent.resolve()


@dataclass(frozen=True, eq=False)
class OpenRun:
    """A run, read only. `name`: its path in the workspace."""

    name: str
    folder: RunFolder
    problem: BuiltScene

    @property
    def revision(self) -> str:
        return revision_of(self.folder.path)

    def indices(self) -> list[int]:
        return self.folder.frames.indices()

    def result(self) -> Result | None:
        return self.folder.result()

    def read(self, index: int, wanted: Callable[[str], bool]) -> StoredFrame:
        """Some arrays of a frame; refuses frames that are not there (yet)."""
        path = self.folder.frames.path(index)
        if path.is_symlink() or not path.is_file():
            raise Refused(404, f"{self.name}: has no frame {index}")
        return self.folder.frames.read(index, wanted)

    @property
    def weight(self) -> int:
        """Bytes of its large arrays, about."""
        fields = [*self.problem.densities.values(), self.problem.velocity]
        targets = [key.target.nbytes + (0 if key.mask is None else key.mask.nbytes) for key in self.problem.keyframes]
        return sum(field.data.nbytes for field in fields) + sum(targets)


class OpenRuns:
    """The runs that were looked at last."""

    def __init__(self, most: int = MOST_OPEN, most_bytes: int = MOST_BYTES) -> None:
        self._most, self._most_bytes = most, most_bytes
        self._open: OrderedDict[str, tuple[object, OpenRun]] = OrderedDict()
        self._lock, self._building = Lock(), Lock()

    def get(self, workspace: Workspace, name: str) -> OpenRun:
        """The run of this name; built again if its scene is another one by now."""
        path = workspace.run(name)
        for part in (RESULT, FRAMES):  # links out of the workspace are refused
            workspace.inside(f"{name}/{part}", must_exist=False)
        scene_file = workspace.inside(f"{name}/{SCENE}")
        found = scene_file.stat()
        state = (found.st_mtime_ns, found.st_size, found.st_ino)
        kept = self._kept(name, state)
        if kept is not None:
            return kept
        with self._building:  # one at a time: memory, and two requests for one run build it once
            kept = self._kept(name, state)
            if kept is not None:
                return kept
            scene = load_scene(scene_file)
            require_inside(workspace, scene)
            run = OpenRun(name, RunFolder.read(path), build(scene))
        with self._lock:
            self._open[name] = (state, run)
            while len(self._open) > 1 and (len(self._open) > self._most or self._bytes() > self._most_bytes):
                self._open.popitem(last=False)
        return run

    def _kept(self, name: str, state: object) -> OpenRun | None:
        with self._lock:
            found = self._open.get(name)
            if found is None or found[0] != state:
                return None
            self._open.move_to_end(name)
            return found[1]

    def _bytes(self) -> int:
        return sum(run.weight for _, run in self._open.values())


def require_inside(workspace: Workspace, scene: Scene) -> None:
    """Refuse a scene that names a file outside of the workspace, unless it was allowed or came with keyfluid."""
    for file in input_files(scene):
        if not workspace.may_read(file) and not file.resolve().is_relative_to(_GALLERY):
            raise Refused(403, f"{file.name}: lies outside of the workspace; start the studio with --allow FOLDER")
