"""[control] of `method = "particles"`, and its numbers in metres and seconds.

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
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field

from keyfluid.errors import SceneError
from keyfluid.tables import Coefficient, Flag, Positive, Table, number, whole

if TYPE_CHECKING:
    from keyfluid.grid import Grid
    from keyfluid.problem import Problem

PAPER_RATE = 30.0
"""Steps per second that the paper's damping refers to."""

PRESETS: dict[str, dict[str, float]] = {
    "standard": {"markers": 200_000, "control_particles": 5_000, "vortices": 5_000, "radius": 0.02},
    "table2": {"markers": 400_000, "control_particles": 10_000, "vortices": 10_000, "radius": 0.01},
}
"""Table 2 and a lighter one; radius is r_m and r_c over L. All else is the same."""

LEAST_CELLS = 1.5
"""A radius that nobody gave is at least this many cells: a tent needs neighbours."""


class ParticleSettings(Table):
    """Control, target and vortex particles [Madill & Mould 2013]: windy smoke creatures at interactive rates."""

    method: Literal["particles"] = Field(
        ...,
        description="each keyframe acts from the one before until its frame and hold; an animated mesh moves "
        "meanwhile. Markers are the smoke",
    )
    preset: Literal["standard", "table2"] = Field(
        default="standard",
        description='"standard": 200 000 markers, 5 000 control particles and vortices, radii 0.02 L; "table2": those '
        "of the paper's table 2: 400 000, 10 000, 0.01 L",
    )
    markers: Annotated[int, whole(1, 100_000_000)] | None = Field(
        default=None, description="M: marker particles once all sources have acted; default: the preset's"
    )
    control_particles: Annotated[int, whole(1, 10_000_000)] | None = Field(
        default=None, description="N: control particles, and as many target particles; default: the preset's"
    )
    marker_radius: Positive | None = Field(
        default=None,
        description="r_m: of the blur that makes density of markers, metres, at least a cell; default: the preset's, "
        "at least 1.5 cells",
    )
    control_radius: Positive | None = Field(
        default=None,
        description="r_c: the same for control particles: less is a sharper shape; default as for markers",
    )
    velocity_radius: Positive | None = Field(
        default=None,
        description="r_v (eq. 2): how far a control particle moves the smoke, metres; default 2.5 distances between "
        "control particles",
    )
    velocity_cells: Annotated[int, whole(4, 1024)] | None = Field(
        default=None,
        description="cells of the velocity lattice along the longest side; default 48, in 2D 96",
    )
    strength: Coefficient | None = Field(
        default=None,
        description="S_a: attraction, m/s^2; too low is sluggish, too high outruns the turbulence; default 3 L per "
        "second^2, with L the longest side of the domain",
    )
    ramp: Positive | None = Field(
        default=None,
        description="1 / A_rho: metres from its target over which attraction grows to full; default 0.1 L",
    )
    slack: Coefficient = Field(default=0.0, description="A_phi: metres from its target where attraction begins")
    damping: Annotated[float, number(at_least=0, at_most=0.99)] = Field(
        default=0.3, description="d: share of a control particle's speed that is lost in 1/30 s"
    )
    follow: Flag = Field(
        default=True,
        description="damping is relative to a moving target's own velocity, so that the smoke does not lag behind; "
        "false: as in the paper",
    )
    swaps: Annotated[int, whole(0, 1_000_000_000)] | None = Field(
        default=None, description="C_opt: pairs of control particles tried per step (algorithm 1); default 5 N"
    )
    place: Literal["emission", "frame"] = Field(
        default="emission", description="when control particles are placed: as smoke comes in, or in every step"
    )
    ratio: Positive = Field(
        default=1.5,
        description="control over marker density, in units of N / M, below which a control particle is placed",
    )
    vortices: Annotated[int, whole(0, 10_000_000)] | None = Field(
        default=None, description="most vortex particles there are at a time; default: the preset's"
    )
    vortex_radius: Positive | None = Field(default=None, description="mean radius of vortices, metres; default 0.05 L")
    vortex_strength: Coefficient = Field(default=4.0, description="mean magnitude of omega, 1/s")
    vortex_energy: Coefficient | None = Field(
        default=None,
        description="turbulent energy below which vortices spawn, m^2/s^2; default 4 (vortex_strength vortex_radius)^2",
    )
    exchange: Coefficient = Field(default=0.1, description="nu (eq. 6): strength exchange, 1/s")
    exchange_radius: Positive | None = Field(
        default=None, description="d_max (eq. 7), metres; default half of vortex_radius"
    )
    redistributions: Annotated[int, whole(0, 1_000_000_000)] | None = Field(
        default=None,
        description="C_redist: markers looked at per step, and put back if they have strayed (algorithm 2); more is a "
        "sharper shape and less like smoke; default: the number of markers",
    )
    edge: Annotated[float, number(above=0, at_most=2)] = Field(
        default=0.5,
        description="epsilon: a marker has strayed where the control potential is below this share of its mean",
    )
    even: Flag = Field(
        default=True,
        description="strays are put where smoke is thin, so that the shape fills evenly; false: anywhere, as in the "
        "paper",
    )
    release: Flag = Field(
        default=False, description="the smoke is free after the last keyframe and its hold; default: it is kept"
    )
    project: Flag = Field(default=False, description="pressure projection of the control velocity (not in the paper)")
    contain: Coefficient = Field(
        default=0.0,
        description="1/s: speed back towards the target per metre outside of it (not in the paper)",
    )
    colour: Literal["field", "speed"] = Field(
        default="field", description="of markers in pictures: that of their smoke, or by speed"
    )
    ply: Flag = Field(default=False, description="the markers of every frame as PLY points: ply/NAME.1001.ply")


@dataclass(frozen=True)
class ParticleNumbers:
    """[control] on a grid, with what was not given filled in: lengths in metres, rates per second."""

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
    def of(cls, control: ParticleSettings, grid: Grid) -> ParticleNumbers:
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


def _radius(control: ParticleSettings, name: str, default: float, cell: float) -> float:
    value = getattr(control, name)
    if value is None:
        return max(default, LEAST_CELLS * cell)
    if value < cell:
        raise SceneError(
            f"control.{name}",
            f"{value:.4g} m is less than a cell ({cell:.4g} m); raise it, or domain.resolution",
        )
    return float(value)


def settings_of(problem: Problem) -> ParticleSettings:
    """The problem's own table."""
    assert isinstance(problem.control, ParticleSettings)
    return problem.control
