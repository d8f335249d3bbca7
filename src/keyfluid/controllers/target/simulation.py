"""Target-driven smoke or liquid, frame by frame: state, `frame()`, and parameters that may change between frames.

The run loop in controller.py stores what a frame returns; LiveRun (runs/live.py) steps one by hand. Smoke goes through
the six fractional steps of models/driven_smoke.py; with advection = "smooth", and as a liquid, it marches with the
scene's own fluid (controllers/march.py) under the driving force.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from keyfluid.controllers.march import one_frame, restored_state
from keyfluid.controllers.shell import Checkpoint, Stopped, Watcher
from keyfluid.controllers.step_size import too_many_steps
from keyfluid.controllers.target.driven import driven_smoke
from keyfluid.controllers.target.goals import Goals
from keyfluid.controllers.target.liquid import LiquidTarget
from keyfluid.controllers.target.settings import TargetNumbers, TargetSettings
from keyfluid.fields import Field
from keyfluid.fluids.liquid.fluid import LiquidFluid
from keyfluid.fluids.smoke.steps import SmokeWatch
from keyfluid.grid import Kind
from keyfluid.models.driven_smoke import DrivenInputs, DrivenSmoke
from keyfluid.models.pull import Pull
from keyfluid.models.state import State
from keyfluid.problem import Advance, Clock, FrameRecord, Keyframe, Problem
from keyfluid.problem.kept import Meta, number, table, whole
from keyfluid.threads import one_thread_below

MOST_STEPS = 20_000
"""Sub-steps of a frame beyond which something has blown up."""

SERIAL_CELLS = 1 << 15
"""Below this many cells one thread is done before two have met."""

MOST_CARRIERS = 16
"""Velocities of a frame that are kept for the report; more sub-steps than that are averaged in pairs."""

_OF_THE_MODEL = ("turbulence", "width", "equalise", "advection")
"""Settings that driven.py puts into the model."""


class TargetSimulation:
    """`state` is where it is, `steps` how many steps led there, `gathered` the mass moved in the target's turn."""

    def __init__(self, problem: Problem, numbers: TargetNumbers) -> None:
        self.problem, self.numbers = problem, numbers
        self.state: State = problem.start
        self.steps = 0
        self.gathered: dict[str, float] = {}
        self._model: DrivenSmoke | None = None
        self._prepare()

    def _prepare(self) -> None:
        """The targets, by keyframes and settings."""
        problem, numbers = self.problem, self.numbers
        self._smooth: SmoothSteps | None = None
        self.goals: Goals | LiquidTarget
        if isinstance(problem.fluid, LiquidFluid):
            self.goals = LiquidTarget(problem, numbers.strength, numbers.damping, numbers.release)
        else:
            self.goals = Goals(problem, numbers)

    @property
    def lines(self) -> Sequence[str]:
        """What is not as usual, for the person who waits."""
        return self.goals.lines

    @property
    def marches(self) -> bool:
        """Whether frames are cut into steps as the scene says."""
        return isinstance(self.goals, LiquidTarget) or self.numbers.advection == "smooth"

    @property
    def model(self) -> DrivenSmoke:
        """Made when smoke first needs it."""
        if self._model is None:
            self._model = driven_smoke(self.problem, self.numbers)
        return self._model

    def begin(self) -> FrameRecord:
        """Frame 0."""
        self.state, self.steps, self.gathered = self.problem.start, 0, {}
        if self.marches:
            return FrameRecord(0, self.state, memory={"steps": 0})
        self.state = self.model.projected(self.state)
        return FrameRecord(0, self.state, memory={"steps": 0, "gathered": {}})

    def restore(self, kept: Checkpoint) -> int:
        """Go on from a checkpoint; returns its frame."""
        self.state, self.steps = restored_state(self.problem, kept), whole(kept.meta, "steps")
        if not self.marches:
            masses = table(kept.meta, "gathered")
            self.gathered = {name: number(masses, name) for name in masses}
        return whole(kept.meta, "frame")

    def change(self, control: TargetSettings) -> None:
        """New parameters from the next frame on."""
        before = self.numbers
        self.numbers = TargetNumbers.of(replace(self.problem, control=control))
        if any(getattr(before, key) != getattr(self.numbers, key) for key in _OF_THE_MODEL):
            self._model = None
        self._prepare()

    def retarget(self, keyframes: Sequence[Keyframe]) -> None:
        """Other targets from the next frame on."""
        self.problem = replace(self.problem, keyframes=keyframes)
        self._prepare()

    def frame(self, index: int, watch: Watcher) -> FrameRecord:
        """All steps from frame index - 1 to frame `index`; beyond the last one the last target stays."""
        if isinstance(self.goals, LiquidTarget):
            record = one_frame(self.problem, watch, self.goals.advance, index, self.steps, self.state)
        else:
            with one_thread_below(SERIAL_CELLS, self.problem.grid.count):
                record = self._smoke_frame(index, watch, self.goals)
        self.state, self.steps = record.state, whole(record.memory, "steps")
        return record

    def _smoke_frame(self, index: int, watch: Watcher, goals: Goals) -> FrameRecord:
        problem, model = self.problem, self.model
        if self.marches:
            self._smooth = self._smooth or SmoothSteps(problem, goals, model)
            return one_frame(problem, watch, self._smooth.advance, index, self.steps, self.state)
        pulls = goals.pulls(index)
        self.gathered = {name: mass for name, mass in self.gathered.items() if not goals.begins(name, index)}
        for name, rate in model.gathered(self.state, pulls, (index - 1) / problem.fps).items():
            self.gathered[name] = self.gathered.get(name, 0.0) + rate / problem.fps
        collected = _Frame(problem, index, self.state, self.steps)
        while not collected.done:
            if watch.stop_requested:
                raise Stopped
            collected.step(model, pulls)
        return collected.record(bool(pulls), dict(self.gathered))

    def error(self, index: int) -> float | None:
        """|rho - rho*| / |rho*| over all fields that are steered; None when none is, and of a liquid."""
        if isinstance(self.goals, LiquidTarget):
            return None
        with one_thread_below(SERIAL_CELLS, self.problem.grid.count):
            return self.goals.error(index, self.state)


