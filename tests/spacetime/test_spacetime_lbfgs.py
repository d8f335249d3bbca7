"""L-BFGS on the problem itself: its gradient, and what it is compared with."""

from __future__ import annotations

import numpy as np
import pytest

from keyfluid.controllers.spacetime.advection import Advection
from keyfluid.controllers.spacetime.plan import SpacetimePlan, pyramid
from keyfluid.controllers.spacetime.shooting import SingleShooting
from keyfluid.scenes import load_scene
from keyfluid.scenes.build.problem import build

SCENE = """
[domain]
size = [1.0, 0.75]
resolution = 16
[time]
fps = 16
frames = 5
[smoke]
initial = { shape = "disk", center = [0.45, 0.4], radius = 0.2, velocity = [0.4, 0.1] }
viscosity = 0.002
[[keyframe]]
frame = 5
shape = "disk"
center = [0.6, 0.35]
radius = 0.2
[simulation]
precision = "float64"
[control]
method = "spacetime"
r = 50.0
"""


def shooting(scaled=False, text=SCENE):
    plan = SpacetimePlan.of(build(load_scene(text)))
    flow, start = plan.flow(False), plan.start()
    advection = Advection(flow, plan.units.inside(plan.problem), plan.goals, plan.transport(), pyramid(flow.grid))
    return SingleShooting(flow, advection, plan.settings.force_weight, plan.steps, scaled, start=start)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("deep", [False, True])
def test_the_gradient_is_the_derivative(scaled, deep):
    text = SCENE
    if deep:
        text = text.replace("[1.0, 0.75]", "[1.0, 0.75, 0.75]").replace("resolution = 16", "resolution = 8")
        text = text.replace("0.4]", "0.4, 0.4]").replace("0.35]", "0.35, 0.4]").replace("[0.4, 0.1]", "[0.4, 0.1, 0.2]")
        text = text.replace('"disk"', '"sphere"')
    objective = shooting(scaled, text)
    rng = np.random.default_rng(2)
    z = 0.05 * rng.standard_normal(objective.flow.grid.value_count(objective.start.kind) * (objective.steps - 1))
    d = rng.standard_normal(z.size)
    slope = float(objective.evaluate(z)[1] @ d)
    eps = 1e-6
    measured = (objective.evaluate(z + eps * d)[0] - objective.evaluate(z - eps * d)[0]) / (2 * eps)
    assert measured == pytest.approx(slope, rel=1e-6)


def test_it_goes_down_without_simulations_that_are_not_counted(monkeypatch):
    objective, calls = shooting(True), []
    plain = SingleShooting.simulate

    def counted(self, u):
        calls.append(u)
        return plain(self, u)

    monkeypatch.setattr(SingleShooting, "simulate", counted)
    values = []
    _, state = objective.minimise(1e-9, 6, lambda state, change: values.append(state.now.value) or False)
    assert values[-1] < 0.5 * values[0]
    assert len(calls) == state.evaluations
