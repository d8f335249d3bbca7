"""The outer loop: the equations of motion made linear, the advection subproblem with them as its cost, in turns.

    repeat    u    the forces of v, and the linear equations of motion there               (linear_flow.py)
              w    from the advection subproblem, begun at v: mismatch, and forces by those equations  (search.py)
              v    <- w, or as much of the way there as lowers the objective of eq. 5
              stop when two rounds running lower it by less than the tolerance

Beside algorithm 3  the paper splits velocities into v and v*, and pays for their difference with K and lambda. At the
end of its Navier-Stokes subproblem lambda is the derivative of the forces' cost at v, so its advection subproblem is
this one with K/2 |w - v|^2 in place of the forces' curvature. With the curvature itself nothing is left to split: v = w
is what that subproblem would return for linear equations, and their error is made good in the next round. No K has to
be balanced, v and v* never differ, and the objective falls in every round. Letters at 64^2/20 take 10 to 17 rounds;
with the paper's splitting (admm.py) two to three times as many. docs/results.md has both.

Stop rule  the paper stops when no density at any step changes by more than 1 % of the peak from round to round. That
depends on how far a round goes: with the small steps of eq. 8 it is met on the way (a letter R whose counter is still
filled), and with rounds that converge it waits for single cells at the smoke's edge while the objective is done. The
objective says both.

Saddles  smoke below an obstacle whose keyframe is above it can go left or right, and by symmetry does neither; the
counter of a letter opens from this side or that. So the search does not begin at rest but with a trace of smooth noise,
a fiftieth of a cell per step: from rest, symmetric letters (I, B, T) stopped at saddles up to 22 % above what 200 more
rounds reached. Where the objective stops while more than `FAR` of the mismatch of smoke at rest is left, the velocities
are shaken by stronger noise, at most `SHAKES` times, and the search continues.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

from keyfluid.controllers.spacetime.advection import Advection, Sweep, density_change
from keyfluid.controllers.spacetime.flow import FlowEquations, add_scaled, dot
from keyfluid.controllers.spacetime.linear_flow import LinearFlow, curvatures
from keyfluid.controllers.spacetime.search import Search
from keyfluid.controllers.spacetime.settings import SpacetimeNumbers
from keyfluid.problem.kept import Meta, number, number_or_infinite, whole

MOST_HALVINGS = 8
IN_A_ROW = 2
"""Rounds that must lower the objective by less than the tolerance."""
FAR, SHAKES = 0.1, 3
TRACE, SHAKE = (0.02, 4.0), (1.0, 12.0)
"""Root mean square (cells per step) and width (cells) of the noise that a run begins with, and that shakes it."""


@dataclass(frozen=True)
class RoundRecord:
    """One round, for the history.

    residual: of the advection subproblem, as it was found. change: the largest of any density at any step. gap: of v
    and v*, as a share of v. flow_residual and flow_iterations: of the Navier-Stokes subproblem, where there is one.
    """

    match: float
    force: float
    change: float
    residual: float
    searched: int
    gap: float = 0.0
    flow_residual: float = 0.0
    flow_iterations: int = 0

    @property
    def objective(self) -> float:
        """The objective of eq. 5, with the metric C."""
        return self.match + self.force


@dataclass(eq=False)
class Rounds:
    """Where the outer loop stands; `arrays` and `meta` are all that a checkpoint needs."""

    flow: FlowEquations
    advection: Advection
    settings: SpacetimeNumbers
    v: np.ndarray
    u: np.ndarray = field(init=False)
    search: Search = field(init=False)
    sweep: Sweep | None = None
    iteration: int = 0
    calm: int = 0
    """Rounds running that lowered the objective by less than the tolerance."""
    last: float = np.inf
    """The objective after the last round."""
    stuck: bool = False
    shakes: int = 0

    def __post_init__(self) -> None:
        self.search = Search(self.advection)
        self.u = self.flow.forces(self.v)

    def leave_symmetry(self) -> None:
        """Begin with a trace of noise, by which a search finds its way off a saddle."""
        self._add_noise(*TRACE)

    @property
    def converged(self) -> bool:
        return self.calm >= IN_A_ROW

    @property
    def done(self) -> bool:
        return self.converged or self.stuck or self.iteration >= self.settings.iterations

    @property
    def evaluations(self) -> int:
        return self.search.evaluations

    def advance(self) -> RoundRecord:
        """One round."""
        settings, before, searched = self.settings, self.sweep, self.search.iterations
        if before is None:
            before = self.advection.forward(self.v)
        begun = self.last
        self.u = np.empty(0, self.v.dtype)  # forces are found anew, their memory is wanted
        curvature = curvatures(self.advection, settings.penalty, self.v.shape[1])
        cost = LinearFlow(self.flow, self.v, settings.force_weight, curvature)
        w = self.v.copy()
        self.sweep, residuals = self.search.run(w, cost, settings.advection_iterations, before)
        del cost
        way = np.subtract(w, self.v, out=self.v)
        self.v = w
        self._take(way, begun)
        self.iteration += 1
        value, match = self.objective(self.sweep), self.sweep.match
        self.calm = self.calm + 1 if value > (1.0 - settings.tolerance) * self.last else 0
        self.last = value
        change = density_change(before, self.sweep)
        if self.converged and self.shakes < SHAKES and self.sweep.match > FAR * self.advection.match_at_rest:
            self._shake()
        return RoundRecord(
            match=match,
            force=value - match,
            change=change,
            residual=residuals[0],
            searched=self.search.iterations - searched,
        )

    def objective(self, sweep: Sweep) -> float:
        """Objective of v, whose forces are u and whose smoke is `sweep`."""
        u = self.total_forces(sweep)
        return sweep.match + 0.5 * self.settings.force_weight * dot(u, u)

    def total_forces(self, sweep: Sweep) -> np.ndarray:
        """Control forces: what moves the air beside its own motion and the smoke's lift."""
        if not self.flow.lifts:
            return self.u
        u = self.u.copy()
        self.flow.subtract_lift(u, sweep.densities)
        return u

    def _take(self, way: np.ndarray, begun: float) -> None:
        """Go back half of the way while the objective is not lower than before: the equations are not linear."""
        assert self.sweep is not None
        for _ in range(MOST_HALVINGS):
            self.u = self.flow.forces(self.v)
            if self.objective(self.sweep) <= begun:
                return
            way *= way.dtype.type(0.5)
            add_scaled(-1.0, way, self.v)
            self.sweep = self.advection.forward(self.v)
            self.search.forget()
        self.u = self.flow.forces(self.v)
        self.stuck = self.objective(self.sweep) > begun

    def _shake(self) -> None:
        """Noise on v, the same for any number of threads; the objective begins anew."""
        self.shakes += 1
        self._add_noise(*SHAKE)
        self.sweep = self.advection.forward(self.v)
        self.search.forget()
        self.calm, self.last = 0, np.inf

    def _add_noise(self, size: float, width: float) -> None:
        """Smooth noise without divergence, the same at all steps after the first."""
        solenoidal = self.flow.solenoidal
        noise = np.random.default_rng(self.shakes).standard_normal((self.v.shape[0], 1)).astype(self.v.dtype)
        filters = solenoidal.filters(lambda waves: 1.0 / (1.0 - width**2 * waves))
        noise = solenoidal.project(solenoidal.filter(noise, filters))
        noise *= noise.dtype.type(size / max(np.sqrt(dot(noise, noise) / noise.size), 1e-30))
        self.v[:, 1:] += noise
        self.u = self.flow.forces(self.v)

    def arrays(self) -> dict[str, np.ndarray]:
        return {"v": self.v, **self.search.arrays()}

    def meta(self) -> Meta:
        return {
            "iteration": self.iteration,
            "calm": self.calm,
            "last": None if np.isinf(self.last) else self.last,
            "stuck": self.stuck,
            "shakes": self.shakes,
            "evaluations": self.search.evaluations,
            "searched": self.search.iterations,
        }

    def restore(self, arrays: Mapping[str, np.ndarray], meta: Meta) -> None:
        self.v = arrays["v"].copy()
        self.u = self.flow.forces(self.v)
        self.search.restore(arrays)
        self.search.evaluations, self.search.iterations = whole(meta, "evaluations"), whole(meta, "searched")
        self.iteration, self.calm = whole(meta, "iteration"), whole(meta, "calm")
        self.last = number_or_infinite(meta, "last")
        self.stuck, self.shakes = bool(number(meta, "stuck")), whole(meta, "shakes")
        if self.iteration > 0:
            self.sweep = self.advection.forward(self.v)
