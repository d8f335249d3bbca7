"""`control.paths`: searches and films whose smoke is carried along paths."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from keyfluid.controllers.optimised.evaluation import Evaluation, memory_plan
from keyfluid.controllers.optimised.settings import SearchNumbers
from keyfluid.controllers.optimised.stages import plan_stages
from keyfluid.controllers.optimised.windows import Window, cut_frames
from keyfluid.errors import SceneError
from keyfluid.runs.run import run_problem
from keyfluid.scenes import load_scene
from keyfluid.scenes.build.problem import build
from shooting_scene import shooting_scene

SCENE = """
[domain]
size = [1.0, 1.0]
resolution = 24
[time]
frames = 12
[smoke]
initial = { shape = "disk", center = [0.45, 0.4], radius = 0.2 }
%s
[[keyframe]]
frame = 6
shape = "box"
center = [0.55, 0.5]
size = [0.3, 0.3]
mass = "resize"
[[keyframe]]
frame = 12
shape = "disk"
center = [0.5, 0.6]
radius = 0.2
mass = "resize"
[control]
method = "spectral"
iterations = 12
paths = 4
"""
VENT = """
buoyancy = 2.0
dissipation = 0.3
[[source]]
shape = "disk"
center = [0.5, 0.15]
radius = 0.1
velocity = [0.0, 0.6]
"""


def problem_of(text: str = "", *sets: str):
    return build(load_scene(SCENE % text, list(sets)))


def evaluation_of(problem, missing=0):
    """Of the last stage; missing: steps that memory has no place for."""
    settings = SearchNumbers.of(problem)
    stage = plan_stages(problem, settings)[-1]
    if missing:
        plan = memory_plan(stage, settings)
        settings = replace(settings, budget=plan.total_bytes - missing * plan.place_bytes)
        assert memory_plan(stage, settings).places == plan.places - missing
    return Evaluation(stage, settings), stage


@pytest.mark.parametrize("text", ["", VENT], ids=["bare air", "buoyant, past a source"])
def test_gradients_of_whole_windows(text):
    """Central differences along the gradient, both keyframes in one window."""
    evaluation, stage = evaluation_of(problem_of(text, "simulation.precision=float64"))
    rng = np.random.default_rng(2)
    x = 1e-3 * rng.normal(size=stage.control.count)
    _, gradient = evaluation(x)
    way = gradient / np.linalg.norm(gradient)
    h = 1e-5
    slope = (evaluation(x + h * way)[0] - evaluation(x - h * way)[0]) / (2 * h)
    assert slope == pytest.approx(np.linalg.norm(gradient), rel=2e-3)


def test_stored_and_checkpointed_are_bit_identical():
    values = []
    for missing in (0, 8):
        evaluation, stage = evaluation_of(problem_of(VENT), missing)
        value, gradient = evaluation(np.full(stage.control.count, 1e-3, np.float32))
        values.append((value, gradient.tobytes()))
    assert values[0] == values[1]


@pytest.mark.parametrize("schedule", ["all", "sequence"])
def test_the_film_is_what_was_optimised(schedule):
    """The error that the search ends with is the error of the film's frames."""
    problem = problem_of("", f"control.schedule={schedule}")
    result = run_problem(problem)
    last = [entry for entry in result.metrics["history"] if "objective" in entry][-1]
    errors = [key["relative_error"] for key in result.metrics["keyframes"]]
    film = errors[-1] if schedule == "sequence" else np.sqrt(np.mean(np.square(errors)))
    assert film == pytest.approx(last["error"], rel=0.05)


def test_smoke_stays_sharp_where_the_grid_smears_it():
    """The film's smoke is carried: with the same work its error is a small part of the grid's."""
    sets = ("time.frames=12", "control.schedule=sequence", "control.iterations=40")
    sharp, smeared = (
        run_problem(problem_of("", *sets, f"control.paths={paths}")).metrics["keyframes"][0] for paths in (4, 0)
    )
    assert sharp["relative_error"] < 0.6 * smeared["relative_error"]
    assert sharp["transported_iou"] > smeared["transported_iou"]


def test_cuts_follow_every_step_about_once():
    problem = problem_of()
    assert cut_frames(problem, Window(0, 12)) == [0, 6, 12]
    long = problem_of("", "time.frames=200", "keyframe.1.frame=200")
    cuts = cut_frames(long, Window(0, 200))
    assert cuts[:2] == [0, 6]
    assert cuts[-1] == 200
    assert max(b - a for a, b in pairwise(cuts)) <= 48


def test_shooting_carries_each_window_along_its_own_paths():
    """Windows of both layers begin at keyframes; what is carried to their ends is handed on."""
    result = run_problem(build(load_scene(shooting_scene(every=4, iterations=3, rounds=1), ["control.paths=1"])))
    assert result.finished
    assert all(key["relative_error"] < 1 for key in result.metrics["keyframes"])


def test_what_can_not_be_carried_is_refused():
    with pytest.raises(SceneError, match=r"control\.paths: 3 in each cell; use 1, 2, 4, or 0 for none"):
        SearchNumbers.of(problem_of("", "control.paths=3"))
