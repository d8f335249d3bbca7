"""Frames of another run, read by a scene: as the density of a body, and as the film that an edit changes."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.grid import Grid
from keyfluid.io.run.run_folder import RunFolder
from keyfluid.models.air import TEMPERATURE
from keyfluid.problem import FrameRecord
from keyfluid.problem.kept import whole
from keyfluid.scenes.build.memory import make_grid
from keyfluid.scenes.build.pictures import averaged, averaged_over
from keyfluid.scenes.schema.load import load_scene
from keyfluid.scenes.schema.scene import Body, Edit, Scene
from keyfluid.shapes import DensityArray
from keyfluid.shapes.deform import deformed

_SAME = ("domain", "time", "smoke", "liquid", "source", "wind", "obstacle", "simulation")


def load_run_body(body: Body, scene: Scene) -> DensityArray:
    """The smoke of a run's frame, deformed or painted over."""
    run = RunFolder.read(Path(str(body.run)))
    run.require_frames()
    folder, theirs = run.path, load_scene(run.scene_file)
    grid = make_grid(theirs)
    if not theirs.fluid.reusable:
        raise KeyfluidError(f"{folder} is a run of {theirs.fluid.table}; only smoke can be taken from a run")
    if grid.dim != scene.dimension:
        raise KeyfluidError(f"{folder} is a {grid.dim}D run; this scene is {scene.dimension}D")
    index = body.run_frame if body.run_frame is not None else getattr(body, "frame", 0)
    field = getattr(body, "field", None) or scene.smoke.field[0].name
    if field not in _fields(theirs):
        raise KeyfluidError(f"{folder} has no smoke named {field!r}")
    values = np.maximum(_smoke(run, index, grid, field), 0.0)
    if body.paint is not None:
        try:
            values = values.max() * averaged(Path(body.paint), grid.cells, grid.size, "the domain")
        except KeyfluidError as error:
            raise KeyfluidError(f"paint: {error}") from None
    up = 2 if scene.domain.up == "z" else 1
    values = deformed(values, grid.spacing, up, body.move, body.twist or 0.0, body.bend or 0.0)
    if not values.any():
        raise KeyfluidError(f"no smoke is left of frame {index} of {folder}; check run_frame, move and paint")
    return DensityArray.build(values, f"frame {index} of {folder}")


@dataclass(frozen=True)
class EditedRun:
    """A run that a scene changes after frame `first`; `last`: where control ends, None: at the last keyframe."""

    run: RunFolder
    grid: Grid
    fields: tuple[str, ...]
    first: int
    last: int | None

    def record(self, index: int) -> FrameRecord:
        """A frame as it was, without particles: the edited film has none."""
        return replace(self.run.frames.read(index).record(self.grid, self.fields), particles={})

    @property
    def paths(self) -> int:
        """Paths of a cell along which its smoke was carried; 0: the grid carried it, as in all older runs."""
        memory = self.record(max(self.first, 1)).memory  # the start is carried by nothing
        return whole(memory, "paths") if "paths" in memory else 0

    def start(self, field: str, grid: Grid) -> np.ndarray:
        """The smoke it began with, on a grid that may be coarser."""
        values = _smoke(self.run, 0, self.grid, field)
        return values if grid.cells == self.grid.cells else averaged_over(values, grid.cells)

    def force(self, index: int) -> Field | None:
        """The run's own force on the way to a frame."""
        return self.record(index).force


def _fields(scene: Scene) -> tuple[str, ...]:
    return tuple(field.name for field in scene.smoke.field)


def _smoke(run: RunFolder, index: int, grid: Grid, field: str) -> np.ndarray:
    """One kind of smoke in a frame."""
    values: np.ndarray = run.frames.read(index).record(grid, [field]).state[field].array.astype(float)
    return values


def open_edit(edit: Edit, scene: Scene) -> EditedRun:
    """The run, checked: finished, and of the same scene except for its targets."""
    run = RunFolder.read(Path(edit.run))
    run.require_frames()
    folder, theirs = run.path, load_scene(run.scene_file)
    for name in _SAME:
        ours, other = getattr(scene, name), getattr(theirs, name)
        if name == "domain":
            # A coarser grid of this scene still begins from the run's frames.
            ours, other = ours.model_copy(update={"resolution": 0}), other.model_copy(update={"resolution": 0})
        if ours != other:
            raise KeyfluidError(f"{folder} has another [{name}]; an edit changes only keyframes, control and output")
    if theirs.domain.resolution < scene.domain.resolution:
        raise KeyfluidError(
            f"{folder} has {theirs.domain.resolution} cells along its longest side, this scene "
            f"{scene.domain.resolution}; set domain.resolution to the run's"
        )
    if run.finished is None:
        raise KeyfluidError(f"{folder} is not finished; finish it first: keyfluid resume {folder}")
    stored = set(run.frames.indices())
    for index in range(theirs.time.frames + 1):
        if index not in stored:
            raise KeyfluidError(f"{folder} lacks frame {index}; finish it first: keyfluid resume {folder}")
    carried = (*_fields(theirs), TEMPERATURE) if theirs.warm else _fields(theirs)
    return EditedRun(run, make_grid(theirs), carried, edit.first, edit.last)
