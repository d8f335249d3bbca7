"""The register of operators. It drives the property tests and `keyfluid check`: an operator that has no line
here fails the suite.

A line builds an operator and inputs for it on any grid, with or without a solid; inputs are asymmetric and
nowhere zero, and away from kinks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from keyfluid.boundary import Boundary
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators.advect import Advect
from keyfluid.operators.advect_limited import AdvectLimited
from keyfluid.operators.advect_vorticity import AdvectVorticity
from keyfluid.operators.base import Fields, Operator
from keyfluid.operators.blur import gaussian_blur, gaussian_pyramid
from keyfluid.operators.blur_around import BlurAround
from keyfluid.operators.carry_smoke import CarrySmoke
from keyfluid.operators.confine_vorticity import ConfineVorticity
from keyfluid.operators.curl import Curl
from keyfluid.operators.diffuse import Diffuse
from keyfluid.operators.diffuse_liquid import DiffuseLiquid
from keyfluid.operators.drive import Drive
from keyfluid.operators.extrapolate import ExtrapolateVelocity, IntoBodies
from keyfluid.operators.far_reach import FarReach
from keyfluid.operators.follow_paths import FollowPaths, Gift
from keyfluid.operators.force import AddConstant, AddRate, Inflow
from keyfluid.operators.gather import Gather
from keyfluid.operators.glow import Glow
from keyfluid.operators.guide import Guide
from keyfluid.operators.guide_liquid import GuideLiquid, KeepNear, SurfacePull
from keyfluid.operators.heat import Heat
from keyfluid.operators.keep_volume import KeepVolume, Remember
from keyfluid.operators.long_waves import LongWaves
from keyfluid.operators.pour import Pour
from keyfluid.operators.project import Project
from keyfluid.operators.project_liquid import ProjectLiquid
from keyfluid.operators.redistance import Redistance
from keyfluid.operators.relax import Relax
from keyfluid.operators.solid_mask import SolidMask
from keyfluid.operators.step_implicit import StepImplicit
from keyfluid.operators.take_back import TakeBack
from keyfluid.operators.transport import Transport
from keyfluid.solids import Solids


@dataclass(frozen=True)
class Setting:
    """Where an operator is tried: grid, bodies, and a source of reproducible smooth fields."""

    grid: Grid
    solids: Solids | None
    rng: np.random.Generator
    dtype: np.dtype

    def field(self, kind: Kind) -> Field:
        """Smooth, asymmetric, of the order of one, nowhere exactly zero."""
        field = Field.zeros(self.grid, kind, np.float64)
        for component in field.components():
            total = np.full(component.shape, 0.31)
            for _ in range(4):
                phase = self.rng.uniform(0, 6.28)
                for axis, n in enumerate(component.shape):
                    line = self.rng.uniform(0.5, 2.0) * np.arange(n) * 2.4 / n
                    phase = phase + line.reshape([-1 if b == axis else 1 for b in range(component.ndim)])
                total += 0.4 * np.sin(phase)
            component[...] = total
        return field.astype(self.dtype)


Builder = Callable[[Setting], tuple[Operator, Fields]]


def _advect(order: int, feet: str, interpolation: str = "linear") -> Builder:
    def build(at: Setting) -> tuple[Operator, Fields]:
        operator = Advect(at.grid, 1.3 * at.grid.spacing, order, feet, interpolation)
        return operator, (at.field(Kind.CENTRES), at.field(Kind.FACES), at.field(Kind.FACES))

    return build


def _follow_paths(per_cell: int, given: bool = False) -> Builder:
    """Two steps; with gifts in both of them."""

    def build(at: Setting) -> tuple[Operator, Fields]:
        gifts = [{step: Gift(at.field(Kind.CENTRES), at.field(Kind.CENTRES)) for step in (0, 1)}] if given else []
        operator = FollowPaths(at.grid, 0.9 * at.grid.spacing, per_cell, 0.8 if given else 1.0, gifts)
        return operator, (at.field(Kind.CENTRES), *(at.field(Kind.FACES) for _ in range(2)))

    return build


def _inflow(at: Setting) -> tuple[Operator, Fields]:
    mask = at.field(Kind.CENTRES)
    mask = mask.like(np.clip(mask.data, 0, 1))
    return Inflow(mask), (at.field(Kind.CENTRES), at.field(Kind.CENTRES))


def _relax(at: Setting) -> tuple[Operator, Fields]:
    region = at.field(Kind.FACES)
    region = region.like(np.clip(region.data, 0, 1))
    return Relax(at.grid, Kind.FACES, 0.7, region, at.field(Kind.FACES)), (at.field(Kind.FACES),)


def _guide(at: Setting, strength: float, taper: bool) -> tuple[Operator, Fields]:
    """Towards the waves of another field; short waves stay."""
    waves = LongWaves(at.grid, 0.26 / at.grid.spacing, at.dtype, taper)
    return Guide(waves, waves.of(at.field(Kind.FACES)), strength), (at.field(Kind.FACES),)


def _guide_liquid(at: Setting) -> tuple[Operator, Fields]:
    """Towards another velocity and another surface, some of which is within the dead zone, with some spray."""
    dx = at.grid.spacing
    pull = SurfacePull(dead=0.1 * dx, most=1.5 * dx, firm=0.7, soft=0.2)
    guide = GuideLiquid(at.field(Kind.FACES), dx * _surface(at), 1.2 * dx, pull, 0.8, 0.5, at.solids)
    return guide, (at.field(Kind.FACES), dx * _surface(at))


def _carry_smoke(at: Setting) -> Operator:
    """Fast enough for several sub-steps, in which gathering is limited in some places."""
    gather = Gather(at.grid, at.field(Kind.CENTRES), at.field(Kind.FACES), 0.4 * at.grid.spacing**2, 0.0)
    return CarrySmoke(at.grid, 1.9 * at.grid.spacing, gather, at.solids)


def _not_negative(field: Field) -> Field:
    return field.like(np.clip(field.data, 0, 1))


def _surface(at: Setting) -> Field:
    """A level set that changes sign, nowhere near zero at a cell's centre."""
    phi = at.field(Kind.CENTRES)
    raised = phi.data - phi.dtype.type(0.31)
    return phi.like(raised + phi.dtype.type(0.05) * np.where(raised < 0, -1, 1).astype(phi.dtype))


