"""`method = "spacetime"`: optimise all steps together, then replay the forces [Pan & Manocha 2017]."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np

from keyfluid.controllers.method import Method, OtherRuns, Plan
from keyfluid.controllers.shell import Checkpoint, Shell, Stopped
from keyfluid.controllers.spacetime.admm import Admm, FlowSolver
from keyfluid.controllers.spacetime.advection import Advection, DensityGoal
from keyfluid.controllers.spacetime.flow import FlowEquations
from keyfluid.controllers.spacetime.gauss_newton import GaussNewton
from keyfluid.controllers.spacetime.horizon import Horizon, Outer, all_windows, stations
from keyfluid.controllers.spacetime.levels import finer, steps_merged
from keyfluid.controllers.spacetime.multigrid import Multigrid
from keyfluid.controllers.spacetime.refuse import refuse
from keyfluid.controllers.spacetime.replay import Replay, Units
from keyfluid.controllers.spacetime.rounds import Round, Rounds
from keyfluid.controllers.spacetime.search import PAIRS
from keyfluid.controllers.spacetime.settings import SpacetimeNumbers, settings_of
from keyfluid.controllers.step_size import tell_if_fast
from keyfluid.errors import BlowUp, KeyfluidError, SceneError
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
from keyfluid.problem.kept import Meta, whole
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

LIKELY_ROUNDS, PER_ROUND = 14, 45.0
"""For the run-time estimate: expected outer iterations, and the cost of one in free simulations."""

MOST_MEMORY = 0.9
"""Share of the machine's memory that a run may plan to use."""

AWAY = 0.2
"""Relative error beyond the least possible one at which a keyframe counts as not met."""

INEXACT = 0.02
"""Share of a subproblem's first residual at which its solver may stop: the guide moves again."""


