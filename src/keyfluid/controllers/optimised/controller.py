"""`method = "adjoint"` and `method = "spectral"`: the forces that bring smoke to its keyframes, by optimisation.

    minimise phi(u) by L-BFGS, the gradient by the adjoint method                            [McNamara 2004, section 4]
    over a potential whose waves are let in from long to short                               [Tang 2021, section 4.2]

Both methods are this loop; they differ in their controls and defaults. After each stage the film of the forces so far
is made, so that there is a preview from the first minute on.
"""

from __future__ import annotations

import numpy as np

from keyfluid.controllers.method import Method, OtherRuns, Plan, Workers
from keyfluid.controllers.optimised.edited import own_forces
from keyfluid.controllers.optimised.forces import JoinedForces
from keyfluid.controllers.optimised.handover import calming_guess, follows_any_air, resting_guess, rests_between
from keyfluid.controllers.optimised.minimise import Entry, WindowSearch, solve_window
from keyfluid.controllers.optimised.plan import OptimisedPlan, make_plan
from keyfluid.controllers.optimised.position import (
    Position,
    from_other_run,
    only_forces,
    part_name,
    restored,
    windows_of,
)
from keyfluid.controllers.optimised.record import SearchRecord, SearchWork
from keyfluid.controllers.optimised.replay import replay, state_after
from keyfluid.controllers.optimised.settings import SearchNumbers
from keyfluid.controllers.optimised.shooting import Shooting, only_forces_of_rounds
from keyfluid.controllers.optimised.shooting_trial import try_window
from keyfluid.controllers.optimised.stages import Stage, plan_stages
from keyfluid.controllers.optimised.unknowns import first_guess, with_found
from keyfluid.controllers.shell import Checkpoint, Shell
from keyfluid.models.state import State
from keyfluid.problem import Problem


class OptimisedKeyframes(Method):
    """The method."""

    begins_from_frames = False
    films_again = True

    def plan(self, problem: Problem, other_runs: OtherRuns) -> OptimisedPlan:
        return make_plan(problem, other_runs)

    def shared(self, plan: Plan, workers: Workers) -> OptimisedPlan:
        """The windows of shooting."""
        assert isinstance(plan, OptimisedPlan)
        if plan.settings.schedule != "shooting":
            super().shared(plan, workers)
        return make_plan(plan.problem, plan.other_runs, workers)

    def run(self, plan: Plan, shell: Shell) -> None:
        assert isinstance(plan, OptimisedPlan)
        if plan.settings.schedule == "shooting":
            Shooting(plan.problem, plan.settings, plan.stages, plan.workers, shell).run()
        else:
            _run_in_order(plan, shell)

    def trial(self, plan: Plan, shell: Shell) -> None:
        """Shooting tries its first window, because it reports nothing before that is solved."""
        assert isinstance(plan, OptimisedPlan)
        if plan.settings.schedule == "shooting":
            try_window(plan.problem, plan.settings, plan.stages, plan.workers, shell)
        else:
            self.run(plan, shell)

    def what_stays(self, last: Checkpoint) -> Checkpoint:
        return only_forces_of_rounds(last) if "round" in last.meta else only_forces(last)


def _run_in_order(plan: OptimisedPlan, shell: Shell) -> None:
    """Window by window, each from where the last one ended; windows that the checkpoint has are not solved again."""
    problem, settings, windows = plan.problem, plan.settings, _stages_to_follow(plan, shell)
    position = restored(shell, windows, settings)
    forces = JoinedForces(problem.steps_per_frame or 1, own_forces(problem), settings.paths)
    kept, work = [*position.found], SearchWork(windows)
    solved = position.window == len(windows)
    first, start = problem.edit.first if problem.edit is not None else 0, None
    for number, stages in enumerate(windows):
        if number < position.window:
            forces = forces.and_then(stages[-1].control, position.found[kept[number]], stages[0].window)
            continue
        if start is None and stages[0].window.first > first:
            start = state_after(problem, forces, stages[0].window.first)
        if position.state is not None:
            entry = Entry(position.stage, position.state.now.x, position.state, position.error)
        elif settings.start is not None:
            spans = [found[0].window for found in windows]
            entry = from_other_run(plan.other_runs(settings.start), spans, number, stages, start, settings.handover)
        else:
            entry = Entry(0, _guess(stages[0], settings, start, forces))
        search = WindowSearch(stages, settings, start, check_start=number == 0)
        record = SearchRecord(shell, windows, number, search, forces, kept, position, work)
        found = solve_window(search, entry, record)
        forces, start = forces.and_then(stages[-1].control, found.best.x, stages[0].window), record.end
        kept.append(part_name(number, len(stages) - 1, found.lowest))
        position = Position()
    if solved:
        replay(problem, shell, forces, problem.frames, final=problem.frames)


def _guess(stage: Stage, settings: SearchNumbers, start: State | None, forces: JoinedForces) -> np.ndarray:
    """The vector that a window's search begins with; start: None for the scene's own; forces: of the windows before."""
    if settings.paths and start is not None and stage.problem.edit is None and follows_any_air(stage):
        return calming_guess(stage, start)
    if forces.windows and forces.windows[-1].ahead:
        guess = first_guess(stage.control, stage.problem, settings)
        return with_found(guess, stage.control, *forces.parts[-1])
    if start is not None and forces.windows and rests_between(stage):
        return resting_guess(stage, start)
    return first_guess(stage.control, stage.problem, settings)


def _stages_to_follow(plan: OptimisedPlan, shell: Shell) -> list[list[Stage]]:
    """The stages of every window: as planned, or those of the run that goes on or is the start."""
    problem, settings = plan.problem, plan.settings
    windows = windows_of(shell.restored, plan.other_runs, problem, settings)
    if windows == plan.windows:
        return plan.stages
    if shell.restored is None:
        shell.note(f"windows as in {settings.start}: {len(windows)}; control.schedule can say otherwise")
    return [plan_stages(problem, settings, window) for window in windows]