class _Frame:
    """Takes the steps of one frame and collects what they did."""

    def __init__(self, problem: Problem, index: int, state: State, taken: int) -> None:
        self.problem, self.index, self.taken = problem, index, taken
        self.state = state
        self.length = 1.0 / problem.fps
        self.passed = 0.0
        self.count = 0
        self.impulse = Field.zeros(problem.grid, Kind.FACES, problem.dtype)
        self.carriers: list[tuple[float, Field]] = []
        self.emitted: dict[str, float] = {}
        self.dissipated: dict[str, float] = {}

    @property
    def time(self) -> float:
        return (self.index - 1) * self.length + self.passed

    @property
    def left(self) -> float:
        return self.length - self.passed

    @property
    def done(self) -> bool:
        return self.left <= 1e-9 * self.length

    def step(self, model: DrivenSmoke, pulls: Mapping[str, Pull]) -> None:
        """The next one."""
        inputs = DrivenInputs(pulls, self.time, self.left, self.impulse)
        watch = SmokeWatch(self.problem, self.time)
        self.state = model.step(self.state, inputs, self.taken + self.count, watch)
        self.passed += watch.seconds
        self.count += 1
        wanted = self.count + math.floor(max(self.left, 0.0) / watch.seconds)
        if wanted > MOST_STEPS:
            speed = watch.carrier.peak()
            raise too_many_steps(self.problem, self.index, speed, wanted, "lower control.strength or the velocities")
        self.carriers.append((watch.seconds, watch.carrier))
        if len(self.carriers) > 2 * MOST_CARRIERS:
            self.carriers = _paired(self.carriers)
        for total, more in ((self.emitted, watch.emitted), (self.dissipated, watch.dissipated)):
            for name, mass in more.items():
                total[name] = total.get(name, 0.0) + mass

    def record(self, steered: bool, gathered: dict[str, float]) -> FrameRecord:
        memory: Meta = {"steps": self.taken + self.count, "gathered": gathered}
        force = self.impulse * (1.0 / self.length) if steered else None
        return FrameRecord(self.index, self.state, force, self.carriers, self.emitted, memory, numbers=self.dissipated)


def _paired(carriers: list[tuple[float, Field]]) -> list[tuple[float, Field]]:
    """Neighbours averaged over their time; the last may stay alone."""
    result = []
    for (dt, u), (dt_next, u_next) in zip(carriers[::2], carriers[1::2]):
        total = dt + dt_next
        result.append((total, (u * (dt / total)).add_scaled(dt_next / total, u_next)))
    return result + carriers[2 * len(result) :]


class SmoothSteps:
    """The driving force on the differentiable engine."""

    def __init__(self, problem: Problem, plan: Goals, model: DrivenSmoke) -> None:
        self.plan, self.model = plan, model
        self.smoke = problem.fluid.steps(problem)
        self.fps = problem.fps

    def advance(self, state: State, clock: Clock) -> Advance:
        pulls = self.plan.pulls(math.floor(clock.time * self.fps + 1e-6) + 1)
        force = None
        if pulls:
            inputs = DrivenInputs(pulls, clock.time, clock.dt, state["velocity"].zeros_like())
            force = self.model.control_force(state, inputs, clock.dt)
        return self.smoke.advance(state, clock, force)
