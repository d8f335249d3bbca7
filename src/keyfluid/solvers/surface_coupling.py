"""How faces on bodies act on each other through the pressure of a box: the matrix N B N^T, in blocks and factorised.

Column g is what a unit flow through face g leaves on all faces once it is projected. It is made of the pressure around
a point source in a periodic box; walls are mirrors, so there the source has images.

The matrix has no inverse: it takes no notice of a flow through the whole surface of a connected part of fluid or solid,
n = N G (indicator of the part). Every part but one adds n n^T / n.n to the matrix; right sides have no share in n, so
neither does the solution, and nothing else changes. The other eigenvalues are at most 1 and at least about one cell
over the size of a body.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components

from keyfluid.grid import Grid, Kind
from keyfluid.solvers.kernels import surface_coupling as kernels
from keyfluid.solvers.transforms import Axis, diagonal, eigenvalues
from keyfluid.threads import one_thread_below

Array = np.ndarray

SERIAL_FACES = 256


@dataclass(frozen=True, eq=False)
class Block:
    """The matrix of some of the faces, factorised."""

    members: Array
    factor: Array

    def solve(self, right: Array) -> Array:
        """[face, step] of the members."""
        count, steps = right.shape
        sides = np.zeros((-(-steps // kernels.TOGETHER) * kernels.TOGETHER, count))
        sides[:steps] = right.T
        with one_thread_below(SERIAL_FACES, count):
            kernels.solve_factorised(self.factor, sides)
        return np.ascontiguousarray(sides[:steps].T)


class Surface:
    """The faces between fluid and solid cells, as offsets into a face field, and the cells below and above them."""

    def __init__(self, grid: Grid, solid: Array) -> None:
        self.grid = grid
        cells, inside = np.arange(grid.count).reshape(grid.cells), solid.reshape(-1)
        layout = grid.layout(Kind.FACES)
        faces, low, high, joined = [], [], [], []
        for a, (part, shape) in enumerate(zip(layout.parts, layout.shapes)):
            index, below, above = np.arange(part.start, part.stop).reshape(shape), np.roll(cells, 1, a), cells
            if not grid.is_periodic(a):
                across = (slice(None),) * a
                index, below, above = (
                    index[(*across, slice(1, -1))], cells[(*across, slice(None, -1))], cells[(*across, slice(1, None))]
                )  # fmt: skip
            meet = inside[below] != inside[above]
            faces.append(index[meet])
            low.append(below[meet])
            high.append(above[meet])
            joined.append(np.stack([below[~meet], above[~meet]]))
        self.faces, self.low, self.high = np.concatenate(faces), np.concatenate(low), np.concatenate(high)
        pairs = np.concatenate(joined, axis=1)
        graph = coo_array((np.ones(pairs.shape[1]), tuple(pairs)), (grid.count, grid.count))
        parts, part = connected_components(graph, directed=False)
        largest = np.bincount(part).argmax()
        below, above = part[self.low], part[self.high]
        self._shares = [(above == i) * 1.0 - (below == i) for i in range(parts) if i != largest]

    def drop(self, p: Array) -> Array:
        """-N G p: how much pressure p[cells ..., step] falls across each face."""
        flat = p.reshape(-1, p.shape[-1])
        return flat[self.low] - flat[self.high]

    def whole(self, mu: Array) -> Array:
        """Sum of n (n.mu) / n.n over the parts, of mu[face, step]."""
        out = np.zeros_like(mu)
        for share in self._shares:
            out += share[:, None] * (np.sum(share[:, None] * mu, axis=0) / np.sum(share * share))
        return out

    def blocks(self, most: int) -> list[Block]:
        """The matrix in blocks of neighbouring faces, at most so many in each; one block if all faces are allowed."""
        if not len(self.faces):
            return []
        axes = [Axis.PERIODIC if self.grid.is_periodic(a) else Axis.MIRROR for a in range(self.grid.dim)]
        walls = np.array([0] * (3 - self.grid.dim) + [int(axis is Axis.MIRROR) for axis in axes])
        green = self._green(axes)
        low, high = self._places(self.low), self._places(self.high)
        blocks = []
        for members in _bisected(low, np.arange(len(self.faces)), most):
            matrix = np.empty((len(members), len(members)))
            with one_thread_below(SERIAL_FACES, len(members)):
                kernels.couple(green, walls, low[members], high[members], matrix)
                for share in self._shares:
                    kernels.add_outer(share[members], 1.0 / np.sum(share * share), matrix)
                kernels.factorise(matrix)
            blocks.append(Block(members, matrix))
        return blocks

    def _places(self, cells: Array) -> Array:
        lead = [np.zeros(len(cells), np.int64)] * (3 - self.grid.dim)
        return np.stack([*lead, *np.unravel_index(cells, self.grid.cells)], axis=1)

    def _green(self, axes: list[Axis]) -> Array:
        """Pressure around a unit source at the origin, in a periodic box that is twice as long between walls."""
        shape = tuple(n * (2 if axis is Axis.MIRROR else 1) for n, axis in zip(self.grid.cells, axes))
        periodic = (Axis.PERIODIC,) * len(shape)
        values = -eigenvalues(shape, periodic)
        inverse = np.zeros_like(values)
        np.divide(1.0, values, out=inverse, where=values > 0)
        source = np.zeros(shape)
        source.flat[0] = 1.0
        return diagonal(source, periodic, inverse).reshape((1,) * (3 - len(shape)) + shape)


def _bisected(places: Array, members: Array, most: int) -> list[Array]:
    """Faces in groups of neighbours: halved across their longest extent until they are few enough."""
    if len(members) <= most:
        return [members]
    longest = np.ptp(places[members], axis=0).argmax()
    sorted_members = members[np.argsort(places[members, longest], kind="stable")]
    middle = len(members) // 2
    return _bisected(places, sorted_members[:middle], most) + _bisected(places, sorted_members[middle:], most)
