"""A scene's liquid, step by step: the engine's model with the scene's gravity, bodies and taps in place."""

from __future__ import annotations

import numpy as np

from keyfluid.controllers.march import Advance, Clock
from keyfluid.controllers.smoke_steps import ROUNDING
from keyfluid.errors import BlowUp
from keyfluid.fields import Field, density
from keyfluid.grid import Kind
from keyfluid.models.liquid import LIQUID_ORDER, MCNAMARA_LIQUID_ORDER, SURFACE, Liquid, LiquidOptions, Tap, filled
from keyfluid.models.operation import Observer
from keyfluid.models.state import State
from keyfluid.operators.project import divergence
from keyfluid.operators.redistance import Redistance
from keyfluid.operators.wet import Wet
from keyfluid.problem import Keyframe, Problem
from keyfluid.solids import Solids

_MOST_CELLS = 40.0
"""Cells that liquid may cross in a step before it is no longer a simulation of anything."""


def distance_wanted(problem: Problem, key: Keyframe, frame: float) -> Field:
    """A keyframe's signed distance at a frame, marched like the liquid's own."""
    grid = problem.grid
    distance = key.body.signed_distance(grid.cells, grid.spacing, frame / problem.fps)
    return Redistance(grid).forward(density(grid, distance, problem.dtype))[0]


class LiquidSteps:
    """advance(state, clock, force, source) takes one step of the scene's liquid."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self._taps = [self._tap(i) for i in range(len(problem.sources))]
        self._models: dict[float, Liquid] = {}

    def model(self, dt: float) -> Liquid:
        """The model for steps of `dt` seconds."""
        if dt not in self._models:
            self._models = {dt: self._build(dt)}
        return self._models[dt]

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

    def _build(self, dt: float) -> Liquid:
        problem, liquid = self.problem, self.problem.liquid
        assert liquid is not None
        gravity = [0.0] * problem.grid.dim
        gravity[problem.up] = -float(liquid.gravity)
        options = LiquidOptions(
            dtype=problem.dtype,
            gravity=gravity,
            viscosity=liquid.viscosity,
            solids=problem.solids if problem.solids.move else problem.solids(0.0),
            taps=self._taps,
            order=problem.engine.order,
            keep_volume=liquid.keep_volume,
            sequence=MCNAMARA_LIQUID_ORDER if liquid.paper_order else LIQUID_ORDER,
        )
        return Liquid(problem.grid, dt, options)

    def _tap(self, index: int) -> Tap:
        """A source's region as a signed distance, and its wind."""
        problem, source = self.problem, self.problem.sources[index]
        share = Field.of(problem.grid, Kind.CENTRES, source.mask, dtype=problem.dtype)
        rough = share.like((0.5 - share.data) * share.dtype.type(problem.grid.spacing))
        (region,) = Redistance(problem.grid).forward(rough)
        mask, wind = source.wind(problem.grid) if source.velocity is not None else (None, None)
        start, stop = ((frame - ROUNDING) / problem.fps for frame in (source.start, source.stop))
        return Tap(region, mask, wind, start, stop)


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
        self._require_reach()
        wet = Wet.of(fields[SURFACE], self.solids).cells
        fastest = self.carrier.peak()
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
        was, now = (field.like(self.problem.amount(field.data)).integral() for field in (before, after))
        return now - was

    def _require_reach(self) -> None:
        cells = self.carrier.require_finite("velocity") * self.clock.dt / self.problem.grid.spacing
        if cells > _MOST_CELLS:
            raise BlowUp(
                f"time.steps_per_frame: at {self.clock.time:.3g} s the liquid crosses {cells:.0f} cells in a step; "
                'take more steps per frame, or "auto"'
            )
