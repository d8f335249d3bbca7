"""Liquid: incompressible fluid under a free surface, kept as a level set (negative inside).

A step is, by default, SOURCE - GRAVITY - DIFFUSE - WIND - PROJECT - EXTRAPOLATE - ADVECT - REDISTANCE: the surface
moves with a velocity without divergence. McNamara's ADVECT - DIFFUSE - GRAVITY - PROJECT - REDISTANCE after
APPLYCONTROL moves it with the unprojected wind instead [McNamara 2004, sections 3 and 4.3]; it is there for comparison.
Velocity outside the liquid, of which the paper does not speak, is that of the nearest liquid.

A wind f after DIFFUSE does what (1 - nu dt L) f would have done before it, L being the liquid's own laplacian: the
films that can be made are the same, but clay feels short waves of f as much as long ones, which a search needs.

Inputs of a step beside the state: "force" (faces, m/s^2) and "source.surface", a rate of phi in m/s: the paper's
sources, negative where liquid grows.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.models.stage import Stage, State
from keyfluid.operators.advect import Advect
from keyfluid.operators.diffuse_liquid import DiffuseLiquid
from keyfluid.operators.extrapolate import ExtrapolateVelocity, IntoBodies
from keyfluid.operators.force import AddConstant, AddRate, Inflow
from keyfluid.operators.keep_volume import KeepVolume, Remember
from keyfluid.operators.pour import Pour
from keyfluid.operators.project_liquid import ProjectLiquid
from keyfluid.operators.redistance import Redistance
from keyfluid.solids import Solids

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


class Liquid:
    """The liquid model: what a step consists of.

    dt in seconds; gravity: m/s^2 per axis; viscosity: m^2/s; solids: bodies, or a function of time in seconds;
    order and interpolation: of the advection of the surface (operators/advect.py); the velocity goes linearly;
    keep_volume: what carrying and redistancing lose or gain is given back (operators/keep_volume.py).
    """

    def __init__(
        self,
        grid: Grid,
        dt: float,
        *,
        dtype: np.typing.DTypeLike = np.float32,
        gravity: Sequence[float] | None = None,
        viscosity: float = 0.0,
        solids: Solids | Callable[[float], Solids | None] | None = None,
        taps: Sequence[Tap] = (),
        order: int = 2,
        interpolation: str = "cubic",
        keep_volume: bool = True,
        sequence: tuple[str, ...] = LIQUID_ORDER,
        tolerance: float | None = None,
    ) -> None:
        if sorted(sequence) != sorted(LIQUID_ORDER):
            raise KeyfluidError(f"liquid: a step is made of {', '.join(LIQUID_ORDER)}, each once; got {sequence}")
        self.grid, self.dt, self.dtype = grid, float(dt), np.dtype(dtype)
        self.gravity = tuple(gravity) if gravity is not None else (0.0,) * grid.dim
        self.viscosity, self.solids, self.taps = float(viscosity), solids, tuple(taps)
        self.sequence, self.tolerance = sequence, tolerance
        self.keep_volume = keep_volume
        self._carry_surface = Advect(grid, self.dt, order, "own", interpolation)
        self._carry_velocity = Advect(grid, self.dt, order, "own", "linear")
        self._recent: tuple[int, list[Stage]] | None = None

    def initial_state(self, velocity: Field | None = None, surface: Field | None = None) -> dict[str, Field]:
        """A checked state in the model's precision; velocity defaults to rest, the surface to no liquid."""
        if surface is None:
            surface = Field(self.grid, Kind.CENTRES, np.full(self.grid.count, max(self.grid.size), self.dtype))
        velocity = velocity or Field.zeros(self.grid, Kind.FACES, self.dtype)
        surface.require(self.grid, Kind.CENTRES, SURFACE)
        velocity.require(self.grid, Kind.FACES, "velocity")
        for name, field in ((SURFACE, surface), ("velocity", velocity)):
            field.require_finite(name)
        return {SURFACE: surface.astype(self.dtype), "velocity": velocity.astype(self.dtype)}

    def solids_at(self, step: int) -> Solids | None:
        """The bodies during a step, taken at its end."""
        return self.solids((step + 1) * self.dt) if callable(self.solids) else self.solids

    def stages(self, step: int) -> list[Stage]:
        """The named operations of a step."""
        if self._recent is None or self._recent[0] != step:
            self._recent = (step, self._build(step))
        return self._recent[1]

    def constants(self, step: int) -> dict[str, Field]:
        """Fields that stages read and that nothing changes: what taps blow."""
        return {
            f"blown.{index}": tap.velocity.astype(self.dtype)
            for index, tap in enumerate(self.taps)
            if tap.velocity is not None and tap.active(step * self.dt)
        }

    def active(self, step: int, inputs: State) -> list[Stage]:
        """The stages of a step, without those whose input (a force, a source) was not given."""
        outside = {"force", f"source.{SURFACE}"}
        if not outside.issuperset(inputs):
            raise KeyfluidError(f"liquid: inputs {sorted(inputs)} given; a step takes {', '.join(sorted(outside))}")
        missing = outside.difference(inputs)
        return [stage for stage in self.stages(step) if missing.isdisjoint(stage.reads)]

    def _build(self, step: int) -> list[Stage]:
        solids = self.solids_at(step)
        both, moving, still = ("velocity", SURFACE), ("velocity",), (SURFACE,)
        tolerance = self.tolerance
        parts = {
            "source": self._sources(step),
            "wind": [Stage("force", AddRate(self.dt), ("velocity", "force"), moving)],
            "gravity": [Stage("gravity", AddConstant(self.grid, self.gravity, self.dt), moving, moving)],
            "diffuse": [],
            "project": [Stage("project", ProjectLiquid(self.grid, solids, tolerance), both, moving)],
            "extrapolate": [Stage("extrapolate", ExtrapolateVelocity(self.grid, solids), both, moving)],
            "advect": [
                Stage("advect surface", self._carry_surface, (SURFACE, "velocity"), still),
                Stage("advect", self._carry_velocity, ("velocity", "velocity"), moving),
            ],
            "redistance": [Stage("redistance", Redistance(self.grid), still, still)],
        }
        if not any(self.gravity):
            parts["gravity"] = []
        if self.viscosity > 0:
            diffuse = DiffuseLiquid(self.grid, self.viscosity, self.dt, solids, tolerance)
            parts["diffuse"] = [Stage("diffuse", diffuse, both, moving)]
        if solids is not None:
            parts["redistance"].insert(0, Stage("into bodies", IntoBodies(solids), still, still))
        if self.keep_volume:
            parts["advect"].insert(0, Stage("remember", Remember(self.grid), still, (_BEFORE,)))
            keep = KeepVolume(self.grid, solids)
            parts["redistance"].append(Stage("keep volume", keep, (SURFACE, _BEFORE), still))
        return [stage for name in self.sequence for stage in parts[name]]

    def _sources(self, step: int) -> list[Stage]:
        stages = []
        for index, tap in enumerate(self.taps):
            if not tap.active(step * self.dt):
                continue
            stages.append(Stage("pour", Pour(tap.region), (SURFACE,), (SURFACE,)))
            if tap.velocity is not None and tap.velocity_mask is not None:
                stages.append(Stage("blow", Inflow(tap.velocity_mask), ("velocity", f"blown.{index}"), ("velocity",)))
        stages.append(Stage("source", AddRate(self.dt), (SURFACE, f"source.{SURFACE}"), (SURFACE,)))
        return stages


def filled(phi: np.ndarray, spacing: float) -> np.ndarray:
    """Share of each cell that liquid fills, from its signed distance: exact for a surface along the grid."""
    return np.clip(0.5 - phi / spacing, 0.0, 1.0)
