"""`method = "target"`: smoke driven to one target after the other in a single pass [Fattal & Lischinski 2004].

The six fractional steps are models/driven_smoke.py; goal.py makes a target ready, schedule.py says who acts when.
With advection = "smooth" the same force drives the differentiable engine at fixed steps, without gathering, so
that the forces alone repeat the run: a warm start for the optimisers. A liquid has a mode of its own, in liquid.py.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from keyfluid.controllers.islands import smoke_for, way_to_far_islands
from keyfluid.controllers.march import march, restored_state
from keyfluid.controllers.method import Method, OtherRuns, Plan
from keyfluid.controllers.shell import Shell, Stopped
from keyfluid.controllers.step_size import too_many_steps
from keyfluid.controllers.target.driven import driven_smoke
from keyfluid.controllers.target.goal import make_goal
from keyfluid.controllers.target.liquid import LiquidTarget
from keyfluid.controllers.target.settings import DENSE_GAP, DENSE_TIME, TargetNumbers
from keyfluid.controllers.turns import Turn, acting, turns
from keyfluid.errors import SceneError
from keyfluid.fields import Field
from keyfluid.fluids.liquid.fluid import LiquidFluid
from keyfluid.fluids.smoke.steps import SmokeWatch
from keyfluid.grid import Kind
from keyfluid.models.driven_smoke import CELLS_PER_STEP, DrivenInputs, DrivenSmoke
from keyfluid.models.pull import Pull
from keyfluid.models.state import State
from keyfluid.operators.blur import gaussian_blur
from keyfluid.problem import Advance, Clock, FrameRecord, Problem
from keyfluid.problem.kept import Meta, number, table, whole
from keyfluid.threads import one_thread_below

MOST_STEPS = 20_000
"""Sub-steps of a frame beyond which something has blown up."""

SERIAL_CELLS = 1 << 15
"""Below this many cells one thread is done before two have met."""

MOST_CARRIERS = 16
"""Velocities of a frame that are kept for the report; more sub-steps than that are averaged in pairs."""


USUAL_SPEED = 1.4
"""Speed of the fastest air, in sides of the domain per time to the target, the mean over a run; for estimates."""


@dataclass(frozen=True, eq=False, kw_only=True)
class TargetPlan(Plan):
    """goals: the targets in their turn; a liquid has a driver of its own."""

    numbers: TargetNumbers
    goals: Goals | LiquidTarget


class Target(Method):
    """The method."""

    def plan(self, problem: Problem, other_runs: OtherRuns) -> TargetPlan:
        """Memory: goals, forces, work arrays and the carriers of a frame."""
        faces = problem.grid.value_count(Kind.FACES) * problem.dtype.itemsize
        per_field = 2 * faces + 4 * problem.grid.count * 8
        memory = (2 * MOST_CARRIERS + 6) * faces + len(problem.densities) * per_field
        numbers = TargetNumbers.of(problem)
        goals: Goals | LiquidTarget
        lines: Sequence[str] = ()
        if isinstance(problem.fluid, LiquidFluid):
            goals = LiquidTarget(problem, numbers.strength, numbers.damping, numbers.release)
            lines = goals.lines
        else:
            goals = Goals(problem, numbers)
            lines = goals.lines()
        fixed = isinstance(goals, LiquidTarget) or numbers.advection == "smooth"
        steps = 0.0 if fixed else _likely_steps(problem, numbers)
        return TargetPlan(problem=problem, memory_bytes=memory, steps=steps, lines=lines, numbers=numbers, goals=goals)

    def run(self, plan: Plan, shell: Shell) -> None:
        assert isinstance(plan, TargetPlan)
        if isinstance(plan.goals, LiquidTarget):
            march(plan.problem, shell, plan.goals.advance)
            return
        with one_thread_below(SERIAL_CELLS, plan.problem.grid.count):
            self._run(plan.problem, plan.numbers, plan.goals, shell)

    def _run(self, problem: Problem, settings: TargetNumbers, goals: Goals, shell: Shell) -> None:
        model = driven_smoke(problem, settings)
        if settings.advection == "smooth":
            march(problem, shell, SmoothSteps(problem, goals, model).advance, goals.error)
            return
        frame, taken, gathered, state = _begin(problem, shell, model)
        while frame < problem.frames:
            frame += 1
            pulls = goals.pulls(frame)
            gathered = {name: mass for name, mass in gathered.items() if not goals.begins(name, frame)}
            for name, rate in model.gathered(state, pulls, (frame - 1) / problem.fps).items():
                gathered[name] = gathered.get(name, 0.0) + rate / problem.fps
            collected = _Frame(problem, frame, state, taken)
            while not collected.done:
                if shell.stop_requested:
                    raise Stopped
                collected.step(model, pulls)
            record = collected.record(bool(pulls), gathered)
            state, taken = collected.state, whole(record.memory, "steps")
            shell.frame(record)
            shell.log(frame=frame, **_shares(problem, state, gathered))
            shell.checkpoint(_arrays(state), {"frame": frame, **record.memory})
            shell.progress(frame, problem.frames, "frame", goals.error(frame, state))


class Goals:
    """Who pulls at a frame. Goals are made when their turn comes, and kept while it lasts."""

    def __init__(self, problem: Problem, settings: TargetNumbers) -> None:
        self.problem, self.settings = problem, settings
        self.turns: dict[str, list[Turn]] = {}
        for name in problem.densities:
            keys = [key for key in problem.keyframes if key.field == name]
            if not keys:
                raise SceneError(
                    "keyframe",
                    f"the smoke {name!r} has no target; give it a [[keyframe]] with field = {name!r}",
                )
            self.turns[name] = turns(keys, problem.frames, settings.release)
        self._numbers = {
            turn: self._numbers_of(name, i) for name in self.turns for i, turn in enumerate(self.turns[name])
        }
        self._kept: dict[str, tuple[Turn, Pull]] = {}

    def lines(self) -> list[str]:
        """What is not as usual, for the person who waits."""
        return [
            f"{turn.key.path}: parts of it are far from the smoke; reach {numbers.reach:.2g}, strength "
            f"{numbers.strength:.3g}"
            for turn, numbers in self._numbers.items()
            if numbers is not self.settings
        ]

    def _numbers_of(self, name: str, index: int) -> TargetNumbers:
        """The settings of a turn, by how far its smoke has to go: the start or the target before, and what sources
        give until its frame."""
        problem, plan = self.problem, self.turns[name]
        turn = plan[index]
        if turn.frames / problem.fps <= DENSE_GAP:
            return self.settings
        here = problem.densities[name].array if index == 0 else plan[index - 1].key.target
        smoke = smoke_for(problem, name, here, turn.first, turn.key.frame)
        if not smoke.any() or not turn.key.target.any():
            return self.settings
        full = max(problem.peaks[name], float(here.max()))
        return self.settings.reaching(way_to_far_islands(problem.grid, smoke, turn.key.target, full))

    def begins(self, name: str, frame: int) -> bool:
        """Whether a target takes over from the frame before to this one."""
        turn = acting(self.turns[name], frame)
        return turn is not None and turn.first == frame - 1

    def pulls(self, frame: int) -> dict[str, Pull]:
        """The goals that act between the frame before and this one."""
        found = {}
        for name, plan in self.turns.items():
            turn = acting(plan, frame)
            if turn is not None and turn.blend > 0:
                found[name] = self._pull(name, turn, frame)
        return found

    def _pull(self, name: str, turn: Turn, frame: int) -> Pull:
        problem, settings = self.problem, self._numbers[turn]
        seconds = turn.frames / problem.fps
        width = settings.width_at((frame - 1 - turn.first) / turn.frames, seconds)
        kept = self._kept.get(name)
        if kept is None or kept[0] is not turn or kept[1].width != width:
            goal = make_goal(
                problem.grid,
                turn.key.target,
                width,
                falloff=settings.falloff,
                hard=settings.hard,
                region=turn.key.mask,
                dtype=problem.dtype,
            )
            coefficients = settings.coefficients(seconds, problem.peaks[name], turn.blend, width)
            blur = gaussian_blur(problem.grid, width / math.sqrt(2))
            kept = self._kept[name] = (turn, Pull(goal, coefficients, width, blur))
        return kept[1]

    def error(self, frame: int, state: State) -> float | None:
        """|rho - rho*| / |rho*| over all fields that are steered; None when none is."""
        miss = whole = 0.0
        for name, pull in self.pulls(frame).items():
            gap = state[name] - pull.goal.target
            miss += gap.dot(gap)
            whole += pull.goal.target.dot(pull.goal.target)
        return math.sqrt(miss / whole) if whole > 0 else None


def _likely_steps(problem: Problem, numbers: TargetNumbers) -> float:
    """Steps of a frame, from the usual speed of smoke on its way; at most as many as carriers are kept."""
    keys = {key.frame for key in problem.keyframes}
    seconds = max(keys, default=1) / len(keys or (1,)) / problem.fps
    seconds = seconds if seconds > DENSE_GAP else DENSE_TIME
    speed = USUAL_SPEED * math.sqrt(numbers.strength) * numbers.side / seconds
    steps = speed / (problem.fps * CELLS_PER_STEP * problem.grid.spacing)
    return min(max(1.0, steps), 1.5 * MOST_CARRIERS)


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


def _begin(problem: Problem, shell: Shell, model: DrivenSmoke) -> tuple[int, int, dict[str, float], State]:
    if shell.restored is not None:
        meta = shell.restored.meta
        state = restored_state(problem, shell.restored)
        gathered = {name: number(table(meta, "gathered"), name) for name in table(meta, "gathered")}
        return whole(meta, "frame"), whole(meta, "steps"), gathered, dict(state)
    start = model.projected(problem.start)
    memory: Meta = {"steps": 0, "gathered": {}}
    shell.frame(FrameRecord(0, start, memory=memory))
    shell.checkpoint(_arrays(start), {"frame": 0, **memory})
    return 0, 0, {}, start


def _arrays(state: State) -> dict[str, np.ndarray]:
    return {name: field.data for name, field in state.items()}


def _shares(problem: Problem, state: State, gathered: dict[str, float]) -> dict[str, float]:
    """Mass that gathering has moved since the target took over, over the mass there is, per field."""
    result = {}
    for name in problem.densities:
        label = "gathered" if len(problem.densities) == 1 else f"gathered_{name}"
        result[label] = gathered.get(name, 0.0) / max(state[name].integral(), 1e-300)
    return result


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
