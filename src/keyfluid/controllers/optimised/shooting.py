"""`schedule = "shooting"`: layered multiple shooting [Treuille et al. 2003; McNamara 2004, section 5].

    round 0       the windows of layer 0, each from the keyframe at its first frame, at rest
    round n       the windows of layer n mod 2, each from the state that the other layer has there and with its
                  forces, to the keyframes and to the other layer's state at its end, with a penalty that rises
    until         the jump from one window's end to the next one's start is below 1 %, or the rounds are used up
    closing       the last layer once more, in order, each window from where the one before really ended (closing.py)

The windows of a round do not depend on each other: they may be solved at once (workers.py), and only one of them has
to be in memory. The goal at a window's end is ours: without it a window knows nothing of the keyframes after it, and
the layers keep undoing each other's work. After the closing the film is one simulation: there is no jump in it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace

import numpy as np

from keyfluid.controllers.method import Workers
from keyfluid.controllers.optimised.closing import Closing
from keyfluid.controllers.optimised.edited import own_forces
from keyfluid.controllers.optimised.evaluation import SHARE, Goal, memory_plan
from keyfluid.controllers.optimised.forces import JoinedForces
from keyfluid.controllers.optimised.layers import keyframes_at_rest, plan_layers
from keyfluid.controllers.optimised.replay import replay
from keyfluid.controllers.optimised.settings import SearchNumbers
from keyfluid.controllers.optimised.stages import Stage, plan_stages
from keyfluid.controllers.optimised.window_task import WindowFound, WindowJob, WindowTask
from keyfluid.controllers.optimised.windows import Window
from keyfluid.controllers.optimised.workers import Solver, solving
from keyfluid.controllers.shell import Checkpoint, Shell
from keyfluid.errors import BlowUp, KeyfluidError
from keyfluid.fields import Field
from keyfluid.grid import Kind
from keyfluid.models.state import State
from keyfluid.problem import Problem
from keyfluid.problem.kept import items, whole
from keyfluid.threads import threads

AGREE = 0.01
"""Layers agree when no jump exceeds this share of what is there."""

_PENALTY, _RISE = 1.0, 3.0
"""The penalty for missing the other layer's state in round 1, and its rise from round to round."""


@dataclass(frozen=True)
class Seam:
    """The largest jump between two windows, of densities and of velocity, relative to what is there."""

    density: float
    velocity: float


@dataclass(frozen=True, eq=False)
class Round:
    """A layer's windows as far as they are solved; the closing comes after the last one and has the next number."""

    number: int
    found: list[WindowFound]
    closing: bool


