"""The objective of a stage as a function of its control vector, with its gradient by the adjoint method.

phi(u) = phi_keys(q(u)) + shear + sum_t penalty(M_t u)                     [McNamara 2004, eq. 2; Tang 2021, eq. 6]
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from keyfluid.controllers.optimised.edited import own_forces
from keyfluid.controllers.optimised.gifts import SceneGifts
from keyfluid.controllers.optimised.on_grid import state_on
from keyfluid.controllers.optimised.settings import SearchNumbers
from keyfluid.controllers.optimised.stages import Stage
from keyfluid.controllers.optimised.windows import Window, cut_frames
from keyfluid.controls import ControlForcing
from keyfluid.errors import BlowUp, OverBudget, SceneError
from keyfluid.fields import Field
from keyfluid.models.state import State
from keyfluid.objectives import (
    DensityKey,
    DensityMatch,
    ForcePenalty,
    PictureKey,
    PictureMatch,
    Scaled,
    ShearPenalty,
    SumOfObjectives,
    VelocityKey,
    VelocityMatch,
    root_mean_square,
)
from keyfluid.objectives.carried import CarriedObjective
from keyfluid.objectives.match import worst_by_key
from keyfluid.operators.follow_paths import FollowPaths
from keyfluid.problem import Clock, Problem
from keyfluid.rollout import MemoryPlan, Rollout
from keyfluid.rollout.allocation import choose_allocation
from keyfluid.rollout.rollout import Carriers, Model, Objective

_EASED, _EASE = 0.1, 1.0
"""Share of a window whose air is tied to what it began with, and the penalty in its first step. A short tie keeps the
turn at a seam below the usual, and a longer one takes time from the smoke (a ring that becomes a heart after three
other shapes, at 128^2: error 0.108 with a share of 0.25, 0.093 with 0.1)."""
_SHORT = 4
"""Frames below which a window is tied to nothing."""
_LEAST_EASED = 0.1
"""Speed below which a change counts no more, of the longest side in the time of the window."""

SHARE = 0.6
"""Share of the machine's memory that an optimisation takes unless the scene gives control.memory."""


def picture_keys(problem: Problem, window: Window) -> list[PictureKey]:
    """The pictures of a window by step."""
    steps = problem.steps_per_frame or 1
    return [
        PictureKey(picture.frame * steps, picture.field, picture.view, picture.wanted, picture.weight)
        for picture in problem.pictures
        if window.first < picture.frame <= window.seen
    ]


def velocity_keys(problem: Problem, window: Window) -> list[VelocityKey]:
    """The velocities of a window by step."""
    steps = problem.steps_per_frame or 1
    return [
        VelocityKey(flow.frame * steps, flow.velocity, flow.mask, flow.speed, flow.weight)
        for flow in problem.flows
        if window.first < flow.frame <= window.seen
    ]


def easing_keys(stage: Stage, velocity: Field) -> list[VelocityKey]:
    """The velocity that a window begins with, as a target of its first steps, less and less: the air of one window goes
    over into the next one's without a jolt. None for windows of a few frames, or that begin at rest."""
    problem, window = stage.problem, stage.window
    steps = problem.steps_per_frame or 1
    seconds = (window.last - window.first) / problem.fps
    speed = max(root_mean_square(velocity), _LEAST_EASED * max(problem.grid.size) / seconds)
    frames = window.last - window.first
    count = max(2, round(_EASED * frames) * steps) if frames >= _SHORT and np.any(velocity.data) else 0
    everywhere = velocity.like(np.ones_like(velocity.data))
    first = window.first * steps
    return [
        VelocityKey(first + step, velocity, everywhere, speed, _EASE * (1 - step / count) ** 2)
        for step in range(1, count)
    ]


def goal_terms(problem: Problem, window: Window, goal: Goal) -> tuple[list[Scaled], list[Scaled]]:
    """The distance of the window's last state to another, each field by its own size, at the goal's penalty: of
    densities, and of the velocity."""
    step = window.last * (problem.steps_per_frame or 1)
    state = state_on(problem, goal.state)
    keys = [DensityKey(step, name, state[name]) for name in problem.densities if np.any(state[name].data)]
    velocity = state["velocity"]
    speed = root_mean_square(velocity)
    wanted = [Scaled(DensityMatch([key]), goal.penalty) for key in keys]
    if speed == 0:
        return wanted, []
    everywhere = velocity.like(np.ones_like(velocity.data))
    return wanted, [Scaled(VelocityMatch([VelocityKey(step, velocity, everywhere, speed)]), goal.penalty)]


def optimiser_bytes(stage: Stage, history: int) -> int:
    """Point, gradient, direction, trial, its gradient, metric, and the pairs that the stage's iterations leave."""
    return (6 + 2 * min(history, stage.most)) * stage.control.nbytes


