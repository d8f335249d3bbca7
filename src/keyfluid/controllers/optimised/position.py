"""Where an optimisation stands, and how it gets there again: from its own checkpoint, or from another run's.

The checkpoint of an iteration is its point and gradient, one part (part_name); the optimiser's memory is the
differences of the last few (optimise/lbfgs.py). Of a finished run the forces of every window stay (only_forces).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from keyfluid.controllers.method import OtherRun, OtherRuns
from keyfluid.controllers.optimised.handover import AirOfRun, follow_air, follows_any_air, require_air
from keyfluid.controllers.optimised.minimise import Entry, optimiser_of
from keyfluid.controllers.optimised.settings import SearchNumbers
from keyfluid.controllers.optimised.stages import Stage, plan_stages
from keyfluid.controllers.optimised.unknowns import carry
from keyfluid.controllers.optimised.windows import Window, search_windows
from keyfluid.controllers.shell import Checkpoint, Shell
from keyfluid.errors import KeyfluidError, SceneError
from keyfluid.models.state import State
from keyfluid.optimise.lbfgs import Iterate, Minimisation
from keyfluid.problem import Problem
from keyfluid.problem.kept import Json, items, number, number_or_infinite, number_or_none, table, text, whole


@dataclass(frozen=True, eq=False)
class Position:
    """Where a run stands: the window, the stage, its search and last error, and the vectors of the windows before.

    Past the last window all are found: what is left is the film.
    """

    window: int = 0
    stage: int = 0
    state: Minimisation | None = None
    values: Mapping[int, float] = field(default_factory=dict)
    error: float | None = None
    found: Mapping[str, np.ndarray] = field(default_factory=dict)


def restored(shell: Shell, plans: Sequence[Sequence[Stage]], settings: SearchNumbers) -> Position:
    return Position() if shell.restored is None else restored_from(shell.restored, plans, settings)


def restored_from(checkpoint: Checkpoint, plans: Sequence[Sequence[Stage]], settings: SearchNumbers) -> Position:
    meta, arrays = checkpoint.meta, checkpoint.arrays
    try:
        window, stage = whole(meta, "window"), whole(meta, "stage")
        found = {str(part): arrays[f"{part}/x"] for part in items(meta, "kept")}
        if window == len(plans) == len(found):
            return Position(window, stage, found=found)
        lowest = whole(meta, "lowest")
        values = {int(i): number(table(meta, "trail"), i) for i in table(meta, "trail")}
        known = {**values, lowest: number(meta, "best")}
        parts = {i: part_name(window, stage, i) for i in known}
        points = {i: Iterate(arrays[f"{parts[i]}/x"], known[i], arrays[f"{parts[i]}/g"]) for i in known}
        trail = {i: points[i] for i in values}
        if points[lowest].x.size != plans[window][stage].control.count:
            raise KeyError("x")
        evaluations, decrease = whole(meta, "evaluations"), number_or_infinite(meta, "decrease")
        mark = (whole(meta, "marked"), number(meta, "mark")) if "mark" in meta else (evaluations, known[lowest])
        optimiser = optimiser_of(plans[window][stage], settings, stage)
        state = optimiser.restore(trail, evaluations, decrease, (lowest, points[lowest]), mark)
        state = replace(state, stalled=text(meta, "stalled"))
        return Position(window, stage, state, known, number_or_none(meta, "error"), found)
    except (KeyError, IndexError, AttributeError):
        raise KeyfluidError("the checkpoint does not fit the scene; run the scene again with --overwrite") from None


def only_forces(last: Checkpoint) -> Checkpoint:
    """The last checkpoint of a finished search without the optimiser's memory: the vectors that were found."""
    meta = last.meta
    try:
        window = whole(meta, "window")
        if len(items(meta, "windows")) != window + 1:
            return last
        kept = [*items(meta, "kept"), part_name(window, whole(meta, "stage"), whole(meta, "lowest"))]
        arrays = {f"{part}/x": last.arrays[f"{part}/x"] for part in kept}
    except KeyError:
        return last  # of an older version: it stays whole
    return Checkpoint(arrays, {"windows": meta["windows"], "window": window + 1, "stage": 0, "kept": kept})


def windows_of(
    checkpoint: Checkpoint | None, other_runs: OtherRuns, problem: Problem, settings: SearchNumbers
) -> list[Window]:
    """The windows of a schedule, or those that are already being followed.

    "auto" looks at the machine's memory. A run that goes on elsewhere keeps to its plan, and one that begins from
    another run, a preview say, takes over that one's.
    """
    if checkpoint is not None:
        return _windows_in(checkpoint, problem, settings)
    if settings.start is not None and settings.schedule == "auto":
        theirs = _windows_in(other_runs(settings.start).checkpoint, problem, settings)
        if theirs in (search_windows(problem, settings, schedule) for schedule in ("all", "sequence")):
            return theirs
    return search_windows(problem, settings)


