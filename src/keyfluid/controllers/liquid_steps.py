"""A scene's liquid, step by step: the engine's model with the scene's gravity, bodies and taps in place."""

from __future__ import annotations

import numpy as np

from keyfluid.controllers.march import Advance, Clock
from keyfluid.controllers.smoke_steps import ROUNDING, mass_of
from keyfluid.errors import BlowUp
from keyfluid.fields import Field, density
from keyfluid.grid import Kind
from keyfluid.models.liquid import LIQUID_ORDER, MCNAMARA_LIQUID_ORDER, SURFACE, Liquid, Tap, filled
from keyfluid.models.stage import State, run_stages
from keyfluid.operators.project import divergence
from keyfluid.operators.redistance import Redistance
from keyfluid.operators.wet import Wet
from keyfluid.problem import Keyframe, Problem

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

    def advance(
        self, state: State, clock: Clock, force: Field | None = None, source: Field | None = None
    ) -> Advance:
        """One step; `force` on faces, m/s^2; `source` at centres, m/s of the level set.

        churn: volume that sources turned from air to liquid or back, over the liquid's; sourced: volume they gave.
        """
        model = self.model(clock.dt)
        inputs = {"force": force, f"source.{SURFACE}": source}
        given = {name: field for name, field in inputs.items() if field is not None}
        now: State = {**state, **model.constants(clock.index), **given}
        emitted, sourced, churn, carrier, loose = 0.0, 0.0, 0.0, state["velocity"], 0.0
        for stage in model.active(clock.index, given):
            before = now
            now = run_stages([stage], now)
            if stage.name in ("pour", "source"):
                gained = self._volume(now[SURFACE]) - self._volume(before[SURFACE])
                emitted += gained
                if stage.name == "source":
                    sourced += gained
                    churn = self._churn(before[SURFACE], now[SURFACE])
            elif stage.name == "advect surface":
                carrier = before["velocity"]
                self._require_reach(carrier, clock)
                loose = self._divergence(carrier, before[SURFACE], model, clock)
        return Advance(
            {name: now[name] for name in state}, carrier, force, {SURFACE: emitted}, loose,
            {"churn": churn, "sourced": sourced} if source is not None else {},
        )  # fmt: skip

    def _volume(self, surface: Field) -> float:
        return mass_of(surface.like(self.problem.amount(surface.data)))

    def _churn(self, before: Field, after: Field) -> float:
        spacing = self.problem.grid.spacing
        there, then = (filled(field.data.astype(np.float64), spacing) for field in (before, after))
        return float(np.sum(np.abs(then - there)) / max(np.sum(there), 1e-300))

    def _divergence(self, carrier: Field, surface: Field, model: Liquid, clock: Clock) -> float:
        """Largest net outflow of a wet cell over the largest speed; the paper's order moves what is not projected."""
        wet = Wet.of(surface, model.solids_at(clock.index)).cells
        fastest = carrier.peak()
        return float(np.max(np.abs(divergence(carrier)[wet]), initial=0.0)) / fastest if fastest > 0 else 0.0

    def _require_reach(self, carrier: Field, clock: Clock) -> None:
        cells = carrier.require_finite("velocity") * clock.dt / self.problem.grid.spacing
        if cells > _MOST_CELLS:
            raise BlowUp(
                f"time.steps_per_frame: at {clock.time:.3g} s the liquid crosses {cells:.0f} cells in a step; take "
                'more steps per frame, or "auto"'
            )

    def _build(self, dt: float) -> Liquid:
        problem, liquid = self.problem, self.problem.liquid
        assert liquid is not None
        gravity = [0.0] * problem.grid.dim
        gravity[problem.up] = -float(liquid.gravity)
        return Liquid(
            problem.grid,
            dt,
            dtype=problem.dtype,
            gravity=gravity,
            viscosity=liquid.viscosity,
            solids=problem.solids if problem.solids.move else problem.solids(0.0),
            taps=self._taps,
            order=problem.engine.order,
            keep_volume=liquid.keep_volume,
            sequence=MCNAMARA_LIQUID_ORDER if liquid.paper_order else LIQUID_ORDER,
        )

    def _tap(self, index: int) -> Tap:
        """A source's region as a signed distance, and its wind."""
        problem, source = self.problem, self.problem.sources[index]
        share = Field.of(problem.grid, Kind.CENTRES, source.mask, dtype=problem.dtype)
        rough = share.like((0.5 - share.data) * share.dtype.type(problem.grid.spacing))
        (region,) = Redistance(problem.grid).forward(rough)
        mask, wind = source.wind(problem.grid) if source.velocity is not None else (None, None)
        start, stop = ((frame - ROUNDING) / problem.fps for frame in (source.start, source.stop))
        return Tap(region, mask, wind, start, stop)
