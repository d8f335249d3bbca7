"""Implicit viscosity inside a liquid: water to clay.

Locations   v on faces, phi at centres
Continuous  dv/dt = nu laplacian v in the liquid, no stress of the air on it
Discrete    (1 - nu dt/dx^2 L) v1 = v on wet faces, component by component; L has no link to dry faces
Sides       walls and bodies: normal faces hold zero or the body's velocity, along them the liquid slips
Adjoint     the matrix is symmetric and depends on phi only through which faces are wet: diffuse the adjoint
                                                                                       [McNamara 2004, section 6.3]
Smoothness  v1 jumps where a face becomes wet or dry; not differentiated: that set.
Deviations  a laplacian of each component, not the stress of a free surface: a body that turns as one is slowed down.
Affine part the velocity of moving bodies; not differentiated.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators.base import Fields, SharedWork
from keyfluid.operators.box import box_of
from keyfluid.operators.kernels import wet as kernels
from keyfluid.operators.wet import Wet
from keyfluid.solids import Solids
from keyfluid.solvers.liquid import LiquidSolver


@dataclass(frozen=True, eq=False)
class _Component:
    """The matrix of one component: wet faces are unknown, held ones (walls, bodies) have the velocity `body`, which
    adds `dragged` to the right side; both are 0 without bodies."""

    solver: LiquidSolver
    wet: np.ndarray
    held: np.ndarray
    body: np.ndarray | float
    dragged: np.ndarray | float

    def solve(self, values: np.ndarray, moving: bool) -> np.ndarray:
        """moving: bodies have their own velocity; else they stand still, as for changes and adjoints."""
        right = values.astype(np.float64)
        if moving:
            right += self.dragged
        solved, _ = self.solver.solve(right)
        return np.where(self.wet, solved, np.where(self.held, self.body if moving else 0.0, values))


class DiffuseLiquid(SharedWork[list[_Component]]):
    """forward(velocity, surface) -> (velocity,); viscosity in m^2/s, dt in seconds."""

    def __init__(
        self, grid: Grid, viscosity: float, dt: float, solids: Solids | None = None, tolerance: float | None = None
    ) -> None:
        if not (np.isfinite(viscosity) and viscosity >= 0):
            raise KeyfluidError(f"viscosity: {viscosity} m^2/s; it must be zero or positive")
        self.grid, self.solids, self.tolerance = grid, solids, tolerance
        self.number = viscosity * dt / grid.spacing**2

    def work(self, *inputs: Field) -> list[_Component]:
        v, surface = inputs
        v.require(self.grid, Kind.FACES, "diffuse: velocity")
        surface.require(self.grid, Kind.CENTRES, "diffuse: surface")
        wet = Wet.of(surface, self.solids)
        tolerance = self.tolerance or (1e-7 if v.dtype == np.float32 else 1e-11)
        return [self._component(axis, wet, tolerance) for axis in range(self.grid.dim)]

    def forward_with(self, work: list[_Component], inputs: Fields) -> Fields:
        return (self._diffuse(work, inputs[0], moving=True),)

    def tangent_with(self, work: list[_Component], inputs: Fields, d_inputs: Fields) -> Fields:
        return (self._diffuse(work, d_inputs[0], moving=False),)

    def adjoint_with(self, work: list[_Component], inputs: Fields, outputs_bar: Fields) -> Fields:
        return self._diffuse(work, outputs_bar[0], moving=False), inputs[1].zeros_like()

    def _diffuse(self, work: list[_Component], v: Field, moving: bool) -> Field:
        out = v.copy()
        for component, values in zip(work, out.components(), strict=True):
            values[...] = component.solve(values, moving)
        return out

    def _component(self, axis: int, wet: Wet, tolerance: float) -> _Component:
        faces, held = wet.components(wet.faces)[axis], ~wet.components(wet.free)[axis]
        body = np.zeros(held.shape) if self.solids is None else self.solids.motion.component(axis).astype(np.float64)
        shift, dragged = np.empty(held.shape), np.empty(held.shape)
        kernels.held_neighbours(
            faces.ravel(), held.ravel(), body.ravel(), *box_of(self.grid, held.shape), self.number, shift.ravel(),
            dragged.ravel(),
        )  # fmt: skip
        links = [np.broadcast_to(self.number, held.shape)] * self.grid.dim
        wraps = [self.grid.is_periodic(along) for along in range(self.grid.dim)]
        solver = LiquidSolver(faces, links, shift, wraps, tolerance, "viscosity")
        if self.solids is None:
            return _Component(solver, faces, held, 0.0, 0.0)
        return _Component(solver, faces, held, body, dragged)
