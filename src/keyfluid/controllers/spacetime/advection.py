"""The advection subproblem: velocities that carry the smoke to its keyframes, close to a guide [eq. 7, algorithm 1].

    minimise  E = 1/2 sum over keyframes |rho_i - rho*_i|^2_C + K/2 sum |g_i - v*_i|^2,     rho_{i+1} = A[rho_i, v*_i]

over v* without divergence, with the guide g = v + lambda / K and the metric C of the Gaussian pyramid. The fixed
point of eq. 8,

    v*_i <- v*_i + alpha S (Q (g_i + (dA/dv*_i)^T mu_i / K) - v*_i),        S = (1 - l^2 laplacian)^-1, l = 1.5 cells,

is reached by forward sweeps for rho and backward sweeps for mu; alpha falls by half where E does not and grows by
half where it does. Densities are in units of their peak, velocities in cells per step.

Misprints  algorithm 1 copies v** to v* from index 1, though 0 is initialised: here all columns that are unknown; its E
lacks lambda. Deviations  it starts from g; we go on from the last v*, which is better near the end, where g is ahead
of v* by lambda / K. The paper has no S. It is symmetric, so the way still goes down, to the same fixed points; but the
derivative lives on the smoke's edge and knows its staircase, and without S the smoke grows combs of a cell's width. A
letter at 64^2/20 also ends lower and sooner: objective 14.8 after 26 iterations instead of 15.5 after 39. Fields beside
`smoke` are carried alike, and all keyframes add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from keyfluid.controllers.spacetime.flow import FlowEquations, dot, peak
from keyfluid.fields import Field
from keyfluid.grid import Kind
from keyfluid.operators.base import Operator
from keyfluid.operators.blur import Blur
from keyfluid.solvers.solenoidal import Filters

MOST_HALVINGS = 12
GROWTH, SHRINK = 1.5, 0.5
ENOUGH = 0.45
SMALLEST = 1e-6
FASTEST = 100.0
"""Cells per step by which v may change in a trial: a small K promises more than any step can carry."""
SMOOTHING = 1.5
"""l, in cells."""


@dataclass(frozen=True, eq=False)
class DensityGoal:
    """A keyframe: the density of a field after `step` steps, in units of its peak; weight times mask counts."""

    step: int
    field: str
    target: Field
    weight: float = 1.0
    mask: np.ndarray | None = None


@dataclass(eq=False)
class Sweep:
    """Densities of a trajectory, every field [step], and the objective's match term."""

    densities: dict[str, list[Field]]
    match: float


@dataclass(frozen=True, eq=False)
class Advection:
    """Smoke, its keyframes and how it is carried: `transport` (eq. 4), or semi-Lagrangian for figure 4."""

    flow: FlowEquations
    starts: dict[str, Field]
    goals: Sequence[DensityGoal]
    transport: Operator
    metric: Blur

    def forward(self, v: np.ndarray) -> Sweep:
        """The smoke carried along, and 1/2 sum |rho - rho*|^2_C."""
        densities = self.carried(v)
        match = 0.0
        for goal in self.goals:
            miss = self._miss(goal, densities)
            match += 0.5 * goal.weight * miss.dot(self.metric.apply(miss)[0])
        return Sweep(densities, match)

    def carried(self, v: np.ndarray) -> dict[str, list[Field]]:
        """The smoke before the first step and after each, of as many steps as v has."""
        densities = {name: [rho] for name, rho in self.starts.items()}
        for k in range(v.shape[1]):
            velocity = self._column(v, k)
            for line in densities.values():
                line.append(self.transport.forward(line[-1], velocity)[0])
        return densities

    def backward(self, v: np.ndarray, sweep: Sweep) -> np.ndarray:
        """Derivative of the match term by v: -(dA/dv)^T mu, column by column."""
        gradient = np.zeros_like(v)
        for name, line in sweep.densities.items():
            bar = line[0].zeros_like()
            for k in range(v.shape[1] - 1, -1, -1):
                for goal in self.goals:
                    if goal.field == name and goal.step == k + 1:
                        bar = bar.add_scaled(goal.weight, self._masked(goal, self._pulled(goal, sweep)))
                bar, v_bar = self.transport.adjoint((line[k], self._column(v, k)), (bar,))
                gradient[:, k] += v_bar.data
        return gradient

    def smoothed(self, gap: np.ndarray) -> np.ndarray:
        """S gap; gap stays as it is."""
        return self.flow.solenoidal.filter(gap.copy(), self._filters)

    @cached_property
    def _filters(self) -> Filters:
        return self.flow.solenoidal.filters(lambda waves: 1.0 / (1.0 - SMOOTHING**2 * waves))

    def _miss(self, goal: DensityGoal, densities: dict[str, list[Field]]) -> Field:
        return self._masked(goal, densities[goal.field][goal.step] - goal.target)

    def _pulled(self, goal: DensityGoal, sweep: Sweep) -> Field:
        return self.metric.apply(self._miss(goal, sweep.densities))[0]

    def _masked(self, goal: DensityGoal, miss: Field) -> Field:
        if goal.mask is None:
            return miss
        return miss.like(miss.data * goal.mask.reshape(-1).astype(miss.dtype, copy=False))

    def _column(self, v: np.ndarray, k: int) -> Field:
        return Field(self.flow.grid, Kind.FACES, np.ascontiguousarray(v[:, k]))