def _resting(at: Setting) -> Solids | None:
    """The bodies without their motion; none if a side is open, which the implicit step does not know beside bodies."""
    if at.solids is None or Boundary.OPEN in at.grid.boundary:
        return None
    return Solids.from_distance(at.grid, np.where(at.solids.solid, -1.0, 1.0), dtype=at.dtype)


def _widths(at: Setting, *cells: float) -> tuple[float, ...]:
    return tuple(at.grid.spacing * width for width in cells)


def _tight(at: Setting) -> float:
    return 1e-13 if at.dtype == np.float64 else 1e-5


REGISTER: dict[str, Builder] = {
    "advect RK1": _advect(1, "own"),
    "advect RK2": _advect(2, "own"),
    "advect RK3": _advect(3, "own"),
    "advect RK2, shared feet": _advect(2, "shared"),
    "advect RK2, cubic": _advect(2, "own", "cubic"),
    "advect RK2, cubic, shared feet": _advect(2, "shared", "cubic"),
    "follow paths": _follow_paths(2),
    "follow paths past sources": _follow_paths(1, given=True),
    "confine vorticity": lambda at: (ConfineVorticity(at.grid, 3.1, 0.3), (at.field(Kind.FACES),)),
    "project": lambda at: (Project(at.grid, at.solids, at.dtype, _tight(at)), (at.field(Kind.FACES),)),
    "diffuse": lambda at: (
        Diffuse(at.grid, 0.7 * at.grid.spacing**2, 1.0, at.solids, at.dtype, _tight(at)),
        (at.field(Kind.FACES),),
    ),
    "heat": lambda at: (Heat(at.grid, 1.7, 0.3, up=1), (at.field(Kind.CENTRES), at.field(Kind.FACES))),
    "add force": lambda at: (AddRate(0.3), (at.field(Kind.FACES), at.field(Kind.FACES))),
    "add source": lambda at: (AddRate(0.3), (at.field(Kind.CENTRES), at.field(Kind.CENTRES))),
    "add constant force": lambda at: (
        AddConstant(at.grid, [0.7, -1.1, 0.4][: at.grid.dim], 0.3),
        (at.field(Kind.FACES),),
    ),
    "inflow": _inflow,
    "relax": lambda at: (Relax(at.grid, Kind.CENTRES, 0.7), (at.field(Kind.CENTRES),)),
    "relax in a region": _relax,
    "Gaussian blur": lambda at: (gaussian_blur(at.grid, 1.3 * at.grid.spacing), (at.field(Kind.CENTRES),)),
    "Gaussian pyramid": lambda at: (
        gaussian_pyramid(at.grid, 0.8 * at.grid.spacing, 3),
        (at.field(Kind.CENTRES),),
    ),
    "far reach": lambda at: (FarReach(at.grid, 30.0), (at.field(Kind.CENTRES),)),
    "far reach, blurred": lambda at: (
        FarReach(at.grid, 300.0, gaussian_blur(at.grid, 1.3 * at.grid.spacing)),
        (at.field(Kind.CENTRES),),
    ),
    "Gaussian pyramid around bodies": lambda at: (
        BlurAround(at.grid, at.solids or no_solids(at), _widths(at, 0.0, 0.8, 1.6), power=2, dtype=at.dtype),
        (at.field(Kind.CENTRES),),
    ),
    "drive": lambda at: (
        Drive(at.grid, gaussian_blur(at.grid, 1.3 * at.grid.spacing), at.field(Kind.FACES), 1.7),
        (at.field(Kind.CENTRES),),
    ),
    "glow, from the low end": lambda at: (Glow(at.grid, 0, False, 3.0), (at.field(Kind.CENTRES),)),
    "glow, from the high end": lambda at: (Glow(at.grid, 1, True, 3.0), (at.field(Kind.CENTRES),)),
    "curl": lambda at: (Curl(at.grid), (at.field(Kind.EDGES),)),
    "guide": lambda at: _guide(at, 1.0, False),
    "guide, pulled and tapered": lambda at: _guide(at, 0.6, True),
    "solid mask": lambda at: (SolidMask(at.solids or no_solids(at)), (at.field(Kind.CENTRES),)),
    "self-advection": lambda at: (AdvectVorticity(at.grid, 0.3 * at.grid.spacing), (at.field(Kind.FACES),)),
    "implicit step": lambda at: (
        StepImplicit(at.grid, 0.3 * at.grid.spacing, 0.05 * at.grid.spacing, at.dtype),
        (at.field(Kind.FACES), at.field(Kind.FACES)),
    ),
    "implicit step around bodies": lambda at: (
        StepImplicit(at.grid, 0.6 * at.grid.spacing, 0.02 * at.grid.spacing, at.dtype, solids=_resting(at)),
        (at.field(Kind.FACES), at.field(Kind.FACES)),
    ),
    "transport": lambda at: (
        Transport(at.grid, 0.7 * at.grid.spacing),
        (at.field(Kind.CENTRES), at.field(Kind.FACES)),
    ),
    "redistance": lambda at: (Redistance(at.grid), (_surface(at),)),
    "project liquid": lambda at: (
        ProjectLiquid(at.grid, at.solids, _tight(at)),
        (at.field(Kind.FACES), _surface(at)),
    ),
    "diffuse liquid": lambda at: (
        DiffuseLiquid(at.grid, 0.7 * at.grid.spacing**2, 1.0, at.solids, _tight(at)),
        (at.field(Kind.FACES), _surface(at)),
    ),
    "extrapolate velocity": lambda at: (
        ExtrapolateVelocity(at.grid, at.solids),
        (at.field(Kind.FACES), _surface(at)),
    ),
    "surface into bodies": lambda at: (IntoBodies(at.solids or no_solids(at)), (at.field(Kind.CENTRES),)),
    "keep volume": lambda at: (
        KeepVolume(at.grid, at.solids),
        (at.grid.spacing * _surface(at), at.grid.spacing * _surface(at)),
    ),
    "remember": lambda at: (Remember(at.grid), (at.field(Kind.CENTRES),)),
    "pour": lambda at: (Pour(at.field(Kind.CENTRES)), (at.field(Kind.CENTRES),)),
}

FORWARD_ONLY: dict[str, Builder] = {
    "advect limited": lambda at: (
        AdvectLimited(at.grid, dt=0.3 * at.grid.spacing),
        (at.field(Kind.CENTRES), at.field(Kind.FACES), at.field(Kind.FACES)),
    ),
    "gather": lambda at: (
        Gather(at.grid, at.field(Kind.CENTRES), at.field(Kind.FACES), 0.4 * at.grid.spacing**2, 1.0),
        (at.field(Kind.CENTRES),),
    ),
    "guide liquid": _guide_liquid,
    "keep near": lambda at: (KeepNear(_surface(at), 0.4), (_surface(at), _surface(at))),
    "take back": lambda at: (TakeBack(at.grid, 0.6), tuple(_not_negative(at.field(Kind.CENTRES)) for _ in range(3))),
    "carry smoke": lambda at: (_carry_smoke(at), (at.field(Kind.CENTRES), at.field(Kind.FACES))),
}
"""Operators without a derivative: dot and Taylor tests do not apply."""


def no_solids(at: Setting) -> Solids:
    return Solids.from_distance(at.grid, np.ones(at.grid.cells), dtype=at.dtype)
