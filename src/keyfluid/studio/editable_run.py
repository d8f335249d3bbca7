"""The run that a page edits: its scene and its smoke, read without building anything, and pictures to paint over."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from keyfluid.grid import Grid
from keyfluid.io.run.layout import FRAMES, SCENE
from keyfluid.io.run.run_folder import RunFolder
from keyfluid.runs.view_picture import VIEWS, view_picture
from keyfluid.scenes import Scene, load_scene
from keyfluid.scenes.build.memory import make_grid
from keyfluid.shapes.deform import deformed
from keyfluid.studio.answers import Refused
from keyfluid.studio.arrays import as_bytes
from keyfluid.studio.workspace import Workspace

_FACES = {2: ("",), 3: ("+z", "+x", "+y")}
"""Where a deformed frame is looked at from."""

_LEAST_PIXELS = 256


@dataclass(frozen=True)
class EditableRun:
    """`name`: its path in the workspace."""

    name: str
    folder: RunFolder
    scene: Scene
    grid: Grid

    @classmethod
    def open(cls, workspace: Workspace, name: str) -> EditableRun:
        """Refuses runs outside the workspace, by links inside the folder too, and runs that can't be edited."""
        path = workspace.run(name)
        workspace.inside(f"{name}/{FRAMES}")
        scene = load_scene(workspace.inside(f"{name}/{SCENE}"))
        if not scene.fluid.reusable:
            raise Refused(422, f"{name}: is a run of a liquid; only runs of smoke can be edited")
        return cls(name, RunFolder.read(path), scene, make_grid(scene))

    @property
    def fields(self) -> list[str]:
        return [field.name for field in self.scene.smoke.field]

    def field(self, name: str | None) -> str:
        """A kind of smoke; the first where none is named."""
        if name is not None and name not in self.fields:
            raise Refused(404, f"{self.name}: has no smoke named {name[:40]!r}")
        return name or self.fields[0]

    def smoke(self, frame: int, field: str) -> np.ndarray:
        """Density at a frame."""
        path = self.folder.frames.path(frame)
        if not 0 <= frame <= self.scene.time.frames or path.is_symlink() or not path.is_file():
            raise Refused(404, f"{self.name}: has no frame {frame}")
        values: np.ndarray = self.folder.frames.read(frame).record(self.grid, [field]).state[field].array
        return np.maximum(values, 0)

    def about(self) -> dict[str, Any]:
        """What the page needs before it shows a frame."""
        return {
            "name": self.scene.name, "dim": self.grid.dim, "cells": self.grid.cells, "size": self.grid.size,
            "frames": self.scene.time.frames, "fps": self.scene.time.fps, "fields": self.fields,
            "finished": self.folder.finished is not None, "method": self.scene.control.method,
            "keyframes": sorted({key.frame for key in self.scene.keyframe}),
        }  # fmt: skip

    def picture(self, frame: int, field: str, view: str) -> np.ndarray:
        """uint8 [right, up]: the domain in 2D, white at the frame's peak; a view in 3D."""
        return self._drawn(self.smoke(frame, field), view)

    def changed(
        self, frame: int, field: str, move: list[float] | None, twist: float, bend: float
    ) -> dict[str, np.ndarray]:
        """Pictures of a frame before and after it is moved, twisted and bent, from each side."""
        before = self.smoke(frame, field)
        up = 2 if self.scene.domain.up == "z" else 1
        after = deformed(before, self.grid.spacing, up, move, twist, bend).astype(before.dtype)
        stages = {"before": before, "after": after}
        return {
            f"{stage}{view}": self._drawn(values, view)
            for stage, values in stages.items()
            for view in _FACES[self.grid.dim]
        }

    def _drawn(self, values: np.ndarray, view: str) -> np.ndarray:
        if self.grid.dim == 2:
            grey = as_bytes(values, float(values.max()))
            scale = -(-_LEAST_PIXELS // max(grey.shape))
            return np.repeat(np.repeat(grey, scale, 0), scale, 1)
        if view not in VIEWS:
            raise Refused(400, f"view: is not one of {', '.join(VIEWS)}")
        return view_picture(self.grid, values, view, None)[::-1].T
