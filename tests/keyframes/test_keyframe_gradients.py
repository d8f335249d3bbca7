"""The gradient of every whole objective, against differences: each control, each penalty, each blur, 2D and 3D."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from keyframe_scenes import deep, flat, problem_of

from keyfluid.controllers.optimised.evaluation import Evaluation, Goal, memory_plan
from keyfluid.controllers.optimised.settings import SearchNumbers
from keyfluid.controllers.optimised.stages import plan_stages
from keyfluid.controllers.optimised.windows import Window
from keyfluid.fields import Field, density
from keyfluid.grid import Kind
from keyfluid.operators.blur import gaussian_blur
from keyfluid.verify import observed_order

FLAT = {
    "winds": 'method = "adjoint"\nspacing = 0.25\nradius = 0.2',
    "vortices, per step": 'method = "adjoint"\nbasis = "vortices"\nspacing = 0.25\ntime = "step"',
    "both, windows": 'method = "adjoint"\nbasis = "winds+vortices"\nspacing = 0.3\ntime = "windows"\nwindow = 2',
    "dense, penalised": 'method = "adjoint"\nbasis = "dense"\nalpha = 3.0\nbeta = 2.0\ntime = "constant"',
    "dense potential": 'method = "adjoint"\nbasis = "dense-potential"\nshear = 0.0',
    "spectral": 'method = "spectral"\nshear = 5.0',
    "spectral, blurred": 'method = "spectral"\ncutoff = 3\ngamma = "blur"\nblur = [0.05]\nwindow = 2',
    "spectral, pyramid": 'method = "spectral"\ngamma = "pyramid"\nlevels = 3',
    "spectral, far": 'method = "spectral"\nfar = 100.0',
    "blurred and far": 'method = "spectral"\ncutoff = 3\ngamma = "blur"\nblur = [0.05]\nwindow = 2\nfar = 30.0',
    "without potential": 'method = "spectral"\npreset = "tang-forces"',
    "upsampled": 'method = "spectral"\npreset = "upsampling"\ncutoff = 2\nfirst_band = 2',
    "checkpointed": 'method = "spectral"\ncutoff = 2\nmemory = 0.07',
}
DEEP = {
    "spectral": 'method = "spectral"\nshear = 5.0',
    "winds and vortices": 'method = "adjoint"\nbasis = "winds+vortices"\nspacing = 0.4\nfar = 100.0',
    "dense": 'method = "adjoint"\nbasis = "dense"\nbeta = 2.0',
}


def slope_of(text, start=None, goal=None, window=None):
    """Of smoke that the grid carries; along paths: test_keyframe_paths.py."""
    problem = problem_of(text)
    settings = replace(SearchNumbers.of(problem), paths=0)
    evaluate = Evaluation(plan_stages(problem, settings, window)[-1], settings, start, goal)
    random = np.random.default_rng(5)
    size = 0.3 / np.sqrt(evaluate.control.basis.count)
    x, p = (size * random.standard_normal(evaluate.control.count) for _ in range(2))
    value, gradient = evaluate(x)
    # Small enough that few feet cross a cell's edge (a kink), large enough to stay clear of rounding.
    steps = 10.0 ** np.arange(-3.5, -5.6, -0.5)
    gaps = [abs(evaluate(x + h * p)[0] - value - h * float(gradient @ p)) for h in steps]
    assert value > 1e-3
    assert abs(float(gradient @ p)) > 1e-4
    return observed_order(steps, gaps), evaluate


@pytest.mark.parametrize("name", FLAT)
def test_the_gradient_in_2d(name):
    text = flat(FLAT[name] + "\ncoarse = 0", "float64")
    slope, _ = slope_of(text)
    assert slope == pytest.approx(2.0, abs=0.1)
    if name == "checkpointed":
        problem = problem_of(text)
        settings = replace(SearchNumbers.of(problem), paths=0)
        assert memory_plan(plan_stages(problem, settings)[-1], settings).places < 6


@pytest.mark.parametrize("sides", ["periodic", "open"])
def test_the_gradient_with_other_sides(sides):
    slope, _ = slope_of(flat('method = "spectral"\ncoarse = 0', "float64", f'boundary = ["{sides}", "walls"]'))
    assert slope == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize("name", DEEP)
def test_the_gradient_in_3d(name):
    slope, _ = slope_of(deep(DEEP[name] + "\ncoarse = 0", "float64"))
    assert slope == pytest.approx(2.0, abs=0.1)


FLOW = """
[[flow]]
frame = 3
velocity = [0.2, -0.1]
mask = { shape = "disk", center = [0.5, 0.4], radius = 0.2 }
weight = 0.7
[[flow]]
frame = 5
velocity = [0.0, 0.0]
[control]"""


def test_the_gradient_of_velocities_wanted():
    slope, evaluate = slope_of(flat('method = "spectral"\ncoarse = 0', "float64").replace("[control]", FLOW))
    assert slope == pytest.approx(2.0, abs=0.1)
    assert evaluate.flows.errors[0] > 0.3


def some_state(problem, seed):
    random = np.random.default_rng(seed)
    smoke = gaussian_blur(problem.grid, 0.1).apply(density(problem.grid, random.random(problem.grid.cells)))[0]
    wind = Field(problem.grid, Kind.FACES, 0.2 * random.standard_normal(problem.velocity.data.size))
    return {"density": smoke, "velocity": wind}


def test_the_gradient_of_a_window_that_begins_and_ends_in_given_states():
    """As in shooting: the start is another window's, and so is the state at the end."""
    text = flat('method = "spectral"\ncoarse = 0', "float64")
    problem = problem_of(text)
    goal = Goal(some_state(problem, 2), 3.0)
    slope, evaluate = slope_of(text, some_state(problem, 1), goal, Window(2, 5))
    assert slope == pytest.approx(2.0, abs=0.1)
    settings = SearchNumbers.of(problem)
    window = plan_stages(problem, settings, Window(2, 5))[-1]
    alone, _ = Evaluation(window, settings, some_state(problem, 1))(evaluate.control.zeros())
    both, _ = evaluate(evaluate.control.zeros())
    assert both > alone + 0.1


def test_a_wrong_gradient_is_noticed(monkeypatch):
    """The penalty on a force without its factor two: slope 1."""
    from keyfluid.objectives.force import ForcePenalty

    right = ForcePenalty.term
    monkeypatch.setattr(ForcePenalty, "term", lambda self, f: (right(self, f)[0], 0.5 * right(self, f)[1]))
    slope, _ = slope_of(flat(FLAT["dense, penalised"] + "\ncoarse = 0", "float64"))
    assert slope < 1.5
