"""Turbulence: random eddies, for driven smoke on its way and for the gusts of a wind.

A divergence-free random field of unit root mean square, with eddies of a given size, that changes with time: sums of
random fields times cos(w t) and sin(w t). It depends on the seed and the time alone, so a resumed run sees the same
one. In driven smoke eddies are about twice the smoothing length, change over about half a second, and weigh
|blur(rho) - b| / rho0: nothing at the target.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators.curl import Curl

_RATES = (9.0, 14.0)
"""w of smoke on its way, in radians per second."""


class Turbulence:
    """force(time): on faces, root mean square 1. size: of eddies, metres; strength: m/s^2 where all smoke is astray;
    rates: w, radians per second."""

    def __init__(
        self,
        grid: Grid,
        size: float,
        strength: float,
        seed: int,
        dtype: np.typing.DTypeLike,
        rates: Sequence[float] = _RATES,
    ) -> None:
        self.strength, self.rates = strength, tuple(rates)
        rng = np.random.default_rng(seed)
        self.pairs = [(_eddies(grid, size, rng, dtype), _eddies(grid, size, rng, dtype)) for _ in self.rates]

    def force(self, time: float) -> Field:
        total = self.pairs[0][0].zeros_like()
        for rate, (even, odd) in zip(self.rates, self.pairs):
            even_share = np.cos(rate * time) / np.sqrt(len(self.rates))
            odd_share = np.sin(rate * time) / np.sqrt(len(self.rates))
            total = total.add_scaled(even_share, even).add_scaled(odd_share, odd)
        return total


def _eddies(grid: Grid, size: float, rng: np.random.Generator, dtype: np.typing.DTypeLike) -> Field:
    """The curl of a smooth random potential, of root mean square 1."""
    potential = Field.zeros(grid, Kind.EDGES, np.float64)
    wave = np.pi / size
    for component, place in zip(potential.components(), Kind.EDGES.places(grid.dim)):
        for _ in range(24):
            direction = rng.normal(size=grid.dim)
            direction *= wave * rng.uniform(0.7, 1.4) / np.linalg.norm(direction)
            phase = rng.uniform(0, 2 * np.pi)
            for axis, x in enumerate(grid.coordinates(place)):
                k = direction[axis]
                if grid.is_periodic(axis):
                    k = 2 * np.pi * np.round(k * grid.size[axis] / (2 * np.pi)) / grid.size[axis]
                phase = phase + k * x
            component += np.sin(phase)
    (force,) = Curl(grid).forward(potential)
    return (force * (np.sqrt(force.data.size) / force.norm())).astype(dtype)
