"""Implicit viscosity.

Locations   v on faces
Continuous  dv/dt = nu laplacian v
Discrete    (1 - nu dt/dx^2 L) v1 = v,  component by component: backward Euler, stable for any nu
Sides       walls: normal component zero on them, tangential components slip freely (mirror)
            open: zero gradient; bodies: faces hold the body's velocity
Adjoint     the matrix is symmetric: diffuse the adjoint                        [McNamara 2004, section 6.3]
Affine part the velocity of moving bodies; not differentiated.
"""

from __future__ import annotations

import numpy as np

from keyfluid.boundary import Boundary
from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators.base import Fields, SymmetricOperator
from keyfluid.solids import Solids
from keyfluid.solvers.multigrid import MultigridPCG
from keyfluid.solvers.poisson import warn_unless_converged
from keyfluid.solvers.transforms import Axis, diagonal, eigenvalues


class Diffuse(SymmetricOperator):
    """forward(velocity) -> (velocity,); viscosity in m^2/s, dt in seconds."""

    def __init__(
        self,
        grid: Grid,
        viscosity: float,
        dt: float,
        solids: Solids | None = None,
        dtype: np.typing.DTypeLike = np.float32,
        tolerance: float | None = None,
    ) -> None:
        if not (np.isfinite(viscosity) and viscosity >= 0):
            raise KeyfluidError(f"viscosity: {viscosity} m^2/s; it must be zero or positive")
        self.grid = grid
        self.solids = solids
        self.dtype = np.dtype(dtype)
        self.number = viscosity * dt / grid.spacing**2
        self.tolerance = tolerance or (1e-6 if self.dtype == np.float32 else 1e-11)
        self._parts = [self._component(a) for a in range(grid.dim)]

    def forward(self, *inputs: Field) -> Fields:
        (v,) = inputs
        v.require(self.grid, Kind.FACES, "diffuse: velocity")
        return (self._diffuse(v, moving=True),)

    def apply(self, *inputs: Field) -> Fields:
        (v,) = inputs
        return (self._diffuse(v, moving=False),)

    def _diffuse(self, v: Field, moving: bool) -> Field:
        out = v.zeros_like()
        for a, (inner, solve) in enumerate(self._parts):
            out.component(a)[inner] = solve(v.component(a)[inner], moving)
        return out

    def _component(self, a: int):  # type: ignore[no-untyped-def]
        """The slice of component a that is unknown, and its solver."""
        side = self.grid.boundary[a]
        inner = tuple(
            slice(1, -1) if axis == a and side is Boundary.WALLS else slice(None) for axis in range(self.grid.dim)
        )
        if self.solids is not None:
            return inner, self._multigrid(a, inner)
        shape = np.empty(self.grid.shape(Kind.FACES.places(self.grid.dim)[a]), bool)[inner].shape
        axes = tuple(self._axis(axis, a) for axis in range(self.grid.dim))
        scale = (1.0 / (1.0 - self.number * eigenvalues(shape, axes))).astype(self.dtype)
        return inner, lambda values, moving: diagonal(np.ascontiguousarray(values), axes, scale)

    def _axis(self, axis: int, a: int) -> Axis:
        side = self.grid.boundary[axis]
        if side is Boundary.PERIODIC:
            return Axis.PERIODIC
        return Axis.ZERO if axis == a and side is Boundary.WALLS else Axis.MIRROR

    def _multigrid(self, a: int, inner: tuple[slice, ...]):  # type: ignore[no-untyped-def]
        assert self.solids is not None
        place = Kind.FACES.places(self.grid.dim)[a]
        faces = Field(self.grid, Kind.FACES, self.solids.free.astype(np.float32))
        free = faces.component(a)[inner].astype(bool)
        body = self.solids.motion.component(a)[inner].astype(self.dtype)
        periodic = tuple(self.grid.is_periodic(axis) for axis in range(self.grid.dim))
        shift = np.ones(free.shape)
        links = []
        for axis in range(self.grid.dim):
            links.append(np.full(free.shape, self.number))
            if axis == a and self.grid.boundary[axis] is Boundary.WALLS:
                for end in (0, -1):
                    shift[_end(self.grid.dim, axis, end)] += self.number
        pcg = MultigridPCG(
            free, tuple(links), shift, periodic, dtype=self.dtype, tolerance=self.tolerance, max_iterations=200
        )
        assert free.shape == np.empty(self.grid.shape(place), bool)[inner].shape

        def solve(values: np.ndarray, moving: bool) -> np.ndarray:
            held = np.where(free, 0, body) if moving else np.zeros_like(body)
            right = np.where(free, values, 0).astype(self.dtype)
            if moving:
                right = right + np.where(free, self._inflow(held, periodic), 0).astype(self.dtype)
            x, report = pcg.solve(right)
            warn_unless_converged(report, "viscosity")
            return np.where(free, x, held)

        return solve

    def _inflow(self, held: np.ndarray, periodic: tuple[bool, ...]) -> np.ndarray:
        """nu dt/dx^2 times the sum of held neighbours: what bodies contribute to the faces beside them."""
        total = np.zeros_like(held)
        for axis, wraps in enumerate(periodic):
            for shift in (1, -1):
                moved = np.roll(held, shift, axis)
                if not wraps:
                    moved[_end(held.ndim, axis, 0 if shift == 1 else -1)] = 0
                total += moved
        return np.multiply(total, self.number, dtype=self.dtype)


def _end(dim: int, axis: int, index: int) -> tuple[slice | int, ...]:
    return tuple(index if a == axis else slice(None) for a in range(dim))
