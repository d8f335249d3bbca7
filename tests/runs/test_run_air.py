"""Runs with wind, drag, dissipation and heat: each method that takes them, mass, VDB, resume."""

from __future__ import annotations

import math

import numpy as np
import pytest

import keyfluid
from keyfluid.runs.vdb_files import grids_of

WINDY = """
name = "windy"
[domain]
size = [1.5, 1.0]
resolution = 24
boundary = ["open", "walls"]
[time]
frames = 16
[smoke]
initial = { shape = "disk", center = [0.4, 0.4], radius = 0.15 }
[[keyframe]]
frame = 6
shape = "disk"
center = [0.5, 0.5]
[wind]
velocity = [1.5, 0.0]
start = 8
gust = 0.3
[output]
vdb = false
video = false
size = 16
"""
METHODS = {
    "none": [],
    "target": ["control.release=true"],
    "adjoint": ["control.iterations=2"],
    "spectral": ["control.iterations=2"],
    "particles": [
        "control.release=true", "control.markers=1500", "control.control_particles=60", "control.velocity_cells=24",
    ],
}  # fmt: skip


def centre(frame, problem):
    smoke = frame.densities["density"]
    return float((smoke * problem.grid.coordinates((False, False))[0]).sum() / smoke.sum())


@pytest.mark.parametrize("method", METHODS)
def test_smoke_is_blown_to_the_right_once_the_wind_blows(method):
    sets = [f"control.method={method}", *METHODS[method]]
    blown, calm = (keyfluid.run(WINDY, overrides=[*sets, *more]) for more in ([], ["wind=[]"]))
    before, after = (centre(blown.frames[index], blown.problem) for index in (8, 16))
    assert after > before + 0.15
    assert after > centre(calm.frames[16], calm.problem) + 0.12
    if method in ("none", "target", "particles"):
        assert np.array_equal(blown.frames[8].densities["density"], calm.frames[8].densities["density"])


@pytest.mark.parametrize("method", ["none", "target"])
def test_dissipated_smoke_is_not_drift(method):
    """Two fields between walls; exp(-3 * 16 / 24) = exp(-2) of each is left."""
    sets = [
        f"control.method={method}", "domain.boundary=walls", "wind=[]", "smoke.dissipation=3.0", "smoke.drag=1.0",
        "smoke.field=[{name='a'},{name='b'}]", "smoke.initial={shape='disk',field='a',radius=0.2}",
        "source=[{shape='disk',center=[1.0,0.5],field='b',rate=3.0,stop=2}]",
        "keyframe=[{frame=9,shape='disk',field='a'},{frame=9,shape='disk',field='b',center=[1.0,0.5]}]",
    ]  # fmt: skip
    result = keyfluid.run(WINDY, overrides=sets)
    masses = [frame.meta["mass"] for frame in result.frames]
    assert masses[-1]["a"] == pytest.approx(math.exp(-2) * masses[0]["a"], rel=0.02)
    assert abs(result.metrics["mass_drift"]) < 0.01
    assert all(key["mass_ratio"] == pytest.approx(1.0, abs=0.05) for key in result.metrics["keyframes"])


WARM = [
    "keyframe=[]", "smoke.cooling=1.0", "smoke.initial.temperature=30.0",
    "source=[{shape='disk',center=[0.4,0.2],radius=0.1,temperature=50.0,start=2,stop=6}]",
]  # fmt: skip


def test_a_warm_and_windy_run_goes_on_from_a_frame_to_the_same_bits(tmp_path):
    whole = keyfluid.run(WINDY, tmp_path / "run", overrides=WARM)
    before = {index: whole.frames[index] for index in (11, 16)}
    again = keyfluid.resume(tmp_path / "run", from_frame=10)
    for index, frame in before.items():
        found = again.frames[index]
        assert found.velocity.data.tobytes() == frame.velocity.data.tobytes()
        assert found.temperature.tobytes() == frame.temperature.tobytes()
    assert again.metrics["mass_drift"] == whole.metrics["mass_drift"]


def test_the_temperature_is_a_grid_of_its_own_and_lifts_the_smoke():
    warm, cold = (keyfluid.run(WINDY, overrides=[*WARM, f"smoke.heat_buoyancy={lift}"]) for lift in (0.0335, 0.0))
    found = {grid.name: grid for grid in grids_of(warm.problem, warm.frames[5])}
    assert list(found) == ["density", "temperature", "vel"]
    assert found["temperature"].data[6, 3, 0] == pytest.approx(50, rel=0.1)
    assert found["temperature"].data.max() == warm.frames[5].temperature.max()
    heights = [
        float((run.frames[8].densities["density"] * run.problem.grid.coordinates((False, False))[1]).sum())
        for run in (warm, cold)
    ]
    assert heights[0] > heights[1] * 1.05


def test_smoke_is_steered_while_it_is_blown_braked_thinned_and_warm():
    """The search knows the air: spectral meets a keyframe in the middle of the wind."""
    sets = ["control.method=spectral", "control.iterations=12", "control.coarse=0", "wind.start=0",
            "smoke.dissipation=1.0", "smoke.drag=0.5", "smoke.initial.temperature=10.0"]  # fmt: skip
    (key,) = keyfluid.run(WINDY, overrides=sets).metrics["keyframes"]
    assert key["iou"] > 0.85
    assert key["mass_ratio"] == pytest.approx(1.0, abs=0.06)
