"""Redistancing: a level set made a signed distance again, its surface left where it is.

Locations   phi at centres, negative inside the liquid
Continuous  |grad phi'| = 1, phi' = 0 where phi = 0
Discrete    fast marching (kernels/fast_marching.py)                                 [McNamara 2004, section 6.5]
            a rho'^2 + b rho' + c = 0, eq. (13), over accepted neighbours, in the order of distance; interface cells
            first, from old values: rho' = rho / |grad rho|
Tangent     d_rho' = -(a_m rho'^2 + b_m rho' + c_m) / (2 a rho' + b) d_rho'_m, cell by cell in that order
            (the paper prints neither the minus nor rho' in the denominator)
Adjoint     the same, last cell first; it ends in the cells beside the interface, all others have derivative 0
Sides       walls and open sides end the march, periodic ones do not; bodies are not seen
Deviations  differences of second order where two cells in a row are known: at a corner of the surface, from which
            distances spread as from a point, the first order falls short of its name (a box: 0.80, now 1.0).
            For interface cells McNamara has (13) too, from where the surface cuts the ways to cells across it. That
            moves a curved surface in each step: a disk 19 cells wide, carried in 100 steps, lost 13 % of its volume,
            and gains 6 % with the gradient (keep_volume.py corrects the rest).
Smoothness  continuous but for cells that change sign. Kinks where the order, or the neighbours used, change. Not
            differentiated: that order.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators.base import Fields, SharedWork
from keyfluid.operators.box import CellBox, box_of
from keyfluid.operators.kernels import fast_marching


@dataclass(frozen=True, eq=False)
class Marched:
    """What a march found: absolute distances in cells, which neighbours they came from, the order, and how many cells
    lie at the interface."""

    phi: np.ndarray
    value: np.ndarray
    chosen: np.ndarray
    order: np.ndarray
    at_interface: int


@dataclass(frozen=True)
class Redistance(SharedWork[Marched]):
    """forward(surface) -> (surface,), metres. A surface of one sign everywhere stays as it is."""

    grid: Grid

    def forward_with(self, work: Marched, inputs: Fields) -> Fields:
        (phi,), marched = inputs, work
        if marched.at_interface == 0:
            return (phi,)
        distance = np.where(marched.phi < 0, -marched.value, marched.value) * self.grid.spacing
        return (phi.like(distance.astype(phi.dtype)),)

    def tangent_with(self, work: Marched, inputs: Fields, d_inputs: Fields) -> Fields:
        (phi,), (d_phi,), marched = inputs, d_inputs, work
        if marched.at_interface == 0:
            return (d_phi,)
        d_out = np.zeros(phi.data.size)
        given = d_phi.data.astype(np.float64) / self.grid.spacing
        fast_marching.march_tangent(
            marched.phi, given, *self._box, marched.value, marched.chosen, marched.order, marched.at_interface, d_out,
        )  # fmt: skip
        return (phi.like((d_out * self.grid.spacing).astype(phi.dtype)),)

    def adjoint_with(self, work: Marched, inputs: Fields, outputs_bar: Fields) -> Fields:
        (phi,), (out_bar,), marched = inputs, outputs_bar, work
        if marched.at_interface == 0:
            return (out_bar,)
        phi_bar = np.zeros(phi.data.size)
        fast_marching.march_adjoint(
            marched.phi, *self._box, marched.value, marched.chosen, marched.order, marched.at_interface,
            out_bar.data.astype(np.float64), phi_bar,
        )  # fmt: skip
        return (phi.like(phi_bar.astype(phi.dtype)),)

    def work(self, *inputs: Field) -> Marched:
        """Distances and the order of the march; float64 whatever the field's precision."""
        (phi,) = inputs
        phi.require(self.grid, Kind.CENTRES, "redistance: surface")
        phi.require_finite("redistance: surface")
        given = phi.data.astype(np.float64) / self.grid.spacing
        value = np.empty(given.size)
        chosen, order = np.empty(given.size, np.uint16), np.empty(given.size, np.int32)
        found = fast_marching.march(given, *self._box, value, chosen, order)
        return Marched(given, value, chosen, order, int(found))

    @property
    def _box(self) -> CellBox:
        return box_of(self.grid, self.grid.cells)
