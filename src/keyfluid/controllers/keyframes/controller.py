"""`method = "adjoint"` and `method = "spectral"`: the forces that bring smoke to its keyframes, by optimisation.

    minimise phi(u) by L-BFGS, the gradient by the adjoint method                            [McNamara 2004, section 4]
    over a potential whose waves are let in from long to short                               [Tang 2021, section 4.2]

Both methods are this loop over stages (stages.py); they differ in their controls and defaults. After each stage the
film of the forces so far is made, so that there is a preview from the first minute on. The checkpoint of an
iteration is its point and gradient: the optimiser's memory is the differences of the last few (optimise/lbfgs.py).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from keyfluid.controllers.interface import Problem, Shell, Stopped
from keyfluid.controllers.keyframes.evaluation import Evaluation, optimiser_bytes
from keyfluid.controllers.keyframes.replay import replay
from keyfluid.controllers.keyframes.settings import Settings
from keyfluid.controllers.keyframes.stages import Stage, carry, plan_stages
from keyfluid.errors import KeyfluidError
from keyfluid.optimise.lbfgs import Iterate, Lbfgs, Minimisation

_FIRST_STEP = 0.02
"""Speed of the first trial, of the longest side crossed in the time to the last keyframe: small, or it ends in a
valley of its own making (the letter F at 64^2: 0.3 reached in 8 evaluations, with ten times as much in 27)."""


_PER_EVALUATION = 3.0
"""Simulations' work of an evaluation, its line search included (docs/benchmarks.md: gradient over forward)."""


class Keyframes:
    """The controller."""

    def memory_bytes(self, problem: Problem) -> int:
        settings = Settings.of(problem)
        last = plan_stages(problem, settings)[-1]
        return Evaluation(last, settings).plan.total_bytes

    def simulations(self, problem: Problem) -> float:
        """An evaluation is a simulation and its adjoint; a coarser grid's is cheaper by its cells."""
        stages = plan_stages(problem, Settings.of(problem))
        return sum(_PER_EVALUATION * s.iterations * s.problem.grid.count for s in stages) / problem.grid.count

    def plan_lines(self, problem: Problem) -> Sequence[str]:
        """What will be searched, and what that takes."""
        settings = Settings.of(problem)
        stages = plan_stages(problem, settings)
        control, timing = stages[-1].control, stages[-1].control.timing
        plan = Evaluation(stages[-1], settings).plan
        return [
            f"{control.count:,} unknowns ({timing.count} x {control.basis.count:,}, {control.nbytes / 1e6:.1f} MB; "
            f"with the optimiser's vectors {optimiser_bytes(control, settings.history) / 1e6:.1f} MB)",
            str(plan),
            "stages: " + "; ".join(f"{stage.label} (at most {stage.iterations} iterations)" for stage in stages),
        ]

    def run(self, problem: Problem, shell: Shell) -> None:
        settings = Settings.of(problem)
        stages = plan_stages(problem, settings)
        begun, state, values = self._restored(shell, stages, settings)
        vector = stages[begun].control.zeros() if state is None else state.now.x
        for number, stage in enumerate(stages[begun:], begun):
            if number > begun:
                vector = carry(vector, stages[number - 1].control, stage.control)
            search = _Search(shell, settings, stages, number)
            state = search.go(vector, state, values) if number == begun else search.go(vector)
            vector = state.now.x
            search.film(vector)
            if number < len(stages) - 1:
                shell.show()

    def _restored(
        self, shell: Shell, stages: Sequence[Stage], settings: Settings
    ) -> tuple[int, Minimisation | None, dict[int, float]]:
        """The stage to go on with, where its search stands, and the values of its last iterates."""
        if shell.restored is None:
            return 0, None, {}
        meta, arrays = shell.restored.meta, shell.restored.arrays
        try:
            number = int(meta["stage"])
            values = {int(i): float(value) for i, value in meta["trail"].items()}
            trail = {
                i: Iterate(arrays[f"{number}-{i}/x"], value, arrays[f"{number}-{i}/g"]) for i, value in values.items()
            }
            state = optimiser_of(stages[number], settings, number).restore(
                trail, int(meta["evaluations"]), math.inf if meta["decrease"] is None else float(meta["decrease"])
            )
            return number, replace(state, stalled=str(meta["stalled"])), values
        except (KeyError, IndexError, AttributeError):
            raise KeyfluidError(
                "an optimisation has no frame to go on from: its forces are found for all frames at once; "
                "resume it without --from, or run the scene again with --overwrite"
            ) from None


