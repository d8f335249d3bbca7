"""What a guided film follows, and for how long."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keyfluid.controllers.guided.settings import RESOLVED, GuidedSettings
from keyfluid.controllers.method import OtherRun, OtherRuns, Plan
from keyfluid.errors import SceneError
from keyfluid.grid import Kind
from keyfluid.problem import Problem

_ROUNDING = 1e-6
"""Frames; a step that ends at the last keyframe belongs to it."""


@dataclass(frozen=True, eq=False, kw_only=True)
class GuidedPlan(Plan):
    """cutoff: waves per metre; last: the frame after which guiding fades; release: frames that it fades over;
    turbulence: see eddies.py; spray, near: of liquids, see operators/guide_liquid.py."""

    other: OtherRun
    cutoff: float
    strength: float
    last: int
    release: int
    turbulence: float
    spray: float
    near: float

    @classmethod
    def of(cls, problem: Problem, other_runs: OtherRuns) -> GuidedPlan:
        settings = problem.control
        assert isinstance(settings, GuidedSettings)
        other = other_runs(settings.run, "control.run")
        require_same_world(other, problem)
        if settings.spray > 0 and problem.fluid.drawn_as != "surface":
            raise SceneError("control.spray", f"only liquids spray, and this is {problem.fluid.name}; remove it")
        solved, longest = other.problem.grid, max(problem.grid.size)
        most = 0.5 * min(max(solved.cells), max(problem.grid.cells)) - 1
        usual = min(RESOLVED[solved.dim] * max(solved.cells), most)
        waves = settings.cutoff if settings.cutoff is not None else usual
        if waves > most:
            raise SceneError(
                "control.cutoff", f"{waves:g} waves are more than both grids can hold; give at most {most:g}"
            )
        keys = other.problem.keyframes
        last = min(max((key.frame + key.hold for key in keys), default=other.problem.frames), problem.frames)
        require_velocities(other, min(last + settings.release, other.problem.frames))
        faces = problem.grid.value_count(Kind.FACES) * problem.dtype.itemsize
        steps = problem.steps_per_frame or 1
        line = f"guided by {other.folder}: {waves:g} waves along the longest side, up to frame {last}"
        return cls(
            problem=problem, memory_bytes=(3 + steps) * faces, lines=[line], other=other, cutoff=waves / longest,
            strength=settings.strength, last=last, release=settings.release, turbulence=settings.turbulence,
            spray=settings.spray, near=settings.near,
        )  # fmt: skip

    @property
    def ends(self) -> int:
        """The last frame of the run that is followed."""
        return min(self.last + self.release, self.other.problem.frames)

    def strength_at(self, time: float, dt: float) -> float:
        """The strength of one step of `dt` seconds: over a whole frame, the steps close `strength` of a gap."""
        share = self.strength * self.fade_at(time)
        return share if share in (0.0, 1.0) else 1.0 - (1.0 - share) ** (dt * self.problem.fps)

    def fade_at(self, time: float) -> float:
        """1 up to the last keyframe, then smoothly to 0."""
        over = time * self.problem.fps - self.last
        fade = 1.0 if over <= _ROUNDING else max(0.0, 1.0 - over / self.release) if self.release else 0.0
        return fade * fade * (3 - 2 * fade)


def require_same_world(other: OtherRun, problem: Problem) -> None:
    """Raise unless `other` can guide this problem."""
    theirs, name = other.problem, other.folder
    if problem.fluid.name != theirs.fluid.name:
        raise SceneError(
            "control.run", f"{name} is a run of {theirs.fluid.name}, which can't guide {problem.fluid.name}"
        )
    if not other.finished:
        raise SceneError("control.run", f"{name} is not finished; finish it first: keyfluid resume {name}")
    for key, here, there in (
        ("domain.size", *(np.round(grid.size, 9).tolist() for grid in (problem.grid, theirs.grid))),
        ("domain.boundary", problem.grid.boundary, theirs.grid.boundary),
        ("time.fps", problem.fps, theirs.fps),
    ):
        if here != there:
            raise SceneError("control.run", f"{name} has another {key}; give both the same")
    if not theirs.keyframes:
        raise SceneError("control.run", f"{name} has no keyframes, and so kept no velocities of its steps")


def require_velocities(other: OtherRun, last: int) -> None:
    """Raise unless `other` kept the velocities of its steps up to frame `last`."""
    for frame in range(1, last + 1):
        if not other.seconds(frame):
            raise SceneError("control.run", f"{other.folder} kept no velocities of its steps before frame {frame}")
