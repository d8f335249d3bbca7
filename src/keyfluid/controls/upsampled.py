"""A potential on a coarse lattice, interpolated to the grid: Tang's progressive upsampling [Tang 2021, section 5.2.1].

    psi = U^(N-i) psi_i,   f = curl psi

Lattice i has two points per wave of its cutoff; each finer one has twice as many and starts from the interpolated
values of the one before. Zero on walls. psi = c times the longest side.
"""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_array

from keyfluid.boundary import Boundary
from keyfluid.controls.basis import Basis
from keyfluid.controls.resample import apply_matrices, line_matrix
from keyfluid.controls.spectral import highest_wave
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators.curl import Curl


class UpsampledPotential:
    """The basis; cutoff in cycles per longest side: 2 cutoff lattice cells along it."""

    def __init__(self, grid: Grid, dtype: np.typing.DTypeLike, cutoff: float | None = None) -> None:
        self.grid = grid
        self.dtype: np.dtype = np.dtype(dtype)
        cutoff = highest_wave(grid) if cutoff is None else float(cutoff)
        cells = [max(2, round(2 * cutoff * side / max(grid.size))) for side in grid.size]
        self._lines = [self._line(axis, n) for axis, n in enumerate(cells)]
        self.shape = tuple(line.size for line in self._lines)
        places = grid.layout(Kind.EDGES).places
        self._matrices = [[self._matrix(axis, on) for axis, on in enumerate(place)] for place in places]

    @property
    def count(self) -> int:
        return len(self._matrices) * int(np.prod(self.shape))

    def force(self, coefficients: np.ndarray) -> Field:
        psi = Field.zeros(self.grid, Kind.EDGES, self.dtype)
        sets = coefficients.reshape(-1, *self.shape) * self.dtype.type(max(self.grid.size))
        for values, lattice, matrices in zip(psi.components(), sets, self._matrices):
            values[...] = apply_matrices(lattice, matrices)
        return Curl(self.grid).apply(psi)[0]

    def pull(self, force_bar: Field) -> np.ndarray:
        (psi_bar,) = Curl(self.grid).transpose(force_bar)
        bars = [
            apply_matrices(values, [matrix.T.tocsr() for matrix in matrices]).ravel()
            for values, matrices in zip(psi_bar.components(), self._matrices)
        ]
        return np.concatenate(bars) * self.dtype.type(max(self.grid.size))

    def scales(self) -> np.ndarray | None:
        return None

    def carry(self, coefficients: np.ndarray, before: Basis) -> np.ndarray:
        assert isinstance(before, UpsampledPotential)
        matrices = [
            line_matrix(a, b, self._around(axis), self.dtype)
            for axis, (a, b) in enumerate(zip(before._lines, self._lines))
        ]
        sets = coefficients.reshape(-1, *before.shape)
        return np.concatenate([apply_matrices(lattice, matrices).ravel() for lattice in sets])

    def _around(self, axis: int) -> float | None:
        return self.grid.size[axis] if self.grid.is_periodic(axis) else None

    def _line(self, axis: int, cells: int) -> np.ndarray:
        """Lattice points, walls included; a periodic axis lacks its last."""
        points = np.linspace(0.0, self.grid.size[axis], cells + 1)
        return points[:-1] if self.grid.is_periodic(axis) else points

    def _matrix(self, axis: int, on_plane: bool) -> csr_array:
        count = self.grid.cells[axis] + (1 if on_plane and not self.grid.is_periodic(axis) else 0)
        wanted = (np.arange(count) + (0.0 if on_plane else 0.5)) * self.grid.spacing
        matrix = line_matrix(self._lines[axis], wanted, self._around(axis), self.dtype)
        if on_plane and self.grid.boundary[axis] is Boundary.WALLS:
            inside = np.ones(self._lines[axis].size, self.dtype)
            inside[0] = inside[-1] = 0
            matrix = csr_array(matrix.multiply(inside[None, :]))
        return matrix
