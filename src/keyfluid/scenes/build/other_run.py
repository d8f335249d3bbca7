"""Frames of another run, read by a scene: as the density of a body, and as the film that an edit changes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.io.run.fingerprint import Fingerprint
from keyfluid.io.run.frame_files import FrameFiles
from keyfluid.io.run.record import Record
from keyfluid.problem import FrameRecord
from keyfluid.scenes.build.memory import make_grid
from keyfluid.scenes.build.pictures import averaged, averaged_over
from keyfluid.scenes.schema.load import load_scene
from keyfluid.scenes.schema.scene import Body, Edit, Scene
from keyfluid.shapes import DensityArray
from keyfluid.shapes.deform import deformed

_SAME = ("domain", "time", "smoke", "liquid", "source", "obstacle", "simulation")


def load_run_body(body: Body, scene: Scene) -> DensityArray:
    """The smoke of a run's frame, deformed or painted over."""
    folder = Path(str(body.run))
    theirs = load_scene(folder / "scene.toml")
    grid = make_grid(theirs)
    if not theirs.fluid.reusable:
        raise KeyfluidError(f"{folder} is a run of {theirs.fluid.table}; only smoke can be taken from a run")
    if grid.dim != scene.dimension:
        raise KeyfluidError(f"{folder} is a {grid.dim}D run; this scene is {scene.dimension}D")
    index = body.run_frame if body.run_frame is not None else getattr(body, "frame", 0)
    field = getattr(body, "field", None) or scene.smoke.field[0].name
    arrays, _ = _frames_of(folder).arrays(index)
    if field not in arrays:
        raise KeyfluidError(f"{folder} has no smoke named {field!r}")
    values = np.maximum(arrays[field].reshape(grid.cells).astype(float), 0.0)
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

    folder: Path
    frames: FrameFiles
    grid: Grid
    fields: tuple[str, ...]
    first: int
    last: int | None

    def record(self, index: int) -> FrameRecord:
        """A frame as it was."""
        arrays, meta = self.frames.arrays(index)
        state = {name: Field(self.grid, Kind.CENTRES, arrays[name]) for name in self.fields}
        state["velocity"] = Field(self.grid, Kind.FACES, arrays["velocity"])
        carriers = [
            (seconds, Field(self.grid, Kind.FACES, arrays[f"carrier.{i}"]))
            for i, seconds in enumerate(meta["carrier_seconds"])
        ]
        return FrameRecord(index, state, self._force(arrays), carriers, meta["emitted"], meta["memory"])

    def start(self, field: str, grid: Grid) -> np.ndarray:
        """The smoke it began with, on a grid that may be coarser."""
        values: np.ndarray = self.frames.arrays(0)[0][field].reshape(self.grid.cells).astype(float)
        return values if grid.cells == self.grid.cells else averaged_over(values, grid.cells)

    def force(self, index: int) -> Field | None:
        """The run's own force on the way to a frame."""
        return self._force(self.frames.arrays(index)[0])

    def _force(self, arrays: Mapping[str, np.ndarray]) -> Field | None:
        return Field(self.grid, Kind.FACES, arrays["force"]) if "force" in arrays else None


def _frames_of(folder: Path) -> FrameFiles:
    """The frames of a run, which are only read as frames of that run."""
    record = Record.read(folder)
    runs = Fingerprint.read(record.header).runs if record is not None else ()
    return FrameFiles(folder, runs=runs)


def _status(folder: Path) -> str:
    """The contents of a run's result.json; empty if it can't be read."""
    try:
        result = json.loads((folder / "result.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return ""
    return str(result.get("status", "")) if isinstance(result, dict) else ""


def open_edit(edit: Edit, scene: Scene) -> EditedRun:
    """The run, checked: finished, and of the same scene except for its targets."""
    folder = Path(edit.run)
    theirs = load_scene(folder / "scene.toml")
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
    if _status(folder) != "finished":
        raise KeyfluidError(f"{folder} is not finished; finish it first: keyfluid resume {folder}")
    grid, frames = make_grid(theirs), _frames_of(folder)
    for index in range(theirs.time.frames + 1):
        if not frames.path(index).is_file():
            raise KeyfluidError(f"{folder} lacks frame {index}; finish it first: keyfluid resume {folder}")
    return EditedRun(folder, frames, grid, tuple(f.name for f in theirs.smoke.field), edit.first, edit.last)
