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

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators.base import Fields, Operator
from keyfluid.operators.wet import Wet
from keyfluid.solids import Solids
from keyfluid.solvers.liquid import LiquidSolver


class DiffuseLiquid(Operator):
    """forward(velocity, surface) -> (velocity,); viscosity in m^2/s, dt in seconds."""

    def __init__(
        self, grid: Grid, viscosity: float, dt: float, solids: Solids | None = None, tolerance: float | None = None
    ) -> None:
        if not (np.isfinite(viscosity) and viscosity >= 0):
            raise KeyfluidError(f"viscosity: {viscosity} m^2/s; it must be zero or positive")
        self.grid, self.solids, self.tolerance = grid, solids, tolerance
        self.number = viscosity * dt / grid.spacing**2

    def forward(self, *inputs: Field) -> Fields:
        v, surface = inputs
        return (self._diffuse(v, surface, moving=True),)

    def tangent(self, inputs: Fields, d_inputs: Fields) -> Fields:
        return (self._diffuse(d_inputs[0], inputs[1], moving=False),)

    def adjoint(self, inputs: Fields, outputs_bar: Fields) -> Fields:
        surface = inputs[1]
        return self._diffuse(outputs_bar[0], surface, moving=False), surface.zeros_like()

    def _diffuse(self, v: Field, surface: Field, moving: bool) -> Field:
        v.require(self.grid, Kind.FACES, "diffuse: velocity")
        surface.require(self.grid, Kind.CENTRES, "diffuse: surface")
        wet, out = Wet.of(surface, self.solids), v.copy()
        for axis, values in enumerate(out.components()):
            body = np.zeros(values.shape)
            if moving and self.solids is not None:
                body = np.where(wet.free[axis], 0.0, self.solids.motion.component(axis))
            values[...] = self._component(values, wet.faces[axis], ~wet.free[axis], body)
        return out

    def _component(self, values: np.ndarray, wet: np.ndarray, held: np.ndarray, body: np.ndarray) -> np.ndarray:
        """One component: wet faces are unknown, held ones (walls, bodies) have the velocity `body`."""
        grid, number = self.grid, self.number
        wraps = [grid.is_periodic(axis) for axis in range(grid.dim)]
        shift, right = np.ones(values.shape), values.astype(np.float64)
        for axis, periodic in enumerate(wraps):
            for step in (1, -1):
                stands, carries = np.roll(held, step, axis), np.roll(body, step, axis)
                if not periodic:
                    end = tuple((0 if step == 1 else -1) if a == axis else slice(None) for a in range(grid.dim))
                    stands[end], carries[end] = False, 0.0
                shift += number * stands
                right += number * stands * carries
        tolerance = self.tolerance or (1e-7 if values.dtype == np.float32 else 1e-11)
        links = [np.full(values.shape, number) for _ in wraps]
        solved, _ = LiquidSolver(wet, links, shift, wraps, tolerance, "viscosity").solve(np.where(wet, right, 0.0))
        return np.where(wet, solved, np.where(held, body, values))
