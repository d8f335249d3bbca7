"""The forces of a film that is edited: they go on acting under the new ones.

With no new ones it stays as it was, where the engine's smoke was moved by forces alone, one step per frame.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

from keyfluid.controllers.optimised.forces import Forces
from keyfluid.controllers.optimised.on_grid import state_on
from keyfluid.controls.resample import to_grid
from keyfluid.fields import Field
from keyfluid.problem import EditedFilm, FrameRecord, Problem


def own_frame(problem: Problem, edit: EditedFilm, index: int) -> FrameRecord:
    """A frame of the film as it was; on a coarser grid, as a preview has, its means."""
    record = edit.record(index)
    if record.state["velocity"].grid == problem.grid:
        return record
    return replace(
        record,
        state=state_on(problem, record.state),
        force=None if record.force is None else to_grid(record.force, problem.grid),
        carriers=[(seconds, to_grid(velocity, problem.grid)) for seconds, velocity in record.carriers],
    )


def own_forces(problem: Problem, keep: int | None = 1) -> Forces | None:
    """The force of each step of the film, its frame's mean, on the grid of `problem`; None where nothing is edited.

    keep: how many frames stay in memory; None: all that were asked for.
    """
    edit = problem.edit
    if edit is None:
        return None
    steps = problem.steps_per_frame or 1

    @lru_cache(maxsize=keep)
    def of_frame(index: int) -> Field | None:
        force = edit.force(index)
        if force is None:
            return None
        return force if force.grid == problem.grid else to_grid(force, problem.grid)

    return lambda step: of_frame(step // steps + 1)
