"""The method's numbers, from [control] to metres and seconds.

The paper gives no unit of length. Its vortices have a mean radius of 0.5 and turn at 4 per second; at 30 frames per
second and with the longest side L of the domain 10 units long they move smoke by a quarter of L in a second, about as
fast as its attraction does, which is what its pictures show. So one unit is L / 10:

    S_a = 30        3 L           m/s^2    attraction
    d = 0.3         0.3 in 1/30 s          damping: v (1 - d)^(30 dt), the same at any step
    radius 0.5      0.05 L        m        mean vortex radius
    magnitude 4     4             1/s      mean vortex strength
    r_m, r_c = 0.01                        not L / 1000: section 4.1 asks for some 5 % of the domain. 0.01 L

No value is printed for A_phi, A_rho, r_v, epsilon, d_max, nu, C_init and the spawn thresholds. Ours:

    A_phi = 0                      attraction begins at once; a dead zone leaves holes between control particles
    A_rho = 1 / ramp               ramp = 0.1 L: with table 2's S_a and d just about critically damped. Where S_a is so
                                   high that a step can't follow, the ramp is 2 S_a dt^2
    r_v                            2.5 distances between control particles
    epsilon                        half of the mean control potential, which is what a straight edge of the shape has
    d_max, nu                      half a mean vortex radius; 0.1 per second
    spawning                       where density is above a quarter of full smoke, energy below the given one
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from keyfluid.errors import SceneError
from keyfluid.grid import Grid

PAPER_RATE = 30.0
"""Steps per second that the paper's damping refers to."""

PRESETS: dict[str, dict[str, float]] = {
    "standard": {"markers": 200_000, "control_particles": 5_000, "vortices": 5_000, "radius": 0.02},
    "table2": {"markers": 400_000, "control_particles": 10_000, "vortices": 10_000, "radius": 0.01},
}
"""Table 2 and a lighter one; radius is r_m and r_c over L. All else is the same."""

LEAST_CELLS = 1.5
"""A radius that nobody gave is at least this many cells: a tent needs neighbours."""


@dataclass(frozen=True)
class Settings:
    """See scenes/control.py for the meaning of each; lengths in metres, rates per second."""

    markers: int
    control_particles: int
    vortices: int
    marker_radius: float
    control_radius: float
    velocity_radius: float | None
    velocity_cells: int
    strength: float
    ramp: float
    slack: float
    damping: float
    follow: bool
    swaps: int
    place: str
    ratio: float
    vortex_radius: float
    vortex_strength: float
    vortex_energy: float
    exchange: float
    exchange_radius: float
    redistributions: int
    edge: float
    even: bool
    release: bool
    project: bool
    contain: float

    @classmethod
    def of(cls, control: Any, grid: Grid) -> Settings:
        side = max(grid.size)
        preset = PRESETS[control.preset]

        def given(name: str, default: float) -> float:
            value = getattr(control, name)
            return float(value) if value is not None else default

        markers = int(given("markers", preset["markers"]))
        controls = min(int(given("control_particles", preset["control_particles"])), markers)
        damping = -PAPER_RATE * math.log(1.0 - control.damping)
        strength = given("strength", 3.0 * side)
        radius = given("vortex_radius", 0.05 * side)
        spin = control.vortex_strength
        cells = int(given("velocity_cells", 48 if grid.dim == 3 else 96))
        found = cls(
            markers=markers,
            control_particles=controls,
            vortices=int(given("vortices", preset["vortices"])),
            marker_radius=_radius(control, "marker_radius", preset["radius"] * side, grid.spacing),
            control_radius=_radius(control, "control_radius", preset["radius"] * side, grid.spacing),
            velocity_radius=control.velocity_radius,
            velocity_cells=cells,
            strength=strength,
            ramp=given("ramp", 0.1 * side),
            slack=control.slack,
            damping=damping,
            follow=control.follow,
            swaps=int(given("swaps", 5 * controls)),
            place=control.place,
            ratio=control.ratio,
            vortex_radius=radius,
            vortex_strength=spin,
            vortex_energy=given("vortex_energy", 4.0 * (spin * radius) ** 2),
            exchange=control.exchange,
            exchange_radius=given("exchange_radius", 0.5 * radius),
            redistributions=int(given("redistributions", markers)),
            edge=control.edge,
            even=control.even,
            release=control.release,
            project=control.project,
            contain=control.contain,
        )
        found._check(side / cells)
        return found

    def _check(self, cell: float) -> None:
        """Radii that the velocity lattice can't resolve."""
        for name, value in (("velocity_radius", self.velocity_radius), ("vortex_radius", self.vortex_radius)):
            if value is not None and value < cell:
                raise SceneError(
                    f"control.{name}",
                    f"{value:.4g} m is less than a cell of the velocities ({cell:.4g} m); "
                    f"raise it, or control.velocity_cells",
                )

    def reach(self, volume: float, count: int, cell: float, dim: int) -> float:
        """r_v for `count` control particles in a volume: 2.5 of their distances, at least 1.5 cells."""
        if self.velocity_radius is not None:
            return self.velocity_radius
        apart: float = (volume / max(count, 1)) ** (1.0 / dim)
        return max(2.5 * apart, LEAST_CELLS * cell)


def _radius(control: Any, name: str, default: float, cell: float) -> float:
    value = getattr(control, name)
    if value is None:
        return max(default, LEAST_CELLS * cell)
    if value < cell:
        raise SceneError(
            f"control.{name}",
            f"{value:.4g} m is less than a cell ({cell:.4g} m); raise it, or domain.resolution",
        )
    return float(value)
