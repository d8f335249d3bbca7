"""A scene as spacetime control sees it: goals, levels, windows, and the parts that an optimisation is made of."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from keyfluid.controllers.method import Plan
from keyfluid.controllers.spacetime.admm import Admm, FlowSolver
from keyfluid.controllers.spacetime.advection import Advection, DensityGoal
from keyfluid.controllers.spacetime.flow import FlowEquations
from keyfluid.controllers.spacetime.gauss_newton import GaussNewton
from keyfluid.controllers.spacetime.horizon import Horizon, Outer, all_windows, stations
from keyfluid.controllers.spacetime.levels import finer, steps_merged
from keyfluid.controllers.spacetime.multigrid import Multigrid
from keyfluid.controllers.spacetime.refuse import refuse
from keyfluid.controllers.spacetime.replay import Replay, Units
from keyfluid.controllers.spacetime.rounds import Rounds
from keyfluid.controllers.spacetime.search import PAIRS
from keyfluid.controllers.spacetime.settings import SpacetimeNumbers, settings_of
from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.fluids.smoke.fluid import smoke_of
from keyfluid.grid import Grid, Kind
from keyfluid.objectives.density import relative_error
from keyfluid.operators.advect import Advect
from keyfluid.operators.base import Operator, SymmetricOperator
from keyfluid.operators.blur import Blur
from keyfluid.operators.blur_around import BlurAround
from keyfluid.operators.heat import Heat
from keyfluid.operators.project import Project
from keyfluid.operators.step_implicit import StepImplicit
from keyfluid.operators.transport import Transport
from keyfluid.problem import Problem
from keyfluid.solids import Solids
from keyfluid.solvers.solenoidal import Solenoidal
from keyfluid.solvers.solenoidal_around_bodies import SolenoidalAroundBodies

FINEST, WIDEST = 0.5, 0.25
"""The Gaussian pyramid's finest filter in cells, and its widest as a share of the longest side."""

ROUGHLY = 3.0
"""Factor on the stop rule's tolerance while keyframes are approached one by one."""

HARDLY = 0.2
"""Share of a keyframe that the one before must cover, or they are approached one by one. Of docs/results.md the moving
sphere has 0 and misses a corner from rest; circle-bunny has 0.34, others more, and all are met from rest."""

INEXACT = 0.02
"""Share of a subproblem's first residual at which its solver may stop: the guide moves again."""


