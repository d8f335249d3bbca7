"""`control.paths`: searches and films whose smoke is carried along paths."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest

from keyfluid.controllers.optimised.evaluation import Evaluation, memory_plan
from keyfluid.controllers.optimised.forces import JoinedForces
from keyfluid.controllers.optimised.minimise import Entry, Watch, WindowSearch, solve_window
from keyfluid.controllers.optimised.replay import simulate, state_after
from keyfluid.controllers.optimised.settings import SearchNumbers
from keyfluid.controllers.optimised.stages import plan_stages
from keyfluid.controllers.optimised.unknowns import carry
from keyfluid.controllers.optimised.windows import Window, cut_frames, search_windows
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


class _Unwatched(Watch):
    """Looks at nothing."""

    def stop_if_asked(self):
        pass

    def iterated(self, rank, state, evaluation):
        pass

    def finished(self, rank, state):
        pass


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


def test_a_film_is_the_same_from_its_start_and_from_where_the_control_begins_to_act():
    """The search begins at frame 7 with the smoke that came free as far as that; the film begins there again too."""
    problem = problem_of(VENT, "control.act=[7, 12]")
    settings = SearchNumbers.of(problem)
    (window,) = search_windows(problem, settings, "all")
    assert window.first == 7
    control = plan_stages(problem, settings, window)[-1].control
    free = JoinedForces(problem.steps_per_frame or 1, paths=settings.paths)
    begun = state_after(problem, free, window.first)
    forces = free.and_then(control, control.zeros(), window)
    whole = list(simulate(problem, forces, 12))[-1].state
    rest = list(simulate(problem, forces, 12, (window.first, begun)))[-1].state
    for name in ("density", "velocity"):
        assert whole[name].data.tobytes() == rest[name].data.tobytes()


def test_smoke_stays_sharp_where_the_grid_smears_it():
    """The film's smoke is carried: with the same work its error is a small part of the grid's."""
    sets = ("time.frames=12", "control.schedule=sequence", "control.iterations=40")
    sharp, smeared = (
        run_problem(problem_of("", *sets, f"control.paths={paths}")).metrics["keyframes"][0] for paths in (4, 0)
    )
    assert sharp["relative_error"] < 0.6 * smeared["relative_error"]
    assert sharp["transported_iou"] > smeared["transported_iou"]


def test_a_hard_window_has_as_many_iterations_again(monkeypatch):
    """Only where several follow one another, and only while its error is large."""
    monkeypatch.setattr("keyfluid.controllers.optimised.stages._HARD", 0.01)
    sets = ("control.iterations=2", "control.coarse=0", "control.accuracy=0")
    for schedule, more, most in (("all", (), 2), ("sequence", (), 4), ("sequence", ("control.paths=0",), 2)):
        problem = problem_of("", *sets, f"control.schedule={schedule}", *more)
        history = [entry for entry in run_problem(problem).metrics["history"] if "objective" in entry]
        end = history[-1]
        last = [entry for entry in history if (entry["window"], entry["stage"]) == (end["window"], end["stage"])]
        assert len(last) == most + 1


HOLE = """
[domain]
resolution = 32
[time]
frames = 12
[smoke]
initial = { text = "A", fit = 0.6 }
[[keyframe]]
frame = 12
shape = "disk"
radius = 0.25
[control]
method = "spectral"
iterations = 20
"""


def test_a_hole_that_must_close_finds_its_way_out():
    """Along paths it is felt only at the outline of the target, unless the first comparisons are blurred."""
    errors = {
        gamma: run_problem(build(load_scene(HOLE, [f"control.gamma={gamma}"]))).metrics["keyframes"][0]
        for gamma in ("auto", "none")
    }
    assert errors["auto"]["relative_error"] < 0.7 * errors["none"]["relative_error"]


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


def test_a_stage_that_is_accurate_enough_ends():
    problem = problem_of("", "control.accuracy=0.3", "control.iterations=60", "control.coarse=0")
    errors = [entry for entry in run_problem(problem).metrics["history"] if "objective" in entry]
    along = [entry["error"] for entry in errors if entry["stage"] == errors[-1]["stage"]]
    assert along[-1] < 0.3
    assert all(error >= 0.3 for error in along[1:-1])
    assert len(along) < 60


def test_a_finer_grid_takes_over_the_air_of_a_coarser_one():
    """The same forces brake less on a finer grid; the same air brings the smoke to the same place."""
    problem = problem_of("", "domain.resolution=64", "control.coarse=1", "control.iterations=30")
    settings = SearchNumbers.of(problem)
    *_, coarse, fine = plan_stages(problem, settings)
    search = WindowSearch([coarse, fine], settings)
    found = solve_window(WindowSearch([coarse], settings), Entry(0, coarse.control.zeros()), _Unwatched()).best.x
    misses = {}
    for name, x in (("air", search.handed_on(found, 0, 1)), ("forces", carry(found, coarse.control, fine.control))):
        evaluation = Evaluation(fine, settings)
        evaluation(x)
        misses[name] = evaluation.error
    assert misses["air"] < 0.8 * misses["forces"]


def test_windows_join_without_a_jolt():
    """The first step of a later window changes the velocity no more than twice what a usual step does."""
    result = run_problem(problem_of("", "control.schedule=sequence", "control.iterations=30"))
    flows = [result.frames[index].velocity for index in range(13)]
    changes = [(b - a).norm() for a, b in pairwise(flows)]
    assert changes[6] < 2 * np.median(changes[1:])


def test_what_can_not_be_carried_is_refused():
    with pytest.raises(SceneError, match=r"control\.paths: 3 in each cell; use 1, 2, 4, or 0 for none"):
        SearchNumbers.of(problem_of("", "control.paths=3"))
