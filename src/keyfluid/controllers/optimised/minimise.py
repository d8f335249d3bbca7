"""One window: its stages, each minimised by L-BFGS from where the one before ended [McNamara 2004, section 4]."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keyfluid.controllers.optimised.evaluation import Evaluation, Goal
from keyfluid.controllers.optimised.handover import on_next_stage
from keyfluid.controllers.optimised.settings import SearchNumbers
from keyfluid.controllers.optimised.stages import Stage
from keyfluid.fields import Field
from keyfluid.models.state import State
from keyfluid.optimise.lbfgs import Lbfgs, Minimisation

_FIRST_STEP = 0.02
"""Speed of the first trial, of the longest side crossed in the time to the last keyframe: small, or it ends in a
valley of its own making (the letter F at 64^2: 0.3 reached in 8 evaluations, with ten times as much in 27)."""


@dataclass(frozen=True, eq=False)
class WindowSearch:
    """A window to be solved: its stages, the state it begins in (None: the scene's start) and one it should end in.

    check_start: require that the fluid makes sense before any force is found
    """

    stages: Sequence[Stage]
    settings: SearchNumbers
    start: State | None = None
    goal: Goal | None = None
    check_start: bool = True

    def handed_on(self, x: np.ndarray, rank: int, to: int) -> np.ndarray:
        """A vector of one stage in the variables of another, later one."""
        before, after = self.stages[rank], self.stages[to]

        def carriers() -> Sequence[Field]:
            return Evaluation(before, self.settings, self.start, self.goal).carriers(x)

        return on_next_stage(x, before, after, carriers, self.start)


@dataclass(frozen=True, eq=False)
class Entry:
    """Where a window's search begins: a vector of a stage's control, or its minimisation under way."""

    rank: int
    x: np.ndarray
    state: Minimisation | None = None
    error: float | None = None
    """Relative error of the last evaluation of a minimisation under way."""


class Watch(ABC):
    """Sees a search from outside; raises Stopped to end it."""

    @abstractmethod
    def stop_if_asked(self) -> None:
        """Called before every iteration."""

    @abstractmethod
    def iterated(self, rank: int, state: Minimisation, evaluation: Evaluation) -> None:
        """Called at the start of a stage and after every iteration."""

    @abstractmethod
    def finished(self, rank: int, state: Minimisation) -> None:
        """Called at the end of a stage."""


def solve_window(search: WindowSearch, entry: Entry, watch: Watch) -> Minimisation:
    """The loop over stages; gives the last one's minimisation."""
    stages, x, state = search.stages, entry.x, entry.state
    for rank in range(entry.rank, len(stages)):
        if rank > entry.rank:
            x, state = search.handed_on(x, rank - 1, rank), None
        error = entry.error if rank == entry.rank else None
        state = _minimise(search, Entry(rank, x, state, error), watch)
        x = state.best.x
        watch.finished(rank, state)
    assert state is not None
    return state


def _minimise(search: WindowSearch, entry: Entry, watch: Watch) -> Minimisation:
    """One stage: iterations until the objective falls too slowly, or the iterations are used up."""
    stage, settings, state = search.stages[entry.rank], search.settings, entry.state
    evaluation = Evaluation(stage, settings, search.start, search.goal)
    optimiser = optimiser_of(stage, settings, entry.rank)
    if state is None:
        if search.check_start and entry.rank == 0:
            evaluation.require_sense(entry.x)
        state = optimiser.start(entry.x, evaluation.trial)
        watch.iterated(entry.rank, state, evaluation)
    while not _settled(state, stage, evaluation.error if evaluation.evaluations else entry.error):
        watch.stop_if_asked()
        state = optimiser.advance(state, evaluation.trial)
        watch.iterated(entry.rank, state, evaluation)
    return state


def _settled(state: Minimisation, stage: Stage, error: float | None) -> bool:
    """Tang's rule, the relative decrease of an iteration falls under tau [section 4.2], or an error that is accurate
    enough, or too many evaluations that gain next to nothing."""
    most = stage.most if error is not None and error > stage.hard else stage.iterations
    if state.stalled or state.iteration >= most or 0 <= state.decrease < stage.tau or state.idle >= stage.patience:
        return True
    return error is not None and state.iteration > 0 and error < stage.accuracy


def optimiser_of(stage: Stage, settings: SearchNumbers, number: int) -> Lbfgs:
    """L-BFGS with a first step of a speed that suits the scene; later stages begin near their end."""
    control, problem = stage.control, stage.problem
    seconds = control.timing.steps * control.timing.dt
    speed = _FIRST_STEP * max(problem.grid.size) / seconds
    if settings.time != "integrated":
        speed /= seconds
    length = speed * math.sqrt(control.timing.count) * (1.0 if number == 0 else 0.3)
    usual = problem.fluid.search(problem)
    return Lbfgs(control.metric(), length, settings.history, usual.trials, usual.slack)
