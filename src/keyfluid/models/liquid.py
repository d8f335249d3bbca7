"""Liquid: incompressible fluid under a free surface, kept as a level set (negative inside).

A step is, by default, SOURCE - GRAVITY - DIFFUSE - WIND - PROJECT - EXTRAPOLATE - ADVECT - REDISTANCE: the surface
moves with a velocity without divergence. McNamara's ADVECT - DIFFUSE - GRAVITY - PROJECT - REDISTANCE after
APPLYCONTROL moves it with the unprojected wind instead [McNamara 2004, sections 3 and 4.3]; it is there for comparison.
The paper does not specify the velocity outside the liquid; here it is that of the nearest liquid.

A wind f after DIFFUSE does what (1 - nu dt L) f would have done before it, L being the liquid's own laplacian: the
films that can be made are the same, but clay feels short waves of f as much as long ones, which a search needs.

Inputs of a step beside the state: "force" (faces, m/s^2) and "source.surface", a rate of phi in m/s: the paper's
sources, negative where liquid grows. Observers see what the surface is carried with, and what taps and sources give.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.grid import Grid
from keyfluid.models.model import Model, SolidsOverTime
from keyfluid.models.operation import Operation, Role
from keyfluid.operators.advect import Advect
from keyfluid.operators.base import Operator
from keyfluid.operators.diffuse_liquid import DiffuseLiquid
from keyfluid.operators.extrapolate import ExtrapolateVelocity, IntoBodies
from keyfluid.operators.force import AddConstant, AddRate, Inflow
from keyfluid.operators.keep_volume import KeepVolume, Remember
from keyfluid.operators.pour import Pour
from keyfluid.operators.project_liquid import ProjectLiquid
from keyfluid.operators.redistance import Redistance
from keyfluid.solvers.liquid import MANY

LIQUID_ORDER = ("source", "gravity", "diffuse", "wind", "project", "extrapolate", "advect", "redistance")
MCNAMARA_LIQUID_ORDER = ("source", "wind", "advect", "diffuse", "gravity", "project", "extrapolate", "redistance")
SURFACE = "surface"
_BEFORE = "surface before"


@dataclass(frozen=True, eq=False)
class Tap:
    """A region kept full, and at a velocity if one is given, from `start` until `stop` seconds."""

    region: Field
    velocity_mask: Field | None = None
    velocity: Field | None = None
    start: float = 0.0
    stop: float = np.inf

    def active(self, time: float) -> bool:
        return self.start <= time < self.stop


@dataclass(frozen=True, eq=False)
class LiquidOptions:
    """What the liquid is like and what acts on it.

    gravity: m/s^2 per axis; viscosity: m^2/s; order and interpolation: of the advection of the surface
    (operators/advect.py), the velocity goes linearly; keep_volume: what carrying and redistancing lose or gain is
    given back (operators/keep_volume.py); sequence: the parts of a step in order; tolerance: of pressure and viscosity;
    guide: makes, for the seconds that a step begins and ends at, what is done to velocity and surface before the
    velocity is projected, None: nothing; keep_near: makes, for the second that a step ends at, what is done to the
    surface last of all.
    """

    dtype: np.typing.DTypeLike = np.float32
    gravity: Sequence[float] | None = None
    viscosity: float = 0.0
    solids: SolidsOverTime = None
    taps: Sequence[Tap] = ()
    order: int = 2
    interpolation: str = "cubic"
    keep_volume: bool = True
    sequence: tuple[str, ...] = LIQUID_ORDER
    tolerance: float | None = None
    guide: Callable[[float, float], Operator | None] | None = None
    keep_near: Callable[[float], Operator | None] | None = None


class Liquid(Model):
    """The liquid model: what a step of `dt` seconds consists of."""

    name = "liquid"

    def __init__(self, grid: Grid, dt: float, options: LiquidOptions) -> None:
        if sorted(options.sequence) != sorted(LIQUID_ORDER):
            raise KeyfluidError(
                f"liquid: a step is made of {', '.join(LIQUID_ORDER)}, each once; got {options.sequence}"
            )
        super().__init__(grid, dt, options.dtype, (SURFACE,), nothing=max(grid.size))
        self.options, self.solids = options, options.solids
        self.varies = (
            callable(options.solids) or bool(options.taps) or options.guide is not None or options.keep_near is not None
        )
        self.work_bytes = self._work_bytes()
        self._carry_surface = Advect(grid, self.dt, options.order, "own", options.interpolation)
        self._carry_velocity = Advect(grid, self.dt, options.order, "own", "linear")

    def _work_bytes(self) -> int:
        """Marched distances and their order, and which body a cell is of; layers, weights and velocity of each face; a
        matrix of all cells for the pressure, and one of each component for viscosity; a large one has multigrid's
        levels."""
        matrix = 61 if self.grid.count <= MANY else 180
        march, faces, pressure = 26, self.grid.dim * (6 + 8 + 8 + 1), 16 + matrix
        bodies = 16 if self.solids is not None else 0
        viscosity = self.grid.dim * (2 + bodies + matrix) if self.options.viscosity > 0 else 0
        return self.grid.count * (march + faces + pressure + viscosity)

    def constants(self, index: int) -> dict[str, Field]:
        return {
            f"blown.{number}": tap.velocity.astype(self.dtype)
            for number, tap in enumerate(self.options.taps)
            if tap.velocity is not None and tap.active(index * self.dt)
        }

    def _build(self, index: int) -> list[Operation]:
        options, solids = self.options, self.solids_at(index)
        both, moving, still = ("velocity", SURFACE), ("velocity",), (SURFACE,)
        tolerance = options.tolerance
        parts = {
            "source": self._sources(index),
            "wind": [Operation("force", AddRate(self.dt), ("velocity", "force"), moving)],
            "gravity": [],
            "diffuse": [],
            "project": [
                *self._guide(index),
                Operation("project", ProjectLiquid(self.grid, solids, tolerance), both, moving),
            ],
            "extrapolate": [Operation("extrapolate", ExtrapolateVelocity(self.grid, solids), both, moving)],
            "advect": [
                Operation("advect surface", self._carry_surface, (SURFACE, "velocity"), still, Role.CARRY),
                Operation("advect", self._carry_velocity, ("velocity", "velocity"), moving),
            ],
            "redistance": [Operation("redistance", Redistance(self.grid), still, still)],
        }
        if options.gravity is not None and any(options.gravity):
            fall = AddConstant(self.grid, options.gravity, self.dt)
            parts["gravity"] = [Operation("gravity", fall, moving, moving)]
        if options.viscosity > 0:
            diffuse = DiffuseLiquid(self.grid, options.viscosity, self.dt, solids, tolerance)
            parts["diffuse"] = [Operation("diffuse", diffuse, both, moving)]
        if solids is not None:
            parts["redistance"].insert(0, Operation("into bodies", IntoBodies(solids), still, still))
        if options.keep_volume:
            parts["advect"].insert(0, Operation("remember", Remember(self.grid), still, (_BEFORE,)))
            keep = KeepVolume(self.grid, solids)
            parts["redistance"].append(Operation("keep volume", keep, (SURFACE, _BEFORE), still))
        near = options.keep_near((index + 1) * self.dt) if options.keep_near is not None else None
        if near is not None:
            before = _BEFORE if options.keep_volume else SURFACE
            parts["redistance"].append(Operation("keep near", near, (SURFACE, before), still))
        return [operation for name in options.sequence for operation in parts[name]]

    def _guide(self, index: int) -> list[Operation]:
        guide = self.options.guide
        operator = guide(index * self.dt, (index + 1) * self.dt) if guide is not None else None
        return [] if operator is None else [Operation("guide", operator, ("velocity", SURFACE), ("velocity",))]

    def _sources(self, index: int) -> list[Operation]:
        still = (SURFACE,)
        operations = []
        for number, tap in enumerate(self.options.taps):
            if not tap.active(index * self.dt):
                continue
            operations.append(Operation("pour", Pour(tap.region), still, still, Role.LET_IN))
            if tap.velocity is not None and tap.velocity_mask is not None:
                reads = ("velocity", f"blown.{number}")
                operations.append(Operation("blow", Inflow(tap.velocity_mask), reads, ("velocity",)))
        operations.append(Operation("source", AddRate(self.dt), (SURFACE, f"source.{SURFACE}"), still, Role.ADD))
        return operations


def filled(phi: np.ndarray, spacing: float) -> np.ndarray:
    """Share of each cell that liquid fills, from its signed distance: exact for a surface along the grid."""
    return np.clip(0.5 - phi / spacing, 0.0, 1.0)
