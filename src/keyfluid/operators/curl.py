"""Curl of a stream function (2D) or a vector potential (3D): velocities without divergence.

Locations   psi on edges (2D: at cell corners), v on faces
Continuous  v = curl psi;  in 2D v = (d psi/dy, -d psi/dx)                                  [Tang 2021, eq. 7]
Discrete    differences along the edges around a face. Every edge of a cell enters two of its faces with
            opposite signs, so the discrete divergence vanishes to rounding, whatever psi is.
Adjoint     the same differences, transposed
Sides       a potential that is zero on the walls' edges gives no flow through walls; a periodic potential has
            no mean flow.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators.base import Fields, LinearOperator


@dataclass(frozen=True)
class Curl(LinearOperator):
    """forward(potential) -> (velocity,); a potential in m^2/s gives m/s."""

    grid: Grid

    def apply(self, *inputs: Field) -> Fields:
        (psi,) = inputs
        psi.require(self.grid, Kind.EDGES, "curl: potential")
        out = Field.zeros(self.grid, Kind.FACES, psi.dtype)
        for face, edge, axis, sign in self._terms():
            factor = psi.dtype.type(sign / self.grid.spacing)
            out.component(face)[...] += factor * self._difference(psi.component(edge), axis)
        return (out,)

    def transpose(self, *outputs_bar: Field) -> Fields:
        (v_bar,) = outputs_bar
        psi_bar = Field.zeros(self.grid, Kind.EDGES, v_bar.dtype)
        for face, edge, axis, sign in self._terms():
            factor = v_bar.dtype.type(sign / self.grid.spacing)
            self._difference_transposed(factor * v_bar.component(face), axis, psi_bar.component(edge))
        return (psi_bar,)

    def _terms(self) -> Iterator[tuple[int, int, int, float]]:
        """(component of v, component of psi, axis of the difference, sign)."""
        if self.grid.dim == 2:
            yield from ((0, 0, 1, 1.0), (1, 0, 0, -1.0))
            return
        for a in range(3):
            b, c = (a + 1) % 3, (a + 2) % 3
            yield a, c, b, 1.0
            yield a, b, c, -1.0

    def _difference(self, q: np.ndarray, axis: int) -> np.ndarray:
        return np.roll(q, -1, axis) - q if self.grid.is_periodic(axis) else np.diff(q, axis=axis)

    def _difference_transposed(self, q_bar: np.ndarray, axis: int, out: np.ndarray) -> None:
        """Add the transposed difference of q_bar to `out`."""
        if self.grid.is_periodic(axis):
            out += np.roll(q_bar, 1, axis) - q_bar
        else:
            low = tuple(slice(None, -1) if a == axis else slice(None) for a in range(out.ndim))
            high = tuple(slice(1, None) if a == axis else slice(None) for a in range(out.ndim))
            out[low] -= q_bar
            out[high] += q_bar
