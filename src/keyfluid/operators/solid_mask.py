"""No smoke inside bodies: after advection, cells of a solid are emptied.

Discrete    rho1 = rho in fluid cells, 0 in solid ones. What a moving body sweeps over is lost; the report's
            mass counts it.
Adjoint     symmetric.
"""

from __future__ import annotations

import numpy as np

from keyfluid.fields import Field
from keyfluid.grid import Kind
from keyfluid.operators.base import Fields, SymmetricOperator
from keyfluid.solids import Solids


class SolidMask(SymmetricOperator):
    """forward(density) -> (density,)."""

    def __init__(self, solids: Solids) -> None:
        self.solids = solids

    def apply(self, *inputs: Field) -> Fields:
        (q,) = inputs
        q.require(self.solids.grid, Kind.CENTRES, "solid: density")
        return (q.like(np.where(self.solids.solid.reshape(-1), q.dtype.type(0), q.data)),)
