"""A scene's smoke, step by step: the engine's model with the scene's sources, bodies and forces in place."""

from __future__ import annotations

from dataclasses import replace

from keyfluid.fields import Field
from keyfluid.grid import Kind
from keyfluid.models.air import TEMPERATURE
from keyfluid.models.operation import Observer
from keyfluid.models.smoke import Emitter, Smoke, SmokeOptions
from keyfluid.models.state import State
from keyfluid.problem import Advance, Clock, Emission, Problem, dissipated_name

_MODELS = 4
"""Step lengths whose models are kept; a hierarchy of the pressure solver lives in each."""


class SmokeSteps:
    """advance(state, clock, force) takes one step of the scene's smoke; own: what the smoke itself is like."""

    def __init__(self, problem: Problem, own: SmokeOptions) -> None:
        self.problem, engine = problem, problem.engine
        self._options = replace(
            own,
            dtype=problem.dtype,
            densities=tuple(problem.densities),
            up=problem.up,
            solids=problem.solids if problem.solids.move else problem.solids(0.0),
            emitters=[emitter for source in problem.sources for emitter in self._emitters(source)],
            warm=problem.temperature is not None,
            order=engine.order,
            feet=engine.feet,
            interpolation=engine.interpolation,
        )
        self._models: dict[float, Smoke] = {}
        self._air: Smoke | None = None

    def model(self, dt: float) -> Smoke:
        """The model for steps of `dt` seconds."""
        if dt not in self._models:
            if len(self._models) >= _MODELS:
                self._models.pop(next(iter(self._models)))
            self._models[dt] = Smoke(self.problem.grid, dt, self._options)
        return self._models[dt]

    def air(self, dt: float) -> Smoke | None:
        """What moves the smoke, without the smoke; None if it lifts the air."""
        options = self._options
        if options.buoyancy != 0:
            return None
        if self._air is None or self._air.dt != dt:
            emitters = [
                emitter if emitter.name == TEMPERATURE else replace(emitter, name=None) for emitter in options.emitters
            ]
            self._air = Smoke(self.problem.grid, dt, replace(options, densities=(), emitters=emitters))
        return self._air

    def advance(self, state: State, clock: Clock, force: Field | None = None, source: Field | None = None) -> Advance:
        """One step; `force` on faces, m/s^2. Sources of the control are for liquids only."""
        assert source is None
        inputs = self.rates(clock)
        if force is not None:
            inputs["force"] = force
        watch = SmokeWatch(self.problem, clock.time)
        after = self.model(clock.dt).step(state, inputs, clock.index, watch)
        return Advance(after, watch.carrier, force, watch.emitted, numbers=watch.dissipated, cells=watch.cells)

    def _emitters(self, source: Emission) -> list[Emitter]:
        """Held regions and winds; a source with a rate holds no density and only blows and warms."""
        problem = self.problem
        share = Field.of(problem.grid, Kind.CENTRES, source.mask, dtype=problem.dtype)
        held = source.density is not None
        mask_of_wind, wind = source.wind(problem.grid) if source.velocity is not None else (None, None)
        start, stop = source.span(problem.fps)
        smoke = Emitter(
            mask=share if held else share.zeros_like(),
            density=share.like(share.data * 0 + (source.density or 0.0)) if held else share.zeros_like(),
            name=source.field,
            velocity_mask=mask_of_wind,
            velocity=wind,
            start=start,
            stop=stop,
        )
        if source.temperature is None:
            return [smoke]
        heat = share.like(share.data * 0 + share.dtype.type(source.temperature))
        return [smoke, Emitter(mask=share, density=heat, name=TEMPERATURE, start=start, stop=stop)]

    def rates(self, clock: Clock) -> dict[str, Field]:
        """Density per second that sources with a rate add in a step."""
        problem = self.problem
        rates: dict[str, Field] = {}
        for source in problem.sources:
            if source.rate is None or not source.active(clock.time, problem.fps):
                continue
            given = Field.of(problem.grid, Kind.CENTRES, source.rate * source.mask, dtype=problem.dtype)
            key = f"source.{source.field}"
            rates[key] = rates[key] + given if key in rates else given
        return rates


class SmokeWatch(Observer):
    """Watches a step of smoke that begins at `time` seconds; raises if it goes too far in it.

    seconds: its length; carrier: the velocity that moved the smoke; cells: that its fastest air crossed;
    emitted: mass that sources gave, per field; dissipated: mass that is gone, by dissipated_name.
    """

    carrier: Field

    def __init__(self, problem: Problem, time: float) -> None:
        self.problem, self.time = problem, time
        self.seconds = self.cells = 0.0
        self.emitted: dict[str, float] = {}
        self.dissipated: dict[str, float] = {}

    def lasts(self, seconds: float) -> None:
        self.seconds = seconds

    def carries(self, fields: State) -> None:
        self.carrier = fields["velocity"]
        speed = self.carrier.peak()
        self.cells = self.problem.fluid.cells_crossed(self.problem, speed, self.seconds, self.time)

    def let_in(self, name: str, before: Field, after: Field) -> None:
        self.emitted[name] = self.emitted.get(name, 0.0) + after.integral() - before.integral()

    def added(self, name: str, before: Field, after: Field) -> None:
        self.let_in(name, before, after)

    def faded(self, name: str, before: Field, after: Field) -> None:
        key = dissipated_name(name)
        self.dissipated[key] = self.dissipated.get(key, 0.0) + before.integral() - after.integral()
