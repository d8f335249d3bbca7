"""`method = "guided"`: each step, the long waves of the air are replaced by those of a solved run (operators/guide.py).

    force, diffuse, heat - GUIDE - project - advect

The solved run and this scene have the same domain and the same time; grids and steps may differ. Waves up to the cutoff
are the solved run's, so smoke arrives where it did; what is shorter is this grid's own.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from keyfluid.boundary import Boundary
from keyfluid.controllers.guided.air import SolvedAir
from keyfluid.controllers.guided.eddies import Eddies
from keyfluid.controllers.guided.settings import RESOLVED, GuidedSettings
from keyfluid.controllers.march import march
from keyfluid.controllers.method import Method, OtherRun, OtherRuns, Plan
from keyfluid.controllers.shell import Shell
from keyfluid.errors import SceneError
from keyfluid.fluids.smoke.fluid import SmokeFluid
from keyfluid.fluids.smoke.steps import SmokeSteps
from keyfluid.grid import Kind
from keyfluid.models.state import State
from keyfluid.operators.guide import Guide
from keyfluid.operators.long_waves import LongWaves
from keyfluid.problem import Advance, Clock, Problem


@dataclass(frozen=True, eq=False, kw_only=True)
class GuidedPlan(Plan):
    """cutoff: waves per metre; last: the frame after which guiding fades; release: frames that it fades over;
    turbulence: see eddies.py."""

    other: OtherRun
    cutoff: float
    strength: float
    last: int
    release: int
    turbulence: float

    @classmethod
    def of(cls, problem: Problem, other_runs: OtherRuns) -> GuidedPlan:
        settings = problem.control
        assert isinstance(settings, GuidedSettings)
        other = other_runs(settings.run, "control.run")
        require_same_world(other, problem)
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
        )  # fmt: skip

    def strength_at(self, time: float, dt: float) -> float:
        """The strength of one step of `dt` seconds: over a whole frame, the steps close `strength` of a gap."""
        fps = self.problem.fps
        over = time * fps - self.last
        fade = 1.0 if over <= 0 else max(0.0, 1.0 - over / self.release) if self.release else 0.0
        share = self.strength * fade * fade * (3 - 2 * fade)
        return share if share in (0.0, 1.0) else 1.0 - (1.0 - share) ** (dt * fps)


class Guided(Method):
    """The method."""

    def plan(self, problem: Problem, other_runs: OtherRuns) -> GuidedPlan:
        return GuidedPlan.of(problem, other_runs)

    def run(self, plan: Plan, shell: Shell) -> None:
        assert isinstance(plan, GuidedPlan)
        if shell.restored is None:
            shell.count(evaluations=1)
        march(plan.problem, shell, guided_advance(plan))


def guided_advance(plan: GuidedPlan) -> Callable[[State, Clock], Advance]:
    """Steps of the scene's smoke, whose long waves are the solved run's, with eddies of its own."""
    steps = guided_steps(plan)
    if plan.turbulence == 0:
        return steps.advance
    eddies = Eddies(plan.problem, plan.cutoff, plan.turbulence)

    def advance(state: State, clock: Clock) -> Advance:
        """Eddies are part of the film, not a control force to be kept with it."""
        return replace(steps.advance(state, clock, eddies.force(state, clock.time)), force=None)

    return advance


def guided_steps(plan: GuidedPlan) -> SmokeSteps:
    """The scene's smoke, whose long waves are the solved run's."""
    problem, grid, solved = plan.problem, plan.problem.grid, plan.other.problem.grid
    broken = problem.solids(0.0) is not None or Boundary.OPEN in grid.boundary
    fine, coarse = (LongWaves(one, plan.cutoff, problem.dtype, taper=broken) for one in (grid, solved))
    air = SolvedAir(plan.other, coarse, min(plan.last + plan.release, plan.other.problem.frames))

    def guide(begin: float, end: float) -> Guide | None:
        strength = plan.strength_at(0.5 * (begin + end), end - begin)
        return Guide(fine, air.over(begin, end), strength) if strength > 0 else None

    fluid = problem.fluid
    assert isinstance(fluid, SmokeFluid)
    return SmokeSteps(problem, replace(fluid.options(problem), guide=guide))


def require_same_world(other: OtherRun, problem: Problem) -> None:
    """Raise unless the air of `other` can guide this problem."""
    theirs, name = other.problem, other.folder
    if not isinstance(problem.fluid, SmokeFluid) or not isinstance(theirs.fluid, SmokeFluid):
        raise SceneError("control.run", f"{name}: only runs of smoke guide, and only smoke is guided")
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
