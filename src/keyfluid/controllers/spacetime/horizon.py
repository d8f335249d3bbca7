"""Windows of steps, optimised one after the other: a receding horizon [section 6], and the way to where all begin.

Receding horizon  a window is optimised, its first part is kept, the window moves on. A window reaches from where the
smoke is to the last keyframe within the horizon, or to the next one if that is farther. What is kept ends at the last
keyframe in the first half of the window, or at the next one. Without a horizon one window holds everything. Between
windows the smoke is where the kept forces carry it, and so is the air.

Approach  all keyframes together, from rest, is where the paper begins. There every velocity is pulled towards all
keyframes after it at once, and smoke that passes by a keyframe on its way to the next can stay away from it for good:
a ball led around three corners missed the second one by its whole diameter (docs/results.md). So keyframes that hardly
meet are first met one after the other, roughly, and all are then optimised together from there. Where each lies on the
way to the next, neither way is always better (docs/results.md: A, B, C and circle-bunny), and from rest is quicker.
Goals that are closer together than `APART` steps (a hold, dense keyframes) count as one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from keyfluid.controllers.spacetime.advection import Advection, DensityGoal, Sweep
from keyfluid.controllers.spacetime.flow import FlowEquations
from keyfluid.controllers.spacetime.rounds import RoundRecord
from keyfluid.controllers.spacetime.settings import SpacetimeNumbers
from keyfluid.fields import Field
from keyfluid.operators.step_implicit import StepImplicit
from keyfluid.problem.kept import Meta, whole

APART = 4


class Outer(Protocol):
    """An outer loop, round by round: rounds.py or admm.py."""

    flow: FlowEquations
    advection: Advection
    settings: SpacetimeNumbers
    v: np.ndarray
    sweep: Sweep | None
    iteration: int

    @property
    def converged(self) -> bool: ...
    @property
    def done(self) -> bool: ...
    @property
    def evaluations(self) -> int: ...
    def advance(self) -> RoundRecord: ...
    def total_forces(self, sweep: Sweep) -> np.ndarray: ...
    def arrays(self) -> dict[str, np.ndarray]: ...
    def meta(self) -> Meta: ...
    def restore(self, arrays: Mapping[str, np.ndarray], meta: Meta) -> None: ...


def stations(goals: Sequence[int]) -> list[int]:
    """The last of every group of goals, in order, that are less than APART steps from the next."""
    ordered = sorted(set(goals))
    return [step for step, after in zip(ordered, [*ordered[1:], np.inf]) if after - step >= APART]


def next_window(goals: Sequence[int], start: int, horizon: int | None) -> tuple[int, int]:
    """(stop, keep): the window's last step, and the step up to which its forces are kept; `goals` in order.

    A horizon of 0 takes the goals one by one. The first step of a window moves with the air it finds: where a goal
    follows the kept part at once, the window reaches to it, so that this air has been steered there.
    """
    ahead = [goal for goal in goals if goal > start]
    stop = ahead[-1] if horizon is None else max([ahead[0], *(goal for goal in ahead if goal <= start + horizon)])
    keep = max([ahead[0], *(goal for goal in ahead if goal <= start + (horizon or 0) // 2)])
    if stop == keep and keep + 1 in ahead:
        stop = keep + 1
        if next_window(goals, keep, horizon)[0] == stop:
            keep = stop  # nothing could be steered in a window of that one step
    return (stop, stop) if stop == ahead[-1] else (stop, keep)


def all_windows(goals: Sequence[int], start: int, horizon: int | None) -> list[tuple[int, int]]:
    """(start, stop) of this window and all that follow."""
    found = []
    while start < goals[-1]:
        stop, keep = next_window(goals, start, horizon)
        found.append((start, stop))
        start = keep
    return found


@dataclass(eq=False)
class Horizon:
    """Where the window begins: smoke and air there, in cells and steps, and all forces up to there."""

    goals: list[DensityGoal]
    stops: list[int]
    """Steps at which a window may end."""
    horizon: int | None
    densities: dict[str, Field]
    velocity: Field
    steps: int
    flow_step: StepImplicit
    start: int = 0
    rounds: int = 0
    """Outer iterations before this window."""
    level: int = 0
    """Index of the grid; 0 is the coarsest."""
    work_done: float = 0.0
    work_later: float = 0.0
    """Work of the searches before and after this one, for the time left: rounds times cells times steps."""
    forces: np.ndarray | None = None
    air: np.ndarray | None = None
    """Velocities up to there, if they are kept."""
    kick: np.ndarray | None = None
    """v_0 where it was free: the replay begins with it."""

    @property
    def done(self) -> bool:
        return self.start >= self.steps

    def window(self) -> tuple[int, int]:
        """Steps of the window, and how many of them are kept."""
        stop, keep = next_window(self.stops, self.start, self.horizon)
        return stop - self.start, keep - self.start

    @property
    def windows_left(self) -> int:
        """This one included."""
        return len(all_windows(self.stops, self.start, self.horizon))

    def window_goals(self) -> list[DensityGoal]:
        steps, _ = self.window()
        return [
            replace(goal, step=goal.step - self.start) for goal in self.goals if 0 < goal.step - self.start <= steps
        ]

    def shift(self, outer: Outer) -> None:
        """Keep the first part of a window that is done."""
        steps, keep = self.window()
        kept = min(keep, steps - 1)
        assert outer.sweep is not None
        forces = outer.total_forces(outer.sweep)
        if outer.flow.free_start:
            self.kick = np.ascontiguousarray(outer.v[:, 0])
        if self.forces is None:
            self.forces = np.zeros((forces.shape[0], self.steps), forces.dtype)
        self.forces[:, self.start + 1 : self.start + 1 + kept] = forces[:, 1 : 1 + kept]
        if self.air is not None:
            self.air[:, self.start : self.start + keep] = outer.v[:, :keep]
        carried = outer.advection.carried(np.ascontiguousarray(outer.v[:, :keep]))
        self.densities = {name: line[-1] for name, line in carried.items()}
        if keep < steps:
            self.velocity = self.velocity.like(np.ascontiguousarray(outer.v[:, keep]))
        else:
            last = self.velocity.like(np.ascontiguousarray(outer.v[:, -1]))
            lift = outer.flow.lift(self.densities) or last.zeros_like()
            (self.velocity,) = self.flow_step.forward(last, lift * (1.0 / outer.flow.grid.spacing))
        self.start += keep
        self.rounds += outer.iteration

    def meta(self) -> dict[str, int]:
        return {"start": self.start, "rounds": self.rounds, "level": self.level}

    def arrays(self) -> dict[str, np.ndarray]:
        if self.forces is None:
            return {}
        return {
            "forces": self.forces,
            **({} if self.air is None else {"air": self.air}),
            "velocity": self.velocity.data,
            **({} if self.kick is None else {"kick": self.kick}),
            **{f"rho.{name}": rho.data for name, rho in self.densities.items()},
        }

    def restore(self, arrays: Mapping[str, np.ndarray], meta: Meta) -> None:
        self.start, self.rounds = whole(meta, "start"), whole(meta, "rounds")
        if self.start > 0:
            self.forces = arrays["forces"].copy()
            self.air = arrays["air"].copy() if self.air is not None else None
            self.kick = arrays["kick"].copy() if "kick" in arrays else None
            self.velocity = self.velocity.like(arrays["velocity"].copy())
            self.densities = {name: rho.like(arrays[f"rho.{name}"].copy()) for name, rho in self.densities.items()}
