"""From coarse to fine: the same problem on half the cells along every side, and half the steps where keyframes allow.

A step there carries the smoke as many cells as here, so velocities in cells per step keep their size, and a round costs
an eighth (a sixteenth in 3D). What is found there begins the search here, interpolated linearly: in space as the
prolongation of the multigrid has it (fas_transfer.py), in time so that the way of the smoke is kept,

    v[2k] = 3/4 v'[k] + 1/4 v'[k - 1],      v[2k + 1] = 3/4 v'[k] + 1/4 v'[k + 1].
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.solvers.fas_transfer import prolong_faces

if TYPE_CHECKING:
    from keyfluid.controllers.spacetime.controller import SpacetimePlan

FEWEST_CELLS = {2: 64, 3: 32}
"""Along the shortest side of a coarser grid. Letters on 64 cells gain nothing from 32: they take as many rounds."""
FEWEST_STEPS = 4
"""Before the first keyframe of one with fewer steps."""


def coarser(plan: SpacetimePlan) -> SpacetimePlan | None:
    """The problem on the next coarser grid; None where it has none."""
    cells = plan.problem.grid.cells
    if any(n % 2 for n in cells) or min(cells) < 2 * FEWEST_CELLS[len(cells)]:
        return None
    goals = [goal.step for goal in plan.goals]
    merge = 2 if all(step % 2 == 0 for step in goals) and min(goals) >= 2 * FEWEST_STEPS else 1
    try:
        return type(plan).of(plan.problem.coarser(2), merge * plan.stride)
    except KeyfluidError:
        return None


def finer(coarse: SpacetimePlan, plan: SpacetimePlan, v: np.ndarray) -> np.ndarray:
    """Velocities v of the coarse problem as those of `plan`, in its cells and steps."""
    ratio = coarse.stride // plan.stride
    v = prolong_faces(coarse.problem.grid, v)
    if ratio == 2:
        v = _twice_the_steps(v)
    v *= v.dtype.type(2.0 / ratio)
    flow = plan.flow(plan.settings.free_start)
    flow.solenoidal.project(v)
    if not plan.settings.free_start:
        v[:, 0] = plan.start().data
    return v


def _twice_the_steps(v: np.ndarray) -> np.ndarray:
    near, far = v.dtype.type(0.75), v.dtype.type(0.25)
    before, after = np.roll(v, 1, 1), np.roll(v, -1, 1)
    before[:, 0], after[:, -1] = v[:, 0], v[:, -1]
    out = np.empty((v.shape[0], 2 * v.shape[1]), v.dtype)
    out[:, 0::2] = near * v + far * before
    out[:, 1::2] = near * v + far * after
    return out
