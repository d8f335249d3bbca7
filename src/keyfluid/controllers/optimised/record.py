"""What a run keeps of its search: checkpoints, log, progress, and films on the way."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import suppress

import numpy as np

from keyfluid.controllers.optimised.evaluation import Evaluation
from keyfluid.controllers.optimised.forces import JoinedForces
from keyfluid.controllers.optimised.minimise import Watch, WindowSearch
from keyfluid.controllers.optimised.position import Position, part_name
from keyfluid.controllers.optimised.replay import replay
from keyfluid.controllers.optimised.stages import Stage
from keyfluid.controllers.optimised.windows import Window
from keyfluid.controllers.shell import Shell, Stopped
from keyfluid.errors import BlowUp
from keyfluid.models.state import State
from keyfluid.optimise.lbfgs import Minimisation
from keyfluid.problem import Problem
from keyfluid.problem.kept import Meta


class SearchWork:
    """Work of the searches of all windows, in iterations weighed by their cost: for the time left."""

    def __init__(self, windows: Sequence[Sequence[Stage]]) -> None:
        self._windows = windows
        self._done = 0.0

    def at(self, window: int, rank: int, iteration: int) -> tuple[float, float]:
        """Done in this process, and left at most, after an iteration; stages that end early leave work undone."""
        stage = self._windows[window][rank]
        self._done += stage.cost if iteration > 0 else 0.0
        later = [*self._windows[window][rank + 1 :], *(one for stages in self._windows[window + 1 :] for one in stages)]
        most = stage.iterations if iteration < stage.iterations else stage.most
        left = (most - iteration) * stage.cost
        return self._done, left + sum(one.iterations * one.cost for one in later)


class SearchRecord(Watch):
    """The record of one window's search.

    windows: the stages of all windows, of which this is number `window`
    forces: those of the windows before, whose parts of the checkpoint are `kept`
    position: where the run stood when this search began
    """

    def __init__(
        self,
        shell: Shell,
        windows: Sequence[Sequence[Stage]],
        window: int,
        search: WindowSearch,
        forces: JoinedForces,
        kept: Sequence[str],
        position: Position,
        work: SearchWork,
    ) -> None:
        self._work = work
        self.shell, self.search, self.stages = shell, search, search.stages
        self.window, self.is_last = window, window + 1 == len(windows)
        self.forces, self.kept = forces, tuple(kept)
        self.final = self.stages[-1]
        self._spans = [_numbers(stages[-1].window) for stages in windows]
        self.end: State | None = None
        """The state at the window's end, once it is solved."""
        self._before = sum(stage.most for stages in windows[:window] for stage in stages)
        self._total = sum(stage.most for stages in windows for stage in stages)
        self._values = dict(position.values)
        self._error = position.error
        self._errors: dict[str, float] = {}
        self._evaluations = 0 if position.state is None else position.state.evaluations

    def stop_if_asked(self) -> None:
        if self.shell.stop_requested:
            raise Stopped

    def iterated(self, rank: int, state: Minimisation, evaluation: Evaluation) -> None:
        shell, begins = self.shell, state.iteration == 0
        if begins:
            self._values, self._evaluations = {}, 0
        shell.count(0 if begins else 1, state.evaluations - self._evaluations)
        self._evaluations = state.evaluations
        if evaluation.evaluations:
            self._error, self._errors = evaluation.error, evaluation.errors
        self._keep(rank, state)
        if not begins and shell.show_due:
            self._show(rank, state.best.x)

    def finished(self, rank: int, state: Minimisation) -> None:
        if state.stalled:
            self.shell.note(f"{self.stages[rank].label}: {self._reason(rank, state)}")
        if rank + 1 < len(self.stages):
            if self.shell.show_worth:
                self._show(rank, state.best.x)
            return
        self._film(rank, state.best.x, self.final.problem.frames if self.is_last else self.final.window.last)
        if not self.is_last:
            self.shell.show()

    def _show(self, rank: int, x: np.ndarray) -> None:
        began = time.perf_counter()
        self._preview(rank, x)
        self.shell.show(began)

    def _preview(self, rank: int, x: np.ndarray) -> None:
        """A film on the way; forces that the search has yet to tame are no reason to end it."""
        with suppress(BlowUp):
            self._film(rank, x)

    def _film(self, rank: int, x: np.ndarray, final: int = 0) -> None:
        """The scene with these forces, on its own grid; frames before this window stay as they are.

        final: see replay.
        """
        stage, there = self.stages[rank], self.final.problem
        if stage.problem is not there:
            x, stage = self.search.handed_on(x, rank, len(self.stages) - 1), self.final
        forces = self.forces.and_then(stage.control, x, stage.window)
        first, start = self.final.window.first, self.search.start
        after = (first, start) if start is not None and self.shell.has_frames(first) else None
        until = there.frames if self.is_last else self.final.window.last
        self.end = replay(there, self.shell, forces, until, after, final)

    def _keep(self, rank: int, state: Minimisation) -> None:
        shell, now, window, error = self.shell, state.now, self.window, self._error
        done = self._before + sum(stage.most for stage in self.stages[:rank]) + state.iteration
        if error is not None:
            shell.log(iteration=done, objective=now.value, error=error, stage=rank, window=window)
        self._values[state.iteration] = now.value
        meta: Meta = {
            "windows": self._spans,
            "window": window,
            "stage": rank,
            "kept": self.kept,
            "trail": {str(i): self._values[i] for i in state.iterates},
            "best": self._values[state.lowest],
            "evaluations": state.evaluations,
            "decrease": state.decrease if math.isfinite(state.decrease) else None,
            "stalled": state.stalled,
            "error": error,
            "lowest": state.lowest,
            "marked": state.mark[0],
            "mark": state.mark[1],
        }
        keep = [*self.kept, *(part_name(window, rank, i) for i in sorted({*state.iterates, state.lowest}))]
        shell.checkpoint({"x": now.x, "g": now.gradient}, meta, part_name(window, rank, state.iteration), keep)
        work = self._work.at(window, rank, state.iteration)
        shell.progress(done, self._total, "iteration", error, self.stages[rank].label, work, self._errors)

    def _reason(self, rank: int, state: Minimisation) -> str:
        """Why a search ended early."""
        problem = self.stages[rank].problem
        bound = max((key.bound for key in problem.keyframes if key.bound is not None), default=None)
        if bound is not None and self._error is not None and self._error <= bound + 0.03:
            return f"{state.stalled}; the smoke is as close as a rearrangement of it can be"
        if _mass_gap(problem) > 0.05:
            return f'{state.stalled}; the targets need another mass than the smoke has: set keyframe.mass = "resize"'
        if state.iteration == 0:
            return f'{state.stalled}; the target is too far off to attract the smoke: try control.gamma = "blur"'
        return state.stalled


def _numbers(window: Window) -> tuple[int, ...]:
    """A window in a checkpoint."""
    return (window.first, window.last, window.ahead) if window.ahead else (window.first, window.last)


def _mass_gap(problem: Problem) -> float:
    """Largest relative difference between a target's mass and the start's, where no source acts."""
    gaps = [0.0]
    for key in problem.keyframes:
        if key.mask is None and not problem.sources:
            start = problem.fluid.amount(problem.densities[key.field].data, problem.grid.spacing)
            there = float(np.sum(start, dtype=np.float64))
            gaps.append(abs(float(np.sum(key.target, dtype=np.float64)) / there - 1) if there > 0 else 1.0)
    return max(gaps)
