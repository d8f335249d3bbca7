"""The solenoidal projection Q of many steps at once around bodies at rest, v[face, step], by a direct solver.

    Q v = M (v - G p),   D M G p = D M v,   M keeps the free faces                  as in operators/project.py

A box without bodies has a direct solver (solenoidal.py), whose projection we call B. A flow without divergence that
does not pass the surface of a body, N v = 0 with N the faces between fluid and solid cells, is two flows, outside and
inside, which know nothing of each other. So Q v is the nearest such flow to M v, and

    Q v = B (M v - N^T mu),   (N B N^T) mu = N B M v                    the capacitance matrix [Buzbee et al. 1971]

two solves of the box and a dense one of the size of the surface (surface_coupling.py). The box may have walls and
periodic sides, and bodies may close off parts of it. Bits do not depend on the number of threads.

Cost  2 to 3 times that of the box: 1.6 against 0.7 ms (64^2, 20 steps), 24 against 10 ms (32^3, 20 steps), one thread.
Beyond MOST_FACES on bodies the dense solve is by conjugate gradients and costs about 15 solves of the box.
"""

from __future__ import annotations

import numpy as np

from keyfluid.boundary import Boundary
from keyfluid.errors import KeyfluidError
from keyfluid.grid import Grid
from keyfluid.solids import Solids
from keyfluid.solvers.multigrid import SolveReport
from keyfluid.solvers.poisson import warn_unless_converged
from keyfluid.solvers.solenoidal import Solenoidal
from keyfluid.solvers.surface_coupling import Block, Surface
from keyfluid.solvers.transforms import diagonal

Array = np.ndarray

MOST_FACES = 6144
"""On bodies, for a direct solve: its matrix takes 300 MB and half a minute. In blocks of at most BLOCK beyond."""
BLOCK = 2048
MOST_ITERATIONS = 200


class SolenoidalAroundBodies(Solenoidal):
    """project(v): the part without divergence; walls and all faces of bodies come out as zero.

    `filter` knows nothing of bodies: what it returns passes through them and has divergence, so it has to be
    projected. Q S Q is symmetric for every filter S; S Q is not.
    """

    def __init__(self, grid: Grid, dtype: np.typing.DTypeLike, solids: Solids) -> None:
        if Boundary.OPEN in grid.boundary:
            raise KeyfluidError(
                "projection around bodies: a side of the box is open; only walls and periodic sides work"
            )
        super().__init__(grid, dtype)
        self.solids = solids
        self.tolerance = 2e-7 if np.dtype(dtype) == np.float32 else 1e-13
        self._free = solids.free.astype(dtype)[:, None]
        self._surface = Surface(grid, solids.solid)
        count = len(self._surface.faces)
        self._blocks = self._surface.blocks(count if count <= MOST_FACES else BLOCK)

    def divergence(self, v: Array) -> Array:
        """Net outflow [cells ..., step] through free faces."""
        return super().divergence(v * self._free)

    def subtract_gradient(self, v: Array, p: Array) -> None:
        """v -= G p in place; zero on walls and faces of bodies."""
        super().subtract_gradient(v, p)
        v *= self._free

    def pressure(self, v: Array) -> Array:
        """p of v - G p; inside bodies it means nothing, and parts of the fluid differ by any constant."""
        flow = v * self._free
        p = self._of_box(flow)
        if not self._blocks:
            return p
        passing = self._surface.drop(p).astype(np.float64)
        if len(self._blocks) == 1:
            mu = self._blocks[0].solve(passing)
        else:
            mu = self._conjugate_gradients(passing, self.tolerance * np.sqrt(np.einsum("fs,fs->s", flow, flow)))
        flow[self._surface.faces] = -mu
        return self._of_box(flow)

    def _of_box(self, v: Array) -> Array:
        return diagonal(super().divergence(v), self.axes, self._inverse)

    def _conjugate_gradients(self, residual: Array, enough: Array) -> Array:
        """mu[face, step] of all steps together, each with its own lengths; preconditioned by blocks of the surface.

        enough: |residual| of each step, in terms of the flow: what is left of a solenoidal one is rounding.
        """
        mu, direction, product = np.zeros_like(residual), np.zeros_like(residual), np.zeros_like(enough)
        iterations, left = 0, _products(residual, residual)
        while iterations < MOST_ITERATIONS and (left > enough * enough).any():
            z = _by_blocks(self._blocks, residual)
            before, product = product, _products(residual, z)
            direction = z + _ratio(product, before) * direction
            coupled = self._coupled(direction)
            length = _ratio(product, _products(direction, coupled))
            mu += length * direction
            residual = residual - length * coupled
            iterations, left = iterations + 1, _products(residual, residual)
        worst = float(self.tolerance * np.sqrt(_ratio(left, enough * enough).max()))
        warn_unless_converged(SolveReport(worst <= self.tolerance, iterations, worst), "pressure around bodies")
        return mu

    def _coupled(self, mu: Array) -> Array:
        """N B N^T mu, with the terms that make it regular."""
        flow = np.zeros((len(self._free), mu.shape[1]), self.dtype)
        flow[self._surface.faces] = mu
        return mu + self._surface.drop(self._of_box(flow)) + self._surface.whole(mu)


def _by_blocks(blocks: list[Block], right: Array) -> Array:
    out = np.empty_like(right)
    for block in blocks:
        out[block.members] = block.solve(right[block.members])
    return out


def _products(a: Array, b: Array) -> Array:
    """Inner product of every step."""
    return np.sum(a * b, axis=0)


def _ratio(a: Array, b: Array) -> Array:
    """a / b, and 0 for steps that are done."""
    return np.divide(a, b, out=np.zeros_like(a), where=b > 0)
