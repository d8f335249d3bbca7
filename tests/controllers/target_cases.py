"""Scenes and a shell in memory for the tests of target-driven smoke."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np

from keyfluid.controllers.target.controller import Target
from keyfluid.scenes.build.problem import build
from keyfluid.scenes.schema.scene import Scene


def no_other_runs(folder):
    raise AssertionError(f"nobody asked for {folder}")


class MemoryShell:
    """Keeps every frame and the last checkpoint."""

    def __init__(self, restored=None, stop_after=None):
        self.restored, self.stop_after = restored, stop_after
        self.records, self.logs = [], []
        self.kept = None

    @property
    def stop_requested(self):
        return self.stop_after is not None and bool(self.records) and self.records[-1].index >= self.stop_after

    def frame(self, record):
        self.records.append(record)

    def checkpoint(self, arrays, meta):
        self.kept = SimpleNamespace(arrays={k: v.copy() for k, v in arrays.items()}, meta=dict(meta))

    def progress(self, *args, **kwargs):
        pass

    def note(self, text, about=""):
        self.logs.append({"note": text, "about": about})

    def log(self, **values):
        self.logs.append(values)

    def count(self, **values):
        pass


def problem(text="F", resolution=64, frames=24, precision="float64", size=(1.0, 1.0), fit=0.8, **tables):
    """A disk of the target's mass in the middle, and a text to become."""
    key = tables.pop("keyframe", None) or [{"frame": frames, "text": text, "fit": fit}]
    smoke = {"initial": [{"shape": "disk", "center": [s / 2 for s in size], "radius": 0.2, "mass": "first-key"}]}
    return build(
        Scene.model_validate(
            {
                "domain": {"size": list(size), "resolution": resolution, **tables.pop("domain", {})},
                "time": {"fps": 24.0, "frames": frames, "steps_per_frame": "auto"},
                "smoke": tables.pop("smoke", smoke),
                "keyframe": key,
                "control": {"method": "target", **tables.pop("control", {})},
                "simulation": {"precision": precision},
                **tables,
            }
        )
    )


def run(made, **shell):
    kept = MemoryShell(**shell)
    Target().run(Target().plan(made, no_other_runs), kept)
    return kept


def quality(made, shell, key=-1):
    """Relative error and IoU at a keyframe."""
    key = made.keyframes[key]
    rho = shell.records[key.frame].state[key.field].array.astype(np.float64)
    half = 0.5 * key.target.max()
    both, either = (rho > half) & (key.target > half), (rho > half) | (key.target > half)
    return float(np.linalg.norm(rho - key.target) / np.linalg.norm(key.target)), both.sum() / either.sum()
