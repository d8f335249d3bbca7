"""One window: its stages, each minimised by L-BFGS from where the one before ended [McNamara 2004, section 4]."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keyfluid.controllers.optimised.evaluation import Evaluation, Goal
from keyfluid.controllers.optimised.settings import SearchNumbers
from keyfluid.controllers.optimised.stages import Stage
from keyfluid.controllers.optimised.unknowns import carry
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


@dataclass(frozen=True, eq=False)
class Entry:
    """Where a window's search begins: a vector of a stage's control, or its minimisation under way."""

    rank: int
    x: np.ndarray
    state: Minimisation | None = None


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
            x, state = carry(x, stages[rank - 1].control, stages[rank].control), None
        state = _minimise(search, Entry(rank, x, state), watch)
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
        state = optimiser.start(entry.x, evaluation)
        watch.iterated(entry.rank, state, evaluation)
    while not _settled(state, stage.iterations, settings.tau):
        watch.stop_if_asked()
        state = optimiser.advance(state, evaluation)
        watch.iterated(entry.rank, state, evaluation)
    return state


def _settled(state: Minimisation, iterations: int, tau: float) -> bool:
    """Tang's rule: the relative decrease of an iteration falls under tau [section 4.2]."""
    return bool(state.stalled) or state.iteration >= iterations or 0 <= state.decrease < tau


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
