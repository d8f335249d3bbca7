"""What a run will search, and what that takes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from keyfluid.controllers.method import OtherRuns, Plan, Workers
from keyfluid.controllers.optimised.evaluation import memory_plan, optimiser_bytes
from keyfluid.controllers.optimised.layers import plan_layers
from keyfluid.controllers.optimised.position import require_start, windows_of
from keyfluid.controllers.optimised.settings import SearchNumbers
from keyfluid.controllers.optimised.shooting import share_memory
from keyfluid.controllers.optimised.stages import Stage, plan_stages
from keyfluid.controllers.optimised.tidying import Tidying
from keyfluid.controllers.optimised.windows import Window, search_windows
from keyfluid.problem import Problem


@dataclass(frozen=True, eq=False, kw_only=True)
class OptimisedPlan(Plan):
    """The windows of a schedule (those of shooting once per layer), the stages of each, and what they begin from.

    workers: windows of shooting that are solved at once, each with its share of the memory that settings.budget gives
    """

    settings: SearchNumbers
    windows: list[Window]
    stages: list[list[Stage]]
    workers: int
    other_runs: OtherRuns


def make_plan(problem: Problem, other_runs: OtherRuns, elsewhere: Workers | None = None) -> OptimisedPlan:
    """Raises what can't be done; elsewhere: workers of other machines that solve the windows of shooting."""
    settings, workers = SearchNumbers.of(problem), 1
    if settings.schedule == "shooting":
        workers, settings = share_memory(problem, settings, elsewhere)
    windows = _windows(problem, settings)
    stages = [plan_stages(problem, settings, window) for window in windows]
    memory = [memory_plan(found[-1], settings) for found in stages]
    if settings.start is not None:
        kept = windows_of(None, other_runs, problem, settings)
        require_start(other_runs(settings.start), kept, plan_stages(problem, settings, kept[-1]), settings.handover)
    return OptimisedPlan(
        problem=problem,
        memory_bytes=(workers if elsewhere is None else 1) * max(plan.total_bytes for plan in memory)
        + Tidying(problem).held_bytes,
        # Without a folder nobody looks at films on the way, so a window's frames come after its search.
        frames_beside=0 if settings.schedule == "shooting" else windows[-1].first,
        stored_bytes=_stored_bytes(stages, settings),
        kept_bytes=_kept_bytes(problem, settings, stages),
        lines=_lines(problem, settings, stages, workers),
        settings=settings,
        windows=windows,
        stages=stages,
        workers=workers,
        other_runs=other_runs,
    )


def _stored_bytes(stages: Sequence[Sequence[Stage]], settings: SearchNumbers) -> int:
    """Points and gradients of the optimiser's memory, and the forces of every window."""
    sizes = [found[-1].control.nbytes for found in stages]
    return 2 * (settings.history + 2) * max(sizes) + sum(sizes)


def _kept_bytes(problem: Problem, settings: SearchNumbers, stages: Sequence[Sequence[Stage]]) -> int:
    """The forces of every window; after shooting, of one layer's."""
    if settings.schedule == "shooting":
        kept = plan_layers(problem, settings.span)[(settings.rounds - 1) % 2]
        stages = [found for found in stages if found[0].window in kept]
    return sum(found[-1].control.nbytes for found in stages)


def _lines(problem: Problem, settings: SearchNumbers, stages: Sequence[Sequence[Stage]], workers: int) -> list[str]:
    """What will be searched, and what that takes."""
    longest = max(stages, key=lambda found: found[0].window.seen - found[0].window.first)
    control, timing = longest[-1].control, longest[-1].control.timing
    lines = [
        f"{control.count:,} unknowns ({timing.count} x {control.basis.count:,}, {control.nbytes / 1e6:.1f} MB; "
        f"with the optimiser's vectors {optimiser_bytes(longest[-1], settings.history) / 1e6:.1f} MB)",
        str(memory_plan(longest[-1], settings)),
        "stages: " + "; ".join(f"{stage.label} (at most {_iterations(stage)})" for stage in longest),
    ]
    if settings.schedule == "shooting":
        spans = " and ".join(
            ", ".join(f"{window.first}-{window.last}" for window in layer)
            for layer in plan_layers(problem, settings.span)
        )
        lines.append(f"windows in two layers, frames {spans}; {workers} at once; the numbers are one window's")
    elif len(stages) > 1:
        spans = ", ".join(f"{found[0].window.first}-{found[0].window.last}" for found in stages)
        ahead = f", each looks {settings.ahead} frames ahead" if settings.ahead else ""
        lines.append(f"{len(stages)} windows one after the other, frames {spans}{ahead}; the numbers are the longest's")
    return lines


def _iterations(stage: Stage) -> str:
    again = "" if math.isinf(stage.hard) else f", {stage.most} while the error is above {stage.hard:.2g}"
    return f"{stage.iterations} iterations{again}"


def _windows(problem: Problem, settings: SearchNumbers) -> list[Window]:
    """All windows that a schedule solves, those of shooting once per layer."""
    if settings.schedule == "shooting":
        return [window for layer in plan_layers(problem, settings.span) for window in layer]
    return search_windows(problem, settings)
