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
from keyfluid.operators.base import Fields, Operator, SymmetricOperator
from keyfluid.solids import Solids

_HALF_WIDTH = 1.5
_LEFT = 1e-5
_MOST_STEPS = 60


@dataclass(frozen=True)
class _Smoothed:
    """H, delta = -dH/dphi and d delta/dphi of a level set, zero inside bodies."""

    share: np.ndarray
    delta: np.ndarray
    slope: np.ndarray

    @classmethod
    def of(cls, surface: Field, solids: Solids | None, raised: float = 0.0) -> _Smoothed:
        """Volume of the level set with `raised` metres added."""
        width = _HALF_WIDTH * surface.grid.spacing
        s = np.clip((surface.data.astype(np.float64) + raised) / width, -1.0, 1.0)
        counts = 1.0 if solids is None else solids.fluid.ravel().astype(np.float64)
        share = counts * 0.5 * (1.0 - s - np.sin(np.pi * s) / np.pi)
        delta = counts * 0.5 * (1.0 + np.cos(np.pi * s)) / width
        return cls(share, delta, counts * -0.5 * np.pi * np.sin(np.pi * s) / width**2)


@dataclass(frozen=True)
class Remember(SymmetricOperator):
    """forward(surface) -> (surface,): the same, for a later stage to read under another name."""

    grid: Grid

    def apply(self, *inputs: Field) -> Fields:
        inputs[0].require(self.grid, Kind.CENTRES, "volume: surface")
        return inputs


class KeepVolume(Operator):
    """forward(surface, before) -> (surface,)."""

    def __init__(self, grid: Grid, solids: Solids | None = None) -> None:
        self.grid, self.solids = grid, solids

    def forward(self, *inputs: Field) -> Fields:
        base, after, before = self._both(inputs)
        shift, _ = self._shift(after, before)
        phi = inputs[0]
        return (phi.like(phi.data + phi.dtype.type(base + shift)),)

    def tangent(self, inputs: Fields, d_inputs: Fields) -> Fields:
        _, after, before = self._both(inputs)
        shift, area = self._shift(after, before)
        d_phi, d_before = (field.data.astype(np.float64) for field in d_inputs)
        change = np.sum(before.delta * d_before) - np.sum((after.delta + shift * after.slope) * d_phi)
        return (d_inputs[0].like((d_phi + (change / area if area > 0 else 0.0)).astype(d_inputs[0].dtype)),)

    def adjoint(self, inputs: Fields, outputs_bar: Fields) -> Fields:
        _, after, before = self._both(inputs)
        shift, area = self._shift(after, before)
        bar = outputs_bar[0].data.astype(np.float64)
        total = np.sum(bar) / area if area > 0 else 0.0
        dtype = outputs_bar[0].dtype
        phi_bar = bar - total * (after.delta + shift * after.slope)
        return inputs[0].like(phi_bar.astype(dtype)), inputs[1].like((total * before.delta).astype(dtype))

    def _both(self, inputs: Fields) -> tuple[float, _Smoothed, _Smoothed]:
        """b, and both surfaces, the first raised by it."""
        for field in inputs:
            field.require(self.grid, Kind.CENTRES, "volume: surface")
        after, before = (_Smoothed.of(field, self.solids) for field in inputs)
        base = self._base(inputs[0], after, before)
        return base, (_Smoothed.of(inputs[0], self.solids, base) if base else after), before

    def _base(self, phi: Field, after: _Smoothed, before: _Smoothed) -> float:
        """The root of V(phi + b) = V(before), by Newton steps kept within a bracket; 0 if one step is enough."""
        wanted = float(np.sum(before.share))
        if not after.delta.any() or wanted <= 0:
            return 0.0
        far = float(sum(self.grid.size))
        low, high, base, now = -far, far, 0.0, after
        for step in range(_MOST_STEPS):
            shift, _ = self._shift(now, before)
            low, high = (base, high) if np.sum(now.share) > wanted else (low, base)
            inside = shift != 0.0 and low < base + shift < high
            following = base + shift if inside else 0.5 * (low + high)
            now = _Smoothed.of(phi, self.solids, following)
            left = abs(float(np.sum(now.share)) - wanted)
            if step == 0 and inside and left <= _LEFT * wanted:
                return 0.0
            base = following
            if left <= 1e-12 * wanted:
                break
        return base

    def _shift(self, after: _Smoothed, before: _Smoothed) -> tuple[float, float]:
        """c, and the area of the surface in cells per metre; both zero without a surface."""
        area = float(np.sum(after.delta))
        lost = float(np.sum(after.share) - np.sum(before.share))
        return (lost / area, area) if area > 0 else (0.0, 0.0)
