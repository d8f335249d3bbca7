"""One minimisation: a stage of a window."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

import numpy as np

from keyfluid.controllers.keyframes.evaluation import Evaluation
from keyfluid.controllers.keyframes.places import Place, optimiser_of, part_name
from keyfluid.controllers.keyframes.replay import replay
from keyfluid.controllers.keyframes.settings import SearchNumbers
from keyfluid.controllers.keyframes.stages import Stage, carry
from keyfluid.controllers.keyframes.windows import Pieces
from keyfluid.controllers.shell import Shell, Stopped
from keyfluid.errors import BlowUp
from keyfluid.models.state import State
from keyfluid.optimise.lbfgs import Minimisation
from keyfluid.problem import Problem


@dataclass(frozen=True, eq=False)
class Here:
    """What a search is a part of: its window and stage, the forces before it, their parts of the checkpoint, and the
    state they end in."""

    window: int
    rank: int
    pieces: Pieces
    kept: tuple[str, ...]
    start: State | None


class Search:
    """One stage: iterations until the objective falls too slowly, or the iterations are used up."""

    def __init__(self, shell: Shell, settings: SearchNumbers, plans: Sequence[Sequence[Stage]], here: Here) -> None:
        self.shell, self.settings, self.here = shell, settings, here
        stages = plans[here.window]
        self.stage, self.final = stages[here.rank], stages[-1]
        self.label = self.stage.label
        self.windows = [(stages[-1].window.first, stages[-1].window.last) for stages in plans]
        earlier = [stage for stages in plans[: here.window] for stage in stages] + list(stages[: here.rank])
        self.before = sum(stage.iterations for stage in earlier)
        self.total = sum(stage.iterations for stages in plans for stage in stages)
        self.evaluation = Evaluation(self.stage, settings, here.start)
        self.optimiser = optimiser_of(self.stage, settings, here.rank)
        self._values: dict[int, float] = {}
        self._error: float | None = None

    def go(self, vector: np.ndarray, place: Place) -> Minimisation:
        """Search from a vector, or go on from where the place says."""
        state = place.state
        self._values = dict(place.values) if state is not None else {}
        self._error = place.error if state is not None else None
        if state is None:
            if self.here.window == 0 and self.here.rank == 0:
                self.evaluation.require_sense(vector)
            state = self.optimiser.start(vector, self.evaluation)
            self.shell.count(evaluations=state.evaluations)
            self._keep(state)
        while not settled(state, self.stage.iterations, self.settings.tau):
            if self.shell.stop_requested:
                raise Stopped
            before = state.evaluations
            state = self.optimiser.advance(state, self.evaluation)
            self.shell.count(1, state.evaluations - before)
            self._keep(state)
            if self.shell.show_due:
                began = time.perf_counter()
                self.preview(state.best.x)
                self.shell.show(began)
        self._say_why(state)
        return state

    def preview(self, vector: np.ndarray) -> None:
        """A film on the way; forces that the search has yet to tame are no reason to end it."""
        with suppress(BlowUp):
            self.film(vector)

    def film(self, vector: np.ndarray, final: int = 0) -> None:
        """The scene with these forces, on its own grid; frames before this window stay as they are.

        final: see replay.
        """
        there = self.final.problem
        control = self.stage.control if self.stage.problem is there else self.final.control
        pieces = self.here.pieces.and_then(control, carry(vector, self.stage.control, control))
        first, start = self.final.window.first, self.here.start
        after = (first, start) if start is not None and self.shell.has_frames(first) else None
        replay(there, self.shell, pieces, after, final)

    def _keep(self, state: Minimisation) -> None:
        shell, now, window, rank = self.shell, state.now, self.here.window, self.here.rank
        if self.evaluation.evaluations:
            self._error = self.evaluation.error
        done, error = self.before + state.iteration, self._error
        if error is not None:
            shell.log(iteration=done, objective=now.value, error=error, stage=rank, window=window)
        self._values[state.iteration] = now.value
        meta = {
            "windows": self.windows,
            "window": window,
            "stage": rank,
            "kept": self.here.kept,
            "trail": {str(i): self._values[i] for i in state.iterates},
            "best": self._values[state.lowest],
            "evaluations": state.evaluations,
            "decrease": state.decrease if math.isfinite(state.decrease) else None,
            "stalled": state.stalled,
            "error": error,
            "lowest": state.lowest,
        }
        keep = [*self.here.kept, *(part_name(window, rank, i) for i in sorted({*state.iterates, state.lowest}))]
        shell.checkpoint({"x": now.x, "g": now.gradient}, meta, part_name(window, rank, state.iteration), keep)
        shell.progress(done, self.total, "iteration", error, self.label)

    def _say_why(self, state: Minimisation) -> None:
        """A search that ended early tells its reason."""
        if not state.stalled:
            return
        bound = _bound(self.stage.problem)
        reason = state.stalled
        if bound is not None and self._error is not None and self._error <= bound + 0.03:
            reason += "; the smoke is as close as a rearrangement of it can be"
        elif _mass_gap(self.stage.problem) > 0.05:
            reason += '; the targets do not hold the mass that is there: see keyframe.mass ("resize" makes them)'
        elif state.iteration == 0:
            reason += '; the smoke does not feel the target from so far: try gamma = "blur"'
        self.shell.note(f"{self.label}: {reason}")


def settled(state: Minimisation, iterations: int, tau: float) -> bool:
    """Tang's rule: the relative decrease of an iteration falls under tau [section 4.2]."""
    return bool(state.stalled) or state.iteration >= iterations or 0 <= state.decrease < tau


def _bound(problem: Problem) -> float | None:
    bounds = [key.bound for key in problem.keyframes if key.bound is not None]
    return max(bounds, default=None)


def _mass_gap(problem: Problem) -> float:
    """Largest relative difference between a target's mass and the start's, where no source acts."""
    gaps = [0.0]
    for key in problem.keyframes:
        if key.mask is None and not problem.sources:
            there = float(np.sum(problem.amount(problem.densities[key.field].data), dtype=np.float64))
            gaps.append(abs(float(np.sum(key.target, dtype=np.float64)) / there - 1) if there > 0 else 1.0)
    return max(gaps)