class Shooting:
    """The rounds of one run; stages: those of every window of both layers."""

    def __init__(
        self, problem: Problem, settings: SearchNumbers, stages: Sequence[Sequence[Stage]], workers: int, shell: Shell
    ) -> None:
        self.problem, self.settings, self.workers, self.shell = problem, settings, workers, shell
        self.layers = plan_layers(problem, settings.span)
        self.controls = {found[-1].window: found[-1].control for found in stages}
        self.logged = 0
        """Points of the course so far, those at the start of each search included."""

    def run(self) -> None:
        """The rounds from where the checkpoint stands, the closing, and the film."""
        before, now = self._restored()
        if now.closing and before is None:  # all that a finished run keeps
            replay(
                self.problem, self.shell, self._forces(now, now.found), self.problem.frames, final=self.problem.frames
            )
            return
        job, shell = WindowJob(self.problem, self.settings), self.shell
        with solving(job, self.workers, lambda: shell.stop_requested, shell.hire) as solve:
            closed: Iterator[WindowFound] | None = None
            while not now.closing:
                after = Round(now.number + 1, [], now.number + 1 == self.settings.rounds)
                found = self._solved(before, now, after, solve)
                self._keep_left(before, now, found)
                seam = self._seam(now)
                self._tell(now, seam)
                agreed = now.number > 0 and max(seam.density, seam.velocity) < AGREE
                closed = found if after.closing else None
                before, now = now, replace(after, closing=after.closing or agreed)
            assert before is not None
            self._keep_left(before, now, closed or self._solved(None, before, now, solve))
            self._tell(now, self._seam(now))
        replay(
            self.problem, self.shell, self._forces(before, now.found), self.problem.frames, final=self.problem.frames
        )

    def _layer(self, of: Round) -> list[Window]:
        """The closing is of the layer before it."""
        return self.layers[(of.number - of.closing) % 2]

    def _left(self, of: Round) -> list[Window]:
        """The windows of a round that are not solved."""
        return self._layer(of)[len(of.found) :]

    def _solved(self, before: Round | None, now: Round, after: Round, solve: Solver) -> Iterator[WindowFound]:
        """What is left of a round, every window from the round before; then all of the closing, if it comes after."""
        if before is None:
            tasks = [self._first_task(window) for window in self._left(now)]
        else:
            tasks = [self._task(before, now.number, window) for window in self._left(now)]
        if not after.closing:
            return solve(tasks)
        closing = Closing(self._layer(now), now.found, after.found, self._search)
        return solve(tasks or closing.ready(), closing.follow)

    def _keep_left(self, before: Round | None, now: Round, found: Iterator[WindowFound]) -> None:
        for window in self._left(now):
            self._keep(before, now, window, next(found))

    def _first_task(self, window: Window) -> WindowTask:
        start = keyframes_at_rest(self.problem, window.first) if window.first > self.layers[0][0].first else None
        return self._search(window, start, None, None)

    def _task(self, before: Round, number: int, window: Window) -> WindowTask:
        states = {frame: state for found in before.found for frame, state in found.states.items()}
        start = states[window.first] if window.first > self.layers[0][0].first else None
        goal = Goal(states[window.last], _penalty(number)) if window.last < self.layers[0][-1].last else None
        forces = self._forces(before, before.found)
        control = self.controls[window]
        guess = control.timing.sets_of(np.stack([forces.coefficients(step) for step in control.timing.controlled]))
        return self._search(window, start, goal, guess.ravel())

    def _search(self, window: Window, start: State | None, goal: Goal | None, guess: np.ndarray | None) -> WindowTask:
        return WindowTask(window, start, goal, guess, self._wanted(window))

    def _wanted(self, window: Window) -> tuple[int, ...]:
        """The window's ends, and where the other layer is cut."""
        cuts = {other.first for layer in self.layers for other in layer}
        inside = {frame for frame in cuts if window.first < frame < window.last}
        return tuple(sorted({window.first, window.last, *inside}))

    def _forces(self, of: Round, found: Sequence[WindowFound]) -> JoinedForces:
        steps = self.problem.steps_per_frame or 1
        forces = JoinedForces(steps, own_forces(self.problem), self.settings.paths)
        for window, one in zip(self._layer(of), found):
            forces = forces.and_then(self.controls[window], one.vector, window)
        return forces

    def _seam(self, now: Round) -> Seam:
        """The largest jumps from the end of a window to the start of the next."""
        density, velocity = [0.0], [0.0]
        for window, ending, next_one in zip(self._layer(now), now.found, now.found[1:]):
            end, start = ending.states[window.last], next_one.states[window.last]
            density += [_jump(end[name], start[name]) for name in self.problem.densities]
            velocity.append(_jump(end["velocity"], start["velocity"]))
        return Seam(max(density), max(velocity))

    def _tell(self, now: Round, seam: Seam) -> None:
        shell = self.shell
        name = "closing" if now.closing else f"round {now.number}"
        shell.log(round=now.number, closing=now.closing, seam_density=seam.density, seam_velocity=seam.velocity)
        if now.number > 0:
            shell.note(
                f"{name}: jumps between windows of {seam.density:.2%} in density, {seam.velocity:.2%} in velocity"
            )
        if shell.show_due:
            began = time.perf_counter()
            with suppress(BlowUp):
                replay(self.problem, shell, self._forces(now, now.found), self.problem.frames)
            shell.show(began)

    def _keep(self, before: Round | None, now: Round, window: Window, found: WindowFound) -> None:
        """Log and save a window; the round before stays saved until this one is complete."""
        shell, place = self.shell, len(now.found)
        for objective, error, stage in found.course:
            shell.log(
                iteration=self.logged, objective=objective, error=error, stage=stage, window=place, round=now.number
            )
            self.logged += 1
        shell.count(found.iterations, found.evaluations)
        now.found.append(found)
        arrays = {"x": found.vector}
        for frame, state in found.states.items():
            arrays.update({f"{frame}.{name}": field.data for name, field in state.items()})
        keep = [_part(of, i) for of in (before, now) if of is not None for i in range(len(of.found))]
        meta = {"round": now.number, "closing": now.closing, "done": len(now.found), "logged": self.logged}
        shell.checkpoint(arrays, meta, _part(now, place), keep)
        error = found.course[-1][1]
        shell.progress(*self._progress(now), "window", error, f"round {now.number}", errors=found.errors)

    def _progress(self, now: Round) -> tuple[int, int]:
        """Windows solved, and those of all rounds and the closing if no round is spared."""
        rounds = self.settings.rounds
        before = sum(len(self.layers[number % 2]) for number in range(now.number))
        left = sum(len(self.layers[number % 2]) for number in range(now.number, rounds))
        closing = len(self._layer(now)) if now.closing else len(self.layers[(rounds - 1) % 2])
        return before + len(now.found), before + (0 if now.closing else left) + closing

    def _restored(self) -> tuple[Round | None, Round]:
        checkpoint = self.shell.restored
        if checkpoint is None:
            return None, Round(0, [], False)
        try:
            number, closing = whole(checkpoint.meta, "round"), bool(whole(checkpoint.meta, "closing"))
            if "found" in checkpoint.meta:
                vectors = [checkpoint.arrays[f"{part}/x"] for part in items(checkpoint.meta, "found")]
                return None, Round(number, [WindowFound(vector, {}) for vector in vectors], closing)
            before = Round(number - 1, [], False)
            if number > 0:
                before.found.extend(self._read(checkpoint, before, i) for i in range(len(self._layer(before))))
            self.logged = whole(checkpoint.meta, "logged")
            now = Round(number, [], closing)
            now.found.extend(self._read(checkpoint, now, i) for i in range(whole(checkpoint.meta, "done")))
        except KeyError:
            raise KeyfluidError("the checkpoint does not fit the scene; run the scene again with --overwrite") from None
        return (before if number > 0 else None), now

    def _read(self, checkpoint: Checkpoint, of: Round, place: int) -> WindowFound:
        part, arrays, problem = _part(of, place), checkpoint.arrays, self.problem
        names = {**dict.fromkeys(problem.carried, Kind.CENTRES), "velocity": Kind.FACES}
        states: Mapping[int, State] = {
            frame: {name: Field(problem.grid, kind, arrays[f"{part}/{frame}.{name}"]) for name, kind in names.items()}
            for frame in self._wanted(self._layer(of)[place])
        }
        return WindowFound(arrays[f"{part}/x"], states)


