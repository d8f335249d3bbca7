"""The solved runs that benchmarks/results/upres.py films again."""

from __future__ import annotations

from pathlib import Path

import keyfluid
from keyfluid.io.run.run_folder import RunFolder
from keyfluid.runs.run import RunResult, open_run

ROOT = Path(__file__).resolve().parents[2]
RUNS = ROOT / "out" / "results_upres"
QUIET = ["output.vdb=false", "output.video=false"]

LETTER = """
name = "f"
[domain]
resolution = {cells}
[time]
frames = 40
steps_per_frame = {steps}
[smoke]
initial = {{ shape = "disk", center = [0.5, 0.5], mass = "first-key" }}
[[keyframe]]
frame = 36
text = "F"
[control]
method = "spectral"
"""

WORD = """
name = "smoke"
[domain]
size = [2.0, 1.0]
resolution = 160
[time]
frames = 60
[smoke]
initial = { shape = "box", center = [1.0, 0.5], size = [1.4, 0.3], mass = "first-key" }
[[keyframe]]
frame = 40
text = "SMOKE"
fit = 0.85
[control]
method = "spectral"
"""

BODIES = """
name = "bodies"
[domain]
size = [1.0, 1.25]
resolution = 48
boundary = ["walls", "open"]
[time]
frames = 48
[smoke]
initial = { shape = "disk", center = [0.3, 0.6], radius = 0.12 }
[[source]]
shape = "disk"
center = [0.7, 0.12]
radius = 0.06
velocity = [0.0, 0.5]
stop = 30
[[obstacle]]
shape = "disk"
center = [0.75, 0.8]
radius = 0.1
velocity = [-0.15, 0.0]
[[keyframe]]
frame = 32
shape = "star"
center = [0.5, 0.55]
[control]
method = "spectral"
iterations = 40
"""

KNOT = """
name = "knot"
[domain]
size = [1.0, 1.0, 1.0]
resolution = {cells}
[time]
frames = {frames}
[smoke]
initial = {{ shape = "sphere", center = [0.5, 0.5, 0.5], mass = "first-key" }}
[[keyframe]]
frame = {key}
mesh = "{mesh}"
fit = 0.75
rotation = [25.0, 20.0, 0.0]
[control]
method = "spectral"
iterations = {iterations}
shear = 3.0
[camera]
floor = true
"""


def knot(cells: int, key: int, iterations: int = 60) -> str:
    """A ball that becomes the knot in `key` frames, and two frames more. The penalty of shear is three times the
    usual, so that smoke is carried to the knot and not blurred into it: a film can only follow what was carried."""
    mesh = Path(keyfluid.__file__).parent / "gallery" / "knot.obj"
    return KNOT.format(cells=cells, frames=key + 2, key=key, mesh=mesh, iterations=iterations)


def solved(name: str, text: str, threads: int) -> RunResult:
    """The finished run of a scene, solved once."""
    folder = RUNS / name
    if (folder / "scene.toml").is_file() and RunFolder.read(folder).finished is not None:
        return open_run(folder)
    return keyfluid.run(text, folder, overrides=QUIET, overwrite=True, threads=threads)
