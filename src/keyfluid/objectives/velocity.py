"""The distance between velocities and their targets [McNamara 2004, eq. 2: weights W_t on velocities].

    phi = 1/2 sum_k w_k |W_k (v_k - v_k*)|^2 / |W_k U_k|^2

W_k is 1 in the region that counts and 0 outside, U_k a speed: with w = 1 a velocity that is off by U_k everywhere
counts as much as densities that are wholly wrong.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.models.state import State


@dataclass(frozen=True, eq=False)
class VelocityKey:
    """The target velocity after `step` steps; mask: 1 on faces that count; speed: U, m/s."""

    step: int
    target: Field
    mask: Field
    speed: float
    weight: float = 1.0


class VelocityMatch:
    """The objective."""

    def __init__(self, keys: Sequence[VelocityKey]) -> None:
        for key in keys:
            key.mask.require(key.target.grid, key.target.kind, "flow: mask")
            if not key.speed > 0 or not np.any(key.mask.data):
                raise KeyfluidError("flow: its region is empty or its speed zero; nothing to reach")
        self.keys = list(keys)
        self.errors: dict[int, float] = {}
        """|v - v*| / U of each, by its place in `keys`, as of the last evaluation."""

    def steps(self) -> Iterable[int]:
        return {key.step for key in self.keys}

    def term(self, step: int, state: State) -> tuple[float, Mapping[str, Field]]:
        value, bar = 0.0, None
        for place, key in enumerate(self.keys):
            if key.step != step:
                continue
            gap = state["velocity"] - key.target
            gap = gap.like(gap.data * key.mask.data)
            square = gap.dot(gap) / (key.speed**2 * key.mask.dot(key.mask))
            self.errors[place] = math.sqrt(square)
            value += 0.5 * key.weight * square
            push = gap.like(gap.data * key.mask.data) * (key.weight / (key.speed**2 * key.mask.dot(key.mask)))
            bar = push if bar is None else bar + push
        return value, {} if bar is None else {"velocity": bar}


def root_mean_square(field: Field, mask: Field | None = None) -> float:
    """Over the values inside the mask, or all values without one."""
    values = field if mask is None else field.like(field.data * mask.data)
    count = float(field.data.size) if mask is None else mask.dot(mask)
    return math.sqrt(values.dot(values) / count) if count > 0 else 0.0
