"""Who pulls the smoke when: the keyframes in their turns, each made ready when its turn comes (goal.py)."""

from __future__ import annotations

import math
from itertools import pairwise

from keyfluid.controllers.islands import smoke_for, way_to_far_islands
from keyfluid.controllers.target.goal import make_goal
from keyfluid.controllers.target.motion import target_motion
from keyfluid.controllers.target.settings import DENSE_GAP, FAR_NARROWING, TargetNumbers
from keyfluid.controllers.turns import Turn, acting, turns
from keyfluid.errors import SceneError
from keyfluid.models.pull import Pull
from keyfluid.models.state import State
from keyfluid.operators.blur import gaussian_blur
from keyfluid.problem import Problem


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
        self._before = {turn: before for plan in self.turns.values() for before, turn in pairwise(plan)}
        self._kept: dict[str, tuple[Turn, Pull]] = {}

    @property
    def lines(self) -> list[str]:
        """What is not as usual, for the person who waits."""
        return [
            f"{turn.key.path}: parts of it are far from the smoke; reach {numbers.reach:.2g}, strength "
            f"{numbers.strength:.3g}"
            for turn, numbers in self._numbers.items()
            if numbers.narrowing == FAR_NARROWING
        ]

    def _numbers_of(self, name: str, index: int) -> TargetNumbers:
        """The settings of a turn, by how far its smoke has to go: the start or the target before, and what sources
        give until its frame."""
        problem, plan, settings = self.problem, self.turns[name], self.settings.of_field(name)
        turn = plan[index]
        if turn.frames / problem.fps <= DENSE_GAP:
            return settings
        here = problem.densities[name].array if index == 0 else plan[index - 1].key.target
        smoke = smoke_for(problem, name, here, turn.first, turn.key.frame)
        if not smoke.any() or not turn.key.target.any():
            return settings
        full = max(problem.peaks[name], float(here.max()))
        return settings.reaching(way_to_far_islands(problem.grid, smoke, turn.key.target, full))

    def begins(self, name: str, frame: int) -> bool:
        """Whether a target takes over from the frame before to this one."""
        turn = acting(self.turns[name], frame)
        return turn is not None and turn.first == frame - 1

    def pulls(self, frame: int) -> dict[str, Pull]:
        """The goals that act between the frame before and this one; after the last one those of the last one."""
        found = {}
        frame = min(frame, self.problem.frames)
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
            before, motion = self._before.get(turn), None
            if settings.follow and before is not None and seconds <= DENSE_GAP:
                motion = target_motion(problem.grid, goal, blur, before.key, turn.key, problem.fps)
            kept = self._kept[name] = (turn, Pull(goal, coefficients, width, blur, motion))
        return kept[1]

    def error(self, frame: int, state: State) -> float | None:
        """|rho - rho*| / |rho*| over all fields that are steered; None when none is."""
        miss = whole = 0.0
        for name, pull in self.pulls(frame).items():
            gap = state[name] - pull.goal.target
            miss += gap.dot(gap)
            whole += pull.goal.target.dot(pull.goal.target)
        return math.sqrt(miss / whole) if whole > 0 else None
