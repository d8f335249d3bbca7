"""The guard on the step size of smoke: one line where the flow has left all sense, a note where steps are long."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import keyfluid
from keyfluid.cli.summary import summary
from keyfluid.controllers.optimised.evaluation import Evaluation
from keyfluid.controllers.optimised.settings import SearchNumbers
from keyfluid.controllers.optimised.stages import plan_stages
from keyfluid.controllers.step_size import ABOUT
from keyfluid.errors import BlowUp, KeyfluidError
from keyfluid.rollout import Rollout
from keyfluid.scenes import load_scene
from keyfluid.scenes.build.problem import build

SCENE = """
name = "fast"
[domain]
size = {size}
resolution = 24
[time]
fps = 24
frames = {frames}
steps_per_frame = {steps}
[smoke]
initial = {{ shape = "disk", center = {center}, radius = 0.15 }}
{smoke}
[output]
vdb = false
video = false
size = 32
"""
KEY = """
[[keyframe]]
frame = {frames}
shape = "disk"
radius = 0.15
[control]
method = "{method}"
"""
CONTROL = {
    "none": None,
    "target": "",
    "target-smooth": 'advection = "smooth"',
    "adjoint": "iterations = 2",
    "spectral": "iterations = 2\ncutoff = 3\ncoarse = 0",
    "particles": "markers = 1000\ncontrol_particles = 100\nvortices = 20\nvelocity_cells = 16\nvortex_radius = 0.08",
}
SPUN, LIFTED, CALM = "buoyancy = 1.0\nvorticity = 1e6", "buoyancy = 1e5", "buoyancy = 1.0\nvorticity = 2.0"
FAST = "buoyancy = 100.0"


def text(way, smoke, steps="1", frames=4):
    flat = way != "particles"
    size, center = ([1.0, 1.0], [0.5, 0.3]) if flat else ([1.0, 1.0, 1.0], [0.5, 0.3, 0.5])
    scene = SCENE.format(size=size, center=center, frames=frames, steps=steps, smoke=smoke)
    return scene if CONTROL[way] is None else scene + KEY.format(method=way.split("-")[0], frames=frames) + CONTROL[way]


def notes(result):
    return [entry["note"] for entry in result.metrics["history"] if entry.get("about") == ABOUT]


@pytest.mark.parametrize("way", ["none", "target", "target-smooth", "adjoint", "spectral"])
def test_confinement_that_blows_up_is_one_line(way):
    words = r"smoke\.vorticity: at .* s the air moves at .* m/s, .* cells in a step; lower it from 1e\+06"
    with pytest.raises(BlowUp, match=words) as told:
        keyfluid.run(text(way, SPUN))
    assert "\n" not in str(told.value)


@pytest.mark.parametrize("way", ["none", "target-smooth", "adjoint", "spectral", "particles"])
def test_lift_that_blows_up_is_one_line(way):
    with pytest.raises(BlowUp, match=r"smoke\.buoyancy: at 0.* s the air moves at .* m/s.*; lower it from 100000"):
        keyfluid.run(text(way, LIFTED))


def test_the_targets_own_steps_carry_any_lift():
    """Its sub-steps are as short as the lift asks for, and its advection is conservative."""
    result = keyfluid.run(text("target", LIFTED, frames=4))
    assert abs(result.metrics["mass_drift"]) < 1e-5
    assert not notes(result)


@pytest.mark.parametrize("way", ["none", "target"])
def test_steps_that_never_end_are_one_line(way, monkeypatch):
    """As many steps as the speed asks for, until that is no longer a simulation."""
    monkeypatch.setattr("keyfluid.controllers.march.MOST_STEPS", 20)
    monkeypatch.setattr("keyfluid.controllers.target.simulation.MOST_STEPS", 20)
    words = r"smoke\.buoyancy: frame 1: the air moves at .* in a frame; lower smoke\.buoyancy"
    with pytest.raises(BlowUp, match=words):
        keyfluid.run(text(way, LIFTED, '"auto"'))


@pytest.mark.parametrize("way", ["none", "target-smooth", "adjoint", "spectral", "particles"])
def test_long_steps_are_noted_once(way):
    result = keyfluid.run(text(way, FAST, frames=6))
    (note,) = notes(result)
    assert "cells in a step; beyond a tenth of the domain (2.4 cells)" in note
    assert "raise time.steps_per_frame from 1 to " in note
    assert ('"auto"' in note) == (way not in ("adjoint", "spectral"))


@pytest.mark.parametrize("way", list(CONTROL))
def test_an_ordinary_scene_has_no_note(way):
    # One step per frame is long for a driving force that is made for sub-steps.
    steps = "4" if way == "target-smooth" else "1"
    assert not notes(keyfluid.run(text(way, CALM, steps, frames=24)))


SPACETIME = KEY.format(method="spacetime", frames=6) + "iterations = 1"


def blown(speed):
    scene = text("none", "", frames=6).replace("radius = 0.15", f"radius = 0.15, velocity = [{speed}, 0.0]")
    return scene + SPACETIME


@pytest.mark.filterwarnings("ignore::keyfluid.errors.ConvergenceWarning")
def test_the_film_of_spacetime_is_watched_too():
    assert not notes(keyfluid.run(blown(1.0)))
    (note,) = notes(keyfluid.run(blown(20.0)))
    assert note.endswith("or more"), "a method that needs a fixed number of steps"
    with pytest.raises(BlowUp, match=r"time\.steps_per_frame: at 0 s the air moves at"):
        keyfluid.run(blown(500.0))


def test_forces_of_spacetime_that_blow_up_the_engine_end_nothing(monkeypatch):
    def blows_up(*arguments):
        raise BlowUp("too fast")

    monkeypatch.setattr("keyfluid.fluids.smoke.steps.SmokeSteps.advance", blows_up)
    result = keyfluid.run(blown(1.0))
    assert result.finished
    assert "the same forces blow up the engine's smoke: too fast" in [e.get("note") for e in result.metrics["history"]]


def test_films_on_the_way_make_no_note(monkeypatch):
    """They are made when somebody has waited long enough: two runs of a scene would differ."""
    monkeypatch.setattr("keyfluid.runs.preview.Preview.due", property(lambda self: True))
    often = keyfluid.run(text("spectral", FAST))
    monkeypatch.undo()
    seldom = keyfluid.run(text("spectral", FAST))
    assert often.metrics["history"] == seldom.metrics["history"]


def test_stopped_and_resumed_it_is_still_noted_once(tmp_path):
    scene = text("none", FAST, frames=8)
    whole = keyfluid.run(scene)
    calls = iter([False] * 5 + [True] * 100)
    assert not keyfluid.run(scene, tmp_path / "run", should_stop=lambda: next(calls)).finished
    assert keyfluid.resume(tmp_path / "run").metrics["history"] == whole.metrics["history"]
    assert keyfluid.resume(tmp_path / "run", from_frame=1).metrics["history"] == whole.metrics["history"]


def test_what_was_computed_before_stays(tmp_path):
    with pytest.raises(BlowUp):
        keyfluid.run(text("none", SPUN), tmp_path / "run")
    result = json.loads((tmp_path / "run" / "result.json").read_text())
    assert result["status"] == "stopped"
    assert [entry["frame"] for entry in result["history"] if "mass" in entry] == [0, 1]


def evaluation():
    problem = build(load_scene(text("spectral", CALM)))
    settings = SearchNumbers.of(problem)
    return Evaluation(plan_stages(problem, settings)[-1], settings)


def test_a_line_search_steps_back_from_a_blow_up():
    function = evaluation()
    wild = np.full_like(function.control.zeros(), 1e30)
    with np.errstate(all="ignore"):
        value, _ = function(wild)
    assert value == math.inf
    assert math.isfinite(function(function.control.zeros())[0])


def test_other_errors_are_no_infinite_objective(monkeypatch):
    def broken(*arguments):
        raise KeyfluidError("something else")

    function = evaluation()
    monkeypatch.setattr(Rollout, "evaluate", broken)
    with pytest.raises(KeyfluidError, match="something else"):
        function(function.control.zeros())


@pytest.mark.parametrize("way", ["adjoint", "spectral"])
def test_no_search_begins_in_a_flow_without_sense(way, monkeypatch):
    monkeypatch.setattr(Evaluation, "trial", lambda *arguments: pytest.fail("the search began"))
    with pytest.raises(BlowUp, match="buoyancy"):
        keyfluid.run(text(way, LIFTED))


def test_a_preview_of_forces_yet_to_be_tamed_ends_nothing(monkeypatch):
    """Every film blows up: those on the way are left out, the last one ends the run."""
    films = []

    def blows_up(*arguments):
        films.append(arguments)
        raise BlowUp("too fast")

    monkeypatch.setattr("keyfluid.runs.preview.Preview.due", property(lambda self: True))
    monkeypatch.setattr("keyfluid.controllers.optimised.record.replay", blows_up)
    with pytest.raises(BlowUp, match="too fast"):
        keyfluid.run(text("spectral", CALM))
    *previews, last = [final for *_, final in films]
    assert len(previews) >= 2
    assert set(previews) == {0}
    assert last == 4


def test_the_limits():
    problem = build(load_scene(text("none", "")))
    spacing = problem.grid.spacing
    assert problem.fluid.cells_crossed(problem, 40 * spacing, 1.0, 0.5) == pytest.approx(40)
    for speed, words in ((41 * spacing, "41 cells"), (math.nan, "no finite speed"), (math.inf, "no finite speed")):
        with pytest.raises(BlowUp, match=f"time.steps_per_frame: at 0.5 s the air .*{words}.*; lower forces"):
            problem.fluid.cells_crossed(problem, speed, 1.0, 0.5)


def metrics(drift, **more):
    return {
        "status": "finished", "method": "none", "seconds": 1.0, "threads": 1, "peak_memory_mb": 1, "mass_drift": drift,
        "max_divergence": 0.0, "force_norm": 0.0, "keyframes": [], "history": [], **more,
    }  # fmt: skip


@pytest.mark.parametrize(
    ("numbers", "words"),
    [
        (metrics(-0.48, history=[{"note": "", "about": ABOUT}]), "lost 48 % of its mass; take more steps per frame"),
        (metrics(-0.06), "warning: the smoke lost 6 % of its mass; a finer grid"),
        (metrics(0.07), "warning: the smoke gained 7 % of its mass"),
        (metrics(-0.3, liquid={}), "warning: the liquid lost 30 % of its volume; take more steps"),
        (metrics(-0.6, mass_may_change=["domain.boundary"]), "60 % of the smoke left through open sides or was lost"),
        (metrics(0.6, mass_may_change=["domain.boundary"]), "warning: the smoke gained 60 %"),
        (metrics(-0.6, mass_may_change=["control.equalise"]), None),
        (metrics(0.049), None),
    ],
)
def test_the_summary_says_what_became_of_the_mass(numbers, words):
    lines = summary(numbers)[2:]
    assert (words in lines[0]) if words else not lines


def test_the_result_says_how_mass_may_change():
    open_sides = text("none", CALM).replace("resolution", 'boundary = "open"\nresolution')
    assert keyfluid.run(open_sides).metrics["mass_may_change"] == ["domain.boundary"]
    assert "mass_may_change" not in keyfluid.run(text("target", CALM)).metrics
    assert keyfluid.run(text("target", CALM) + "equalise = 1.0").metrics["mass_may_change"] == ["control.equalise"]
