"""Relaxation: a field is drawn towards given values at a rate. Drag, dissipation, cooling and wind.

Locations   q, the values w and the region m at one place: centres or faces
Continuous  dq/dt = -k m (q - w),   k in 1/s, m between 0 and 1
Discrete    q1 = w + exp(-K m) (q - w),   K the integral of k over the step: exact for any step
Adjoint     q_bar = exp(-K m) q1_bar; w, m and K are given and are not differentiated
"""

from __future__ import annotations

import math

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators.base import Fields, SymmetricOperator


class Relax(SymmetricOperator):
    """forward(q) -> (q,), q of `kind`; amount: K; region: m, None for 1 everywhere; towards: w, None for 0."""

    def __init__(
        self, grid: Grid, kind: Kind, amount: float, region: Field | None = None, towards: Field | None = None
    ) -> None:
        if not (amount >= 0 and math.isfinite(amount)):
            raise KeyfluidError(f"relax: {amount} must be a finite number of at least 0")
        self.grid, self.kind, self.towards = grid, kind, towards
        self._keep: float | np.ndarray = math.exp(-amount) if region is None else np.exp(-amount * region.data)

    def forward(self, *inputs: Field) -> Fields:
        (q,) = inputs
        if self.towards is None:
            return self.apply(q)
        (gap,) = self.apply(q - self.towards)
        return (self.towards + gap,)

    def apply(self, *inputs: Field) -> Fields:
        (q,) = inputs
        q.require(self.grid, self.kind, "relax: values")
        keep = q.dtype.type(self._keep) if isinstance(self._keep, float) else self._keep.astype(q.dtype, copy=False)
        return (q.like(q.data * keep),)
