"""`run --watch`: [control] is taken from the scene file whenever it is saved, and latest.png shows the last frame.

Only [control] changes in a run that goes on; a file with other changes, or with faults, is named and left alone. What
was taken up, and at which frame, stands in changes.json, which LiveRun.replay reads; a checkpoint holds it too, so a
run that was stopped goes on with what it had.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from keyfluid.controllers.particles.settings import ParticleNumbers
from keyfluid.errors import KeyfluidError
from keyfluid.io.atomic import write_whole
from keyfluid.io.run.layout import CHANGES, LATEST
from keyfluid.render import save_png
from keyfluid.runs.frames import Frames
from keyfluid.runs.outputs import Writable
from keyfluid.runs.pictures import Painter
from keyfluid.scenes import load_scene
from keyfluid.scenes.build.problem import BuiltScene


def _say(line: str) -> None:
    print(line, file=sys.stderr)


def need_method(problem: BuiltScene) -> None:
    """Raise for methods that can't change while they run."""
    if problem.scene.control.method != "particles":
        raise KeyfluidError(
            f"--watch: method {problem.scene.control.method!r} can't change during a run; only 'particles' can"
        )


class SceneWatch:
    """Looks at `path` between frames; `overrides` are those the run was started with."""

    def __init__(
        self,
        problem: BuiltScene,
        path: Path,
        overrides: Sequence[str],
        folder: Writable,
        say: Callable[[str], None] = _say,
    ) -> None:
        need_method(problem)
        self.problem, self.path, self.overrides, self.folder, self._say = problem, path, overrides, folder, say
        self._seen = self._stamp()
        self._painter = Painter(problem)
        self._changes: list[dict[str, Any]] = []

    def control(self, current: Any, frame: int) -> Any:
        """[control] from `frame` on."""
        stamp = self._stamp()
        if stamp == self._seen:
            return current
        self._seen = stamp
        try:
            scene = load_scene(self.path, self.overrides)
            if scene.control.method == "particles":
                ParticleNumbers.of(scene.control, self.problem.grid)
        except KeyfluidError as error:
            self._say(f"{self.path.name} has errors and is ignored: {str(error).splitlines()[0]}")
            return current
        if scene.control.method != current.method:
            self._say(f"control.method: can't change during a run; it stays {current.method!r}")
            return current
        if scene.control != current:
            self._changes.append({"frame": frame, "control": scene.control.model_dump(mode="json")})
            content = json.dumps(self._changes, indent=2).encode()
            with self.folder.writing(CHANGES, again=True) as path:
                write_whole(path, lambda file: file.write(content))
            self._say(f"[control] of {self.path.name} applied from frame {frame} on")
        if scene.model_copy(update={"control": current}) != self.problem.scene.model_copy(update={"control": current}):
            self._say(f"{self.path.name} also differs outside [control]; start a new run for that")
        return scene.control

    def show(self, frames: Frames, index: int) -> None:
        """Draw the frame that was just stored."""
        with self.folder.writing(LATEST, again=True) as path:
            save_png(path, self._painter.frame(frames, index))

    def _stamp(self) -> tuple[int, int]:
        try:
            stat = self.path.stat()
        except OSError:
            return self._seen if hasattr(self, "_seen") else (0, 0)
        return stat.st_mtime_ns, stat.st_size