def _windows_in(checkpoint: Checkpoint, problem: Problem, settings: SearchNumbers) -> list[Window]:
    if "windows" in checkpoint.meta:
        return [_window(pair) for pair in items(checkpoint.meta, "windows")]
    return search_windows(problem, settings)


def _window(found: Json) -> Window:
    """Its first and last frame, and how far it looks ahead, which older runs do not have."""
    if not isinstance(found, Sequence) or len(found) not in (2, 3):
        raise KeyfluidError("the checkpoint does not fit the scene; run the scene again with --overwrite")
    numbers = dict(zip(("first", "last", "ahead"), [*found, 0]))
    return Window(whole(numbers, "first"), whole(numbers, "last"), whole(numbers, "ahead"))


def require_start(other: OtherRun, windows: Sequence[Window], stages: Sequence[Stage], handover: str | None) -> None:
    """Raise unless the last of the windows, which has these stages, and so all can begin from another run."""
    problem, forces = stages[-1].problem, _takes_forces(other, stages[-1], handover)
    if forces or (handover is None and other.problem.method == problem.method):
        _from_same_method(other, windows, len(windows) - 1, stages)
    if not forces:
        require_air(other, problem, windows[-1].last)


def from_other_run(
    other: OtherRun,
    windows: Sequence[Window],
    number: int,
    stages: Sequence[Stage],
    start: State | None,
    handover: str | None,
) -> Entry:
    """The forces of another run, or, if it is of another method, those that follow its air, in the last stage, which
    can hold most of them; start: the state that the window begins in, None: the scene's own."""
    problem = stages[-1].problem
    if _takes_forces(other, stages[-1], handover):
        return _from_same_method(other, windows, number, stages)
    return Entry(len(stages) - 1, follow_air(AirOfRun(other, problem), stages[-1], start))


def _takes_forces(other: OtherRun, last: Stage, handover: str | None) -> bool:
    """Whether a search whose last stage this is takes over forces, and not the air. Of a run on another grid smoke that
    is carried along paths needs the air (handover.py)."""
    problem = last.problem
    same = other.problem.method == problem.method
    if handover == "forces" and not same:
        raise SceneError(
            "control.handover",
            f'{other.folder} is a run of method "{other.problem.method}", whose forces are of another kind; use "air"',
        )
    if handover is None and last.paths and other.problem.grid != problem.grid:
        return same and not follows_any_air(last)
    return same and handover != "air"


def _from_same_method(other: OtherRun, windows: Sequence[Window], number: int, stages: Sequence[Stage]) -> Entry:
    """The forces of another run, carried to the first stage on the scene's own grid that blurs no more."""
    folder, problem, checkpoint = other.folder, other.problem, other.checkpoint
    unlike = SceneError(
        "control.start", f"{folder} is no run of this method with the same keyframe times, control and schedule"
    )
    settings = SearchNumbers.of(problem)
    if settings.schedule == "shooting":
        raise SceneError("control.start", f'{folder} has schedule "shooting", which has no forces in order')
    theirs = _windows_in(checkpoint, problem, settings)
    if theirs != list(windows):
        raise unlike
    try:
        found = restored_from(checkpoint, [plan_stages(problem, settings, window) for window in theirs], settings)
    except KeyfluidError:
        raise unlike from None
    if found.window < number or (found.state is None and found.window == number):
        raise SceneError("control.start", f"{folder} is not finished; resume it first")
    plan = plan_stages(problem, settings, theirs[number])
    if found.state is not None and number == found.window:
        before, vector = plan[found.stage], found.state.best.x
    else:
        before, vector = plan[-1], found.found[list(found.found)[number]]
    last = stages[-1]
    rank = next(
        i
        for i, stage in enumerate(stages)
        if stage.problem is last.problem and stage.blur == last.blur and stage.paths == last.paths
    )
    control = stages[rank].control
    if type(before.control.basis) is not type(control.basis) or before.control.timing != control.timing:
        raise unlike
    carried = carry(vector, before.control, control)
    if carried.size != control.count:
        raise SceneError(
            "control.start", f"{folder} has other unknowns; give both the same control.spacing and control.sources"
        )
    return Entry(rank, carried)


def part_name(window: int, stage: int, iteration: int) -> str:
    return f"{window}-{stage}-{iteration}"
