"""Exact solutions to hold the simulator against, sampled where the grid keeps its values.

Each starts from a state that is nonzero and asymmetric enough for a wrong sign, axis or factor to show.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from keyfluid.boundary import Boundary
from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind


def taylor_green(grid: Grid, time: float = 0.0, viscosity: float = 0.0, drift: Sequence[float] = (0.0, 0.0)) -> Field:
    """Velocity of decaying vortices in a box that is periodic along its first two axes.

        psi = A sin(k_x X) sin(k_y Y),  u = d psi/dy + U,  v = -d psi/dx + V,  (X, Y) = (x - U t, y - V t)

    An exact solution of the Navier-Stokes equations: the vorticity is a function of psi, so that advection
    balances pressure, and A decays as exp(-nu (k_x^2 + k_y^2) t) [Taylor & Green 1937]. `drift` (U, V), in
    m/s, carries it through the box, which shows errors of advection that the steady pattern hides. The speed
    relative to the drift is at most 1 m/s. In 3D the flow is the same in every layer.
    """
    if any(grid.boundary[axis] is not Boundary.PERIODIC for axis in (0, 1)):
        raise KeyfluidError("Taylor-Green: its first two axes must be periodic")
    kx, ky = (2.0 * np.pi / grid.size[axis] for axis in (0, 1))
    strength = np.exp(-viscosity * (kx**2 + ky**2) * time) / max(kx, ky)

    def flow(x: np.ndarray, y: np.ndarray, *z: np.ndarray) -> list[np.ndarray]:
        a, b = kx * (x - drift[0] * time), ky * (y - drift[1] * time)
        u = drift[0] + ky * strength * np.sin(a) * np.cos(b)
        v = drift[1] - kx * strength * np.cos(a) * np.sin(b)
        return [u, v, np.zeros(())][: grid.dim]

    return Field.from_function(grid, Kind.FACES, flow)


def rigid_rotation(grid: Grid, rate: float, centre: Sequence[float]) -> Field:
    """Velocity (-rate (y - c_y), rate (x - c_x)) of a turntable; `rate` in radians per second, x to y."""

    def flow(x: np.ndarray, y: np.ndarray, *z: np.ndarray) -> list[np.ndarray]:
        return [rate * (centre[1] - y), rate * (x - centre[0]), np.zeros(())][: grid.dim]

    return Field.from_function(grid, Kind.FACES, flow)


def turned(x: np.ndarray, y: np.ndarray, angle: float, centre: Sequence[float]) -> tuple[np.ndarray, np.ndarray]:
    """Points after a turn by `angle` about `centre`; a negative angle leads back to where they came from."""
    dx, dy = x - centre[0], y - centre[1]
    c, s = np.cos(angle), np.sin(angle)
    return centre[0] + c * dx - s * dy, centre[1] + s * dx + c * dy


def gaussian(grid: Grid, centre: Sequence[float], sigma: float, blur: float = 0.0) -> Field:
    """exp(-r^2 / (2 sigma^2)) after a blur of standard deviation `blur`, in free space; lengths in metres.

    Variances add, and the peak falls by (sigma^2 / (sigma^2 + blur^2))^(d/2), so that the mass stays.
    """
    variance = sigma**2 + blur**2
    peak = (sigma**2 / variance) ** (grid.dim / 2)

    def bell(*points: np.ndarray) -> np.ndarray:
        return peak * np.exp(-sum((x - c) ** 2 for x, c in zip(points, centre)) / (2.0 * variance))

    return Field.from_function(grid, Kind.CENTRES, bell)


def viscous_mode(grid: Grid, waves: Sequence[int], viscosity: float, dt: float) -> tuple[Field, float]:
    """A velocity whose components are single modes of the box, and the factor that one implicit step leaves.

    waves[a]: half waves between walls, whole waves along a periodic axis. A component vanishes on the walls
    it crosses (sine) and slips along the others (cosine). The factor of backward Euler is exact on the grid:

        1 / (1 + nu dt/dx^2 sum_a 4 sin^2(k_a dx / 2)).
    """
    if Boundary.OPEN in grid.boundary:
        raise KeyfluidError("viscous mode: for walls and periodic axes only")
    numbers = [
        (2.0 if grid.is_periodic(axis) else 1.0) * np.pi * m / length
        for axis, (m, length) in enumerate(zip(waves, grid.size))
    ]

    def component(a: int, points: tuple[np.ndarray, ...]) -> np.ndarray:
        value = np.full((), 1.0 + 0.5 * a)
        for axis, (k, x) in enumerate(zip(numbers, points)):
            if grid.is_periodic(axis):
                value = value * np.cos(k * x + 0.3)
            else:
                value = value * (np.sin(k * x) if axis == a else np.cos(k * x))
        return value

    mode = Field.from_function(grid, Kind.FACES, lambda *x: [component(a, x) for a in range(grid.dim)])
    rate = sum(4.0 * np.sin(0.5 * k * grid.spacing) ** 2 for k in numbers) / grid.spacing**2
    return mode, 1.0 / (1.0 + viscosity * dt * rate)
