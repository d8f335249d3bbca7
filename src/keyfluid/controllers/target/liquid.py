"""Target-driven liquid: a keyframe's signed distance as a landscape that the liquid runs down.

    f = -k grad rho*  -  c v  -  gravity,     k = strength 16 D / T^2,   c = damping 8 / T

rho* is the target's signed distance, D the longest side of the domain, T the seconds the keyframe has. A free surface
at rest in a potential lies along one of its levels. So the liquid comes to rest where its surface has one value of
rho* everywhere, and with the target's volume that is the target's own surface: the levels of k rho* do what gravity's
do in a glass. Gravity is taken away meanwhile. In one pass; what the liquid can't do in time it has not done.

A keyframe that follows the one before within DENSE_GAP seconds, as in a hold or an animation, has that one's T: the
liquid is almost there, and 1 / T^2 of a single frame would tear it apart.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from keyfluid.controllers.target.settings import DENSE_GAP
from keyfluid.controllers.turns import Turn, acting, turns
from keyfluid.errors import SceneError
from keyfluid.fields import Field
from keyfluid.fluids.liquid.fluid import distance_wanted
from keyfluid.grid import Kind
from keyfluid.models.state import State
from keyfluid.operators.project import subtract_gradient
from keyfluid.problem import Advance, Clock, Problem

_PULL, _DAMP = 16.0, 8.0


class LiquidTarget:
    """advance(state, clock): one step towards the keyframe whose turn it is."""

    def __init__(self, problem: Problem, strength: float = 1.0, damping: float = 1.0, release: bool = False) -> None:
        keys = [key for key in problem.keyframes if key.mask is None]
        if not keys:
            raise SceneError("keyframe", "none asks for all of the liquid; this method needs a whole shape to reach")
        self.problem, self.fluid = problem, problem.fluid.steps(problem)
        self.strength, self.damping = strength, damping
        self.turns = turns(keys, problem.frames, release)
        self._seconds = seconds_of(self.turns, problem.fps)
        self._kept: tuple[Turn, int, Field] | None = None

    @property
    def lines(self) -> tuple[str, ...]:
        """What a run prints first: the weight that it takes away."""
        if self.problem.fluid.weight == 0 or not any(turn.blend > 0 for turn in self.turns):
            return ()
        free = self.turns[-1].last
        after = f"; it acts again after frame {free}" if free < self.problem.frames else ""
        return (
            f'method "target" switches gravity off while a keyframe acts on the liquid{after}; '
            'method "adjoint" keeps it on',
        )

    def advance(self, state: State, clock: Clock) -> Advance:
        frame = min(math.floor(clock.time * self.problem.fps + 1e-6) + 1, self.problem.frames)
        turn = acting(self.turns, frame)
        if turn is None or turn.blend == 0:
            return self.fluid.advance(state, clock)
        seconds = self._seconds[turn]
        pull = turn.blend * self.strength * _PULL * max(self.problem.grid.size) / seconds**2
        damp = turn.blend * self.damping * _DAMP / seconds
        # Attenuated over the step exactly: a large c dt must not turn the velocity round.
        lost = (1 - math.exp(-damp * clock.dt)) / clock.dt
        force = (-pull / self.problem.grid.spacing) * self._rise(turn, frame)
        force = force.add_scaled(-lost, state["velocity"])
        force.component(self.problem.up)[...] += force.dtype.type(turn.blend * self.problem.fluid.weight)
        return self.fluid.advance(state, clock, force)

    def _rise(self, turn: Turn, frame: int) -> Field:
        """G rho* on faces, in metres per cell; zero on walls."""
        at = min(frame, turn.key.frame)
        if self._kept is None or self._kept[0] is not turn or self._kept[1] != at:
            grid = self.problem.grid
            rho = distance_wanted(self.problem, turn.key, at)
            at_rest = Field.zeros(grid, Kind.FACES, self.problem.dtype)
            rise = -subtract_gradient(at_rest, rho.array)
            self._kept = (turn, at, rise.like(np.ascontiguousarray(rise.data)))
        return self._kept[2]


def seconds_of(plan: Sequence[Turn], fps: float) -> dict[Turn, float]:
    """T of each turn."""
    found: dict[Turn, float] = {}
    for turn in plan:
        own = max(turn.frames, 1) / fps
        found[turn] = next(reversed(found.values())) if found and own <= DENSE_GAP else own
    return found