@dataclass(frozen=True, eq=False)
class Goal:
    """A state that a window should end in, beside its keyframes, and what a miss costs."""

    state: State
    penalty: float


def memory_plan(stage: Stage, settings: SearchNumbers) -> MemoryPlan:
    """What an evaluation of a stage will hold."""
    return _rollout(stage, settings, model_of(stage)).plan


def model_of(stage: Stage) -> Model:
    """The model of an evaluation: where densities are carried along paths and the air does not feel them, air alone."""
    problem = stage.problem
    fluid, dt = problem.fluid.steps(problem), 1.0 / (problem.fps * (problem.steps_per_frame or 1))
    return fluid.air(dt) or fluid.model(dt) if stage.paths else fluid.model(dt)


def _rollout(stage: Stage, settings: SearchNumbers, model: Model) -> Rollout:
    problem, (steps, first) = stage.problem, _span(stage)
    limit = problem.memory_limit_bytes
    budget = settings.budget or (None if limit is None else int(SHARE * limit))
    vectors = optimiser_bytes(stage, settings.history)
    sheared = problem.velocity.data.nbytes if stage.shear > 0 else 0
    if stage.paths:
        longest = max((b - a) * (problem.steps_per_frame or 1) for a, b in pairwise(cut_frames(problem, stage.window)))
        follow = FollowPaths(problem.grid, 1.0, stage.paths)
        vectors += follow.nbytes(longest, problem.dtype.itemsize) + steps * problem.velocity.nbytes
    try:
        return Rollout(model, steps, budget, vectors, first, sheared)
    except OverBudget as error:
        raise SceneError("control.memory", str(error).removeprefix("memory: ")) from None


def _span(stage: Stage) -> tuple[int, int]:
    """How many steps a stage's window has, and the number of its first."""
    steps = stage.problem.steps_per_frame or 1
    return (stage.window.seen - stage.window.first) * steps, stage.window.first * steps


