"""Stray smoke taken back to a target: gathering for smoke that is too far away to be gathered. Forward only.

Locations   rho, its stray share s, the target rho* at centres
Discrete    rho' = rho - a s rho + M room / sum(room),   M = sum(a s rho),   room = max(rho* - (rho - a s rho), 0)
            What is taken fills the target where it lacks smoke; what has no room there is spread over rho*.
            Mass is kept, density stays non-negative, and nothing happens where there is no target.
Derivative  none: it is for films, after the search
Beside      smoke gathering (gather.py) diffuses the error where smoke is near the blurred target, and not where that
            is zero [Fattal & Lischinski 2004, eq. 10]. This is its limit of no resistance, for stray smoke alone.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators.base import Fields, ForwardOnly


@dataclass(frozen=True, eq=False)
class TakeBack(ForwardOnly):
    """forward(density, stray, target) -> (density,); share: a, of the stray smoke that is taken."""

    grid: Grid
    share: float

    def forward(self, *inputs: Field) -> Fields:
        rho, stray, target = inputs
        for field, name in zip(inputs, ("density", "stray share", "target"), strict=True):
            field.require(self.grid, Kind.CENTRES, f"take back: {name}")
        taken = rho.dtype.type(self.share) * stray.data * rho.data
        rest = rho.data - taken
        room = np.maximum(target.data - rest, 0)
        mass, space, whole = _sum(taken), _sum(room), _sum(target.data)
        if not (mass > 0 and whole > 0):
            return (rho,)
        filled = min(1.0, mass / space) if space > 0 else 0.0
        over = (mass - filled * space) / whole
        return (rho.like(rest + rho.dtype.type(filled) * room + rho.dtype.type(over) * target.data),)

    def moved(self, rho: Field, stray: Field) -> float:
        """The share of all smoke that is taken."""
        return self.share * _sum(stray.data * rho.data) / max(_sum(rho.data), 1e-300)


def _sum(values: np.ndarray) -> float:
    return float(np.sum(values, dtype=np.float64))
