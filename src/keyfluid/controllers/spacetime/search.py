"""The advection subproblem: velocities that carry the smoke to its keyframes and cost little [eq. 7, algorithm 1].

    minimise  E(w) = match(w) + cost(w)         over w without divergence

`match` is the mismatch of the keyframes (advection.py). The cost is what the rest of the problem makes of w: the
paper's K/2 |w - g|^2 (penalty.py), or forces that the linear equations of motion ask for (linear_flow.py).

The paper goes along the gradient (eq. 8) for a fixed number of iterations and says that it wanders. Here the gradient
is turned by an inverse of E's curvature: L-BFGS [Nocedal & Wright 2006, algorithm 7.4] on top of the cost's own
preconditioner, smoothed by S = (1 - l^2 laplacian)^-1, l = 1.5 cells. The mismatch's derivative lives on the smoke's
edge and knows its staircase; without S the smoke grows combs of a cell's width. A search ends where the residual, the
gradient in the norm of that inverse, has fallen to `SHARE` of what it was, or after `most` iterations.

Pairs are kept from one search to the next: the mismatch is the same, and its curvature is what they are for.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from keyfluid.controllers.spacetime.advection import Advection, Sweep
from keyfluid.controllers.spacetime.flow import add_scaled, dot, peak

SHARE = 0.2
ENOUGH = 1e-4
"""Share of the promised decrease that a step must reach (Armijo)."""
SMALLEST = 1e-5
FASTEST = 2.0
"""Cells per step by which w may change in one iteration: beyond, the smoke's derivative means nothing."""
PAIRS = {2: 3, 3: 2}
"""Pairs of L-BFGS in 2D and in 3D; with these, both stay within the paper's memory. Letters R, F, A and 8 at 64^2/20
after 120 iterations: objectives of 8.9, 9.1, 8.6, 8.7 with 1, 2, 3 and 8 pairs; 5.4, 5.1, 5.1, 5.0; 6.6, 7.0, 6.5, 6.4;
14.6, 12.0, 10.0, 11.3."""


class Cost(Protocol):
    """What velocities cost beside the mismatch."""

    def value(self, w: np.ndarray, sweep: Sweep) -> float:
        """Cost of a trajectory that carries the densities of `sweep`; `gradient` is then asked for the same w."""
        ...

    def gradient(self, advection: Advection, w: np.ndarray, sweep: Sweep) -> np.ndarray:
        """Derivative of mismatch and cost by w; not projected."""
        ...

    def precondition(self, gradient: np.ndarray) -> np.ndarray:
        """An estimate of curvature^-1 gradient, of mismatch and cost; in place."""
        ...


@dataclass(eq=False)
class Search:
    """L-BFGS over trajectories; what it has learnt goes on into the next search."""

    advection: Advection
    s: list[np.ndarray] = field(default_factory=list)
    y: list[np.ndarray] = field(default_factory=list)
    evaluations: int = 0
    iterations: int = 0

    def run(self, w: np.ndarray, cost: Cost, most: int, known: Sweep | None = None) -> tuple[Sweep, list[float]]:
        """Improve w in place; the sweep of the last w, and the residual before each iteration.

        known: the sweep of w, where there is one.
        """
        sweep = known or self._forward(w)
        value = sweep.match + cost.value(w, sweep)
        gradient = self._gradient(w, cost, sweep)
        residuals: list[float] = []
        for _ in range(most):
            step = self._direction(gradient, cost)
            slope = dot(gradient, step)
            if not slope < 0 and self.s:
                self.forget()
                step = self._direction(gradient, cost)
                slope = dot(gradient, step)
            residuals.append(float(np.sqrt(max(-slope, 0.0))))
            if residuals[-1] <= SHARE * residuals[0]:
                break
            del sweep
            self._make_room()
            found = self._line(w, step, value, slope, cost)
            if found is None:
                sweep = self._forward(w)
                self.forget()
                break
            sweep, value = found
            turned = self._gradient(w, cost, sweep)
            self._learn(step, np.subtract(turned, gradient, out=gradient))
            gradient = turned
            self.iterations += 1
        return sweep, residuals

    def forget(self) -> None:
        self.s, self.y = [], []

    def _make_room(self) -> None:
        """For the next pair."""
        others = PAIRS[self.advection.flow.grid.dim] - 1
        self.s, self.y = self.s[-others:], self.y[-others:]

    def _line(
        self, w: np.ndarray, step: np.ndarray, value: float, slope: float, cost: Cost
    ) -> tuple[Sweep, float] | None:
        """Go along `step` in place until the decrease is enough; `step` becomes what was gone. None: it never was."""
        length, gone = min(1.0, FASTEST / max(peak(step), 1e-30)), 0.0
        while length > SMALLEST:
            add_scaled(length - gone, step, w)
            gone = length
            sweep = self._forward(w)
            now = sweep.match + cost.value(w, sweep)
            if now <= value + ENOUGH * length * slope:
                step *= step.dtype.type(length)
                return sweep, now
            excess = now - value - slope * length
            length *= min(0.5, max(0.1, -0.5 * slope * length / excess)) if np.isfinite(excess) else 0.1
        add_scaled(-gone, step, w)
        return None

    def _direction(self, gradient: np.ndarray, cost: Cost) -> np.ndarray:
        """-H gradient by the two loops; the preconditioner scaled as the last pair has it, so that K may be far off."""
        scale = 1.0
        if self.s:
            turned = self._preconditioned(self.y[-1].copy(), cost)
            scale = dot(self.s[-1], self.y[-1]) / dot(self.y[-1], turned)
            del turned
        q, shares = -gradient, []
        for s, y in zip(reversed(self.s), reversed(self.y)):
            shares.append(dot(s, q) / dot(s, y))
            add_scaled(-shares[-1], y, q)
        q = self._preconditioned(q, cost)
        q *= q.dtype.type(scale)
        for s, y, share in zip(self.s, self.y, reversed(shares)):
            add_scaled(share - dot(y, q) / dot(s, y), s, q)
        return q

    def _learn(self, s: np.ndarray, y: np.ndarray) -> None:
        if dot(s, y) > 1e-10 * np.sqrt(dot(s, s) * dot(y, y)):
            self.s.append(s)
            self.y.append(y)

    def _preconditioned(self, gradient: np.ndarray, cost: Cost) -> np.ndarray:
        """In place; without divergence, as filters and solves in time commute with Q unless there are bodies."""
        q = self.advection.smoothed(cost.precondition(gradient))
        return self.advection.flow.admissible(q) if self.advection.flow.bodies else q

    def _gradient(self, w: np.ndarray, cost: Cost, sweep: Sweep) -> np.ndarray:
        return self.advection.flow.admissible(cost.gradient(self.advection, w, sweep))

    def _forward(self, w: np.ndarray) -> Sweep:
        self.evaluations += 1
        return self.advection.forward(w)

    def arrays(self) -> dict[str, np.ndarray]:
        return {f"{name}{i}": a for name, pairs in (("s", self.s), ("y", self.y)) for i, a in enumerate(pairs)}

    def restore(self, arrays: Mapping[str, np.ndarray]) -> None:
        self.s, self.y = ([arrays[f"{name}{i}"].copy() for i in range(9) if f"{name}{i}" in arrays] for name in "sy")
