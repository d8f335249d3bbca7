"""One window solved by itself: all that goes in and all that comes out, so that another process can do it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from keyfluid.controllers.keyframes.evaluation import Evaluation, Goal
from keyfluid.controllers.keyframes.places import optimiser_of
from keyfluid.controllers.keyframes.search import settled
from keyfluid.controllers.keyframes.settings import SearchNumbers
from keyfluid.controllers.keyframes.stages import carry, plan_stages
from keyfluid.controllers.keyframes.windows import Window
from keyfluid.controllers.shell import Stopped
from keyfluid.models.state import State
from keyfluid.problem import Problem


@dataclass(frozen=True, eq=False)
class Task:
    """A window from a state (None: the scene's start) to its keyframes and to a goal.

    guess: a vector of the last stage's control to begin from; the stages before it are then left out
    wanted: frames whose states should come back
    """

    problem: Problem
    settings: SearchNumbers
    window: Window
    start: State | None
    goal: Goal | None
    guess: np.ndarray | None
    wanted: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Found:
    """What a window has found; course: (objective, error, stage) of every iteration."""

    vector: np.ndarray
    states: Mapping[int, State]
    course: tuple[tuple[float, float, int], ...] = ()
    iterations: int = 0
    evaluations: int = 0


def solve(task: Task, stop: Callable[[], bool] = lambda: False) -> Found:
    """Minimise, stage by stage; raises Stopped between two iterations when asked to stop."""
    settings = task.settings
    stages = plan_stages(task.problem, settings, task.window)
    first = 0 if task.guess is None else len(stages) - 1
    vector = stages[first].control.zeros() if task.guess is None else task.guess
    course: list[tuple[float, float, int]] = []
    iterations = evaluations = 0
    for rank in range(first, len(stages)):
        stage = stages[rank]
        if rank > first:
            vector = carry(vector, stages[rank - 1].control, stage.control)
        evaluation = Evaluation(stage, settings, task.start, task.goal)
        optimiser = optimiser_of(stage, settings, rank)
        if rank == 0:
            evaluation.require_sense(vector)
        state = optimiser.start(vector, evaluation)
        course.append((state.now.value, evaluation.error, rank))
        while not settled(state, stage.iterations, settings.tau):
            if stop():
                raise Stopped
            state = optimiser.advance(state, evaluation)
            course.append((state.now.value, evaluation.error, rank))
        vector = state.best.x
        iterations += state.iteration
        evaluations += state.evaluations
    return Found(vector, evaluation.states(vector, task.wanted), tuple(course), iterations, evaluations)
