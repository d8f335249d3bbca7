"""`control.tidy`: in the last frames before a keyframe, stray smoke is taken back to it (operators/take_back.py).

    at the keyframe k         stray share s: 1 farther than 4 cells from the target, and fading from there to its edge,
                              or a cut would show (controllers/stray.py)
    frame k - n + j, j <= n   s and the target are carried back from k along the air: what will be stray, and where
                              smoke will be at its target; of the stray smoke x^2 (3 - 2 x) is taken back, x = j / n

So smoke that is still on its way stays alone, nothing pops, what is taken moves with the air, and at the keyframe
nothing is stray. The simulation up to the keyframe is the one that was optimised, untouched; from there it goes
on with the tidy smoke, and so does the search for the next window. `gathered` of a frame is the share of all smoke
that has been taken back for the keyframe: what was not physics.

Frames that lead to a keyframe begin after the keyframe, picture or flow before it, where windows may be cut: a film
that is made from there on has the same bits as a whole one.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace

import numpy as np

from keyfluid.controllers.optimised.settings import OptimisedSettings
from keyfluid.controllers.stray import fading_away_from
from keyfluid.fields import Field, density
from keyfluid.operators.advect import Advect
from keyfluid.operators.take_back import TakeBack
from keyfluid.problem import FrameRecord, Keyframe, Problem, gathered_name


class Tidying:
    """Takes the frames of a film in order and gives them back when they are tidy.

    held: frames that wait for their keyframe
    """

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        assert isinstance(problem.control, OptimisedSettings)
        self.held: list[FrameRecord] = []
        self._keys: dict[int, list[Keyframe]] = {}
        self._next: dict[int, int] = {}
        """The keyframe that a frame leads to."""
        if problem.control.tidy > 0:
            self._plan(problem.control.tidy)

    def _plan(self, frames: int) -> None:
        problem = self.problem
        for key in problem.keyframes:
            if not key.empty:
                self._keys.setdefault(key.frame, []).append(key)
        first = 0 if problem.edit is None else problem.edit.first
        others = {item.frame for items in (problem.keyframes, problem.pictures, problem.flows) for item in items}
        for frame in self._keys:
            before = max([first, *(other for other in others if other < frame)])
            self._next |= dict.fromkeys(range(max(before, frame - frames) + 1, frame + 1), frame)

    @property
    def ends(self) -> Collection[int]:
        """Frames from which the simulation goes on with tidy smoke."""
        return self._keys.keys()

    @property
    def held_bytes(self) -> int:
        """What the frames of one keyframe take: state, mean force, and the velocities of all steps."""
        problem = self.problem
        faces, frames = problem.velocity.nbytes, list(self._next.values())
        carried = len(problem.carried) * problem.grid.count * problem.dtype.itemsize
        most = max((frames.count(frame) for frame in self._keys), default=0)
        return most * (carried + (2 + (problem.steps_per_frame or 1)) * faces)

    def take(self, record: FrameRecord) -> list[FrameRecord]:
        """The frames that are ready: none while a keyframe is awaited, all that led to it when it comes. The
        simulation goes on from the last one's state."""
        if record.index not in self._next:
            return [record]
        self.held.append(record)
        if record.index not in self._keys:
            return []
        ready, self.held = self.held, []
        for key in self._keys[record.index]:
            ready = self._tidied(ready, key)
        return ready

    def _tidied(self, records: list[FrameRecord], key: Keyframe) -> list[FrameRecord]:
        problem, name = self.problem, gathered_name(self.problem.densities, key.field)
        region = 1.0 if key.mask is None else key.mask
        stray = density(problem.grid, region * fading_away_from(problem.grid, key.target), problem.dtype)
        target = density(problem.grid, region * key.target, problem.dtype)
        found = []
        for place in range(len(records), 0, -1):
            record = records[place - 1]
            bodies = problem.solids(record.index / problem.fps)
            if bodies is not None:
                target = target.like(np.where(bodies.solid.ravel(), target.dtype.type(0), target.data))
            smoke, back = record.state[key.field], TakeBack(problem.grid, _eased(place / len(records)))
            state = {**record.state, key.field: back.forward(smoke, stray, target)[0]}
            share = record.numbers.get(name, 0.0) + back.moved(smoke, stray)
            found.append(replace(record, state=state, numbers={**record.numbers, name: share}))
            stray, target = self._one_frame_back(record, stray, target)
        return found[::-1]

    def _one_frame_back(self, record: FrameRecord, stray: Field, target: Field) -> tuple[Field, Field]:
        """What lies where the air of a frame will carry it."""
        for seconds, velocity in reversed(record.carriers):
            advect = Advect(self.problem.grid, seconds, self.problem.engine.order)
            stray, target = advect.forward(stray, target, -velocity)
        return stray, target


def _eased(x: float) -> float:
    return x * x * (3 - 2 * x)