@dataclass(eq=False)
class FixedPoint:
    """Algorithm 1, a few iterations at a time; v and alpha go on where the last call left them."""

    problem: Advection
    v: np.ndarray
    alpha: float = 1.0
    ceiling: float = 1.0
    """Upper limit of alpha; the outer loop lowers it near the end."""
    evaluations: int = 0
    moved: float = 0.0
    """Length of the way of v in the last run."""

    def run(
        self, guide: np.ndarray, penalty: float, iterations: int, known: Sweep | None = None
    ) -> tuple[Sweep, list[float]]:
        """Improve v; the sweep of the last v, and the size of the KKT residual before each iteration.

        known: the sweep of v, where there is one.
        """
        sweep = self._forward(self.v) if known is None else known
        self.moved = 0.0
        value = self._value(sweep, self.v, guide, penalty)
        residuals = []
        for _ in range(iterations):
            gap = self._gap(sweep, guide, penalty)
            residuals.append(penalty * float(np.sqrt(dot(gap, gap))))
            sweep, value = self._search(sweep, value, gap, guide, penalty)
        return sweep, residuals

    def _gap(self, sweep: Sweep, guide: np.ndarray, penalty: float) -> np.ndarray:
        """Q (g + (dA/dv*)^T mu / K) - v*."""
        gap = self.problem.backward(self.v, sweep)
        gap *= gap.dtype.type(-1.0 / penalty)
        gap += guide - self.v
        return self.problem.flow.admissible(gap)

    def _search(
        self, sweep: Sweep, value: float, gap: np.ndarray, guide: np.ndarray, penalty: float
    ) -> tuple[Sweep, float]:
        direction = self.problem.smoothed(gap)
        promised = penalty * dot(gap, direction)
        self.alpha = min(self.alpha, FASTEST / max(peak(direction), 1e-30))
        for _ in range(MOST_HALVINGS):
            trial = self.v + gap.dtype.type(self.alpha) * direction
            trial_sweep = self._forward(trial)
            trial_value = self._value(trial_sweep, trial, guide, penalty)
            if trial_value <= value - ENOUGH * self.alpha * promised:
                self.v = trial
                self.moved += self.alpha * float(np.sqrt(dot(direction, direction)))
                self.alpha = min(self.ceiling, GROWTH * self.alpha)
                return trial_sweep, trial_value
            self.alpha = max(SHRINK * self.alpha, SMALLEST)
        return sweep, value

    def _forward(self, v: np.ndarray) -> Sweep:
        self.evaluations += 1
        return self.problem.forward(v)

    def _value(self, sweep: Sweep, v: np.ndarray, guide: np.ndarray, penalty: float) -> float:
        miss = v - guide
        return sweep.match + 0.5 * penalty * dot(miss, miss)
