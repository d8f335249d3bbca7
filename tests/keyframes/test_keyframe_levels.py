"""Coarser grids: one that can't hold the scene is left out, and nothing else that goes wrong there is."""

from __future__ import annotations

import pickle

import pytest
from keyframe_scenes import flat, problem_of

from keyfluid.controllers.optimised.settings import SearchNumbers
from keyfluid.controllers.optimised.stages import plan_stages
from keyfluid.errors import KeyfluidError, SceneError, SceneErrors
from keyfluid.scenes.build.problem import BuiltScene

TEXT = flat('method = "spectral"\ncoarse = 1\npaths = 4').replace("resolution = 16", "resolution = 64")
RING = 'shape = "ring", center = [0.4, 0.35], radius = 0.2, thickness = 0.08'


def grids():
    problem = problem_of(TEXT)
    stages = [stage for stage in plan_stages(problem, SearchNumbers.of(problem)) if not stage.blur]
    return [(stage.problem.grid.cells, stage.paths) for stage in stages]


def test_a_coarser_grid_comes_first():
    """On the coarsest, smoke is carried by the grid before it is carried along paths."""
    assert grids() == [((32, 24), 0), ((32, 24), 4), ((64, 48), 4)]


def test_along_paths_the_first_comparisons_of_smoke_with_a_hole_are_blurred():
    def blurs(text):
        problem = problem_of(text)
        return [stage.blur for stage in plan_stages(problem, SearchNumbers.of(problem)) if stage.paths]

    ring = TEXT.replace('shape = "disk", center = [0.4, 0.35], radius = 0.17', RING, 1)
    assert RING in ring
    assert blurs(ring) == [0.06, 0.03, 0.0, 0.0]
    assert blurs(ring + '\ngamma = "none"') == [0.0, 0.0]
    assert blurs(TEXT) == [0.0, 0.0]


def test_a_grid_that_can_not_hold_the_scene_is_left_out(monkeypatch):
    def too_thin(problem, factor):
        raise SceneErrors([SceneError("keyframe[0].text", "is thinner than a cell")])

    monkeypatch.setattr(BuiltScene, "coarser", too_thin)
    assert grids() == [((64, 48), 0), ((64, 48), 4)]


@pytest.mark.parametrize("error", [KeyfluidError("field: wrong kind"), TypeError("a bug")])
def test_a_bug_on_a_coarser_grid_is_not_swallowed(monkeypatch, error):
    def broken(problem, factor):
        raise error

    monkeypatch.setattr(BuiltScene, "coarser", broken)
    with pytest.raises(type(error), match=str(error)):
        grids()


def test_faults_survive_the_way_from_another_process():
    faults = SceneErrors([SceneError("control.window", "is too long"), SceneError("time.fps", "is 0")])
    again = pickle.loads(pickle.dumps(faults))
    assert str(again) == "control.window: is too long\ntime.fps: is 0"
    assert [fault.key for fault in again.faults] == ["control.window", "time.fps"]
