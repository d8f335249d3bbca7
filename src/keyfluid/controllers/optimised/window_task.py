"""One window solved by itself: all that goes in and all that comes out, so that another process can do it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field

import numpy as np

from keyfluid.controllers.optimised.evaluation import Evaluation, Goal
from keyfluid.controllers.optimised.minimise import Entry, Watch, WindowSearch, solve_window
from keyfluid.controllers.optimised.settings import SearchNumbers
from keyfluid.controllers.optimised.stages import plan_stages
from keyfluid.controllers.optimised.windows import Window
from keyfluid.controllers.shell import Stopped
from keyfluid.models.state import State
from keyfluid.optimise.lbfgs import Minimisation
from keyfluid.problem import Problem


@dataclass(frozen=True, eq=False)
class WindowTask:
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
class WindowFound:
    """What a window has found; course: (objective, error, stage) of every iteration; errors: of its keyframes, by key
    path."""

    vector: np.ndarray
    states: Mapping[int, State]
    course: tuple[tuple[float, float, int], ...] = ()
    iterations: int = 0
    evaluations: int = 0
    errors: Mapping[str, float] = field(default_factory=dict)


class _Course(Watch):
    """(objective, error, stage) of every iteration of a search, and what it took."""

    evaluation: Evaluation

    def __init__(self, stop: Callable[[], bool]) -> None:
        self._stop = stop
        self.points: list[tuple[float, float, int]] = []
        self.iterations = self.evaluations = 0

    def stop_if_asked(self) -> None:
        if self._stop():
            raise Stopped

    def iterated(self, rank: int, state: Minimisation, evaluation: Evaluation) -> None:
        self.evaluation = evaluation
        self.points.append((state.now.value, evaluation.error, rank))

    def finished(self, rank: int, state: Minimisation) -> None:
        self.iterations += state.iteration
        self.evaluations += state.evaluations


def solve(task: WindowTask, stop: Callable[[], bool] = lambda: False) -> WindowFound:
    """Minimise, stage by stage; raises Stopped between two iterations when asked to stop."""
    stages = plan_stages(task.problem, task.settings, task.window)
    entry = Entry(0, stages[0].control.zeros()) if task.guess is None else Entry(len(stages) - 1, task.guess)
    course = _Course(stop)
    x = solve_window(WindowSearch(stages, task.settings, task.start, task.goal), entry, course).best.x
    errors = course.evaluation.errors
    states = course.evaluation.states(x, task.wanted)
    return WindowFound(x, states, tuple(course.points), course.iterations, course.evaluations, errors)
