"""A run in your own hands: one frame per call, parameters and targets changed at will (`particles` and `target`).

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

from keyfluid.controllers.particles.simulation import Report
from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.runs.frames import MemoryFrames
from keyfluid.runs.live_methods import live_method
from keyfluid.runs.pictures import Painter
from keyfluid.runs.recorder import Recorder
from keyfluid.scenes import Scene, load_scene, scene_from
from keyfluid.scenes.build.problem import build
from keyfluid.scenes.schema.load import dump_data

_KEPT_FRAMES = 3
"""Frames that pictures blend their light over."""


class LiveRun:
    """`frame` is where it is, `report` what the last step of particles said, `changes` what was changed and from which
    frame on, `scene` the scene with these changes."""

    def __init__(self, scene: Scene | str | Path | Mapping[str, object], overrides: Sequence[str] = ()) -> None:
        self.scene = (
            load_scene(scene, overrides) if isinstance(scene, str | Path) else scene_from(scene, None, overrides)
        )
        self.problem = build(self.scene)
        self._method = live_method(self.problem)
        self.simulation = self._method.simulation
        self.frame = 0
        self.report: Report | None = None
        self.changes: list[dict[str, Any]] = []
        self._recorder = Recorder(self.problem)
        self._painter: Painter | None = None

    def step(self) -> Report | None:
        """One frame; beyond the scene's last one the last target stays."""
        self.frame += 1
        self.report = self._method.step(self.frame)
        return self.report

    def set(self, **keys: Any) -> None:
        """Keys of [control] from the next frame on; None: the key's default."""
        before = self.scene.control.model_dump(mode="python", exclude_none=True)
        data = {key: value for key, value in {**before, **keys}.items() if value is not None}
        checked = scene_from({**dump_data(self.scene), "control": data})
        if checked.control.method != self.scene.control.method:
            raise KeyfluidError(f"control.method: can't change during a run; it stays {self.scene.control.method!r}")
        self._method.change(checked.control)
        self.scene = checked
        self.changes.append({"frame": self.frame + 1, "control": checked.control.model_dump(mode="json")})

    def aim(self, *keyframes: Mapping[str, Any]) -> None:
        """[[keyframe]] tables that replace the scene's, from the next frame on."""
        if not keyframes:
            raise KeyfluidError("aim: give at least one keyframe, such as {'frame': 90, 'text': 'A'}")
        data = dump_data(self.scene)
        data["keyframe"] = [dict(entry) for entry in keyframes]
        for entry in data.get("smoke", {}).get("initial", []):
            if entry.get("mass") == "first-key":
                entry["mass"] = self._method.mass(entry.get("field") or next(iter(self.problem.densities)))
        self._method.retarget(build(scene_from(data)).keyframes)
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
                    live.set(**change["control"])
                else:
                    live.aim(*change["keyframe"])
            live.step()
        return live

    def markers(self, field: str | None = None) -> np.ndarray:
        """Positions (3, n) of one kind of smoke, metres; only particles have them."""
        found = self._method.markers()
        if not found:
            raise KeyfluidError(f"method {self.problem.method!r} has no markers; use density()")
        return found[self._known(field)]

    def density(self, field: str | None = None) -> np.ndarray:
        """On the scene's grid."""
        return self._method.densities()[self._known(field)]

    def velocity(self) -> Field:
        """That carried the smoke to this frame, on the faces of the scene's grid."""
        return self._method.velocity()

    def picture(self, size: int | None = None) -> np.ndarray:
        """An sRGB image of this frame; light is blended over the frames that have been drawn."""
        if self._painter is None or (size is not None and self._painter.size != size):
            self._painter = Painter(self.problem, size)
        store = self._recorder.store
        assert isinstance(store, MemoryFrames)
        self._recorder.frame(self._method.record(self.frame))
        store.keep(range(self.frame - _KEPT_FRAMES + 1, self.frame + 1))
        return self._painter.frame(self._recorder.frames, self.frame)

    def _known(self, field: str | None) -> str:
        """A field of the scene; the first where none is named."""
        known = list(self.problem.densities)
        if field is None or field in known:
            return field or known[0]
        raise KeyfluidError(f"{field!r} is not a field of this scene; use {', '.join(known)}")
