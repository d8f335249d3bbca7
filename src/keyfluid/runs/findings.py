"""What became of a keyframe: how much of it is missing, which parts are empty, what lies outside.

missing   1 - sum of min(rho, rho*) / sum of rho*
outside   share of rho where rho* is below 1 % of its maximum
parts     of a text its words (of one word its letters), else connected parts of rho* above half its maximum that hold
          at least 2 % of it; each with its middle and its fill, sum of min(rho, rho*) / sum of rho* inside it
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keyfluid.grid import Grid
from keyfluid.io.run.result_file import KeyScore
from keyfluid.problem import Keyframe
from keyfluid.scenes.build.sources import PlacedBody

MET_IOU = 0.85
EMPTY, PARTLY = 0.15, 0.7
"""Fill below which nothing has reached a part, and below which it is worth a word."""

_LEAST_SHARE = 0.02
_MOST_PARTS = 40


@dataclass(frozen=True)
class TargetPart:
    """name: of a word or letter, "" for others; middle: metres."""

    name: str
    middle: tuple[float, ...]
    fill: float


@dataclass(frozen=True, eq=False)
class Finding:
    """A keyframe beside what was reached."""

    key: Keyframe
    score: KeyScore
    missing: float
    outside: float
    parts: list[TargetPart]
    hole: tuple[float, ...] | None
    """Middle of the largest connected hole, if it makes up most of what is missing."""

    @property
    def met(self) -> bool:
        if self.key.empty:
            return self.score["relative_error"] < 1 - MET_IOU
        return self.score["iou"] >= MET_IOU and not self.empty_parts

    @property
    def empty_parts(self) -> list[TargetPart]:
        return [part for part in self.parts if part.fill < EMPTY]

    @property
    def bounded(self) -> bool:
        """Whether it is about as close as a rearrangement of the fluid can be, and that is not close."""
        bound = self.score["bound"]
        return bound is not None and bound > 0.1 and self.score["relative_error"] <= 1.15 * bound + 0.02


def find(grid: Grid, key: Keyframe, reached: np.ndarray, score: KeyScore) -> Finding:
    share = np.float64(1.0) if key.mask is None else key.mask.astype(np.float64)
    target, there = share * key.target, share * reached.astype(np.float64)
    if not target.any():
        return Finding(key, score, 0.0, float(there.sum() > 0), [], None)
    common = np.minimum(target, there)
    gap = (target - common) * (target > 0.5 * target.max())
    outside = float(there[target < 0.01 * target.max()].sum() / max(float(there.sum()), 1e-300))
    return Finding(
        key, score, 1 - float(common.sum() / target.sum()), outside, _parts(grid, key, target, common), _hole(grid, gap)
    )


def _parts(grid: Grid, key: Keyframe, target: np.ndarray, common: np.ndarray) -> list[TargetPart]:
    named = key.body.parts(grid) if isinstance(key.body, PlacedBody) else []
    masks = [(name, cover > 0.5 * cover.max()) for name, cover in named]
    if not masks:
        from scipy.ndimage import label

        labels, count = label(target > 0.5 * target.max())
        masks = [("", labels == number) for number in range(1, min(count, _MOST_PARTS) + 1)]
    total = float(target.sum())
    found = []
    for name, mask in masks[:_MOST_PARTS]:
        held = float(target[mask].sum())
        if held > 0 and (name or held > _LEAST_SHARE * total):
            found.append(TargetPart(name, _middle(grid, target * mask), float(common[mask].sum()) / held))
    return found


def _hole(grid: Grid, gap: np.ndarray) -> tuple[float, ...] | None:
    from scipy.ndimage import label

    labels, count = label(gap > 0.5 * gap.max()) if gap.any() else (gap, 0)
    if not count:
        return None
    sizes = np.bincount(labels.ravel(), gap.ravel())[1:]
    largest = int(sizes.argmax())
    return _middle(grid, gap * (labels == largest + 1)) if sizes[largest] > 0.5 * gap.sum() else None


def _middle(grid: Grid, weights: np.ndarray) -> tuple[float, ...]:
    total = float(np.sum(weights, dtype=np.float64))
    lines = grid.coordinates((False,) * grid.dim)
    return tuple(float(np.sum(weights * line, dtype=np.float64)) / total for line in lines)
