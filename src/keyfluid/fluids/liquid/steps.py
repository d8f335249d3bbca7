"""A scene's liquid, step by step: the engine's model with the scene's gravity, bodies and taps in place."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from keyfluid.fields import Field
from keyfluid.grid import Kind
from keyfluid.models.liquid import SURFACE, Liquid, LiquidOptions, Tap, filled
from keyfluid.models.operation import Observer
from keyfluid.models.state import State
from keyfluid.operators.project import divergence
from keyfluid.operators.redistance import Redistance
from keyfluid.operators.wet import Wet
from keyfluid.problem import Advance, Clock, Emission, Problem
from keyfluid.solids import Solids


class LiquidSteps:
    """advance(state, clock, force, source) takes one step of the scene's liquid; own: what it is like itself."""

    def __init__(self, problem: Problem, own: LiquidOptions) -> None:
        self.problem = problem
        self._options = replace(
            own,
            dtype=problem.dtype,
            solids=problem.solids if problem.solids.move else problem.solids(0.0),
            taps=[self._tap(source) for source in problem.sources],
            order=problem.engine.order,
        )
        self._models: dict[float, Liquid] = {}

    def model(self, dt: float) -> Liquid:
        """The model for steps of `dt` seconds."""
        if dt not in self._models:
            self._models = {dt: Liquid(self.problem.grid, dt, self._options)}
        return self._models[dt]

    def air(self, dt: float) -> None:
        """A liquid is what moves."""

    def rates(self, clock: Clock) -> dict[str, Field]:
        """Taps are part of the model; nothing else flows in."""
        return {}

    def advance(self, state: State, clock: Clock, force: Field | None = None, source: Field | None = None) -> Advance:
        """One step; `force` on faces, m/s^2; `source` at centres, m/s of the level set."""
        model = self.model(clock.dt)
        inputs = {"force": force, f"source.{SURFACE}": source}
        given = {name: field for name, field in inputs.items() if field is not None}
        watch = LiquidWatch(self.problem, clock, model.solids_at(clock.index))
        after = model.step(state, given, clock.index, watch)
        return Advance(
            after, watch.carrier, force, {SURFACE: watch.emitted}, watch.divergence,
            {"churn": watch.churn, "sourced": watch.sourced} if source is not None else {},
        )  # fmt: skip

    def _tap(self, source: Emission) -> Tap:
        """A source's region as a signed distance, and its wind."""
        problem = self.problem
        share = Field.of(problem.grid, Kind.CENTRES, source.mask, dtype=problem.dtype)
        rough = share.like((0.5 - share.data) * share.dtype.type(problem.grid.spacing))
        (region,) = Redistance(problem.grid).forward(rough)
        mask, wind = source.wind(problem.grid) if source.velocity is not None else (None, None)
        return Tap(region, mask, wind, *source.span(problem.fps))


class LiquidWatch(Observer):
    """Watches a step of liquid; raises if it goes too far in it.

    carrier: the velocity that moved the surface; divergence: largest net outflow of a wet cell over the largest speed
    (the paper's order moves what is not projected); emitted: volume that taps and control gave, `sourced` by control
    alone; churn: volume that control turned from air to liquid or back, over the liquid's.
    """

    carrier: Field

    def __init__(self, problem: Problem, clock: Clock, solids: Solids | None) -> None:
        self.problem, self.clock, self.solids = problem, clock, solids
        self.divergence = self.emitted = self.sourced = self.churn = 0.0

    def carries(self, fields: State) -> None:
        self.carrier = fields["velocity"]
        problem, clock = self.problem, self.clock
        fastest = self.carrier.require_finite("velocity")
        problem.fluid.cells_crossed(problem, fastest, clock.dt, clock.time)
        wet = Wet.of(fields[SURFACE], self.solids).cells
        if fastest > 0:
            self.divergence = float(np.max(np.abs(divergence(self.carrier)[wet]), initial=0.0)) / fastest

    def let_in(self, name: str, before: Field, after: Field) -> None:
        self.emitted += self._gained(before, after)

    def added(self, name: str, before: Field, after: Field) -> None:
        gained = self._gained(before, after)
        self.emitted += gained
        self.sourced += gained
        spacing = self.problem.grid.spacing
        there, then = (filled(field.data.astype(np.float64), spacing) for field in (before, after))
        self.churn = float(np.sum(np.abs(then - there)) / max(np.sum(there), 1e-300))

    def _gained(self, before: Field, after: Field) -> float:
        was, now = (field.like(filled(field.data, field.grid.spacing)).integral() for field in (before, after))
        return now - was
