"""A run of method "particles" in your own hands: one frame per call, parameters and targets changed at will.

    live = keyfluid.LiveRun("beast.toml")
    while live.frame < 200:
        live.step()
        if live.frame == 60:
            live.set(strength=9.0, vortex_strength=6.0)            # keys of [control]
            live.aim({"frame": 120, "text": "BOO", "fit": 0.8})    # [[keyframe]] tables, instead of those before
        show(live.picture())
    again = keyfluid.LiveRun.replay("beast.toml", live.changes, 200)     bit-identical

Changes are logged with the frame they act from; the log is plain JSON.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from keyfluid.controllers.particles.controller import densities_of, faces_of
from keyfluid.controllers.particles.simulation import ParticleSimulation, Report
from keyfluid.errors import KeyfluidError, SceneError
from keyfluid.fields import Field
from keyfluid.problem import FrameRecord
from keyfluid.runs.frames import MemoryFrames
from keyfluid.runs.pictures import Painter
from keyfluid.runs.recorder import Recorder
from keyfluid.scenes import Scene, load_scene, scene_from
from keyfluid.scenes.build.problem import build
from keyfluid.scenes.schema.load import dump_data

_KEPT_FRAMES = 3
"""Frames that pictures blend their light over."""


class LiveRun:
    """`frame` is where it is, `report` what the last step said, `changes` what was changed and from which frame on."""

    def __init__(self, scene: Scene | str | Path | Mapping[str, object], overrides: Sequence[str] = ()) -> None:
        self.scene = (
            load_scene(scene, overrides) if isinstance(scene, str | Path) else scene_from(scene, None, overrides)
        )
        if self.scene.control.method != "particles":
            raise SceneError("control.method", f"{self.scene.control.method!r} can't run live; use 'particles'")
        self.problem = build(self.scene)
        self._control: Any = self.scene.control
        self.simulation = ParticleSimulation(self.problem, self._control)
        self.simulation.begin()
        self.frame = 0
        self.report: Report | None = None
        self.changes: list[dict[str, Any]] = []
        self._recorder = Recorder(self.problem)
        self._painter: Painter | None = None

    def step(self) -> Report:
        """One frame; beyond the scene's last one the last target stays."""
        self.frame += 1
        self.report = self.simulation.frame(self.frame)
        return self.report

    def set(self, **keys: Any) -> None:
        """Keys of [control] from the next frame on."""
        data = {**self._control.model_dump(mode="python", exclude_none=True), **keys}
        checked = scene_from({**dump_data(self.scene), "control": data})
        self._control = checked.control
        self.simulation.change(self._control)
        self.changes.append({"frame": self.frame + 1, "control": self._control.model_dump(mode="json")})

    def aim(self, *keyframes: Mapping[str, Any]) -> None:
        """[[keyframe]] tables that replace the scene's, from the next frame on."""
        if not keyframes:
            raise KeyfluidError("aim: give at least one keyframe, such as {'frame': 90, 'text': 'A'}")
        data = dump_data(self.scene)
        data["keyframe"] = [dict(entry) for entry in keyframes]
        for entry, cloud in zip(data["smoke"]["initial"], self.simulation.clouds):
            if entry.get("mass") == "first-key":
                entry["mass"] = cloud.marker_mass * cloud.markers.count
        self.simulation.retarget(build(scene_from(data)).keyframes)
        self.changes.append({"frame": self.frame + 1, "keyframe": data["keyframe"]})

    @classmethod
    def replay(
        cls, scene: Scene | str | Path | Mapping[str, object], changes: Sequence[Mapping[str, Any]], frames: int
    ) -> LiveRun:
        """The run again, with logged changes, up to a frame."""
        live = cls(scene)
        waiting = sorted(changes, key=lambda change: int(change["frame"]))
        for frame in range(1, frames + 1):
            while waiting and waiting[0]["frame"] == frame:
                change, *waiting = waiting
                if "control" in change:
                    live.set(**{key: value for key, value in change["control"].items() if value is not None})
                else:
                    live.aim(*change["keyframe"])
            live.step()
        return live

    def markers(self, field: str | None = None) -> np.ndarray:
        """Positions (3, n) of one kind of smoke, metres."""
        return self._cloud(field).markers.position

    def density(self, field: str | None = None) -> np.ndarray:
        """On the scene's grid."""
        return self._cloud(field).smoke.reshape(self.problem.grid.cells)

    def velocity(self) -> Field:
        """That carried the smoke to this frame, on the faces of the scene's grid."""
        return faces_of(self.simulation, self.simulation.packed)

    def picture(self, size: int | None = None) -> np.ndarray:
        """An sRGB image of this frame; light is blended over the frames that have been drawn."""
        if self._painter is None or (size is not None and self._painter.size != size):
            self._painter = Painter(self.problem, size)
        state = {**densities_of(self.simulation), "velocity": self.velocity()}
        memory = {**self.simulation.memory(), "changes": []}
        particles = {name: values.copy() for name, values in self.simulation.arrays().items()}
        store = self._recorder.store
        assert isinstance(store, MemoryFrames)
        self._recorder.frame(FrameRecord(self.frame, state, memory=memory, particles=particles))
        store.keep(range(self.frame - _KEPT_FRAMES + 1, self.frame + 1))
        return self._painter.frame(self._recorder.frames, self.frame)

    def _cloud(self, field: str | None) -> Any:
        for cloud in self.simulation.clouds:
            if field is None or cloud.name == field:
                return cloud
        known = ", ".join(self.problem.densities)
        raise KeyfluidError(f"{field!r} is not a field of this scene; use {known}")
