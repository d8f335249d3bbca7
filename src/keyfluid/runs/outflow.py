"""Smoke that leaves through open sides, so that it is not taken for a fault of the simulation.

    left = sum over steps and faces of open sides of dt x area x (outward speed, if above 0) x (density beside the face)

The density beside a face is taken between the frame before and this one, in proportion to time. For a front that
crosses many cells in a frame that is an estimate; over many frames its errors cancel.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from keyfluid.boundary import Boundary
from keyfluid.fields import Field
from keyfluid.grid import Grid


def outflow(
    grid: Grid,
    before: Mapping[str, np.ndarray],
    after: Mapping[str, np.ndarray],
    carriers: Sequence[tuple[float, Field]],
) -> dict[str, float]:
    """Mass of each field that left within a frame; carriers: (seconds, velocity) of its steps, in order."""
    left = dict.fromkeys(after, 0.0)
    whole = sum(seconds for seconds, _ in carriers)
    passed = 0.0
    for seconds, velocity in carriers:
        share = (passed + 0.5 * seconds) / whole
        passed += seconds
        for axis, side in ((a, s) for a, b in enumerate(grid.boundary) if b is Boundary.OPEN for s in (0, -1)):
            outward = velocity.component(axis).take(side, axis).astype(np.float64) * (1.0 if side else -1.0)
            speed = np.maximum(outward, 0.0)
            for name in left:
                there = (1 - share) * before[name].take(side, axis) + share * after[name].take(side, axis)
                left[name] += seconds * float(np.sum(speed * there)) * grid.spacing ** (grid.dim - 1)
    return left
