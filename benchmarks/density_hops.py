"""Through how many functions does a density pass on its way from the scene file to the file of frame 0?

    python benchmarks/density_hops.py        lists them, in the order in which they are first seen

One small run (a disk of smoke, no control) is watched from `load_scene` until `save_arrays` is called for frame 0. The
density has three forms on the way: a table with shape = "disk", the shape object, and an array equal to the density of
frame 0. A function *hands it on* if it returns one of these, by itself or inside dicts, lists, Fields and other objects
of keyfluid, at most three deep. A hop is a distinct function of keyfluid that hands the density on, that is running
(anywhere on the call stack) while another function does, or that is running when `save_arrays` is called. Functions
that only look at the density, such as metrics, are no hops; comprehensions belong to their function.

Two kinds of hops are off the way, and are told apart: "copy", a table handed on though the array exists already (the
scene on its way to scene.toml and to the fingerprint of the run), and "check", seen only while the scene is checked.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import keyfluid
from keyfluid.shapes import SHAPES

SOURCE = str(Path(keyfluid.__file__).parent)
SCENE = """
name = "disk"
[domain]
size = [1.0, 1.0]
resolution = 24
[time]
frames = 1
[smoke]
initial = { shape = "disk", center = [0.45, 0.55], radius = 0.2 }
[control]
method = "none"
[output]
vdb = false
video = false
"""
DEEPEST = 3
OFF_THE_WAY = ("copy", "check")


class Watcher:
    """Profiles a run; `hops` are "file:function" in the order in which they were first seen, and the form handed on."""

    def __init__(self, density: np.ndarray) -> None:
        self.density = density
        self.disk = SHAPES["disk"]
        self.hops: dict[str, str] = {}
        self.began = self.ended = False

    def __call__(self, frame: FrameType, event: str, value: Any) -> None:
        if self.ended or event not in ("call", "return") or not frame.f_code.co_filename.startswith(SOURCE):
            return
        name = frame.f_code.co_name
        self.began = self.began or name == "load_scene"
        if event == "call" and name == "save_arrays":
            self._take(frame, "array")
            self.ended = True
        elif event == "return" and self.began and (form := self.form(value, DEEPEST)):
            self._take(frame, form)

    def _take(self, frame: FrameType | None, form: str) -> None:
        stack = []
        while frame is not None:
            code = frame.f_code
            if code.co_filename.startswith(SOURCE) and not code.co_name.endswith(("comp>", "genexpr>", "module>")):
                stack.append(f"{code.co_filename.removeprefix(SOURCE + '/')}:{code.co_qualname}")
            frame = frame.f_back
        if form == "table" and "array" in self.hops.values():
            form = "copy"
        checked = False
        for hop in reversed(stack):
            checked = checked or hop.endswith((":check", ":Wants.check", ":_keep_apart"))
            if self.hops.get(hop) in (None, *OFF_THE_WAY):
                self.hops[hop] = "check" if checked else form

    def form(self, value: Any, depth: int) -> str:
        """Which form of the density a value is, or holds; "" for none."""
        if isinstance(value, np.ndarray):
            same = value.shape == self.density.shape and value.dtype.kind == "f" and np.allclose(value, self.density)
            return "array" if same else ""
        if isinstance(value, self.disk):
            return "shape"
        if isinstance(value, dict):
            inside = value
        elif isinstance(value, list | tuple):
            inside = dict(enumerate(value))
        elif type(value).__module__.startswith("keyfluid"):
            inside = {name: getattr(value, name, None) for name in _attributes(value)}
        else:
            return ""
        if inside.get("shape") == "disk":
            return "table"
        return next(filter(None, (self.form(item, depth - 1) for item in inside.values())), "") if depth > 0 else ""


def _attributes(value: Any) -> list[str]:
    slots = [name for kind in type(value).__mro__ for name in getattr(kind, "__slots__", ())]
    return [*getattr(value, "__dict__", {}), *slots]


def hops() -> dict[str, str]:
    """Run the scene and list the functions, each with the form in which it was first seen to hand on the density."""
    density = keyfluid.run(SCENE, threads=1).frames[0].densities["density"]
    watcher = Watcher(np.asarray(density))
    with tempfile.TemporaryDirectory() as folder:
        sys.setprofile(watcher)
        try:
            keyfluid.run(SCENE, Path(folder) / "run", threads=1)
        finally:
            sys.setprofile(None)
    assert watcher.ended, "save_arrays was never called"
    return watcher.hops


if __name__ == "__main__":
    found = hops()
    for hop, form in found.items():
        print(f"{form:6s} {hop}")
    print(f"{len(found)} hops, {sum(form not in OFF_THE_WAY for form in found.values())} of them on the way")
