"""Two other ways to the letter F that were tried and lost: Gauss-Newton-CG, and a start from optimal transport.

    python benchmarks/results/spectral_alternatives.py [resolution]

All from one scene (disk of equal area to F, 40 steps, float32, one thread, full band, integrated in time, scaled),
without coarser grids or the shear penalty, so that only optimiser or start differ. The cost of Gauss-Newton is
counted in evaluations: a gradient is 3 simulations, so a tangent (2) and an adjoint (2) of a CG iteration are 4/3.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import numpy as np
from scipy.optimize import linear_sum_assignment

from keyfluid.controllers.optimised.evaluation import Evaluation
from keyfluid.controllers.optimised.minimise import optimiser_of
from keyfluid.controllers.optimised.settings import SearchNumbers
from keyfluid.controllers.optimised.stages import Stage, plan_stages
from keyfluid.controls import ControlForcing
from keyfluid.fields import Field
from keyfluid.grid import Kind
from keyfluid.models.tape import Tape
from keyfluid.scenes import load_scene
from keyfluid.scenes.build.problem import build
from keyfluid.threads import set_threads

SCENE = """
[domain]
resolution = {n}
[time]
frames = 40
[smoke]
initial = {{ shape = "disk", center = [0.5, 0.5], radius = 0.2, mass = "first-key" }}
[[keyframe]]
frame = 40
text = "F"
fit = 0.6
[control]
method = "spectral"
coarse = 0
shear = 0.0
"""
MARKS = (0.5, 0.3, 0.2, 0.1, 0.06)
MOST = 120


class Setting:
    """The scene, its objective and the pieces both alternatives need."""

    def __init__(self, resolution: int) -> None:
        self.problem = build(load_scene(SCENE.format(n=resolution)))
        self.settings = SearchNumbers.of(self.problem)
        self.stage: Stage = plan_stages(self.problem, self.settings)[-1]
        self.evaluate = Evaluation(self.stage, self.settings)
        self.control = self.stage.control
        self.steps = self.control.timing.steps
        self.model = self.evaluate._rollout.model
        self.start = self.evaluate._state
        self.key = self.evaluate.match.keys[0]


def lbfgs(setting: Setting, vector: np.ndarray) -> Iterator[tuple[float, float]]:
    """(evaluations, error) of the product's own optimiser."""
    method = optimiser_of(setting.stage, setting.settings, number=int(vector.any()))
    state = method.start(vector, setting.evaluate)
    while state.evaluations < MOST and not state.stalled:
        yield state.evaluations, setting.evaluate.error
        state = method.advance(state, setting.evaluate)


def transport_start(setting: Setting) -> np.ndarray:
    """Cells of the disk are assigned to cells of the letter at least squared distance and go there straight; the
    velocities, spread over 2.5 cells, are projected on the control's waves."""
    grid, problem = setting.problem.grid, setting.problem
    random = np.random.default_rng(0)
    here, there = (
        (np.argwhere(density > 0.5) + 0.5) * grid.spacing
        for density in (problem.densities["density"].array, problem.keyframes[0].target)
    )
    count = min(len(here), len(there))
    here, there = (points[np.sort(random.choice(len(points), count, False))] for points in (here, there))
    _, chosen = linear_sum_assignment(((here[:, None] - there[None]) ** 2).sum(-1))
    dt = setting.control.timing.dt
    speed = (there[chosen] - here) / (setting.steps * dt)
    sets = np.zeros((setting.control.timing.count, setting.control.basis.count), np.float32)
    for t in range(setting.steps):
        places = here + speed * ((t + 0.5) * dt)
        wind = Field.zeros(grid, Kind.FACES)
        for axis, place in enumerate(Kind.FACES.places(2)):
            near = [
                np.exp(-(((line.reshape(-1, 1) - places[:, b]) / (2.5 * grid.spacing)) ** 2) / 2)
                for b, line in enumerate(grid.coordinates(place))
            ]
            wind.component(axis)[...] = (near[0] * speed[:, axis]) @ near[1].T / (near[0] @ near[1].T + 1e-3)
        sets[t] = setting.control.basis.pull(wind) / grid.count
    return sets.ravel()


