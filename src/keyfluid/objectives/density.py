"""How far densities are from their keyframes.

    phi = 1/2 sum_k w_k <e_k, C e_k> / S,   e_k = W_k (rho_k - rho_k*),   S = sum_k w_k |W_k rho_k*|^2
                                                        [McNamara 2004, eq. 2 with its weights W_t; Tang 2021, eq. 5]

C = gamma^T gamma; gamma is nothing, a Gaussian blur, or the root of a Gaussian pyramid: linear, so that it acts on the
difference. Where stray smoke should be fetched from far, C has a long-range part as well (operators/far_reach.py). W_k
is 1 in a keyframe's region and 0 outside; of a region that should be empty, S has the target's whole size, so that it
weighs like the others. The division by S is ours: without gamma, sqrt(2 phi) is the relative error
over all keyframes, whatever the resolution.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.models.state import State
from keyfluid.operators.base import SymmetricOperator


@dataclass(frozen=True, eq=False)
class DensityKey:
    """A target of one density after `step` steps; mask: 1 where it counts, None for everywhere; path: its key path."""

    step: int
    name: str
    target: Field
    weight: float = 1.0
    mask: Field | None = None
    path: str = ""

    def masked(self, values: Field) -> Field:
        return values if self.mask is None else values.like(values.data * self.mask.data)


class DensityMatch:
    """The objective; metric: C, None for 1: a Gaussian of width sqrt(2) sigma or a pyramid (operators/blur.py), or what
    reaches farther."""

    def __init__(self, keys: Sequence[DensityKey], metric: SymmetricOperator | None = None) -> None:
        for key in keys:
            if key.mask is not None:
                key.mask.require(key.target.grid, key.target.kind, "keyframe: mask")
        self.keys = list(keys)
        self.metric = metric
        self.sizes = [_square(key.masked(key.target)) or _square(key.target) for key in keys]
        self.scale = sum(key.weight * size for key, size in zip(keys, self.sizes))
        if not self.scale > 0:
            raise KeyfluidError("keyframe: every target is empty, or has weight 0; nothing to reach")
        self.errors: dict[int, float] = {}
        """Relative error of each keyframe, by its place in `keys`, as of the last evaluation."""

    def steps(self) -> Iterable[int]:
        return {key.step for key in self.keys}

    def term(self, step: int, state: State) -> tuple[float, Mapping[str, Field]]:
        value = 0.0
        bars: dict[str, Field] = {}
        for place, key in enumerate(self.keys):
            if key.step != step:
                continue
            gap = key.masked(state[key.name] - key.target)
            self.errors[place] = float((_square(gap) / self.sizes[place]) ** 0.5) if self.sizes[place] > 0 else 0.0
            bar = gap if self.metric is None else self.metric.apply(gap)[0]
            value += 0.5 * key.weight * gap.dot(bar) / self.scale
            bar = (key.weight / self.scale) * key.masked(bar)
            bars[key.name] = bars[key.name] + bar if key.name in bars else bar
        return value, bars


def relative_error(reached: np.ndarray, target: np.ndarray, mask: np.ndarray | None = None) -> float:
    """|rho - rho*| / |rho*|, inside a mask; where the region should be empty, relative to the whole target.

    Not by BLAS, whose sums depend on the number of threads.
    """
    share = np.float64(1.0) if mask is None else mask.astype(np.float64)
    wanted = share * target
    miss = share * reached - wanted
    size = np.sum(wanted * wanted) or np.sum(np.square(target, dtype=np.float64))
    return math.sqrt(float(np.sum(miss * miss) / size))


def _square(field: Field) -> float:
    return field.dot(field)
