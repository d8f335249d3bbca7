"""The size of a run's folder, as estimated before it starts (benchmarks/folder_size.py has larger runs)."""

from __future__ import annotations

import pytest

import keyfluid
from keyfluid.runs.disk_estimate import disk_bytes
from keyfluid.runs.run import plan_run
from keyfluid.scenes.build.problem import build

SCENE = """
name = "steered"
[domain]
resolution = 64
[time]
frames = 6
fps = 8
[smoke]
initial = { shape = "disk", center = [0.4, 0.4], radius = 0.2 }
[[keyframe]]
frame = 6
shape = "box"
center = [0.6, 0.55]
size = [0.34, 0.34]
[control]
method = "spectral"
iterations = 2
coarse = 0
[output]
video = false
size = 32
"""


def expected(*overrides):
    problem = build(keyfluid.load_scene(SCENE, overrides))
    return disk_bytes(problem, plan_run(problem), problem.steps_per_frame)


def test_frames_grids_and_forces_take_what_was_estimated(tmp_path):
    keyfluid.run(SCENE, tmp_path / "run", threads=1)
    taken = sum(path.stat().st_size for path in (tmp_path / "run").rglob("*") if path.suffix in (".npz", ".vdb"))
    assert expected() == pytest.approx(taken, rel=0.2)


def test_what_is_not_kept_is_not_counted():
    film = expected()
    assert expected("output.keep=all") > film
    assert expected("output.vdb=false") < film
    assert expected('output.grids=["density"]') < film
    assert expected("output.keep=scene", "output.vdb=false") < 0.1 * film
