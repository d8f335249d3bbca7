"""Forces on the air and smoke from nowhere: what is added to a state during a step.

AddRate     q1 = q + dt r                 r: a force field in m/s^2, or a source of density per second; the
                                          bridge between controls and states    [McNamara 2004, eq. 1, section 6.7]
AddConstant v1 = v + dt g                 a body force g, the same everywhere; no derivative but the identity
Inflow      q1 = q + m (q_in - q)         a region (m = 1 inside, 0 outside) held at given values

Adjoints    AddRate: r_bar = dt q1_bar.  Inflow: q_bar = (1 - m) q1_bar, q_in_bar = m q1_bar.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators.base import Fields, LinearOperator


@dataclass(frozen=True)
class AddRate(LinearOperator):
    """forward(q, rate) -> (q,): q + dt rate, both of one kind."""

    dt: float

    def apply(self, *inputs: Field) -> Fields:
        q, rate = inputs
        return (q.add_scaled(self.dt, rate),)

    def transpose(self, *outputs_bar: Field) -> Fields:
        (q_bar,) = outputs_bar
        return q_bar, self.dt * q_bar


class AddConstant(LinearOperator):
    """forward(velocity) -> (velocity,): the same acceleration (m/s^2) everywhere."""

    def __init__(self, grid: Grid, acceleration: Sequence[float], dt: float) -> None:
        if len(acceleration) != grid.dim or not np.all(np.isfinite(acceleration)):
            raise KeyfluidError(f"force: {list(acceleration)} must be {grid.dim} finite numbers in m/s^2")
        self.grid = grid
        self.change = [float(a) * dt for a in acceleration]

    def forward(self, *inputs: Field) -> Fields:
        (v,) = inputs
        v.require(self.grid, Kind.FACES, "force: velocity")
        out = v.copy()
        for component, change in zip(out.components(), self.change):
            component += v.dtype.type(change)
        return (out,)

    def apply(self, *inputs: Field) -> Fields:
        return inputs

    def transpose(self, *outputs_bar: Field) -> Fields:
        return outputs_bar


class Inflow(LinearOperator):
    """forward(q, q_in) -> (q,): q where `mask` is 0, q_in where it is 1, blended between."""

    def __init__(self, mask: Field) -> None:
        if mask.data.min(initial=0.0) < 0 or mask.data.max(initial=0.0) > 1:
            raise KeyfluidError("source: its mask must lie between 0 and 1")
        self.mask = mask

    def apply(self, *inputs: Field) -> Fields:
        q, incoming = inputs
        for field in inputs:
            field.require(self.mask.grid, self.mask.kind, "source: values")
        mask = self.mask.data.astype(q.dtype, copy=False)
        return (q.like(q.data + mask * (incoming.data - q.data)),)

    def transpose(self, *outputs_bar: Field) -> Fields:
        (q_bar,) = outputs_bar
        mask = self.mask.data.astype(q_bar.dtype, copy=False)
        into = mask * q_bar.data
        return q_bar.like(q_bar.data - into), q_bar.like(into)
