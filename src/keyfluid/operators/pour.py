"""Liquid let in: a region that is kept full.

Locations   phi and the region's signed distance d at centres
Discrete    phi1 = min(phi, d)
Tangent     that of the smaller one; half of each where they are equal
Smoothness  a kink where phi = d.
"""

from __future__ import annotations

import numpy as np

from keyfluid.fields import Field
from keyfluid.operators.base import Fields, Operator


class Pour(Operator):
    """forward(surface) -> (surface,); region: signed distance in metres, negative inside."""

    def __init__(self, region: Field) -> None:
        self.region = region

    def forward(self, *inputs: Field) -> Fields:
        (phi,) = inputs
        phi.require(self.region.grid, self.region.kind, "pour: surface")
        return (phi.like(np.minimum(phi.data, self.region.data.astype(phi.dtype))),)

    def tangent(self, inputs: Fields, d_inputs: Fields) -> Fields:
        return (d_inputs[0].like(self._share(inputs[0]) * d_inputs[0].data),)

    def adjoint(self, inputs: Fields, outputs_bar: Fields) -> Fields:
        return self.tangent(inputs, outputs_bar)

    def _share(self, phi: Field) -> np.ndarray:
        region = self.region.data.astype(phi.dtype)
        return np.where(phi.data < region, 1.0, np.where(phi.data > region, 0.0, 0.5)).astype(phi.dtype)
