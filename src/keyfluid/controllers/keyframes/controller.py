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
from dataclasses import dataclass, field, replace

import numpy as np

from keyfluid.controllers.interface import Problem, Shell, Stopped
from keyfluid.controllers.keyframes.evaluation import Evaluation, optimiser_bytes
from keyfluid.controllers.keyframes.replay import replay, state_after
from keyfluid.controllers.keyframes.settings import Settings
from keyfluid.controllers.keyframes.stages import Stage, carry, plan_stages
from keyfluid.controllers.keyframes.windows import Pieces, plan_windows
from keyfluid.errors import KeyfluidError
from keyfluid.models.stage import State
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
        return max(
            Evaluation(plan_stages(problem, settings, window)[-1], settings).plan.total_bytes
            for window in plan_windows(problem, settings.schedule)
        )

    def simulations(self, problem: Problem) -> float:
        """An evaluation is a simulation and its adjoint; a coarser grid's is cheaper by its cells."""
        settings = Settings.of(problem)
        work = 0.0
        for window in plan_windows(problem, settings.schedule):
            share = (window.last - window.first) / problem.frames
            for stage in plan_stages(problem, settings, window):
                work += share * stage.iterations * stage.problem.grid.count / problem.grid.count
        return _PER_EVALUATION * work

    def plan_lines(self, problem: Problem) -> Sequence[str]:
        """What will be searched, and what that takes."""
        settings = Settings.of(problem)
        windows = plan_windows(problem, settings.schedule)
        longest = max(windows, key=lambda window: window.last - window.first)
        stages = plan_stages(problem, settings, longest)
        control, timing = stages[-1].control, stages[-1].control.timing
        lines = [
            f"{control.count:,} unknowns ({timing.count} x {control.basis.count:,}, {control.nbytes / 1e6:.1f} MB; "
            f"with the optimiser's vectors {optimiser_bytes(control, settings.history) / 1e6:.1f} MB)",
            str(Evaluation(stages[-1], settings).plan),
            "stages: " + "; ".join(f"{stage.label} (at most {stage.iterations} iterations)" for stage in stages),
        ]
        if len(windows) > 1:
            spans = ", ".join(f"{window.first}-{window.last}" for window in windows)
            lines.append(f"{len(windows)} windows one after the other, frames {spans}; the numbers are the longest's")
        return lines

    def run(self, problem: Problem, shell: Shell) -> None:
        settings = Settings.of(problem)
        windows = plan_windows(problem, settings.schedule)
        plans = [plan_stages(problem, settings, window) for window in windows]
        place = _restored(shell, plans, settings)
        pieces, kept = Pieces(), [*place.found]
        for number, stages in enumerate(plans):
            if number < place.window:
                pieces = pieces.and_then(stages[-1].control, place.found[kept[number]])
                continue
            start = state_after(problem, pieces, windows[number].first) if number > 0 else None
            vector = place.state.now.x if place.state is not None else stages[place.stage].control.zeros()
            for rank in range(place.stage, len(stages)):
                if rank > place.stage:
                    vector = carry(vector, stages[rank - 1].control, stages[rank].control)
                search = _Search(shell, settings, plans, _Here(number, rank, pieces, tuple(kept), start))
                state = search.go(vector, place)
                vector = state.now.x
                search.film(vector)
                if stages[rank] is not plans[-1][-1]:
                    shell.show()
                place = replace(place, state=None)
            pieces = pieces.and_then(stages[-1].control, vector)
            kept.append(_part(number, len(stages) - 1, state.iteration))
            place = _Place()


@dataclass(frozen=True, eq=False)
class _Place:
    """Where a run stands: the window, the stage, its search, and the vectors of the windows before."""

    window: int = 0
    stage: int = 0
    state: Minimisation | None = None
    values: Mapping[int, float] = field(default_factory=dict)
    found: Mapping[str, np.ndarray] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class _Here:
    """What a search is a part of: its window and stage, the forces before it, their parts of the checkpoint, and the
    state they end in."""

    window: int
    rank: int
    pieces: Pieces
    kept: tuple[str, ...]
    start: State | None


def _restored(shell: Shell, plans: Sequence[Sequence[Stage]], settings: Settings) -> _Place:
    if shell.restored is None:
        return _Place()
    meta, arrays = shell.restored.meta, shell.restored.arrays
    try:
        window, stage = int(meta["window"]), int(meta["stage"])
        values = {int(i): float(value) for i, value in meta["trail"].items()}
        parts = {i: _part(window, stage, i) for i in values}
        trail = {i: Iterate(arrays[f"{parts[i]}/x"], value, arrays[f"{parts[i]}/g"]) for i, value in values.items()}
        decrease = math.inf if meta["decrease"] is None else float(meta["decrease"])
        state = optimiser_of(plans[window][stage], settings, stage).restore(trail, int(meta["evaluations"]), decrease)
        found = {part: arrays[f"{part}/x"] for part in meta["kept"]}
        return _Place(window, stage, replace(state, stalled=str(meta["stalled"])), values, found)
    except (KeyError, IndexError, AttributeError):
        raise KeyfluidError(
            "an optimisation has no frame to go on from: its forces are found for all frames at once; "
            "resume it without --from, or run the scene again with --overwrite"
        ) from None


def _part(window: int, stage: int, iteration: int) -> str:
    return f"{window}-{stage}-{iteration}"


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

    def __init__(self, shell: Shell, settings: Settings, plans: Sequence[Sequence[Stage]], here: _Here) -> None:
        self.shell, self.settings, self.here = shell, settings, here
        stages = plans[here.window]
        self.stage, self.final = stages[here.rank], stages[-1]
        self.label = self.stage.label
        earlier = [stage for stages in plans[: here.window] for stage in stages] + list(stages[: here.rank])
        self.before = sum(stage.iterations for stage in earlier)
        self.total = sum(stage.iterations for stages in plans for stage in stages)
        self.evaluation = Evaluation(self.stage, settings, here.start)
        self.optimiser = optimiser_of(self.stage, settings, here.rank)
        self._values: dict[int, float] = {}

    def go(self, vector: np.ndarray, place: _Place) -> Minimisation:
        """Search from a vector, or go on from where the place says."""
        state = place.state
        self._values = dict(place.values) if state is not None else {}
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
        replay(there, self.shell, self.here.pieces.and_then(control, carry(vector, self.stage.control, control)))

    def _done(self, state: Minimisation) -> bool:
        """Tang's rule: the relative decrease of an iteration falls under tau [section 4.2]."""
        if state.stalled or state.iteration >= self.stage.iterations:
            return True
        return 0 <= state.decrease < self.settings.tau

    def _keep(self, state: Minimisation) -> None:
        shell, now, window, rank = self.shell, state.now, self.here.window, self.here.rank
        error = self.evaluation.error if self.evaluation.evaluations else None
        done = self.before + state.iteration
        if error is not None:
            shell.log(iteration=done, objective=now.value, error=error, stage=rank, window=window)
        self._values[state.iteration] = now.value
        meta = {
            "window": window,
            "stage": rank,
            "kept": self.here.kept,
            "trail": {str(i): self._values[i] for i in state.iterates},
            "evaluations": state.evaluations,
            "decrease": state.decrease if math.isfinite(state.decrease) else None,
            "stalled": state.stalled,
        }
        keep = [*self.here.kept, *(_part(window, rank, i) for i in state.iterates)]
        shell.checkpoint({"x": now.x, "g": now.gradient}, meta, _part(window, rank, state.iteration), keep)
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
