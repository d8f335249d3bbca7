"""Stray smoke: what lies farther than FAR cells from its target.

support   cells in which the target is above SUPPORT times its maximum; a target that is empty has none
stray     mass in cells whose centre is farther than FAR cells from every centre of the support, over all mass; around
          periodic sides too

The distance is Euclidean and exact: no cell is farther than FAR if and only if a ball of that radius around some cell
of the support holds it. A union of balls takes a byte per cell; a distance transform would take forty.
"""

from __future__ import annotations

from itertools import product
from math import isqrt

import numpy as np

from keyfluid.grid import Grid

FAR = 4
"""Cells."""

SUPPORT = 0.01


def away_from(grid: Grid, target: np.ndarray) -> np.ndarray:
    """The cells that are farther than FAR from the target's support."""
    return ~grown(grid, _support(grid, target), FAR)


def fading_away_from(grid: Grid, target: np.ndarray) -> np.ndarray:
    """0 up to one cell from the target's support, 1 farther than FAR cells, in steps of a cell between: what is cut out
    by it has no edge."""
    support = _support(grid, target)
    return np.mean([~grown(grid, support, reach) for reach in range(1, FAR + 1)], axis=0)


def _support(grid: Grid, target: np.ndarray) -> np.ndarray:
    most = float(np.max(target))
    return target > SUPPORT * most if most > 0 else np.zeros(grid.cells, bool)


def stray_share(smoke: np.ndarray, away: np.ndarray, mask: np.ndarray | None = None) -> float:
    """Share of the smoke in these cells; of the smoke in a region if there is a mask. 0 where there is no smoke."""
    counted = smoke.astype(np.float64) if mask is None else mask * smoke.astype(np.float64)
    total = float(np.sum(counted))
    return float(np.sum(np.where(away, counted, 0.0))) / total if total > 0 else 0.0


def grown(grid: Grid, inside: np.ndarray, reach: int) -> np.ndarray:
    """The cells that are no farther than `reach` cells from some cell inside: a union of balls, row by row."""
    padded = inside
    for axis in range(grid.dim):
        width = [(reach, reach) if a == axis else (0, 0) for a in range(grid.dim)]
        padded = np.pad(padded, width, mode="wrap" if grid.is_periodic(axis) else "constant")
    rows = [_shifted(padded, grid.dim - 1, 0, reach)]
    for length in range(1, reach + 1):
        ends = (_shifted(padded, grid.dim - 1, side * length, reach) for side in (-1, 1))
        rows.append(rows[-1] | np.logical_or(*ends))
    found = np.zeros(grid.cells, bool)
    for offset in product(range(-reach, reach + 1), repeat=grid.dim - 1):
        left = reach**2 - sum(step * step for step in offset)
        if left >= 0:
            part = rows[isqrt(left)]
            for axis, step in enumerate(offset):
                part = _shifted(part, axis, step, reach)
            found |= part
    return found


def _shifted(padded: np.ndarray, axis: int, step: int, reach: int) -> np.ndarray:
    """A view without the padding of an axis, moved by some cells along it."""
    place = [slice(None)] * padded.ndim
    place[axis] = slice(reach + step, padded.shape[axis] - reach + step)
    return padded[tuple(place)]
