"""The smoke's side of the problem: keyframes, and how velocities carry the smoke to them [eq. 3, 4 and 7].

    match(v) = 1/2 sum over keyframes weight |rho_i - rho*_i|^2_C,     rho_{i+1} = A[rho_i, v_i]

with the metric C of the Gaussian pyramid. A forward sweep finds rho, a backward sweep the multipliers mu of eq. 8 and
with them the derivative by v. Densities are in units of their peak, velocities in cells per step. Fields beside `smoke`
are carried alike, and all keyframes add up.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from keyfluid.controllers.spacetime.flow import FlowEquations, Pulls, peak
from keyfluid.fields import Field
from keyfluid.grid import Kind
from keyfluid.operators.base import Operator, SymmetricOperator
from keyfluid.solvers.solenoidal import Filters

SMOOTHING = 1.5
"""l of S = (1 - l^2 laplacian)^-1, in cells."""


@dataclass(frozen=True, eq=False)
class DensityGoal:
    """A keyframe: the density of a field after `step` steps, in units of its peak; weight times mask counts.

    path: its key path
    """

    step: int
    field: str
    target: Field
    weight: float = 1.0
    mask: np.ndarray | None = None
    path: str = ""


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
    metric: SymmetricOperator

    def forward(self, v: np.ndarray) -> Sweep:
        """The smoke carried along, and 1/2 sum |rho - rho*|^2_C."""
        densities = self.carried(v)
        return Sweep(densities, self._match(densities))

    @cached_property
    def match_at_rest(self) -> float:
        """The mismatch of smoke that stays where it is."""
        steps = max(goal.step for goal in self.goals)
        return self._match({name: [rho] * (steps + 1) for name, rho in self.starts.items()})

    def _match(self, densities: dict[str, list[Field]]) -> float:
        match = 0.0
        for goal in self.goals:
            miss = self._miss(goal, densities)
            match += 0.5 * goal.weight * miss.dot(self.metric.apply(miss)[0])
        return match

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
        return self.add_backward(v, sweep, np.zeros_like(v))

    def add_backward(self, v: np.ndarray, sweep: Sweep, out: np.ndarray, pulls: Pulls | None = None) -> np.ndarray:
        """out plus that derivative, in place. pulls(name, k): derivative of another term by the density at step k."""
        for name, line in sweep.densities.items():
            bar = line[0].zeros_like()
            for k in range(v.shape[1] - 1, -1, -1):
                for goal in self.goals:
                    if goal.field == name and goal.step == k + 1:
                        bar = bar.add_scaled(goal.weight, self._masked(goal, self._pulled(goal, sweep)))
                if pulls is not None and k + 1 < v.shape[1]:
                    bar = bar + pulls(name, k + 1)
                bar, v_bar = self.transport.adjoint((line[k], self._column(v, k)), (bar,))
                out[:, k] += v_bar.data
        return out

    def smoothed(self, q: np.ndarray) -> np.ndarray:
        """S q, in place."""
        return self.flow.solenoidal.filter(q, self._filters)

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


def density_change(before: Sweep | None, after: Sweep) -> float:
    """Largest change of any density at any step; infinite before there are two."""
    if before is None:
        return np.inf
    return max(
        peak(old.data - new.data)
        for name, line in after.densities.items()
        for old, new in zip(before.densities[name], line)
    )