class Spacetime(Method):
    """The method."""

    begins_from_frames = False

    def plan(self, problem: Problem, other_runs: OtherRuns) -> SpacetimePlan:
        """Work: rounds until the stop rule, most likely, by what one of them takes. On disk: v and pairs of L-BFGS, or
        v*, lambda and u as well, twice while a checkpoint is replaced."""
        plan = SpacetimePlan.of(problem)
        parts = memory_plan(plan)
        memory, limit = sum(parts.values()), problem.memory_limit_bytes
        need = problem.memory_estimate_bytes + memory
        if limit is not None and need > MOST_MEMORY * limit:
            raise SceneError(
                "control.method",
                f'"spacetime" holds {plan.longest_window} steps at once, about {need / 2**30:.3g} GiB; the machine has '
                f"{limit / 2**30:.3g} GiB: lower domain.resolution or the frames until the last keyframe, or set a "
                "shorter control.horizon",
            )
        rounds = min(LIKELY_ROUNDS, plan.settings.iterations)
        share = plan.steps / (problem.frames * plan.steps_per_frame)
        faces = problem.dtype.itemsize * problem.grid.value_count(Kind.FACES)
        return replace(
            plan,
            memory_bytes=memory,
            stored_bytes=2 * faces * (plan.kept * plan.longest_window + (plan.steps if len(plan.windows) > 1 else 0)),
            simulations=PER_ROUND * rounds * share * (2 if plan.approaches else 1),
            lines=_lines(plan, parts),
        )

    def run(self, plan: Plan, shell: Shell) -> None:
        assert isinstance(plan, SpacetimePlan)
        restored = shell.restored
        if restored is not None and restored.meta["phase"] == "replay":
            replay = plan.replay(None)
            replay.restore(restored.arrays, whole(restored.meta, "frame"))
            self._replay(plan, shell, restored.arrays.get("u"), replay)
            return
        horizon = self._levels(plan, shell, restored)
        replay = plan.replay(horizon.kick)
        assert horizon.forces is not None
        self._try_in_engine(shell, replay, horizon.forces)
        shell.frame(replay.first())
        self._replay(plan, shell, horizon.forces, replay)

    def _levels(self, plan: SpacetimePlan, shell: Shell, restored: Checkpoint | None) -> Horizon:
        """From the coarsest grid to the scene's; what was found there, in the scene's cells and steps."""
        at, begin, rounds = 0, None, 0
        if restored is not None:
            at = whole_level(restored.meta)
        levels = plan.levels
        for index in range(at, len(levels)):
            level, last = levels[index], index == len(levels) - 1
            phase = "optimise" if last else "coarse"
            horizon = level.horizon()
            horizon.level, horizon.rounds = index, rounds
            if index == 0 and level.approaches and (restored is None or restored.meta["phase"] == "approach"):
                approach = level.approach()
                self._windows(level.roughly(), shell, "approach", approach, restored)
                begin, horizon.rounds, restored = approach.air, approach.rounds, None
                del approach
            outer = self._windows(level if last else level.roughly(), shell, phase, horizon, restored, begin)
            restored, rounds = None, horizon.rounds
            if not last:
                begin = levels[index + 1].refined(level, outer.v)
            del outer
        return horizon

    def _windows(
        self, plan: SpacetimePlan, shell: Shell, phase: str, horizon: Horizon, restored: Checkpoint | None,
        begin: np.ndarray | None = None,
    ) -> Outer:  # fmt: skip
        """All windows in their order, the last of them returned; the first one begins with the velocities `begin`."""
        if restored is not None:
            horizon.restore(restored.arrays, restored.meta)
        outer: Outer | None = None
        while not horizon.done:
            outer = None  # its memory is wanted
            outer = plan.outer(horizon, begin)
            if restored is not None:
                outer.restore(restored.arrays, restored.meta)
            begin = restored = None
            self._optimise(shell, phase, horizon, outer)
            horizon.shift(outer)
        assert outer is not None
        return outer

    def _optimise(self, shell: Shell, phase: str, horizon: Horizon, outer: Outer) -> None:
        while not outer.done:
            if shell.stop_requested:
                raise Stopped
            before = outer.evaluations
            record = outer.advance()
            shell.count(iterations=1, evaluations=outer.evaluations - before)
            log(shell, outer, record, phase, horizon)
            meta: Meta = {"phase": phase, **horizon.meta(), **outer.meta()}
            shell.checkpoint({**outer.arrays(), **horizon.arrays()}, meta)
        if phase == "optimise" and not outer.converged:
            shell.note(
                f"stopped after {outer.iteration} rounds, before its stop rule was met: the objective was still "
                "falling; more may be reached with a larger control.iterations"
            )

    def _try_in_engine(self, shell: Shell, replay: Replay, forces: np.ndarray) -> None:
        """What the forces do to the engine's own smoke: in the history, the worst of each keyframe entry as a note."""
        worst: dict[str, tuple[float, int]] = {}
        try:
            for key, error in replay.engine_errors(forces):
                if shell.stop_requested:
                    raise Stopped
                name = "engine_error" if len(replay.problem.densities) == 1 else f"engine_error_{key.field}"
                shell.log(**{"frame": key.frame, name: error})
                worst[key.path] = max(worst.get(key.path, (0.0, 0)), (error, key.frame))
        except BlowUp as fault:
            shell.note(f"the same forces blow up the engine's smoke: {fault}")
        for path, (error, frame) in worst.items():
            shell.note(f"{path}, frame {frame}: the same forces give the engine's smoke an error of {error:.3f}")

    def _replay(self, plan: SpacetimePlan, shell: Shell, forces: np.ndarray | None, replay: Replay) -> None:
        frames = plan.problem.frames
        while replay.frame < frames:
            if shell.stop_requested:
                raise Stopped
            shell.frame(replay.advance(forces))
            tell_if_away(plan.problem, shell, replay)
            tell_if_fast(plan.problem, shell, replay.cells, (replay.frame - 1) / plan.problem.fps)
            steered = {"u": forces} if forces is not None and replay.frame * plan.steps_per_frame < plan.steps else {}
            shell.checkpoint({**replay.arrays(), **steered}, {"phase": "replay", "frame": replay.frame})
            shell.progress(replay.frame, frames, "frame")


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
            return Rounds(flow, advection, self.settings, v)
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
                goals.append(DensityGoal(frame * steps_per_frame // stride, key.field, target, key.weight, key.mask))
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


def log(shell: Shell, outer: Outer, record: Round, phase: str, horizon: Horizon) -> None:
    """A round in the history, and for the person who waits."""
    assert outer.sweep is not None
    error = max(goal_error(goal, outer.sweep.densities) for goal in outer.advection.goals)
    shell.log(
        iteration=horizon.rounds + outer.iteration,
        together=float(phase == "optimise"),
        cells=max(outer.flow.grid.cells),
        start=horizon.start,
        steps=outer.v.shape[1],
        objective=record.objective,
        match=record.match,
        force=record.force,
        error=error,
        gap=record.gap,
        change=record.change if math.isfinite(record.change) else 1.0,
        advection_residual=record.residual,
        advection_iterations=record.searched,
        flow_residual=record.flow_residual,
        flow_iterations=record.flow_iterations,
        converged=float(outer.converged),
    )
    left = horizon.windows_left + (phase != "optimise")
    done, most = horizon.rounds + outer.iteration, horizon.rounds + left * outer.settings.iterations
    where = "" if phase == "optimise" else f"on {' x '.join(map(str, outer.flow.grid.cells))} cells"
    shell.progress(done, most, "iteration", error, where)


def tell_if_away(problem: Problem, shell: Shell, replay: Replay) -> None:
    """A note for every keyframe of this frame that was not met."""
    for key in problem.keyframes:
        if key.frame != replay.frame or key.weight == 0:
            continue
        smoke = replay.densities[key.field].array * problem.peaks[key.field]
        error = relative_error(smoke, key.target, key.mask)
        if error > AWAY + (key.bound or 0.0):
            shell.note(
                f"{key.path}, frame {key.frame}: not met, its error is {error:.3f}; lower control.r, give the smoke "
                "more frames to get there, or set control.approach = true"
            )


def goal_error(goal: DensityGoal, densities: Mapping[str, list[Field]]) -> float:
    """The relative error of a goal in a trajectory."""
    mask = None if goal.mask is None else goal.mask.reshape(-1)
    return relative_error(densities[goal.field][goal.step].data, goal.target.data, mask)


def _lines(plan: SpacetimePlan, parts: Mapping[str, int]) -> list[str]:
    """What will be searched, and what that takes."""
    longest = plan.longest_window
    unknowns = plan.problem.grid.value_count(Kind.FACES) * longest
    told = ", ".join(f"{name} {size / 1e6:.1f} MB" for name, size in parts.items())
    lines = [f"{unknowns:,} velocities in {longest} steps; {told}"]
    if len(plan.levels) > 1:
        ways = [
            f"{' x '.join(map(str, level.problem.grid.cells))} cells and {level.steps} steps" for level in plan.levels
        ]
        lines.append(f"first on {', then '.join(ways[:-1])}")
    if plan.levels[0].approaches:
        lines.append(f"{len(plan.levels[0].stations)} keyframes one after the other, roughly, then all together")
    elif len(plan.windows) > 1:
        lines.append(f"{len(plan.windows)} windows one after the other; the numbers are the longest's")
    return lines


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


def whole_level(meta: Meta) -> int:
    """The level that a checkpoint is of."""
    if "level" not in meta:
        raise KeyfluidError(
            "the checkpoint is of an older version, whose search can't be gone on with; run the scene again with "
            "--overwrite"
        )
    return whole(meta, "level")