@dataclass(frozen=True, eq=False, kw_only=True)
class SpacetimePlan(Plan):
    """A scene as the iteration sees it: `steps` until the last keyframe, the rest of the frames are free."""

    settings: SpacetimeNumbers
    units: Units
    steps_per_frame: int
    steps: int
    goals: list[DensityGoal]
    stride: int = 1
    """Steps of the scene that one step here stands for."""

    @classmethod
    def of(cls, problem: Problem, stride: int = 1) -> SpacetimePlan:
        # Backward Euler is stable for any step, so "auto" means one step per frame.
        steps_per_frame = problem.steps_per_frame or 1
        dt = stride / (problem.fps * steps_per_frame)
        refuse(problem, steps_per_frame)
        goals = goals_of(problem, steps_per_frame, stride)
        settings = SpacetimeNumbers.of(
            settings_of(problem), problem.grid.spacing, max(problem.grid.size), dt, max(goal.weight for goal in goals)
        )
        units = Units(problem.grid.spacing, dt, problem.peaks)
        return cls(
            problem=problem,
            settings=settings,
            units=units,
            steps_per_frame=steps_per_frame,
            steps=max(goal.step for goal in goals),
            goals=goals,
            stride=stride,
        )

    @cached_property
    def levels(self) -> list[SpacetimePlan]:
        """This problem on coarser grids, the coarsest first, and this one (levels.py)."""
        found = [self]
        if settings_of(self.problem).coarse and len(self.windows) == 1:
            while (coarser := found[0].coarser()) is not None:
                found.insert(0, coarser)
        return found

    def coarser(self) -> SpacetimePlan | None:
        """The problem on the next coarser grid; None where it has none, or where that can't hold the scene."""
        merged = steps_merged(self.problem.grid.cells, [goal.step for goal in self.goals])
        if merged is None:
            return None
        try:
            return SpacetimePlan.of(self.problem.coarser(2), merged * self.stride)
        except KeyfluidError:
            return None

    def refined(self, coarse: SpacetimePlan, v: np.ndarray) -> np.ndarray:
        """Velocities found on the next coarser grid, in this one's cells and steps."""
        v = finer(coarse.problem.grid, v, coarse.stride // self.stride)
        self._solenoidal.project(v)
        if not self.settings.free_start:
            v[:, 0] = self.start().data
        return v

    @property
    def approaches(self) -> bool:
        """Whether keyframes are met one after the other before all together (horizon.py)."""
        control = settings_of(self.problem)
        if control.horizon is not None or len(self.stations) < 2:
            return False
        return self._apart if control.approach == "auto" else bool(control.approach)

    @property
    def _apart(self) -> bool:
        """Whether some keyframe covers little of the next of its field."""
        covered = []
        for name in self.problem.densities:
            line = sorted((goal for goal in self.goals if goal.field == name), key=lambda goal: goal.step)
            covered += [
                before.target.dot(after.target) / max(after.target.dot(after.target), 1e-300)
                for before, after in pairwise(line)
            ]
        return min(covered, default=1.0) < HARDLY

    @cached_property
    def stations(self) -> list[int]:
        """Steps at which the approach stops."""
        return stations([goal.step for goal in self.goals])

    @cached_property
    def windows(self) -> list[tuple[int, int]]:
        """(start, stop) of the steps that are optimised together: one, or those of a receding horizon."""
        return all_windows(self._stops, 0, self._reach)

    @property
    def longest_window(self) -> int:
        return max(stop - start for start, stop in self.windows)

    @property
    def kept(self) -> int:
        """Trajectories in a checkpoint."""
        return 2 * PAIRS[self.problem.grid.dim] + (1 if self.settings.solver == "gauss-newton" else 4)

    def approach(self) -> Horizon:
        horizon = self._horizon(self.stations, 0)
        horizon.air = np.empty((horizon.velocity.data.size, self.steps), self.problem.dtype)
        return horizon

    def roughly(self) -> SpacetimePlan:
        """For the approach, whose end is a beginning."""
        return replace(self, settings=replace(self.settings, tolerance=ROUGHLY * self.settings.tolerance))

    def horizon(self) -> Horizon:
        return self._horizon(self._stops, self._reach)

    @property
    def _stops(self) -> list[int]:
        return sorted({goal.step for goal in self.goals})

    @property
    def _reach(self) -> int | None:
        frames = settings_of(self.problem).horizon
        return None if frames is None else frames * self.steps_per_frame

    def _horizon(self, stops: list[int], horizon: int | None) -> Horizon:
        return Horizon(
            self.goals, stops, horizon, self.units.inside(self.problem), self.start(), self.steps, self.flow_step()
        )

    def outer(self, horizon: Horizon, begin: np.ndarray | None = None) -> Outer:
        """The optimisation of a window, beginning with the velocities `begin`, or with the air it finds, held."""
        flow = self.flow(self.settings.free_start and horizon.start == 0)
        advection = Advection(
            flow,
            horizon.densities,
            horizon.window_goals(),
            self.transport(),
            pyramid(self.problem.grid, self.bodies, self.problem.dtype),
        )
        v = np.repeat(horizon.velocity.data[:, None], horizon.window()[0], axis=1) if begin is None else begin
        if self.settings.solver == "gauss-newton":
            rounds = Rounds(flow, advection, self.settings, v)
            if begin is None:
                rounds.leave_symmetry()
            return rounds
        return Admm(flow, advection, self.solver(flow), self.settings, v)

    def flow(self, free_start: bool) -> FlowEquations:
        problem, grid = self.problem, self.problem.grid
        viscosity = problem.fluid.viscosity * self.units.dt / grid.spacing**2
        return FlowEquations(
            grid, self._solenoidal, viscosity, free_start, self.lifts(), bodies=self.bodies is not None
        )

    @cached_property
    def _solenoidal(self) -> Solenoidal:
        grid, dtype = self.problem.grid, self.problem.dtype
        if self.bodies is None:
            return Solenoidal(grid, dtype)
        return SolenoidalAroundBodies(grid, dtype, self.bodies)

    @cached_property
    def bodies(self) -> Solids | None:
        """Obstacles at rest."""
        return self.problem.solids(0.0)

    def lifts(self) -> dict[str, Heat]:
        """What smoke of peak density does to the air, in cells and steps."""
        problem, buoyancy = self.problem, smoke_of(self.problem).buoyancy
        if buoyancy == 0:
            return {}
        grid, units = problem.grid, self.units
        return {name: Heat(grid, buoyancy * peak / units.force, 1.0, problem.up) for name, peak in units.peaks.items()}

    def solver(self, flow: FlowEquations) -> FlowSolver:
        if self.settings.solver == "fas":
            return Multigrid(flow, self.settings.flow_tolerance, self.problem.dtype, INEXACT)
        return GaussNewton(flow, self.settings.flow_tolerance, INEXACT)

    def transport(self) -> Operator:
        """In cells and steps: a dt of one spacing makes velocities cells per step."""
        grid = self.problem.grid
        return Transport(grid, grid.spacing) if self.settings.transport == "upwind" else Advect(grid, grid.spacing)

    def start(self) -> Field:
        problem = self.problem
        project = Project(problem.grid, self.bodies, dtype=problem.dtype)
        (v,) = project.apply(problem.velocity * (1.0 / self.units.speed))
        return v

    def replay(self, kick: np.ndarray | None) -> Replay:
        problem, start = self.problem, self.start()
        return Replay(
            problem, self.units, self.steps_per_frame, self.transport(), self.flow_step(), self.flow(False),
            self.units.inside(problem), start if kick is None else start.like(kick),
        )  # fmt: skip

    def flow_step(self) -> StepImplicit:
        problem, grid = self.problem, self.problem.grid
        viscosity = problem.fluid.viscosity * self.units.dt / grid.spacing
        return StepImplicit(grid, grid.spacing, viscosity, dtype=problem.dtype, solids=self.bodies)


def goals_of(problem: Problem, steps_per_frame: int, stride: int = 1) -> list[DensityGoal]:
    """One goal per keyframe and frame of its hold; those of weight 0 leave the smoke free."""
    goals = []
    for key in problem.keyframes:
        target = Field.of(problem.grid, Kind.CENTRES, key.target, dtype=problem.dtype)
        target = target * (1.0 / problem.peaks[key.field])
        for frame in range(key.frame, min(key.frame + key.hold, problem.frames) + 1):
            if key.weight > 0 and frame > 0:
                step = frame * steps_per_frame // stride
                goals.append(DensityGoal(step, key.field, target, key.weight, key.mask, key.path))
    return goals


def pyramid(grid: Grid, bodies: Solids | None = None, dtype: np.typing.DTypeLike = np.float32) -> SymmetricOperator:
    """C: the field itself, and filters from half a cell to a quarter of the box, each twice as wide [section 4.1].

    Around bodies distances go around them, as section 6 asks for.

    The first level of a Gaussian pyramid is its picture. Without it edges hardly count: the letter I at 64^2/20 ended
    with an error of 0.173 instead of 0.168.
    """
    levels = 1 + max(0, math.floor(math.log2(WIDEST * max(grid.cells) / FINEST)))
    widths = (0.0, *(FINEST * grid.spacing * 2.0**k for k in range(levels)))
    return Blur(grid, widths, power=2) if bodies is None else BlurAround(grid, bodies, widths, power=2, dtype=dtype)


def goal_error(goal: DensityGoal, densities: Mapping[str, list[Field]]) -> float:
    """The relative error of a goal in a trajectory."""
    mask = None if goal.mask is None else goal.mask.reshape(-1)
    return relative_error(densities[goal.field][goal.step].data, goal.target.data, mask)


def memory_plan(plan: SpacetimePlan) -> dict[str, int]:
    """Bytes by what they are for; the paper's bound is 8 n^d (1 + d) N numbers.

    A round holds v, w, the gradient and a direction, the pairs of L-BFGS, what a transform needs, and densities of two
    sweeps; the paper's splitting also v*, lambda and a guide.
    """
    problem, item = plan.problem, plan.problem.dtype.itemsize
    velocities, longest = item * problem.grid.value_count(Kind.FACES), plan.longest_window
    densities = item * problem.grid.count * longest
    pairs, work = 2 * PAIRS[problem.grid.dim], 4 if plan.settings.solver == "gauss-newton" else 7
    beside = plan.steps if len(plan.windows) > 1 else 0
    return {
        "velocities, gradients and work of a round": work * velocities * longest + 2 * densities,
        "pairs of L-BFGS": pairs * velocities * longest,
        "densities of two sweeps": 2 * densities * len(problem.densities),
        **({"forces of all windows": velocities * beside} if beside else {}),
    }
