"""`method = "spacetime"`: optimise all steps together, then replay the forces [Pan & Manocha 2017]."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from keyfluid.controllers.method import Method, OtherRuns, Plan
from keyfluid.controllers.shell import Checkpoint, Shell, Stopped
from keyfluid.controllers.spacetime.horizon import Horizon, Outer
from keyfluid.controllers.spacetime.plan import SpacetimePlan, goal_error, memory_plan
from keyfluid.controllers.spacetime.replay import Replay
from keyfluid.controllers.spacetime.rounds import RoundRecord
from keyfluid.controllers.step_size import tell_if_fast
from keyfluid.errors import BlowUp, KeyfluidError, SceneError
from keyfluid.grid import Kind
from keyfluid.objectives.density import relative_error
from keyfluid.objectives.match import worst_by_key
from keyfluid.problem import Problem
from keyfluid.problem.kept import Meta, whole

LIKELY_ROUNDS, MOST_LIKELY_ROUNDS, FEWEST_LEFT = 9, 12, 4
"""For the run-time estimate: rounds that a search takes until its stop rule, and those that the time left counts with
at first and always (docs/results.md: 7 to 15 rounds for letters)."""

PER_ROUND, PER_FRAME = 10.0, 7000.0
"""For the run-time estimate: the cost of a round in simulations of the scene, and of a replayed frame beside them, in
cells of a round: it is also tried in the engine, and stored."""

MOST_MEMORY = 0.9
"""Share of the machine's memory that a run may plan to use."""

AWAY = 0.2
"""Relative error beyond the least of a rearrangement at which a keyframe counts as not met."""


class Spacetime(Method):
    """The method."""

    begins_from_frames = False

    def plan(self, problem: Problem, other_runs: OtherRuns) -> SpacetimePlan:
        """On disk: v and pairs of L-BFGS, or v*, lambda and u as well, twice while a checkpoint is replaced."""
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
        faces = problem.dtype.itemsize * problem.grid.value_count(Kind.FACES)
        return replace(
            plan,
            memory_bytes=memory,
            stored_bytes=2 * faces * (plan.kept * plan.longest_window + (plan.steps if len(plan.windows) > 1 else 0)),
            likely=LIKELY_ROUNDS / MOST_LIKELY_ROUNDS if plan.settings.iterations > LIKELY_ROUNDS else 1.0,
            lines=_lines(plan, parts),
        )

    def run(self, plan: Plan, shell: Shell) -> None:
        assert isinstance(plan, SpacetimePlan)
        restored = shell.restored
        if restored is not None and restored.meta["phase"] == "replay":
            replay = plan.replay(None)
            replay.restore(restored.arrays, whole(restored.meta, "frame"))
            self._replay(plan, shell, restored.arrays.get("u"), replay, 0.0)
            return
        horizon = self._levels(plan, shell, restored)
        replay = plan.replay(horizon.kick)
        assert horizon.forces is not None
        self._try_in_engine(shell, replay, horizon.forces)
        shell.frame(replay.first())
        self._replay(plan, shell, horizon.forces, replay, horizon.work_done)

    def _levels(self, plan: SpacetimePlan, shell: Shell, restored: Checkpoint | None) -> Horizon:
        """From the coarsest grid to the scene's; what was found there, in the scene's cells and steps."""
        at, begin, rounds, work = 0, None, 0, 0.0
        if restored is not None:
            at = whole_level(restored.meta)
        levels = plan.levels
        for index in range(at, len(levels)):
            level, last = levels[index], index == len(levels) - 1
            phase = "optimise" if last else "coarse"
            horizon = level.horizon()
            horizon.level, horizon.rounds, horizon.work_done = index, rounds, work
            horizon.work_later = sum(_work_of(finer) for finer in levels[index + 1 :])
            horizon.work_later += plan.problem.frames * _work_of_frame(plan)
            if index == 0 and level.approaches and (restored is None or restored.meta["phase"] == "approach"):
                approach = level.approach()
                approach.work_done, approach.work_later = work, _work_of(level) + horizon.work_later
                self._windows(level.roughly(), shell, "approach", approach, restored)
                begin, horizon.rounds, restored = approach.air, approach.rounds, None
                horizon.work_done = approach.work_done
                del approach
            outer = self._windows(level if last else level.roughly(), shell, phase, horizon, restored, begin)
            restored, rounds, work = None, horizon.rounds, horizon.work_done
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
            horizon.work_done += _work_of_round(outer)
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

    def _replay(
        self, plan: SpacetimePlan, shell: Shell, forces: np.ndarray | None, replay: Replay, work_done: float
    ) -> None:
        """work_done: by the searches before."""
        frames = plan.problem.frames
        frame_work = _work_of_frame(plan)
        while replay.frame < frames:
            if shell.stop_requested:
                raise Stopped
            shell.frame(replay.advance(forces))
            tell_if_away(plan.problem, shell, replay)
            tell_if_fast(plan.problem, shell, replay.cells, (replay.frame - 1) / plan.problem.fps)
            steered = {"u": forces} if forces is not None and replay.frame * plan.steps_per_frame < plan.steps else {}
            shell.checkpoint({**replay.arrays(), **steered}, {"phase": "replay", "frame": replay.frame})
            work = (work_done + replay.frame * frame_work, (frames - replay.frame) * frame_work)
            shell.progress(replay.frame, frames, "frame", work=work)


def log(shell: Shell, outer: Outer, record: RoundRecord, phase: str, horizon: Horizon) -> None:
    """A round in the history, and for the person who waits."""
    assert outer.sweep is not None
    missed = [(goal.path, goal_error(goal, outer.sweep.densities)) for goal in outer.advection.goals]
    error = max(miss for _, miss in missed)
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
    still = min(max(MOST_LIKELY_ROUNDS - outer.iteration, FEWEST_LEFT), outer.settings.iterations - outer.iteration)
    windows = MOST_LIKELY_ROUNDS * (horizon.windows_left - 1)
    ahead = 0.0 if outer.done else (still + windows) * _work_of_round(outer)
    work = (horizon.work_done, ahead + horizon.work_later)
    shell.progress(done, most, "iteration", error, where, work, worst_by_key(missed))


def _work_of_round(outer: Outer) -> float:
    return float(outer.flow.grid.count * outer.v.shape[1])


def _work_of_frame(plan: SpacetimePlan) -> float:
    """Work of the replay."""
    return plan.problem.grid.count * plan.steps_per_frame / PER_ROUND + PER_FRAME


def _work_of(plan: SpacetimePlan) -> float:
    """Work of the search on a grid."""
    return float(min(MOST_LIKELY_ROUNDS, plan.settings.iterations) * plan.problem.grid.count * plan.steps)


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


def whole_level(meta: Meta) -> int:
    """The level that a checkpoint is of."""
    if "level" not in meta:
        raise KeyfluidError(
            "the checkpoint is of an older version, whose search can't be gone on with; run the scene again with "
            "--overwrite"
        )
    return whole(meta, "level")
