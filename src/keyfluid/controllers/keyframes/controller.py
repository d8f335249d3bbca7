"""`method = "adjoint"` and `method = "spectral"`: the forces that bring smoke to its keyframes, by optimisation.

    minimise phi(u) by L-BFGS, the gradient by the adjoint method                            [McNamara 2004, section 4]
    over a potential whose waves are let in from long to short                               [Tang 2021, section 4.2]

Both methods are this loop over stages (stages.py); they differ in their controls and defaults. After each stage the
film of the forces so far is made, so that there is a preview from the first minute on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from keyfluid.controllers.keyframes.begin import first_guess
from keyfluid.controllers.keyframes.edited import own_forces
from keyfluid.controllers.keyframes.evaluation import memory_plan, optimiser_bytes
from keyfluid.controllers.keyframes.layers import plan_layers
from keyfluid.controllers.keyframes.places import Place, from_other_run, part_name, restored, windows_of
from keyfluid.controllers.keyframes.replay import state_after
from keyfluid.controllers.keyframes.search import Here, Search
from keyfluid.controllers.keyframes.settings import SearchNumbers
from keyfluid.controllers.keyframes.shooting import Shooting, share_memory
from keyfluid.controllers.keyframes.stages import Stage, carry, plan_stages
from keyfluid.controllers.keyframes.windows import Pieces, Window, plan_windows
from keyfluid.controllers.method import Method, OtherRuns, Plan
from keyfluid.controllers.shell import Shell
from keyfluid.problem import Problem

_PER_EVALUATION = 3.0
"""Simulations' work of an evaluation, its line search included (docs/benchmarks.md: gradient over forward)."""


@dataclass(frozen=True, eq=False, kw_only=True)
class KeyframesPlan(Plan):
    """The windows of a schedule (those of shooting once per layer), the stages of each, and what they begin from."""

    settings: SearchNumbers
    windows: list[Window]
    stages: list[list[Stage]]
    other_runs: OtherRuns


class Keyframes(Method):
    """The method."""

    begins_from_frames = False
    films_again = True

    def plan(self, problem: Problem, other_runs: OtherRuns) -> KeyframesPlan:
        settings, workers = SearchNumbers.of(problem), 1
        whole = settings
        if settings.schedule == "shooting":
            workers, settings = share_memory(problem, settings)
        windows = _windows(problem, settings)
        stages = [plan_stages(problem, settings, window) for window in windows]
        memory = [memory_plan(found[-1], settings) for found in stages]
        if settings.start is not None:
            kept = windows_of(None, other_runs, problem, settings)
            last = len(kept) - 1
            from_other_run(other_runs, settings.start, kept, last, plan_stages(problem, settings, kept[last]))
        return KeyframesPlan(
            problem=problem,
            memory_bytes=workers * max(plan.total_bytes for plan in memory),
            stored_bytes=_stored_bytes(stages, settings),
            simulations=_simulations(problem, settings, stages),
            lines=_lines(problem, settings, stages, workers),
            settings=whole,
            windows=windows,
            stages=stages,
            other_runs=other_runs,
        )

    def run(self, plan: Plan, shell: Shell) -> None:
        assert isinstance(plan, KeyframesPlan)
        problem, settings = plan.problem, plan.settings
        if settings.schedule == "shooting":
            Shooting(problem, settings, shell).run()
            return
        windows = windows_of(shell.restored, plan.other_runs, problem, settings)
        if shell.restored is None and windows != plan.windows:
            shell.note(f"windows as in {settings.start}: {len(windows)}; control.schedule can say otherwise")
        plans = plan.stages
        if windows != plan.windows:
            plans = [plan_stages(problem, settings, window) for window in windows]
        place = restored(shell, plans, settings)
        pieces, kept = Pieces(own_forces(problem)), [*place.found]
        for number, stages in enumerate(plans):
            if number < place.window:
                pieces = pieces.and_then(stages[-1].control, place.found[kept[number]])
                continue
            start = state_after(problem, pieces, windows[number].first) if number > 0 else None
            if place.state is None and settings.start is not None:
                place, vector = from_other_run(plan.other_runs, settings.start, windows, number, stages)
            else:
                vector = first_guess(stages[0], settings) if place.state is None else place.state.now.x
            for rank in range(place.stage, len(stages)):
                if rank > place.stage:
                    vector = carry(vector, stages[rank - 1].control, stages[rank].control)
                search = Search(shell, settings, plans, Here(number, rank, pieces, tuple(kept), start))
                state = search.go(vector, place)
                vector = state.best.x
                if rank + 1 < len(stages):
                    search.preview(vector)
                else:
                    search.film(vector, problem.frames if number + 1 == len(plans) else windows[number].last)
                if stages[rank] is not plans[-1][-1]:
                    shell.show()
                place = replace(place, state=None)
            pieces = pieces.and_then(stages[-1].control, vector)
            kept.append(part_name(number, len(stages) - 1, state.lowest))
            place = Place()


def _stored_bytes(stages: Sequence[Sequence[Stage]], settings: SearchNumbers) -> int:
    """Points and gradients of the optimiser's memory, and the forces of every window."""
    sizes = [found[-1].control.nbytes for found in stages]
    return 2 * (settings.history + 2) * max(sizes) + sum(sizes)


def _simulations(problem: Problem, settings: SearchNumbers, stages: Sequence[Sequence[Stage]]) -> float:
    """An evaluation is a simulation and its adjoint; a coarser grid's is cheaper by its cells."""
    work = 0.0
    for found in stages:
        share = (found[0].window.last - found[0].window.first) / problem.frames
        for stage in found:
            work += share * stage.iterations * stage.problem.grid.count / problem.grid.count
    passes = (settings.rounds + 1) / 2 if settings.schedule == "shooting" else 1.0
    return _PER_EVALUATION * passes * work


def _lines(problem: Problem, settings: SearchNumbers, stages: Sequence[Sequence[Stage]], workers: int) -> list[str]:
    """What will be searched, and what that takes."""
    longest = max(stages, key=lambda found: found[0].window.last - found[0].window.first)
    control, timing = longest[-1].control, longest[-1].control.timing
    lines = [
        f"{control.count:,} unknowns ({timing.count} x {control.basis.count:,}, {control.nbytes / 1e6:.1f} MB; "
        f"with the optimiser's vectors {optimiser_bytes(control, settings.history) / 1e6:.1f} MB)",
        str(memory_plan(longest[-1], settings)),
        "stages: " + "; ".join(f"{stage.label} (at most {stage.iterations} iterations)" for stage in longest),
    ]
    if settings.schedule == "shooting":
        spans = " and ".join(
            ", ".join(f"{window.first}-{window.last}" for window in layer)
            for layer in plan_layers(problem, settings.span)
        )
        lines.append(f"windows in two layers, frames {spans}; {workers} at once; the numbers are one window's")
    elif len(stages) > 1:
        spans = ", ".join(f"{found[0].window.first}-{found[0].window.last}" for found in stages)
        lines.append(f"{len(stages)} windows one after the other, frames {spans}; the numbers are the longest's")
    return lines


def _windows(problem: Problem, settings: SearchNumbers) -> list[Window]:
    """All windows that a schedule solves, those of shooting once per layer."""
    if settings.schedule == "shooting":
        return [window for layer in plan_layers(problem, settings.span) for window in layer]
    return plan_windows(problem, settings.schedule)
