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

from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.kernels import differences
from keyfluid.operators.base import Fields, LinearOperator


@dataclass(frozen=True)
class Curl(LinearOperator):
    """forward(potential) -> (velocity,); a potential in m^2/s gives m/s."""

    grid: Grid

    def apply(self, *inputs: Field) -> Fields:
        (psi,) = inputs
        psi.require(self.grid, Kind.EDGES, "curl: potential")
        out = Field.zeros(self.grid, Kind.FACES, psi.dtype)
        edges, faces = self.grid.layout(Kind.EDGES), self.grid.layout(Kind.FACES)
        for face, edge, axis, sign in self._terms():
            factor = psi.dtype.type(sign / self.grid.spacing)
            (q_start, n), (start, m) = edges.lattice(edge), faces.lattice(face)
            differences.add_difference(psi.data, q_start, n, axis, factor, out.data, start, m)
        return (out,)

    def transpose(self, *outputs_bar: Field) -> Fields:
        (v_bar,) = outputs_bar
        psi_bar = Field.zeros(self.grid, Kind.EDGES, v_bar.dtype)
        edges, faces = self.grid.layout(Kind.EDGES), self.grid.layout(Kind.FACES)
        for face, edge, axis, sign in self._terms():
            factor = v_bar.dtype.type(sign / self.grid.spacing)
            (q_start, n), (start, m) = edges.lattice(edge), faces.lattice(face)
            differences.add_difference_transposed(v_bar.data, start, m, axis, factor, psi_bar.data, q_start, n)
        return (psi_bar,)

    def _terms(self) -> Iterator[tuple[int, int, int, float]]:
        """(component of v, component of psi, axis of the difference of three, sign)."""
        if self.grid.dim == 2:
            yield from ((0, 0, 2, 1.0), (1, 0, 1, -1.0))
            return
        for a in range(3):
            b, c = (a + 1) % 3, (a + 2) % 3
            yield a, c, b, 1.0
            yield a, b, c, -1.0
