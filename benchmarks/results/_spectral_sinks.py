"""Density sinks [Tang 2021, section 5.3, figures 14 and 15].

Smoke is to go from a disk to a letter, or from a ball to a knot. With McNamara's order (control, then advect by the
wind that is not projected yet), an Euler backtrace and a projection to 1e-3, dense forces make and destroy smoke on
the way; forces with a potential have no divergence to do it with. With an exact projection before the advection both
move smoke by the same kind of field.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np
from _spectral_common import ball, chosen, letter, save_plot, table

from keyfluid.controls import Control, ControlForcing, DenseForces, SpectralPotential, Timing
from keyfluid.errors import KeyfluidError
from keyfluid.grid import Grid
from keyfluid.models.smoke import MCNAMARA_ORDER, Smoke, SmokeOptions
from keyfluid.optimise import Lbfgs
from keyfluid.rollout import Rollout
from keyfluid.scenes import load_scene
from keyfluid.scenes.build.problem import BuiltScene, build
from keyfluid.solids import Solids
from keyfluid.threads import set_threads

BASES = {"dense forces": DenseForces, "potential": SpectralPotential}


@dataclass(frozen=True)
class Outcome:
    """Total mass of every frame relative to the first, the error at the keyframe, and what it took."""

    mass: np.ndarray
    error: float
    evaluations: int
    seconds: float


def loose(grid: Grid, dt: float) -> Smoke:
    """McNamara's order; bodies of which there are none call for the iterative projection."""
    nothing = Solids.from_distance(grid, np.ones(grid.cells))
    return Smoke(grid, dt, SmokeOptions(sequence=MCNAMARA_ORDER, solids=nothing, tolerance=1e-3, order=1))


def exact(grid: Grid, dt: float) -> Smoke:
    """The default step: projected, then advected."""
    return Smoke(grid, dt)


MODELS = {"loose: advected unprojected, 1e-3, Euler": loose, "exact: projected first": exact}


def optimise(problem: BuiltScene, model: Smoke, basis: type, iterations: int) -> Outcome:
    """A force per step, no penalty, L-BFGS from rest."""
    steps = problem.frames
    control = Control(basis(problem.grid, problem.dtype), Timing("step", steps, model.dt))
    rollout, start = Rollout(model, steps), model.initial_state(**problem.densities)
    match = problem.fluid.match(problem, (0, steps), blur=0.0)

    def evaluate(vector: np.ndarray) -> tuple[float, np.ndarray]:
        forcing = ControlForcing(control, vector)
        try:
            return rollout.gradient(start, match, forcing).value, forcing.gradient()[1]
        except KeyfluidError:
            # Forces so strong that the simulation blows up: a point that the line search steps back from.
            return np.inf, forcing.gradient()[1]

    seconds = time.perf_counter()
    rate = 0.02 / (steps * model.dt) ** 2
    # A coefficient 1 of a potential is a force of 1 in the mean square over the box, one of a face only there.
    unit = 1.0 if basis is SpectralPotential else problem.grid.count
    optimiser = Lbfgs(first_step=rate * np.sqrt(steps * unit))
    state = optimiser.start(control.zeros(), evaluate)
    while state.iteration < iterations and not state.stalled:
        state = optimiser.advance(state, evaluate)
    seconds = time.perf_counter() - seconds
    film = rollout.run(start, ControlForcing(control, state.now.x), keep=range(steps + 1))
    mass = np.array([np.sum(film[i]["density"].data, dtype=np.float64) for i in range(steps + 1)])
    return Outcome(mass / mass[0], float(np.sqrt(2 * state.now.value)), state.evaluations, seconds)


def run(small: bool) -> None:
    set_threads(chosen.threads)
    iterations = 4 if small else 60
    scenes = {
        "disk to F": letter(32, "F", 10) if small else letter(96, "F", 40),
        "ball to knot": ball(16, 6) if small else ball(32, 20),
    }
    rows, curves = [], {}
    for scene, text in scenes.items():
        problem = build(load_scene(text))
        for model_name, make in MODELS.items():
            for basis_name, basis in BASES.items():
                model = make(problem.grid, 1 / problem.fps)
                optimise(problem, model, basis, 1)
                outcome = optimise(problem, model, basis, iterations)
                deviation = np.abs(outcome.mass - 1)
                rows.append(
                    {
                        "scene": scene,
                        "step": model_name,
                        "control": basis_name,
                        "mass off, largest, %": 100 * deviation.max(),
                        "mass off, mean, %": 100 * deviation.mean(),
                        "error": outcome.error,
                        "size": " x ".join(map(str, problem.grid.cells)),
                        "frames": problem.frames,
                        "precision": str(problem.dtype),
                        "threads": chosen.threads,
                        "evaluations": outcome.evaluations,
                        "seconds": round(outcome.seconds, 1),
                    }
                )
                print(rows[-1], flush=True)
                curves[scene, f"{basis_name}, {model_name.partition(':')[0]}"] = outcome.mass
    print(table(rows))

    def draw(figure) -> None:  # type: ignore[no-untyped-def]
        for axes, scene in zip(figure.subplots(1, len(scenes)), scenes):
            for (of, name), mass in curves.items():
                if of == scene:
                    axes.plot(mass, label=name)
            axes.set(title=scene, xlabel="frame", ylabel="mass over mass at the start")
            axes.grid(alpha=0.3)
        axes.legend(fontsize=8)

    save_plot("sinks", 9, 3.2, draw)