class Evaluation:
    """Call it with a control vector: value and gradient.

    start: the state at the beginning of the stage's window, on the scene's grid; None: the scene's own.
    goal: what it should end in, on the scene's grid; None: whatever the keyframes leave.
    """

    def __init__(
        self, stage: Stage, settings: SearchNumbers, start: State | None = None, goal: Goal | None = None
    ) -> None:
        problem = stage.problem
        self.problem, self.control = problem, stage.control
        self.dt = 1.0 / (problem.fps * (problem.steps_per_frame or 1))
        self._fluid = problem.fluid.steps(problem)
        model = model_of(stage)
        steps, first = _span(stage)
        self._rollout = _rollout(stage, settings, model)
        limit = None if settings.budget is not None else problem.memory_limit_bytes
        choose_allocation(self._rollout.plan.total_bytes, limit)
        if start is None and problem.edit is not None:
            start = problem.edit.record(problem.edit.first).state
        self._under = own_forces(problem, keep=None)
        given = problem.start if start is None else state_on(problem, start)
        self._state = model.initial_state(
            **{name: given[name] for name in given if name in {*model.carried, "velocity"}}
        )
        pictures = picture_keys(problem, stage.window)
        pyramid = settings.levels if settings.gamma == "pyramid" else None
        span = (stage.window.first, stage.window.seen)
        self.match = problem.fluid.match(problem, span, stage.blur, pyramid, settings.far)
        self.looks = PictureMatch(pictures) if pictures else None
        flows = velocity_keys(problem, stage.window)
        self.flows = VelocityMatch(flows) if flows else None
        shear = [ShearPenalty(stage.shear, steps, self.dt, first)] if stage.shear > 0 else []
        matches = [part for part in (self.match, self.looks) if part is not None]
        wanted, arrival = goal_terms(problem, stage.window, goal) if goal is not None else ([], [])
        seen: list[Objective] = [*matches, *wanted]
        felt: list[Objective] = [*([self.flows] if self.flows else []), *arrival, *shear]
        if settings.paths and start is not None and problem.edit is None:
            felt.append(VelocityMatch(easing_keys(stage, self._state["velocity"])))
        self._along: CarriedObjective | None = None
        if stage.paths and seen:
            gifts = SceneGifts(problem, self.dt)
            follow = FollowPaths(problem.grid, self.dt, stage.paths, gifts.fade)
            start = {name: given[name].astype(problem.dtype) for name in problem.densities}
            restarts = [frame * (problem.steps_per_frame or 1) for frame in cut_frames(problem, stage.window)]
            self._along = CarriedObjective(SumOfObjectives(seen), follow, start, restarts, gifts.between)
            seen = []
        self._objective = SumOfObjectives([*seen, *felt])
        scale = sum(part.scale for part in matches) or 1.0
        cells = self.dt / problem.grid.spacing
        self._penalty = self._source_penalty = None
        if settings.alpha > 0 or settings.beta > 0:
            self._penalty = ForcePenalty(settings.alpha, settings.beta, (cells * self.dt) ** 2 / (2 * scale))
        if settings.sources and settings.source_alpha > 0:
            self._source_penalty = ForcePenalty(settings.source_alpha, 0.0, cells**2 / (2 * scale))
        self._rates = set(problem.densities) <= set(model.carried)
        self.evaluations = 0

    @property
    def error(self) -> float:
        """Relative error over all keyframes at the last evaluation; over all pictures, or velocities, if there are
        only those; 0 if there is nothing to reach."""
        if self.match is None:
            squares: list[tuple[float, float]] = []
            if self.looks is not None:
                squares = [(key.weight, self.looks.errors[i]) for i, key in enumerate(self.looks.keys)]
            elif self.flows is not None:
                squares = [(key.weight, self.flows.errors[i]) for i, key in enumerate(self.flows.keys)]
        else:
            weights = [key.weight for key in self.match.keys]
            squares = [(w * size, self.match.errors[i]) for i, (w, size) in enumerate(zip(weights, self.match.sizes))]
        total = sum(w for w, _ in squares)
        return math.sqrt(sum(w * e * e for w, e in squares) / total) if total > 0 else 0.0

    @property
    def errors(self) -> dict[str, float]:
        """Relative error of each keyframe at the last evaluation, by its key path."""
        if self.match is None:
            return {}
        keys = self.match.keys
        return worst_by_key((keys[place].path, error) for place, error in self.match.errors.items())

    def __call__(self, vector: np.ndarray) -> tuple[float, np.ndarray]:
        value, gradient = self.trial(vector)
        return value, gradient()

    def trial(self, vector: np.ndarray) -> tuple[float, Callable[[], np.ndarray]]:
        """The value, and what computes the gradient. Penalties on forces are known only after the way back, so with
        them it is always taken."""
        forcing = ControlForcing(self.control, vector, self._penalty, self._others, self._source_penalty)
        self.evaluations += 1
        try:
            found = self._rollout.evaluate(self._state, self._objective, forcing, self._along)
        except BlowUp:
            # Forces so strong that the simulation blows up: a point that the line search steps back from.
            return math.inf, lambda: forcing.gradient()[1]
        if self._penalty is not None or self._source_penalty is not None:
            found.gradient()
            penalty, vector_bar = forcing.gradient()
            return found.value + penalty, lambda: vector_bar

        def gradient() -> np.ndarray:
            found.gradient()
            return forcing.gradient()[1]

        return found.value, gradient

    def require_sense(self, vector: np.ndarray) -> None:
        """Raise BlowUp if the smoke has left all sense before the search begins: no force found later would help, and
        the gradients of such a flow mean nothing."""
        if not self.problem.fluid.search(self.problem).guarded:
            return

        def look(step: int, state: State) -> None:
            self.problem.fluid.cells_crossed(self.problem, state["velocity"].peak(), self.dt, step * self.dt)

        self._rollout.run(self._state, ControlForcing(self.control, vector, others=self._others), on_step=look)

    def states(self, vector: np.ndarray, frames: Iterable[int]) -> dict[int, State]:
        """The states at some frames of the window under the forces of a vector."""
        steps = self.problem.steps_per_frame or 1
        wanted = {frame: frame * steps for frame in frames}
        kept, carriers = self._simulated(vector, wanted.values())
        if self._along is None:
            return {frame: kept[step] for frame, step in wanted.items()}
        carried = self._along.densities(carriers, wanted.values())
        return {frame: {**kept[step], **carried[step]} for frame, step in wanted.items()}

    def carriers(self, vector: np.ndarray) -> list[Field]:
        """The velocities that move the fluid under the forces of a vector, one for each step of the window."""
        return self._simulated(vector, ())[1]

    def _simulated(self, vector: np.ndarray, keep: Iterable[int]) -> tuple[dict[int, State], list[Field]]:
        """States after some numbers of steps, and the velocities that move the fluid in each step."""
        seen = Carriers()
        forcing = ControlForcing(self.control, vector, others=self._others)
        return self._rollout.run(self._state, forcing, keep=keep, observe=seen), seen.velocities

    def _others(self, step: int) -> dict[str, Field]:
        inputs = self._fluid.rates(Clock(step, self.dt)) if self._rates else {}
        under = self._under(step) if self._under is not None else None
        return inputs if under is None else {**inputs, "force": under}
