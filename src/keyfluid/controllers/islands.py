"""How far smoke has to go to parts of a target that it does not meet, and whether holes must open or close on the way.

An island is a connected part of a target: cells above half its maximum that touch, corners included; parts that a
periodic side cuts count on their own. Smoke meets an island if it covers at least MEETING of it. It feels one that is
no farther than NEAR x L from its edge, L the longest side of the domain: a disk of smoke finds all letters of a word
around it. Islands beyond are far, and where one lies behind another, the nearer one takes all smoke unless a method
looks farther than its usual blur.
"""

from __future__ import annotations

from itertools import product

import numpy as np

from keyfluid.grid import Grid
from keyfluid.problem import Problem

MEETING = 0.4
"""Share of a target that must be covered for the smoke to feel its shape."""
NEAR = 1 / 8
SMALLEST = 0.01
"""Share of a target's mass below which an island is a speck."""
_TRACE = 0.1
"""Share of the largest density above which a cell holds smoke."""


def smoke_for(problem: Problem, field: str, smoke: np.ndarray, first: int, last: int) -> np.ndarray:
    """The density at frame `first` and what sources give until frame `last`, left where they give it."""
    for source in problem.sources:
        if source.field == field:
            spacing, fps = problem.grid.spacing, problem.fps
            mass = source.emitted(last, fps, spacing) - source.emitted(first, fps, spacing)
            if mass > 0:
                volume = float(np.sum(source.mask, dtype=np.float64)) * problem.grid.cell_volume
                smoke = smoke + source.mask * (mass / volume)
    return smoke


def meets(smoke: np.ndarray, target: np.ndarray, full: float) -> bool:
    """Whether smoke covers enough of a target to feel its shape; what sources pile up counts as cells that are full."""
    covered = np.minimum(smoke, smoke.dtype.type(full))
    return float(np.sum(covered * target)) >= MEETING * float(np.sum(target * target))


def way_between(grid: Grid, smoke: np.ndarray, target: np.ndarray) -> float:
    """Metres between two centres of mass."""
    return float(np.linalg.norm(_middle(grid, smoke) - _middle(grid, target)))


def way_to_far_islands(grid: Grid, smoke: np.ndarray, target: np.ndarray, full: float) -> float:
    """Metres from the smoke's centre of mass to that of the farthest island that it neither meets nor is near to; 0 if
    there is none."""
    from scipy.ndimage import label, minimum, sum_labels

    labels, count = label(target > 0.5 * np.max(target), np.ones((3,) * grid.dim))
    numbers = np.arange(1, count + 1)
    masses = sum_labels(target, labels, numbers)
    large = [int(n) for n, mass in zip(numbers, masses) if mass >= SMALLEST * float(np.sum(target))]
    unmet = [n for n in large if not meets(smoke, np.where(labels == n, target, 0), full)]
    if len(large) < 2 or not unmet or not np.any(smoke > 0):
        return 0.0
    gaps = minimum(metres_to(grid, smoke > _TRACE * min(np.max(smoke), full)), labels, unmet)
    far = [n for n, gap in zip(unmet, gaps) if gap > NEAR * max(grid.size)]
    return max((way_between(grid, smoke, np.where(labels == n, target, 0)) for n in far), default=0.0)


def tunnels(density: np.ndarray) -> int:
    """Holes through a shape, cells above half its maximum: 1 for a ring, 0 for a ball, a hollow one too. Its first
    Betti number, from parts, cavities and Euler's number: b1 = b0 + b2 - chi (b2 = 0 in 2D)."""
    from scipy.ndimage import generate_binary_structure, label

    dim = density.ndim
    inside = np.pad(density > 0.5 * np.max(density), 1)
    parts = label(inside, np.ones((3,) * dim))[1]
    cavities = label(~inside, generate_binary_structure(dim, 1))[1] - 1 if dim == 3 else 0
    return int(parts + cavities - _euler(inside))


def _euler(inside: np.ndarray) -> int:
    """Corners less edges plus faces less cells of a union of cells; a corner is there if a cell has it, and so on."""
    number = 0
    for spanned in product((False, True), repeat=inside.ndim):
        there = inside
        for axis, own in enumerate(spanned):
            if not own:
                lines = np.moveaxis(there, axis, 0)
                there = np.moveaxis(lines[:-1] | lines[1:], 0, axis)
        number += (-1) ** sum(spanned) * int(np.count_nonzero(there))
    return number


def metres_to(grid: Grid, inside: np.ndarray) -> np.ndarray:
    """Metres from every cell to the nearest cell inside, around periodic sides too."""
    from scipy.ndimage import distance_transform_edt

    pad = [(n // 2, n // 2) if grid.is_periodic(a) else (0, 0) for a, n in enumerate(grid.cells)]
    found = distance_transform_edt(~np.pad(inside, pad, mode="wrap")) * grid.spacing
    return np.asarray(found[tuple(slice(low, low + n) for (low, _), n in zip(pad, grid.cells))])


def _middle(grid: Grid, density: np.ndarray) -> np.ndarray:
    total = float(np.sum(density, dtype=np.float64))
    lines = grid.coordinates((False,) * grid.dim)
    return np.array([float(np.sum(density * line, dtype=np.float64)) / total for line in lines])
