"""The paper's outer loop: advection and Navier-Stokes optimisation in turns [algorithm 3].

    repeat    v*  from the advection subproblem with the guide v + lambda / K        (search.py, penalty.py)
              v, u from the Navier-Stokes subproblem with the guide v* - lambda / K  (to its tolerance, warm)
              stop when no density at any step changed by more than the tolerance since the last time, and the
                   objective fell by less than that, twice running
              lambda <- lambda + K beta (v - v*)

`dual` is lambda / K, so that it is a velocity. Residual balancing [Boyd et al. 2011, 3.4.1] keeps |v - v*| and the
change of v* within a factor of ten by doubling or halving K. Settled duals: the augmented-Lagrangian variant of
section 5, lambda only moves when the objective has settled for the lambda before.

Misprints  algorithm 1 copies v** to v* from index 1, though 0 is initialised: here all columns that are unknown; its E
lacks lambda. Deviations  it starts from g; we go on from the last v*, which is better near the end, where g is ahead of
v* by lambda / K. The densities' rule alone depends on how far a round goes (rounds.py), so the objective has to agree.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from keyfluid.controllers.spacetime.advection import Advection, Sweep, density_change
from keyfluid.controllers.spacetime.flow import FlowEquations, dot
from keyfluid.controllers.spacetime.gauss_newton import FlowReport
from keyfluid.controllers.spacetime.linear_flow import curvatures
from keyfluid.controllers.spacetime.penalty import GapPenalty
from keyfluid.controllers.spacetime.rounds import IN_A_ROW, RoundRecord
from keyfluid.controllers.spacetime.search import Search
from keyfluid.controllers.spacetime.settings import SpacetimeNumbers
from keyfluid.problem.kept import Meta, number, number_or_infinite, whole

UNBALANCED = 10.0
SETTLED = 0.02


class FlowSolver(Protocol):
    """A solver of the Navier-Stokes subproblem: improves v in place, returns its forces."""

    def solve(self, v: np.ndarray, guide: np.ndarray, kappa: float) -> tuple[np.ndarray, FlowReport]: ...


@dataclass(eq=False)
class Admm:
    """Where the outer loop stands; `arrays` and `meta` are all that a checkpoint needs."""

    flow: FlowEquations
    advection: Advection
    solver: FlowSolver
    settings: SpacetimeNumbers
    v: np.ndarray
    v_star: np.ndarray = field(init=False)
    dual: np.ndarray = field(init=False)
    u: np.ndarray = field(init=False)
    penalty: float = field(init=False)
    search: Search = field(init=False)
    sweep: Sweep | None = None
    iteration: int = 0
    calm: int = 0
    """Rounds running that met the stop rule."""
    last: float = np.inf
    """The objective after the last round."""
    settled_value: float = np.inf

    def __post_init__(self) -> None:
        self.search = Search(self.advection)
        self.v_star = self.v.copy()
        self.dual = np.zeros_like(self.v)
        self.u = np.zeros_like(self.v)
        self.penalty = self.settings.penalty

    @property
    def converged(self) -> bool:
        return self.calm >= IN_A_ROW

    @property
    def done(self) -> bool:
        return self.converged or self.iteration >= self.settings.iterations

    @property
    def evaluations(self) -> int:
        return self.search.evaluations

    def advance(self) -> RoundRecord:
        """One round of algorithm 3."""
        settings, before, searched = self.settings, self.sweep, self.search.iterations
        self.u = np.empty(0, self.v.dtype)  # forces are found anew, their memory is wanted
        way = -self.v_star
        cost = GapPenalty(
            self.v + self.dual, self.penalty, curvatures(self.advection, settings.penalty, self.v.shape[1])
        )
        self.sweep, residuals = self.search.run(self.v_star, cost, settings.advection_iterations, before)
        del cost
        way += self.v_star
        moved = float(np.sqrt(dot(way, way)))
        del way
        guide = np.subtract(self.v_star, self.dual, out=self.dual)
        self.u, report = self.solver.solve(self.v, guide, self.penalty / settings.force_weight)
        self.dual = np.subtract(self.v_star, guide, out=guide)
        self.iteration += 1
        gap = self.v - self.v_star
        record = RoundRecord(
            match=self.sweep.match,
            force=0.5 * settings.force_weight * dot(self.u, self.u),
            change=density_change(before, self.sweep),
            residual=residuals[0],
            searched=self.search.iterations - searched,
            gap=float(np.sqrt(dot(gap, gap) / max(dot(self.v, self.v), 1e-300))),
            flow_residual=report.residuals[-1],
            flow_iterations=report.cg_iterations,
        )
        still = abs(record.objective - self.last) < settings.tolerance * record.objective
        met = still and record.change < settings.tolerance and self._dual_acts
        self.calm = self.calm + 1 if met else 0
        self.last = record.objective
        if not self.converged:
            self._move_duals(gap, record.objective + 0.5 * self.penalty * dot(gap, gap), moved)
        return record

    @property
    def _dual_acts(self) -> bool:
        """Settled duals begin at zero, and the first problem that settles is only the penalty's."""
        return not self.settings.settled_duals or self.v.shape[1] == 1 or bool(np.any(self.dual))

    def _move_duals(self, gap: np.ndarray, value: float, moved: float) -> None:
        settings = self.settings
        if settings.settled_duals:
            value += self.penalty * dot(self.dual, gap)
            settled = value > (1.0 - SETTLED) * self.settled_value
            self.settled_value = np.inf if settled else value
            if not settled:
                return
        self.dual += self.dual.dtype.type(settings.beta) * gap
        if settings.balance:
            primal = np.sqrt(dot(gap, gap))
            factor = 2.0 if primal > UNBALANCED * moved else 0.5 if moved > UNBALANCED * primal else 1.0
            self.penalty *= factor
            self.dual *= self.dual.dtype.type(1.0 / factor)

    def total_forces(self, sweep: Sweep) -> np.ndarray:
        """Control forces."""
        return self.u

    def arrays(self) -> dict[str, np.ndarray]:
        return {"v": self.v, "v_star": self.v_star, "dual": self.dual, "u": self.u, **self.search.arrays()}

    def meta(self) -> Meta:
        return {
            "iteration": self.iteration,
            "calm": self.calm,
            "penalty": self.penalty,
            "settled_value": _plain(self.settled_value),
            "last": _plain(self.last),
            "evaluations": self.search.evaluations,
            "searched": self.search.iterations,
        }

    def restore(self, arrays: Mapping[str, np.ndarray], meta: Meta) -> None:
        self.v, self.v_star = arrays["v"].copy(), arrays["v_star"].copy()
        self.dual, self.u = arrays["dual"].copy(), arrays["u"].copy()
        self.search.restore(arrays)
        self.search.evaluations, self.search.iterations = whole(meta, "evaluations"), whole(meta, "searched")
        self.iteration, self.calm = whole(meta, "iteration"), whole(meta, "calm")
        self.penalty = number(meta, "penalty")
        self.settled_value = number_or_infinite(meta, "settled_value")
        self.last = number_or_infinite(meta, "last")
        if self.iteration > 0:
            self.sweep = self.advection.forward(self.v_star)


def _plain(value: float) -> float | None:
    """JSON has no infinity."""
    return None if np.isinf(value) else value
