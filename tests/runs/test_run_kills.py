"""Methods that go through time once, killed with SIGKILL: a run goes on to the same bits."""

from __future__ import annotations

import random
import subprocess
import sys
import time

import pytest

import keyfluid
from keyfluid.io import container
from waiting import wait_until

TARGET = """
name = "word"
seed = 3
[domain]
size = [1.0, 0.6]
resolution = 40
[time]
frames = 24
steps_per_frame = "auto"
[smoke]
initial = { shape = "disk", center = [0.4, 0.35], mass = "first-key" }
[[keyframe]]
frame = 14
text = "F"
[[keyframe]]
frame = 24
text = "X"
[control]
method = "target"
turbulence = 0.5
[output]
vdb = false
video = false
size = 32
"""

PARTICLES = """
name = "blob"
seed = 5
[domain]
size = [1.0, 0.9, 0.8]
resolution = 20
[time]
fps = 30
frames = 24
[smoke]
initial = { shape = "sphere", center = [0.35, 0.4, 0.4], radius = 0.14 }
[[source]]
shape = "sphere"
center = [0.7, 0.3, 0.4]
radius = 0.12
rate = 20.0
stop = 3
[[keyframe]]
frame = 12
shape = "box"
center = [0.6, 0.5, 0.4]
[[keyframe]]
frame = 24
shape = "torus"
radius = 0.2
thickness = 0.08
[control]
method = "particles"
markers = 3000
control_particles = 200
vortices = 80
velocity_cells = 20
vortex_radius = 0.08
[output]
vdb = false
video = false
size = 32
"""


def frames_of(folder):
    found = {}
    for path in sorted((folder / "frames").glob("*.npz")):
        arrays, meta = container.load_arrays(path)
        found[path.name] = {name: array.tobytes() for name, array in arrays.items()}, meta["memory"]
    return found


@pytest.mark.parametrize("scene", [TARGET, PARTICLES], ids=["target", "particles"])
def test_killed_twice_it_ends_in_the_same_bits(tmp_path, scene):
    path = tmp_path / "scene.toml"
    path.write_text(scene)
    keyfluid.run(path, tmp_path / "whole", threads=1)
    folder, chance = tmp_path / "run", random.Random(2)
    words = ["run", str(path), "-o", str(folder)]
    for moment in (5, 15):
        process = subprocess.Popen(
            [sys.executable, "-m", "keyfluid", *words, "--threads", "2"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        frame = folder / "frames" / f"{moment:04d}.npz"
        wait_until(lambda run=process, path=frame: run.poll() is not None or path.exists(), f"frame {moment}")
        time.sleep(chance.uniform(0, 0.03))  # what is tested: a kill at any moment after that
        process.kill()
        process.wait()
        words = ["resume", str(folder)]
    assert len(frames_of(folder)) < 25, "it was never killed"
    result = keyfluid.resume(folder, threads=1)
    assert result.finished
    ours, theirs = frames_of(folder), frames_of(tmp_path / "whole")
    assert list(ours) == list(theirs)
    assert [name for name in theirs if ours[name] != theirs[name]] == []