def only_forces_of_rounds(last: Checkpoint) -> Checkpoint:
    """The last checkpoint of a finished run without the states between windows: the vectors that were found."""
    try:
        closing = Round(whole(last.meta, "round"), [], bool(whole(last.meta, "closing")))
        found = [_part(closing, place) for place in range(whole(last.meta, "done"))]
        arrays = {f"{part}/x": last.arrays[f"{part}/x"] for part in found}
    except KeyError:
        return last
    if not closing.closing:
        return last
    return Checkpoint(arrays, {"round": closing.number, "closing": True, "found": found})


def share_memory(
    problem: Problem, settings: SearchNumbers, elsewhere: Workers | None = None
) -> tuple[int, SearchNumbers]:
    """How many windows may be solved at once, one thread each, and the settings with each one's share of memory."""
    windows = plan_layers(problem, settings.span)
    if elsewhere is not None:
        budget = settings.budget if settings.budget is not None else int(SHARE * elsewhere.memory_bytes)
        return min(elsewhere.count, max(map(len, windows))), replace(settings, budget=budget)
    need = max(
        memory_plan(plan_stages(problem, settings, window)[-1], replace(settings, budget=None)).total_bytes
        for window in windows[0] + windows[1]
    )
    limit = settings.budget
    if limit is None and problem.memory_limit_bytes is not None:
        limit = int(SHARE * problem.memory_limit_bytes)
    count = min(threads(), max(map(len, windows)))
    if limit is None:
        return count, settings
    count = max(1, min(count, limit // need))
    return count, replace(settings, budget=limit // count)


def _penalty(number: int) -> float:
    return _PENALTY * _RISE ** (number - 1)


def _jump(end: Field, start: Field) -> float:
    size = max(end.norm(), start.norm())
    return (end - start).norm() / size if size > 0 else 0.0


def _part(of: Round, place: int) -> str:
    return f"{'closing' if of.closing else of.number}-{place}"
