"""From coarse to fine: the same problem on half the cells along every side, and half the steps where keyframes allow.

A step there carries the smoke as many cells as here, so velocities in cells per step keep their size, and a round costs
an eighth (a sixteenth in 3D). What is found there begins the search here, interpolated linearly: in space as the
prolongation of the multigrid has it (fas_transfer.py), in time so that the way of the smoke is kept,

    v[2k] = 3/4 v'[k] + 1/4 v'[k - 1],      v[2k + 1] = 3/4 v'[k] + 1/4 v'[k + 1].
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from keyfluid.grid import Grid
from keyfluid.solvers.fas_transfer import prolong_faces

FEWEST_CELLS = {2: 64, 3: 32}
"""Along the shortest side of a coarser grid. Letters on 64 cells gain nothing from 32: they take as many rounds."""
FEWEST_STEPS = 4
"""Before the first keyframe of one with fewer steps."""


def steps_merged(cells: Sequence[int], goals: Sequence[int]) -> int | None:
    """How many steps become one on the next coarser grid; None where there is none. goals: the keyframes' steps."""
    if any(n % 2 for n in cells) or min(cells) < 2 * FEWEST_CELLS[len(cells)]:
        return None
    return 2 if all(step % 2 == 0 for step in goals) and min(goals) >= 2 * FEWEST_STEPS else 1


def finer(coarse: Grid, v: np.ndarray, merged: int) -> np.ndarray:
    """Velocities on the coarse grid, in whose steps `merged` of the finer one's are, as velocities there."""
    v = prolong_faces(coarse, v)
    if merged == 2:
        v = _twice_the_steps(v)
    v *= v.dtype.type(2.0 / merged)
    return v


def _twice_the_steps(v: np.ndarray) -> np.ndarray:
    near, far = v.dtype.type(0.75), v.dtype.type(0.25)
    before, after = np.roll(v, 1, 1), np.roll(v, -1, 1)
    before[:, 0], after[:, -1] = v[:, 0], v[:, -1]
    out = np.empty((v.shape[0], 2 * v.shape[1]), v.dtype)
    out[:, 0::2] = near * v + far * before
    out[:, 1::2] = near * v + far * after
    return out