def optimiser_of(stage: Stage, settings: Settings, number: int) -> Lbfgs:
    """L-BFGS with a first step of a speed that suits the scene; later stages begin near their end."""
    control, problem = stage.control, stage.problem
    seconds = control.timing.steps * control.timing.dt
    speed = _FIRST_STEP * max(problem.grid.size) / seconds
    if settings.time != "integrated":
        speed /= seconds
    length = speed * math.sqrt(control.timing.count) * (1.0 if number == 0 else 0.3)
    return Lbfgs(control.metric(), length, settings.history)


class _Search:
    """One stage: iterations until the objective falls too slowly, or the iterations are used up."""

    def __init__(self, shell: Shell, settings: Settings, stages: Sequence[Stage], number: int) -> None:
        self.shell, self.settings, self.number = shell, settings, number
        self.stage, self.label, self.final = stages[number], stages[number].label, stages[-1]
        self.before = sum(stage.iterations for stage in stages[:number])
        self.total = sum(stage.iterations for stage in stages)
        self.evaluation = Evaluation(self.stage, settings)
        self.optimiser = optimiser_of(self.stage, settings, number)
        self._values: dict[int, float] = {}

    def go(
        self, vector: np.ndarray, state: Minimisation | None = None, values: Mapping[int, float] | None = None
    ) -> Minimisation:
        """Search from a vector, or go on from a state whose last iterates had these values."""
        self._values = dict(values or {})
        if state is None:
            state = self.optimiser.start(vector, self.evaluation)
            self.shell.count(evaluations=state.evaluations)
            self._keep(state)
        while not self._done(state):
            if self.shell.stop_requested:
                raise Stopped
            before = state.evaluations
            state = self.optimiser.advance(state, self.evaluation)
            self.shell.count(1, state.evaluations - before)
            self._keep(state)
            if self.shell.show_due:
                self.film(state.now.x)
                self.shell.show()
        self._say_why(state)
        return state

    def film(self, vector: np.ndarray) -> None:
        """The scene with these forces, on its own grid."""
        there = self.final.problem
        control = self.stage.control if self.stage.problem is there else self.final.control
        replay(there, self.shell, control, carry(vector, self.stage.control, control))

    def _done(self, state: Minimisation) -> bool:
        """Tang's rule: the relative decrease of an iteration falls under tau [section 4.2]."""
        if state.stalled or state.iteration >= self.stage.iterations:
            return True
        return 0 <= state.decrease < self.settings.tau

    def _keep(self, state: Minimisation) -> None:
        shell, now = self.shell, state.now
        error = self.evaluation.error if self.evaluation.evaluations else None
        done = self.before + state.iteration
        if error is not None:
            shell.log(iteration=done, objective=now.value, error=error, stage=self.number)
        self._values[state.iteration] = now.value
        meta = {
            "stage": self.number,
            "trail": {str(i): self._values[i] for i in state.iterates},
            "evaluations": state.evaluations,
            "decrease": state.decrease if math.isfinite(state.decrease) else None,
            "stalled": state.stalled,
        }
        keep = [f"{self.number}-{i}" for i in state.iterates]
        shell.checkpoint({"x": now.x, "g": now.gradient}, meta, part=f"{self.number}-{state.iteration}", keep=keep)
        shell.progress(done, self.total, "iteration", error, self.label)

    def _say_why(self, state: Minimisation) -> None:
        """A search that ended early tells its reason."""
        if not state.stalled or not self.evaluation.evaluations:
            return
        error, bound = self.evaluation.error, _bound(self.stage.problem)
        reason = state.stalled
        if bound is not None and error <= bound + 0.03:
            reason += "; the smoke is as close as a rearrangement of it can be"
        elif _mass_gap(self.stage.problem) > 0.05:
            reason += '; the targets do not hold the mass that is there: see keyframe.mass ("resize" makes them)'
        elif state.iteration == 0:
            reason += '; the smoke does not feel the target from so far: try gamma = "blur"'
        self.shell.note(f"{self.label}: {reason}")


def _bound(problem: Problem) -> float | None:
    bounds = [key.bound for key in problem.keyframes if key.bound is not None]
    return max(bounds, default=None)


def _mass_gap(problem: Problem) -> float:
    """Largest relative difference between a target's mass and the start's, where no source acts."""
    gaps = [0.0]
    for key in problem.keyframes:
        if key.mask is None and not problem.sources:
            there = float(np.sum(problem.densities[key.field].data, dtype=np.float64))
            gaps.append(abs(float(np.sum(key.target, dtype=np.float64)) / there - 1) if there > 0 else 1.0)
    return max(gaps)