def gauss_newton(setting: Setting, inner: int = 8) -> Iterator[tuple[float, float]]:
    """(J^T J / S + damping / M) d = -g by conjugate gradients, M the control's metric; damped as by Levenberg and
    Marquardt."""
    control, start, scale = setting.control, setting.start, setting.evaluate.match.scale
    metric = control.metric() if control.metric() is not None else np.ones(control.count, np.float32)

    def simulate(vector):
        forcing, state, taken = ControlForcing(control, vector), start, []
        for t in range(setting.steps):
            taken.append(Tape())
            state = setting.model.step(state, forcing.inputs(t), t, taken[-1])
        return state["density"] - setting.key.target, taken

    def tangent(taken, change):
        forcing, d_state = ControlForcing(control, change), {name: field.zeros_like() for name, field in start.items()}
        for t, tape in enumerate(taken):
            d_now = tape.tangent({**d_state, **forcing.inputs(t)}, start)
            d_state = {name: d_now[name] for name in d_state}
        return d_state["density"]

    def adjoint(taken, bar):
        forcing, bars = ControlForcing(control, control.zeros()), {"density": bar}
        for t in range(setting.steps - 1, -1, -1):
            bars = taken[t].adjoint(bars, start)
            forcing.pull(t, {"force": bars["force"]})
            bars = {name: bars[name] for name in start if name in bars}
        return forcing.gradient()[1]

    vector = control.zeros()
    gap, taken = simulate(vector)
    work, damping, unit = 1.0, 1e-2, 0.0
    value = 0.5 * gap.dot(gap) / scale
    while work / 3 < MOST:
        yield work / 3, float(np.sqrt(2 * value))
        gradient = adjoint(taken, (1 / scale) * gap)
        work += 2
        rest = -gradient
        ahead = metric * rest
        if unit == 0.0:
            change = tangent(taken, ahead)
            unit = change.dot(change) / scale / float(np.sum(ahead * ahead / metric))
            work += 2
        direction, weight = np.zeros_like(vector), float(np.sum(rest * ahead))
        for _ in range(inner):
            pushed = adjoint(taken, (1 / scale) * tangent(taken, ahead)) + damping * unit * ahead / metric
            work += 4
            along = weight / float(np.sum(ahead * pushed))
            direction += np.float32(along) * ahead
            rest -= np.float32(along) * pushed
            last, weight = weight, float(np.sum(rest * metric * rest))
            ahead = metric * rest + np.float32(weight / last) * ahead
        for _ in range(6):
            found, taken_there = simulate(vector + direction)
            work += 1
            there = 0.5 * found.dot(found) / scale
            if there < value:
                break
            direction *= np.float32(0.5)
            damping *= 2
        else:
            return
        vector, gap, taken, value = vector + direction, found, taken_there, there
        damping = max(damping / 3, 1e-6)


def main() -> None:
    set_threads(1)
    setting = Setting(int(sys.argv[1]) if len(sys.argv) > 1 else 64)
    rows = {
        "L-BFGS from rest (the default's optimiser)": lbfgs(setting, setting.control.zeros()),
        "L-BFGS from an optimal-transport start": lbfgs(setting, transport_start(setting)),
        "Gauss-Newton-CG from rest": gauss_newton(setting),
    }
    size = setting.problem.grid.cells[0]
    print(f"| letter F, {size}^2, evaluations to error | {' | '.join(map(str, MARKS))} | end |")
    print("|---|" + "---|" * (len(MARKS) + 1))
    for name, course in rows.items():
        passed: dict[float, int] = {}
        error = np.inf
        for evaluations, error in course:
            passed |= {mark: round(evaluations) for mark in MARKS if error < mark and mark not in passed}
        cells = [str(passed.get(mark, "-")) for mark in MARKS]
        print(f"| {name} | {' | '.join(cells)} | {error:.3f} |", flush=True)


if __name__ == "__main__":
    main()
