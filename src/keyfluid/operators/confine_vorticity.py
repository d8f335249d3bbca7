"""Vorticity confinement: gives back to small vortices what the grid has smeared.

Locations   v on faces; vorticity, its gradient and the force at centres, the force then averaged to faces
Continuous  dv/dt = epsilon dx (N x omega),  omega = curl v,  N = grad |omega| / |grad |omega||
                                                            [Fedkiw, Stam & Jensen 2001, equations 9-11]
            In 2D omega points out of the plane: N x omega = (N_y omega, -N_x omega).
Discrete    v to centres by averages; curl and gradient by central differences, the last value repeated beyond
            a side (free slip); f to faces by averages, 0 on walls, the first cell's on an open side.
Deviation   both norms are rounded off, |a| = sqrt(a . a + delta^2), with delta = CALM for omega and CALM / dx
            for its gradient. So N goes smoothly to zero where the gradient does, and a vortex that turns much
            slower than CALM is hardly driven.
Tangent     d_f = epsilon dx (d_N x omega + N x d_omega)
            d_N = (1 - N N^T) grad(omega . d_omega / |omega|) / |grad |omega||
Adjoint     the same stencils and products, transposed, in reverse
Smoothness  smooth everywhere. Not differentiated: epsilon, dt.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from keyfluid.boundary import Boundary
from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators import axis_stencils as along
from keyfluid.operators.base import Fields, Operator

CALM = 1e-3
"""Vorticity, in 1/s, below which a vortex counts as at rest."""


@dataclass(frozen=True)
class ConfineVorticity(Operator):
    """forward(velocity) -> (velocity,)."""

    grid: Grid
    epsilon: float
    """Strength in 1/s. The paper's factor dx makes the force vanish as the grid is refined."""
    dt: float

    def __post_init__(self) -> None:
        if not (np.isfinite(self.epsilon) and self.epsilon >= 0):
            raise KeyfluidError(f"confine vorticity: epsilon is {self.epsilon} per second; use 0 or more")

    def forward(self, *inputs: Field) -> Fields:
        (v,) = inputs
        v.require(self.grid, Kind.FACES, "confine vorticity: velocity")
        omega = self._curl(v)
        return (v.add_scaled(self._step, self._to_faces(self._cross(self._normal(omega)[0], omega))),)

    def tangent(self, inputs: Fields, d_inputs: Fields) -> Fields:
        (v,), (d_v,) = inputs, d_inputs
        omega, d_omega = self._curl(v), self._curl(d_v)
        normal, spin, length = self._normal(omega)
        d_spin = np.sum(omega * d_omega, axis=0) / spin
        d_normal = _turn(normal, length, self._gradient(d_spin))
        d_force = self._cross(d_normal, omega) + self._cross(normal, d_omega)
        return (d_v.add_scaled(self._step, self._to_faces(d_force)),)

    def adjoint(self, inputs: Fields, outputs_bar: Fields) -> Fields:
        (v,), (v1_bar,) = inputs, outputs_bar
        omega = self._curl(v)
        normal, spin, length = self._normal(omega)
        force_bar = self._to_faces_transposed(v1_bar * self._step)
        normal_bar, omega_bar = self._cross_transposed(normal, omega, force_bar)
        spin_bar = self._gradient_transposed(_turn(normal, length, normal_bar))
        omega_bar += omega * (spin_bar / spin)
        return (v1_bar + self._curl_transposed(omega_bar),)

    @property
    def _step(self) -> float:
        return self.epsilon * self.grid.spacing * self.dt

    def _normal(self, omega: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """N, |omega| and |grad |omega||, the norms rounded off."""
        spin = np.sqrt(np.sum(omega * omega, axis=0) + CALM**2)
        slope = self._gradient(spin)
        length = np.sqrt(np.sum(slope * slope, axis=0) + (CALM / self.grid.spacing) ** 2)
        return slope / length, spin, length

    def _curl_terms(self) -> Iterator[tuple[int, int, int, float]]:
        """(component of omega, component of v, axis of the difference, sign per metre)."""
        scale = 1.0 / self.grid.spacing
        if self.grid.dim == 2:
            yield from ((0, 1, 0, scale), (0, 0, 1, -scale))
            return
        for a in range(3):
            b, c = (a + 1) % 3, (a + 2) % 3
            yield from ((a, c, b, scale), (a, b, c, -scale))

    def _curl(self, v: Field) -> np.ndarray:
        """Vorticity at centres: one component in 2D, three in 3D."""
        faces = enumerate(v.components())
        centred = [along.to_middles(face, a, self.grid.is_periodic(a)) for a, face in faces]
        omega = np.zeros((1 if self.grid.dim == 2 else 3, *self.grid.cells), v.dtype)
        for a, b, axis, scale in self._curl_terms():
            omega[a] += scale * along.central_difference(centred[b], axis, self.grid.is_periodic(axis))
        return omega

    def _curl_transposed(self, omega_bar: np.ndarray) -> Field:
        centred_bar = np.zeros((self.grid.dim, *self.grid.cells), omega_bar.dtype)
        for a, b, axis, scale in self._curl_terms():
            periodic = self.grid.is_periodic(axis)
            centred_bar[b] += scale * along.central_difference_transposed(omega_bar[a], axis, periodic)
        v_bar = Field.zeros(self.grid, Kind.FACES, omega_bar.dtype)
        for a, face in enumerate(v_bar.components()):
            face[...] = along.to_middles_transposed(centred_bar[a], a, self.grid.is_periodic(a))
        return v_bar

    def _gradient(self, q: np.ndarray) -> np.ndarray:
        parts = [along.central_difference(q, a, self.grid.is_periodic(a)) for a in range(self.grid.dim)]
        return np.stack(parts) / self.grid.spacing

    def _gradient_transposed(self, slope_bar: np.ndarray) -> np.ndarray:
        q_bar = np.zeros(self.grid.cells, slope_bar.dtype)
        for a in range(self.grid.dim):
            q_bar += along.central_difference_transposed(slope_bar[a], a, self.grid.is_periodic(a))
        return q_bar / self.grid.spacing

    def _cross(self, normal: np.ndarray, omega: np.ndarray) -> np.ndarray:
        if self.grid.dim == 2:
            return np.stack([normal[1] * omega[0], -normal[0] * omega[0]])
        return np.cross(normal, omega, axis=0)

    def _cross_transposed(
        self, normal: np.ndarray, omega: np.ndarray, force_bar: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        if self.grid.dim == 2:
            normal_bar = np.stack([-force_bar[1] * omega[0], force_bar[0] * omega[0]])
            return normal_bar, (force_bar[0] * normal[1] - force_bar[1] * normal[0])[None]
        return np.cross(omega, force_bar, axis=0), np.cross(force_bar, normal, axis=0)

    def _to_faces(self, force: np.ndarray) -> Field:
        out = Field.zeros(self.grid, Kind.FACES, force.dtype)
        for a, face in enumerate(out.components()):
            face[...] = along.to_planes(force[a], a, self.grid.is_periodic(a))
            self._stop_at_walls(face, a)
        return out

    def _to_faces_transposed(self, faces: Field) -> np.ndarray:
        parts = []
        for a, face in enumerate(faces.copy().components()):
            self._stop_at_walls(face, a)
            parts.append(along.to_planes_transposed(face, a, self.grid.is_periodic(a)))
        return np.stack(parts)

    def _stop_at_walls(self, face: np.ndarray, axis: int) -> None:
        if self.grid.boundary[axis] is Boundary.WALLS:
            ends = np.moveaxis(face, axis, 0)
            ends[0] = ends[-1] = 0


def _turn(normal: np.ndarray, length: np.ndarray, d_slope: np.ndarray) -> np.ndarray:
    """d(s / |s|) = (d_s - N (N . d_s)) / |s| for a change of the slope s; its own transpose."""
    return (d_slope - normal * np.sum(normal * d_slope, axis=0)) / length
