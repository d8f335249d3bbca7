"""When a control acts: which coefficients make up the force of each step.

    constant     one force for all steps                          f_t = c_0
    step         a force for each step                            f_t = c_t
    windows      a force for each stretch of `window` steps       f_t = c_(t div window)
    integrated   unknowns w at every `window`-th step, straight lines between them, and
                 f_t = (w_t - w_{t-1}) / dt,  w_{-1} = 0          w is nearly the velocity of the air, not its rate

All are linear: f_t = sum_k B_tk c_k with at most four nonzero weights in a row. Integrated unknowns are the reason
why an optimisation needs few evaluations: a force acts on all later steps, a velocity on the steps beside it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from keyfluid.errors import KeyfluidError

Mode = Literal["constant", "step", "windows", "integrated"]
Row = tuple[tuple[int, float], ...]


@dataclass(frozen=True)
class Timing:
    """steps: how many steps are controlled, from step `first`; window in steps; dt in seconds."""

    mode: Mode
    steps: int
    dt: float
    window: int = 1
    first: int = 0

    def __post_init__(self) -> None:
        if self.steps < 1 or self.window < 1:
            raise KeyfluidError(f"control: {self.steps} steps in windows of {self.window}; both must be 1 or more")

    @cached_property
    def count(self) -> int:
        """How many sets of coefficients there are."""
        if self.mode == "constant":
            return 1
        return -(-self.steps // (1 if self.mode == "step" else self.window))

    @cached_property
    def rows(self) -> tuple[Row, ...]:
        """For each controlled step its (set, weight) pairs."""
        rows: list[Row] = []
        before: dict[int, float] = {}
        for t in range(self.steps):
            if self.mode == "integrated":
                now = self._line(t)
                # Rounded, so that the steps between two knots have the very same weights, and share a force.
                row = {k: round(now.get(k, 0.0) - before.get(k, 0.0), 12) / self.dt for k in {*now, *before}}
                before = now
            else:
                row = {0 if self.mode == "constant" else t // (1 if self.mode == "step" else self.window): 1.0}
            rows.append(tuple((k, row[k]) for k in sorted(row) if row[k] != 0.0))
        return tuple(rows)

    @property
    def controlled(self) -> range:
        """The steps of the simulation that are controlled."""
        return range(self.first, self.first + self.steps)

    def row(self, step: int) -> Row:
        """The weights of a step of the simulation; none outside the controlled ones."""
        return self.rows[step - self.first] if 0 <= step - self.first < self.steps else ()

    def sets_of(self, forces: np.ndarray) -> np.ndarray:
        """The sets of coefficients whose forces are (nearly) these: one row of coefficients per controlled step."""
        if self.mode == "constant":
            return forces.mean(axis=0, keepdims=True)
        length = 1 if self.mode == "step" else self.window
        ends = np.minimum(length * np.arange(1, self.count + 1), self.steps)
        if self.mode == "integrated":
            return np.cumsum(forces, axis=0)[ends - 1] * forces.dtype.type(self.dt)
        return np.stack([forces[k * length : end].mean(axis=0) for k, end in enumerate(ends)])

    def _line(self, t: int) -> dict[int, float]:
        """w at a step from the unknowns around it: knot k lies at the end of its window, w is 0 before the first."""
        place = (t + 1) / self.window - 1
        low = int(place) if place >= 0 else -1
        share = place - low
        weights = {low: 1.0 - share, min(low + 1, self.count - 1): share}
        if low + 1 > self.count - 1:
            weights = {self.count - 1: 1.0}
        return {k: w for k, w in weights.items() if k >= 0 and w != 0.0}
