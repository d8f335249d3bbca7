"""How much each cell of smoke adds to a picture: emission and absorption along one axis.

Locations   density and glow at centres
Continuous  I = int kappa rho(s) exp(-kappa int_0^s rho) ds along a ray from the viewer      [Tang 2021, section 5.3,
            figure 12; the simplified renderer of Kim et al. 2019]
Discrete    g_i = t_{i-1} - t_i,  t_i = exp(-a sum_{j <= i} rho_j),  a = kappa dx; cells counted from the viewer:
            exact for smoke that is even within a cell. The picture is the sum of g along the axis, 1 for endless smoke.
Tangent     d_g_i = d_t_{i-1} - d_t_i,  d_t_i = -a t_i sum_{j <= i} d_rho_j
Adjoint     t_bar_i = g_bar_{i+1} - g_bar_i,  rho_bar_j = -a sum_{i >= j} t_i t_bar_i
Sides       none: rays begin and end with the domain
Smoothness  smooth
Deviations  rays run along an axis; glow is kept per cell, so that it lives on the grid like every other field
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators.base import Fields, Operator


@dataclass(frozen=True)
class Glow(Operator):
    """forward(density) -> (glow,). axis: of the rays; from_high: the viewer stands beyond the axis' upper end;
    extinction: kappa, 1/m for smoke of density 1."""

    grid: Grid
    axis: int
    from_high: bool
    extinction: float

    def forward(self, *inputs: Field) -> Fields:
        (density,) = inputs
        density.require(self.grid, Kind.CENTRES, "glow: density")
        return (self._field(-np.diff(self._transmitted(density), axis=0, prepend=density.dtype.type(1))),)

    def tangent(self, inputs: Fields, d_inputs: Fields) -> Fields:
        (density,), (d_density,) = inputs, d_inputs
        d_depth = self._opacity(density) * np.cumsum(self._rays(d_density.array), axis=0)
        d_t = -self._transmitted(density) * d_depth
        return (self._field(-np.diff(d_t, axis=0, prepend=density.dtype.type(0))),)

    def adjoint(self, inputs: Fields, outputs_bar: Fields) -> Fields:
        (density,), (glow_bar,) = inputs, outputs_bar
        t_bar = np.diff(self._rays(glow_bar.array), axis=0, append=density.dtype.type(0))
        behind = np.cumsum((self._transmitted(density) * t_bar)[::-1], axis=0)[::-1]
        return (self._field(-self._opacity(density) * behind),)

    def picture(self, density: Field) -> np.ndarray:
        """The picture itself: brightness over the two other axes (2D: one), in the order of the grid."""
        (glow,) = self.forward(density)
        return np.asarray(np.sum(glow.array, axis=self.axis))

    def _opacity(self, like: Field) -> np.floating:
        opacity: np.floating = like.dtype.type(self.extinction * self.grid.spacing)
        return opacity

    def _transmitted(self, density: Field) -> np.ndarray:
        """t: what passes a cell and all before it."""
        return np.asarray(np.exp(-self._opacity(density) * np.cumsum(self._rays(density.array), axis=0)))

    def _rays(self, values: np.ndarray) -> np.ndarray:
        """The rays' axis first, the viewer's end at its beginning."""
        moved = np.moveaxis(values, self.axis, 0)
        return moved[::-1] if self.from_high else moved

    def _field(self, rays: np.ndarray) -> Field:
        moved = rays[::-1] if self.from_high else rays
        return Field.of(self.grid, Kind.CENTRES, np.moveaxis(moved, 0, self.axis), dtype=rays.dtype)
