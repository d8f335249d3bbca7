"""Marker particles, the smoke itself: positions and velocities of the step before, (3, m) each.

Every marker stands for the same mass. At the start they are spread over the density by systematic sampling: marker
i is put into the cell where the running sum of mass passes (i + 1/2) / M, at a random place in it, so that a cell
holds its share to within one marker.
"""

from __future__ import annotations

import numpy as np

from keyfluid.controllers.particles.kernels import move as kernels
from keyfluid.controllers.particles.lattice import Lattice
from keyfluid.controllers.particles.streams import uniform


class Markers:
    """Those of one kind of smoke; never removed, so that an index means the same marker in all frames."""

    def __init__(self, dtype: np.dtype) -> None:
        self.position = np.zeros((3, 0), dtype)
        self.before = np.zeros((3, 0), dtype)
        self.old = 0
        """Markers that have a velocity of the step before; later ones are new."""

    @property
    def count(self) -> int:
        return self.position.shape[1]

    def add(self, lattice: Lattice, weights: np.ndarray, count: int, word: np.uint64) -> None:
        """`count` markers over the cells of `weights`, which need not sum to 1."""
        if count <= 0:
            return
        new = spread(lattice, weights, count, word)
        self.position = np.concatenate([self.position, new], axis=1)
        self.before = np.concatenate([self.before, np.zeros_like(new)], axis=1)

    def advect(self, lattice: Lattice, packed: np.ndarray, dt: float) -> None:
        """Equation 9 through a packed velocity lattice; markers without a step before take Euler's."""
        kernels.advect(
            *self.position, *self.before, self.old, packed, lattice.inverse, lattice.cells, lattice.sizes,
            lattice.kinds, lattice.real(dt),
        )  # fmt: skip
        self.old = self.count

    def mean_speed(self) -> float:
        """Mean speed in the last step, m/s."""
        u, v, w = self.before
        return float(np.sqrt(u * u + v * v + w * w).sum(dtype=np.float64)) / max(self.count, 1)


def spread(lattice: Lattice, weights: np.ndarray, count: int, word: np.uint64) -> np.ndarray:
    """Points (3, count) over cells in proportion to their weights."""
    sums = np.cumsum(weights.reshape(-1), dtype=np.float64)
    wanted = (np.arange(count) + 0.5) * (sums[-1] / count)
    cell = np.minimum(np.searchsorted(sums, wanted, side="right"), sums.size - 1)
    places = np.stack(np.unravel_index(cell, lattice.counts)).astype(np.float64)
    random = uniform(word, 0, 3 * count).reshape(3, count)
    points = (places + random) * lattice.spacing
    points[lattice.grid.dim :] = 0.0
    return points.astype(lattice.dtype)
