"""The solenoidal projection Q of many steps at once, v[face, step], by the direct solver.

v -> v - G (D G)^-1 D v for every step, as in operators/project.py: walls or periodic axes, no bodies. In cell units.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from keyfluid.grid import Grid, Kind
from keyfluid.solvers.face_tables import face_tables
from keyfluid.solvers.kernels import solenoidal as kernels
from keyfluid.solvers.poisson import CENTRE_AXES
from keyfluid.solvers.transforms import Axis, diagonal, eigenvalues
from keyfluid.threads import one_thread_below

Array = np.ndarray
Filters = list[tuple[tuple[Axis, ...], Array]]

SERIAL_VALUES = 1 << 14


class Solenoidal:
    """project(v): the part without divergence; walls come out as zero."""

    def __init__(self, grid: Grid, dtype: np.typing.DTypeLike) -> None:
        self.grid, self.dim, self.dtype = grid, grid.dim, dtype
        self.axes = tuple(CENTRE_AXES[side] for side in grid.boundary)
        values = eigenvalues(grid.cells, self.axes)
        inverse = np.zeros_like(values)
        np.divide(1.0, values, out=inverse, where=values < 0)
        self._inverse = inverse.astype(dtype)[..., None]

    def component(self, v: Array, a: int) -> Array:
        """A shaped view [cells or planes ..., step] of component a."""
        layout = self.grid.layout(Kind.FACES)
        return v[layout.parts[a]].reshape(*layout.shapes[a], v.shape[-1])

    def divergence(self, v: Array) -> Array:
        """Net outflow [cells ..., step]; what crosses walls does not count."""
        out = np.empty((*self.grid.cells, v.shape[-1]), v.dtype)
        with one_thread_below(SERIAL_VALUES, v.size):
            kernels.divergence(v.reshape(-1), out.reshape(-1), v.shape[-1], *face_tables(self.grid))
        return out

    def subtract_gradient(self, v: Array, p: Array) -> None:
        """v -= G p in place; zero on walls."""
        whole = np.ascontiguousarray(v)
        with one_thread_below(SERIAL_VALUES, v.size):
            kernels.subtract_gradient(whole.reshape(-1), p.reshape(-1), v.shape[-1], *face_tables(self.grid))
        if whole is not v:
            v[...] = whole

    def pressure(self, v: Array) -> Array:
        """p of v - G p, mean zero."""
        return diagonal(self.divergence(v), self.axes, self._inverse)

    def project(self, v: Array) -> Array:
        """Q v, in place."""
        self.subtract_gradient(v, self.pressure(v))
        return v

    def filters(self, symbol: Callable[[Array], Array]) -> Filters:
        """For `filter`: symbol(eigenvalues of the Laplacian, cell units) of each component's own waves."""
        found = []
        for a in range(self.dim):
            axes = tuple(
                Axis.PERIODIC if self.grid.is_periodic(b) else (Axis.ZERO if b == a else Axis.MIRROR)
                for b in range(self.dim)
            )
            shape = self._inner(np.empty(self.grid.shapes(Kind.FACES)[a]), a).shape
            found.append((axes, symbol(eigenvalues(shape, axes)).astype(self.dtype)[..., None]))
        return found

    def filter(self, v: Array, filters: Filters) -> Array:
        """Every component's waves scaled, in place: symmetric, and it commutes with Q if all symbols are the same."""
        for a, (axes, scale) in enumerate(filters):
            inner = self._inner(self.component(v, a), a)
            inner[...] = diagonal(inner, axes, scale)
        return v

    def _inner(self, part: Array, a: int) -> Array:
        """Component a without the faces on walls."""
        return part if self.grid.is_periodic(a) else _along(part, a, 1, -1)


def _along(q: Array, axis: int, start: int | None, stop: int | None) -> Array:
    return q[(slice(None),) * axis + (slice(start, stop),)]
