"""Wind: air in a region is drawn towards a velocity, from a time to a time.

    dv/dt = -k s(t) m (v - w(x, t))          k: rate, 1/s; m: region; s: 0 to 1, a smooth rise and fall

Over a step the integral of k s is exact (operators/relax.py), so air at rest that nothing else moves has the speed
|w| (1 - exp(-k t)) whatever the steps are. Gusts are a share g of the wind's speed, root mean square:

    w(x, t) = w0 (1 + g n(t)) + g |w0| e(x, t)

n: a swelling of the whole wind, e: eddies (turbulence.py). Both are sums of waves in time whose phases come from the
seed: a function of the time alone, so a resumed run and any number of steps or threads sees the same gusts.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.models.turbulence import Turbulence
from keyfluid.operators.relax import Relax

_TONES = (1.0, 1.618)
"""Frequencies of the waves, over the gusts' own: no whole ratio, so that gusts do not repeat."""

_ROUNDING = 1e-12
"""What the times of steps are off by, and more: until a wind starts, a scene with it is bit-identical."""


@dataclass(frozen=True)
class Gusts:
    """share: of the wind's speed; frequency: 1/s; size: of eddies, metres."""

    share: float
    frequency: float
    size: float
    seed: int


@dataclass(frozen=True, eq=False)
class Wind:
    """velocity: w0, m/s; region: m on faces, 0 on walls; rate: 1/s; start, stop, ramp: seconds."""

    velocity: tuple[float, ...]
    region: Field
    rate: float
    start: float = 0.0
    stop: float = math.inf
    ramp: float = 0.0
    gusts: Gusts | None = None

    def relax(self, begin: float, end: float) -> Relax | None:
        """What it does to the air from `begin` to `end` seconds; None where it does not blow."""
        amount = self.rate * (self._blown(end) - self._blown(begin))
        if amount <= _ROUNDING:
            return None
        return Relax(self.region.grid, Kind.FACES, amount, self.region, self.towards((begin + end) / 2))

    def strength(self, time: float) -> float:
        """s: 0 before it starts and after it stops, 1 in full."""
        if not self.start < time < self.stop:
            return 0.0
        if self._rise == 0:
            return 1.0
        near = min((time - self.start) / self._rise, (self.stop - time) / self._rise, 1.0)
        return near * near * (3 - 2 * near)

    def towards(self, time: float) -> Field:
        """w on faces, m/s."""
        swell = 1.0 if self.gusts is None else 1.0 + self.gusts.share * self._swelling(time)
        field = self.region.zeros_like()
        for component, speed in zip(field.components(), self.velocity):
            component[...] = swell * speed
        if self._eddies is None:
            return field
        return field.add_scaled(self._eddies.strength, self._eddies.force(time))

    def gain(self, begin: float, end: float) -> float:
        """At most so much speed, m/s, does it add to air between two times; gusts count three standard deviations."""
        speed = math.hypot(*self.velocity) * (1 + 3 * (self.gusts.share if self.gusts is not None else 0.0))
        return speed * -math.expm1(-self.rate * (self._blown(end) - self._blown(begin)))

    @property
    def _rise(self) -> float:
        """Seconds of the rise, and of the fall: at most half of its time each."""
        return min(self.ramp, (self.stop - self.start) / 2)

    def _blown(self, time: float) -> float:
        """The integral of s up to a time: that of the smoothstep 3 x^2 - 2 x^3 is x^3 - x^4 / 2."""
        rise, since = self._rise, max(time - self.start, 0.0)
        if rise == 0:
            return min(since, self.stop - self.start)
        up, left = min(since / rise, 1.0), max(self.stop - time, 0.0) / rise
        full = max(min(time, self.stop - rise) - (self.start + rise), 0.0)
        down = 0.5 - (left**3 - left**4 / 2) if left < 1 else 0.0
        return rise * (up**3 - up**4 / 2 + down) + full

    def _swelling(self, time: float) -> float:
        """n: of root mean square 1."""
        assert self.gusts is not None
        turns = [2 * math.pi * tone * self.gusts.frequency for tone in _TONES]
        return sum(math.sin(turn * time + phase) for turn, phase in zip(turns, self._phases))

    @cached_property
    def _phases(self) -> list[float]:
        assert self.gusts is not None
        return [float(phase) for phase in np.random.default_rng(self.gusts.seed).uniform(0, 2 * np.pi, len(_TONES))]

    @cached_property
    def _eddies(self) -> Turbulence | None:
        gusts = self.gusts
        if gusts is None:
            return None
        rates = [2 * math.pi * tone * gusts.frequency for tone in _TONES]
        strength = gusts.share * math.hypot(*self.velocity)
        return Turbulence(self.region.grid, gusts.size, strength, gusts.seed, self.region.dtype, rates)


def whole_air(grid: Grid, dtype: np.typing.DTypeLike) -> Field:
    """The region that has no bounds: 1 on all faces but those on walls."""
    region = Field.zeros(grid, Kind.FACES, dtype)
    region.data[...] = 1
    for axis, component in enumerate(region.components()):
        if grid.boundary[axis].value == "walls":
            line = np.moveaxis(component, axis, 0)
            line[0] = line[-1] = 0
    return region
