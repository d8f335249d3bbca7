"""The outer loop: advection and Navier-Stokes optimisation in turns [algorithm 3].

    repeat    v*  from the advection subproblem with the guide v + lambda / K        (a fixed number of iterations)
              v, u from the Navier-Stokes subproblem with the guide v* - lambda / K  (to its tolerance, warm)
              stop when no density at any step changed by more than the tolerance since the last time
              lambda <- lambda + K beta (v - v*)
              v, v* <- v, v* + m (what v changed by in this round)

`dual` is lambda / K, so that it is a velocity. Residual balancing [Boyd et al. 2011, 3.4.1] keeps |v - v*| and the
change of v* within a factor of ten by doubling or halving K. Settled duals: the augmented-Lagrangian variant of
section 5, lambda only moves when the objective has settled for the lambda before.

Momentum  is not in the paper. Few steps of advection optimisation make its rounds a descent, whose last part is slow:
forces that do not matter to the match fade by a percent per round. Nesterov's m = j / (j + 3), at most 0.7, j rounds
after the objective last rose, and none once it falls by less than a percent. Letter F at 64^2/20: 19 rounds to an
objective of 14.6, without it 26 rounds to 14.8. Extrapolating lambda as well was slower (21 rounds).

Near the end (densities change by less than ten tolerances) steps of alpha at the limit of stability keep stirring short
waves at the smoke's edges, and the stop rule looks at nothing else. So alpha gets a ceiling there, lowered wherever the
largest change rises.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from keyfluid.controllers.spacetime.advection import Advection, FixedPoint, Sweep
from keyfluid.controllers.spacetime.flow import FlowEquations, dot, peak
from keyfluid.controllers.spacetime.gauss_newton import FlowReport
from keyfluid.controllers.spacetime.settings import SpacetimeNumbers
from keyfluid.problem.kept import Meta, number, number_or_infinite, whole

UNBALANCED = 10.0
NEAR = 10.0
CALMER = 0.7
SETTLED = 0.02
MOMENTUM, LATE, FADED = 0.7, 3.0, 0.01
FEWEST = 3
"""Iterations before the stop rule is asked, or momentum ended: the first ones may be small because they are first."""


class FlowSolver(Protocol):
    """A solver of the Navier-Stokes subproblem: improves v in place, returns its forces."""

    def solve(self, v: np.ndarray, guide: np.ndarray, kappa: float) -> tuple[np.ndarray, FlowReport]: ...


@dataclass
class OuterIteration:
    """One outer iteration, for the history."""

    match: float
    force: float
    change: float
    gap: float
    advection_residual: float
    flow: FlowReport

    @property
    def objective(self) -> float:
        """The objective of eq. 5, with the metric C; densities as v* carries them."""
        return self.match + self.force


@dataclass(eq=False)
class Admm:
    """Where the outer loop stands; `arrays` and `meta` are all that a checkpoint needs."""

    flow: FlowEquations
    advection: Advection
    solver: FlowSolver
    settings: SpacetimeNumbers
    v: np.ndarray
    fixed_point: FixedPoint = field(init=False)
    dual: np.ndarray = field(init=False)
    penalty: float = field(init=False)
    u: np.ndarray = field(init=False)
    sweep: Sweep | None = None
    iteration: int = 0
    converged: bool = False
    settled_value: float = np.inf
    last_change: float = np.inf
    last_value: float = np.inf
    falling: int = 0
    """Rounds since the objective last rose."""
    last: np.ndarray | None = None
    """v before the last round, before momentum."""
    calm: bool = False

    def __post_init__(self) -> None:
        self.fixed_point = FixedPoint(self.advection, self.v.copy())
        self.dual = np.zeros_like(self.v)
        self.u = np.zeros_like(self.v)
        self.penalty = self.settings.penalty

    @property
    def done(self) -> bool:
        return self.converged or self.iteration >= self.settings.iterations

    def advance(self) -> OuterIteration:
        """One round of algorithm 3."""
        settings, fixed_point = self.settings, self.fixed_point
        self._go_on()
        before, self.u = self.sweep, np.empty(0, self.v.dtype)  # forces are found anew, their memory is wanted
        known = before if self.calm else None
        self.sweep, residuals = fixed_point.run(self.v + self.dual, self.penalty, settings.advection_iterations, known)
        change = density_change(before, self.sweep)
        del before, known
        guide = np.subtract(fixed_point.v, self.dual, out=self.dual)
        self.u, report = self.solver.solve(self.v, guide, self.penalty / settings.force_weight)
        self.dual = np.subtract(fixed_point.v, guide, out=guide)
        self.iteration += 1
        gap = self.v - fixed_point.v
        record = OuterIteration(
            match=self.sweep.match,
            force=0.5 * settings.force_weight * dot(self.u, self.u),
            change=change,
            gap=float(np.sqrt(dot(gap, gap) / max(dot(self.v, self.v), 1e-300))),
            advection_residual=residuals[0],
            flow=report,
        )
        self.converged = self.iteration >= FEWEST and change < settings.change_tolerance and self._dual_acts
        if self.last_change < change and self.last_change < NEAR * settings.change_tolerance:
            fixed_point.ceiling = fixed_point.alpha = CALMER * fixed_point.alpha
        self.last_change = change
        value = record.objective + 0.5 * self.penalty * dot(gap, gap)
        self.calm |= self.iteration > FEWEST and value > (1.0 - FADED) * self.last_value
        self.falling = self.falling + 1 if value < self.last_value else 0
        self.last_value = value
        if not self.converged:
            self._move_duals(gap, value)
        return record

    def _go_on(self) -> None:
        """Momentum: v and v* go on by a part of what v moved in the last round."""
        if self.calm:
            self.last = None
            return
        before, self.last = self.last, self.v.copy()
        if before is not None:
            way = np.subtract(self.v, before, out=before)
            way *= way.dtype.type(min(MOMENTUM, self.falling / (self.falling + LATE)))
            self.v += way
            self.fixed_point.v = self.fixed_point.v + way

    @property
    def _dual_acts(self) -> bool:
        """Settled duals begin at zero, and the first problem that settles is only the penalty's."""
        return not self.settings.settled_duals or self.v.shape[1] == 1 or bool(np.any(self.dual))

    def _move_duals(self, gap: np.ndarray, value: float) -> None:
        settings = self.settings
        if settings.settled_duals:
            value += self.penalty * dot(self.dual, gap)
            settled = value > (1.0 - SETTLED) * self.settled_value
            self.settled_value = np.inf if settled else value
            if not settled:
                return
        self.dual += self.dual.dtype.type(settings.beta) * gap
        if settings.balance:
            primal, movement = np.sqrt(dot(gap, gap)), self.fixed_point.moved
            factor = 2.0 if primal > UNBALANCED * movement else 0.5 if movement > UNBALANCED * primal else 1.0
            self.penalty *= factor
            self.dual *= self.dual.dtype.type(1.0 / factor)
            self.fixed_point.alpha = min(self.fixed_point.ceiling, factor * self.fixed_point.alpha)

    def arrays(self) -> dict[str, np.ndarray]:
        last = {} if self.last is None else {"last": self.last}
        return {"v": self.v, "v_star": self.fixed_point.v, "dual": self.dual, "u": self.u, **last}

    def meta(self) -> Meta:
        return {
            "iteration": self.iteration,
            "converged": self.converged,
            "penalty": self.penalty,
            "alpha": self.fixed_point.alpha,
            "ceiling": self.fixed_point.ceiling,
            "settled_value": _plain(self.settled_value),
            "last_change": _plain(self.last_change),
            "last_value": _plain(self.last_value),
            "falling": self.falling,
            "calm": self.calm,
            "evaluations": self.fixed_point.evaluations,
        }

    def restore(self, arrays: Mapping[str, np.ndarray], meta: Meta) -> None:
        self.v, self.fixed_point.v = arrays["v"].copy(), arrays["v_star"].copy()
        self.dual, self.u = arrays["dual"].copy(), arrays["u"].copy()
        self.iteration, self.converged = whole(meta, "iteration"), bool(number(meta, "converged"))
        self.penalty, self.fixed_point.alpha = number(meta, "penalty"), number(meta, "alpha")
        self.fixed_point.ceiling = number(meta, "ceiling")
        self.settled_value = number_or_infinite(meta, "settled_value")
        self.last_change = number_or_infinite(meta, "last_change")
        self.fixed_point.evaluations = whole(meta, "evaluations")
        self.last_value, self.falling = number_or_infinite(meta, "last_value"), whole(meta, "falling")
        self.calm = bool(number(meta, "calm"))
        self.last = arrays["last"].copy() if "last" in arrays else None
        if self.iteration > 0:
            self.sweep = self.advection.forward(self.fixed_point.v)


def density_change(before: Sweep | None, after: Sweep) -> float:
    """Largest change of any density at any step; infinite before there are two."""
    if before is None:
        return np.inf
    return max(
        peak(old.data - new.data)
        for name, line in after.densities.items()
        for old, new in zip(before.densities[name], line)
    )


def _plain(value: float) -> float | None:
    """JSON has no infinity."""
    return None if np.isinf(value) else value
