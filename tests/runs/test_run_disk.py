"""The size of a run's folder, as estimated before it starts (benchmarks/folder_size.py has larger runs)."""

from __future__ import annotations

import pytest
from run_scenes import STEERED

import keyfluid
from keyfluid.runs.disk_estimate import disk_bytes
from keyfluid.runs.run import plan_run
from keyfluid.scenes.build.problem import build

SCENE = f"""{STEERED}
[control]
method = "spectral"
iterations = 2
coarse = 0
[output]
video = false
size = 32
"""
LARGER = ("domain.resolution=64", "keyframe[0].frame=6")


def expected(*overrides):
    problem = build(keyfluid.load_scene(SCENE, [*LARGER, *overrides]))
    return disk_bytes(problem, plan_run(problem), problem.steps_per_frame)


def test_frames_grids_and_forces_take_what_was_estimated(tmp_path):
    keyfluid.run(SCENE, tmp_path / "run", threads=1, overrides=LARGER)
    taken = sum(path.stat().st_size for path in (tmp_path / "run").rglob("*") if path.suffix in (".npz", ".vdb"))
    assert expected() == pytest.approx(taken, rel=0.2)


def test_what_is_not_kept_is_not_counted():
    film = expected()
    assert expected("output.keep=all") > film
    assert expected("output.vdb=false") < film
    assert expected('output.grids=["density"]') < film
    assert expected("output.keep=scene", "output.vdb=false") < 0.1 * film
