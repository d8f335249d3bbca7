"""Smoke: incompressible air that carries densities, and heat where there is some.

A step is, by default, FORCE - DIFFUSE - HEAT - PROJECT - ADVECT, so that the field that advects is the projected
one: smoke is moved by a velocity without divergence. McNamara's order ADVECT - DIFFUSE - HEAT - PROJECT after
APPLYCONTROL moves it by the unprojected wind instead [McNamara 2004, section 3]; it is there for comparison.

Inputs of a step beside the state: "force" (faces, m/s^2) and, for each density, "source.NAME" (per second).
What fades, cools, brakes and blows (air.py) comes first in FORCE: what sources hold and control adds is left alone.
Observers see what the advection carries everything with, what emitters and sources give, and what dissipates.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.grid import Grid
from keyfluid.models.air import STILL, TEMPERATURE, Air
from keyfluid.models.model import Model, SolidsOverTime
from keyfluid.models.operation import Operation, Role
from keyfluid.operators.advect import Advect
from keyfluid.operators.base import Operator
from keyfluid.operators.confine_vorticity import ConfineVorticity
from keyfluid.operators.diffuse import Diffuse
from keyfluid.operators.force import AddConstant, AddRate, Inflow
from keyfluid.operators.heat import Heat
from keyfluid.operators.project import Project
from keyfluid.operators.solid_mask import SolidMask
from keyfluid.solids import Solids

DEFAULT_ORDER = ("force", "diffuse", "heat", "project", "advect")
MCNAMARA_ORDER = ("force", "advect", "diffuse", "heat", "project")


@dataclass(frozen=True, eq=False)
class Emitter:
    """A region that is held at a density, and at a velocity if one is given, from `start` until `stop` seconds.

    name: of the density; "temperature" for a region that is held at a temperature; None for one that only blows.
    """

    mask: Field
    density: Field
    name: str | None = "density"
    velocity_mask: Field | None = None
    velocity: Field | None = None
    start: float = 0.0
    stop: float = np.inf

    def active(self, time: float) -> bool:
        return self.start <= time < self.stop


@dataclass(frozen=True, eq=False)
class SmokeOptions:
    """What the smoke is like and what acts on it.

    buoyancy: m/s^2 per unit of density, along axis `up`; viscosity: m^2/s; confinement: of vorticity, Fedkiw's
    epsilon in 1/s; body_force: m/s^2; order, feet, interpolation: of the advection (operators/advect.py);
    sequence: the parts of a step in order; tolerance: of pressure and viscosity, where they are solved by iteration;
    air: drag, dissipation, cooling, wind; warm: whether there is a field "temperature" too; guide: makes, for the
    seconds that a step begins and ends at, what is done to the velocity before it is projected, None: nothing.
    """

    dtype: np.typing.DTypeLike = np.float32
    densities: Sequence[str] = ("density",)
    buoyancy: float = 0.0
    up: int = 1
    viscosity: float = 0.0
    confinement: float = 0.0
    body_force: Sequence[float] | None = None
    solids: SolidsOverTime = None
    emitters: Sequence[Emitter] = ()
    order: int = 2
    feet: str = "own"
    interpolation: str = "linear"
    sequence: tuple[str, ...] = DEFAULT_ORDER
    tolerance: float | None = None
    air: Air = STILL
    warm: bool = False
    guide: Callable[[float, float], Operator | None] | None = None

    @property
    def carried(self) -> tuple[str, ...]:
        """The densities, and the temperature if there is one."""
        return (*self.densities, TEMPERATURE) if self.warm else tuple(self.densities)

    def require_sense(self, grid: Grid) -> None:
        """Raise if a step on this grid is impossible with these options."""
        if sorted(self.sequence) != sorted(DEFAULT_ORDER):
            raise KeyfluidError(f"smoke: a step is made of {', '.join(DEFAULT_ORDER)}, each once; got {self.sequence}")
        if not np.isfinite(self.buoyancy):
            raise KeyfluidError(f"smoke: buoyancy {self.buoyancy} must be a finite number")
        if not 0 <= self.up < grid.dim:
            raise KeyfluidError(f"smoke: up is axis {self.up}; this grid has axes 0 to {grid.dim - 1}")
        strangers = {emitter.name for emitter in self.emitters if emitter.name is not None} - set(self.carried)
        if strangers:
            raise KeyfluidError(f"smoke: emitters of {sorted(strangers)}; this model carries {self.carried}")


class Smoke(Model):
    """The smoke model: what a step of `dt` seconds consists of."""

    name = "smoke"

    def __init__(self, grid: Grid, dt: float, options: SmokeOptions | None = None) -> None:
        options = options or SmokeOptions()
        options.require_sense(grid)
        super().__init__(grid, dt, options.dtype, options.carried)
        self.options, self.solids = options, options.solids
        self.varies = callable(options.solids) or bool(options.emitters) or bool(options.air.winds)
        self.varies = self.varies or options.guide is not None
        self._advect = Advect(grid, self.dt, options.order, options.feet, options.interpolation)
        self._solvers: dict[str, tuple[Solids | None, Operator]] = {}

    def constants(self, index: int) -> dict[str, Field]:
        fields = {}
        for number, emitter in enumerate(self.options.emitters):
            if emitter.active(index * self.dt):
                fields[f"emitted.{number}"] = emitter.density.astype(self.dtype)
                if emitter.velocity is not None:
                    fields[f"blown.{number}"] = emitter.velocity.astype(self.dtype)
        return fields

    def _build(self, index: int) -> list[Operation]:
        solids = self.solids_at(index)
        parts = {
            "force": self._force(index),
            "diffuse": self._diffuse(solids),
            "heat": self._heat(),
            "project": [
                *self._guide(index),
                Operation("project", self._project(solids), ("velocity",), ("velocity",)),
            ],
            "advect": self._carry(solids),
        }
        return [operation for name in self.options.sequence for operation in parts[name]]

    def _force(self, index: int) -> list[Operation]:
        options, air = self.options, ("velocity",)
        operations = options.air.operations(self.grid, options.carried, index * self.dt, (index + 1) * self.dt)
        for number, emitter in enumerate(options.emitters):
            if not emitter.active(index * self.dt):
                continue
            if emitter.name is not None:
                reads = (emitter.name, f"emitted.{number}")
                role = Role.PLAIN if emitter.name == TEMPERATURE else Role.LET_IN
                operations.append(Operation("emit", Inflow(emitter.mask), reads, (emitter.name,), role))
            if emitter.velocity is not None and emitter.velocity_mask is not None:
                reads = ("velocity", f"blown.{number}")
                operations.append(Operation("blow", Inflow(emitter.velocity_mask), reads, air))
        for name in self.carried:
            growth = self.dt if name == TEMPERATURE else options.air.growth(self.dt)
            operations.append(Operation("source", AddRate(growth), (name, f"source.{name}"), (name,), Role.ADD))
        operations.append(Operation("force", AddRate(self.dt), ("velocity", "force"), air))
        if options.body_force is not None:
            constant = AddConstant(self.grid, options.body_force, self.dt)
            operations.append(Operation("body force", constant, air, air))
        if options.confinement != 0:
            operations.append(Operation("confine", ConfineVorticity(self.grid, options.confinement, self.dt), air, air))
        return operations

    def _diffuse(self, solids: Solids | None) -> list[Operation]:
        viscosity = self.options.viscosity
        if viscosity == 0:
            return []
        operator = self._kept(
            "diffuse",
            solids,
            lambda: Diffuse(self.grid, viscosity, self.dt, solids, self.dtype, self.options.tolerance),
        )
        return [Operation("diffuse", operator, ("velocity",), ("velocity",))]

    def _heat(self) -> list[Operation]:
        options = self.options
        lifts = {**dict.fromkeys(options.densities, options.buoyancy), TEMPERATURE: options.air.heat_buoyancy}
        return [
            Operation("heat", Heat(self.grid, lifts[name], self.dt, options.up), (name, "velocity"), ("velocity",))
            for name in self.carried
            if lifts[name] != 0
        ]

    def _guide(self, index: int) -> list[Operation]:
        guide = self.options.guide
        operator = guide(index * self.dt, (index + 1) * self.dt) if guide is not None else None
        return [] if operator is None else [Operation("guide", operator, ("velocity",), ("velocity",))]

    def _project(self, solids: Solids | None) -> Operator:
        return self._kept("project", solids, lambda: Project(self.grid, solids, self.dtype, self.options.tolerance))

    def _kept(self, name: str, solids: Solids | None, build: Callable[[], Operator]) -> Operator:
        """The last solver of this name, reused while the bodies are the same: setting one up takes time."""
        kept = self._solvers.get(name)
        if kept is None or kept[0] is not solids:
            kept = self._solvers[name] = (solids, build())
        return kept[1]

    def _carry(self, solids: Solids | None) -> list[Operation]:
        everything = (*self.carried, "velocity")
        operations = [Operation("advect", self._advect, (*everything, "velocity"), everything, Role.CARRY)]
        if solids is not None:
            mask = SolidMask(solids)
            operations += [Operation("empty bodies", mask, (name,), (name,)) for name in self.carried]
        return operations
