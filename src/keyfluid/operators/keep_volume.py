"""Volume kept: the surface moved along its normal, by the same small distance everywhere, until no volume is lost.

Locations   phi after carrying and redistancing, and phi before, at centres
Discrete    phi1 = phi + b + c,   c = (V(phi + b) - V(before)) / A(phi + b)   a Newton step towards V(phi1) = V(before)
            V = sum of H(phi),  A = -dV/dc = sum of delta(phi), over cells outside bodies;
            H falls smoothly from 1 to 0 over three cells: H = (1 - s - sin(pi s) / pi) / 2,  s = phi / (1.5 dx)
            b = 0 if that leaves at most 1e-5 of the volume, as in all but violent steps; else b is the root itself
Tangent     at phi + b:  d_c = (d_V - d_V(before) - c d_A) / A,   d_V = -sum of delta d_phi,   d_A = sum of delta' d_phi
Adjoint     with S = sum of phi1_bar:  phi_bar = phi1_bar - S (delta + c delta') / A,  before_bar = S delta(before) / A
Smoothness  smooth but for jumps of 1e-5 of the volume where b sets in; without a surface it is the identity.
Deviations  not in McNamara, who says that his level set loses volume. Volume moves from where the grid gained it to
            where it lost it: a droplet that dissolves comes back as a layer on everything.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators.base import Fields, SharedWork, SymmetricOperator
from keyfluid.solids import Solids

_HALF_WIDTH = 1.5
_LEFT = 1e-5
_MOST_STEPS = 60


@dataclass(frozen=True, eq=False)
class Smoothed:
    """V = sum of H, A = sum of delta = -dH/dphi, and delta and its slope d delta/dphi in the cells near the surface,
    where alone they are not zero; cells inside bodies do not count."""

    volume: float
    area: float
    near: np.ndarray
    delta: np.ndarray
    slope: np.ndarray

    @classmethod
    def of(cls, surface: Field, solids: Solids | None, raised: float = 0.0) -> Smoothed:
        """The numbers of a level set after `raised` metres are added to it."""
        width = _HALF_WIDTH * surface.grid.spacing
        s = (surface.data.astype(np.float64) + raised) / width
        fluid = True if solids is None else solids.fluid.ravel()
        near = np.flatnonzero((np.abs(s) < 1.0) & fluid)
        deep = np.count_nonzero((s <= -1.0) & fluid)
        angle = np.pi * s[near]
        sine = np.sin(angle)
        share = 0.5 * (1.0 - s[near] - sine / np.pi)
        delta = 0.5 * (1.0 + np.cos(angle)) / width
        return cls(float(deep + np.sum(share)), float(np.sum(delta)), near, delta, -0.5 * np.pi * sine / width**2)


@dataclass(frozen=True)
class Remember(SymmetricOperator):
    """forward(surface) -> (surface,): the same, for a later stage to read under another name."""

    grid: Grid

    def apply(self, *inputs: Field) -> Fields:
        inputs[0].require(self.grid, Kind.CENTRES, "volume: surface")
        return inputs


@dataclass(frozen=True, eq=False)
class Kept:
    """b and c, and both surfaces, the first raised by b."""

    base: float
    shift: float
    after: Smoothed
    before: Smoothed


class KeepVolume(SharedWork[Kept]):
    """forward(surface, before) -> (surface,)."""

    def __init__(self, grid: Grid, solids: Solids | None = None) -> None:
        self.grid, self.solids = grid, solids

    def work(self, *inputs: Field) -> Kept:
        for field in inputs:
            field.require(self.grid, Kind.CENTRES, "volume: surface")
        after, before = (Smoothed.of(field, self.solids) for field in inputs)
        base = self._base(inputs[0], after, before)
        if base:
            after = Smoothed.of(inputs[0], self.solids, base)
        return Kept(base, _shift(after, before), after, before)

    def forward_with(self, work: Kept, inputs: Fields) -> Fields:
        phi = inputs[0]
        return (phi.like(phi.data + phi.dtype.type(work.base + work.shift)),)

    def tangent_with(self, work: Kept, inputs: Fields, d_inputs: Fields) -> Fields:
        after, before = work.after, work.before
        d_phi, d_before = (field.data.astype(np.float64) for field in d_inputs)
        change = np.sum(before.delta * d_before[before.near]) - np.sum(
            (after.delta + work.shift * after.slope) * d_phi[after.near]
        )
        return (d_inputs[0].like((d_phi + (change / after.area if after.area > 0 else 0.0)).astype(d_inputs[0].dtype)),)

    def adjoint_with(self, work: Kept, inputs: Fields, outputs_bar: Fields) -> Fields:
        after, before = work.after, work.before
        bar = outputs_bar[0].data.astype(np.float64)
        total = np.sum(bar) / after.area if after.area > 0 else 0.0
        bar[after.near] -= total * (after.delta + work.shift * after.slope)
        before_bar = np.zeros(bar.size)
        before_bar[before.near] = total * before.delta
        dtype = outputs_bar[0].dtype
        return inputs[0].like(bar.astype(dtype)), inputs[1].like(before_bar.astype(dtype))

    def _base(self, phi: Field, after: Smoothed, before: Smoothed) -> float:
        """The root of V(phi + b) = V(before), by Newton steps kept within a bracket; 0 if one step is enough."""
        wanted = before.volume
        if after.area == 0 or wanted <= 0:
            return 0.0
        far = float(sum(self.grid.size))
        low, high, base, now = -far, far, 0.0, after
        for step in range(_MOST_STEPS):
            shift = _shift(now, before)
            low, high = (base, high) if now.volume > wanted else (low, base)
            inside = shift != 0.0 and low < base + shift < high
            following = base + shift if inside else 0.5 * (low + high)
            now = Smoothed.of(phi, self.solids, following)
            left = abs(now.volume - wanted)
            if step == 0 and inside and left <= _LEFT * wanted:
                return 0.0
            base = following
            if left <= 1e-12 * wanted:
                break
        return base


def _shift(after: Smoothed, before: Smoothed) -> float:
    """c; zero without a surface."""
    return (after.volume - before.volume) / after.area if after.area > 0 else 0.0
