"""Smoke: incompressible air that carries densities.

A step is, by default, FORCE - DIFFUSE - HEAT - PROJECT - ADVECT, so that the field that advects is the projected
one: smoke is moved by a velocity without divergence. McNamara's order ADVECT - DIFFUSE - HEAT - PROJECT after
APPLYCONTROL moves it by the unprojected wind instead [McNamara 2004, section 3]; it is there for comparison.

Inputs of a step beside the state: "force" (faces, m/s^2) and, for each density, "source.NAME" (per second).
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
    """A region that is held at a density, and at a velocity if one is given, from `start` until `stop` seconds."""

    mask: Field
    density: Field
    name: str = "density"
    velocity_mask: Field | None = None
    velocity: Field | None = None
    start: float = 0.0
    stop: float = np.inf

    def active(self, time: float) -> bool:
        return self.start <= time < self.stop


class Smoke:
    """The smoke model: what a step consists of.

    dt in seconds; buoyancy: m/s^2 per unit of density, along axis `up`; viscosity: m^2/s; confinement: of
    vorticity, Fedkiw's epsilon in 1/s; body_force: m/s^2;
    solids: bodies, or a function of time in seconds for moving ones; order, feet, interpolation: see
    operators/advect.py.
    """

    def __init__(
        self,
        grid: Grid,
        dt: float,
        *,
        dtype: np.typing.DTypeLike = np.float32,
        densities: Sequence[str] = ("density",),
        buoyancy: float = 0.0,
        up: int = 1,
        viscosity: float = 0.0,
        confinement: float = 0.0,
        body_force: Sequence[float] | None = None,
        solids: Solids | Callable[[float], Solids | None] | None = None,
        emitters: Sequence[Emitter] = (),
        order: int = 2,
        feet: str = "own",
        interpolation: str = "linear",
        sequence: tuple[str, ...] = DEFAULT_ORDER,
        tolerance: float | None = None,
    ) -> None:
        if sorted(sequence) != sorted(DEFAULT_ORDER):
            raise KeyfluidError(f"smoke: a step is made of {', '.join(DEFAULT_ORDER)}, each once; got {sequence}")
        if not np.isfinite(buoyancy):
            raise KeyfluidError(f"smoke: buoyancy {buoyancy} must be a finite number")
        if not 0 <= up < grid.dim:
            raise KeyfluidError(f"smoke: up is axis {up}; this grid has axes 0 to {grid.dim - 1}")
        strangers = {emitter.name for emitter in emitters} - set(densities)
        if strangers:
            raise KeyfluidError(f"smoke: emitters of {sorted(strangers)}; this model carries {tuple(densities)}")
        self.grid = grid
        self.dt = float(dt)
        self.dtype = np.dtype(dtype)
        self.densities = tuple(densities)
        self.buoyancy = float(buoyancy)
        self.up = up
        self.viscosity = float(viscosity)
        self.confinement = float(confinement)
        self.body_force = tuple(body_force) if body_force is not None else None
        self.solids = solids
        self.emitters = tuple(emitters)
        self.sequence = sequence
        self.tolerance = tolerance
        self._advect = Advect(grid, self.dt, order, feet, interpolation)
        self._fixed: list[Stage] | None = None
        self._recent: tuple[int, list[Stage]] | None = None
        self._solvers: dict[str, tuple[Solids | None, Operator]] = {}

    def initial_state(self, velocity: Field | None = None, **densities: Field) -> dict[str, Field]:
        """A checked state in the model's precision; velocity defaults to rest, densities to none."""
        state = {}
        for name in self.densities:
            field = densities.pop(name, None) or Field.zeros(self.grid, Kind.CENTRES, self.dtype)
            field.require(self.grid, Kind.CENTRES, name)
            field.require_finite(name)
            state[name] = field.astype(self.dtype)
        if densities:
            raise KeyfluidError(f"smoke: densities {sorted(densities)} are not part of this model: {self.densities}")
        velocity = velocity or Field.zeros(self.grid, Kind.FACES, self.dtype)
        velocity.require(self.grid, Kind.FACES, "velocity")
        velocity.require_finite("velocity")
        state["velocity"] = velocity.astype(self.dtype)
        return state

    def solids_at(self, step: int) -> Solids | None:
        """The bodies during a step, taken at its end."""
        return self.solids((step + 1) * self.dt) if callable(self.solids) else self.solids

    def stages(self, step: int) -> list[Stage]:
        """The named operations of a step."""
        if self._fixed is not None:
            return self._fixed
        if self._recent is not None and self._recent[0] == step:
            return self._recent[1]
        stages = self._build(step)
        if not callable(self.solids) and not self.emitters:
            self._fixed = stages
        self._recent = (step, stages)
        return stages

    def constants(self, step: int) -> dict[str, Field]:
        """Fields that stages read and that nothing changes: what emitters let in."""
        fields = {}
        for index, emitter in enumerate(self.emitters):
            if emitter.active(step * self.dt):
                fields[f"emitted.{index}"] = emitter.density.astype(self.dtype)
                if emitter.velocity is not None:
                    fields[f"blown.{index}"] = emitter.velocity.astype(self.dtype)
        return fields

    def step(self, state: State, step: int = 0, **inputs: Field) -> dict[str, Field]:
        """One step forward; inputs: force, and source.NAME as `source={...}` through a rollout."""
        from keyfluid.models.stage import run_stages

        now = run_stages(self.active(step, inputs), {**state, **self.constants(step), **inputs})
        return {name: now[name] for name in state}

    def active(self, step: int, inputs: State) -> list[Stage]:
        """The stages of a step, without those whose input (a force, a source) was not given."""
        outside = {"force", *(f"source.{name}" for name in self.densities)}
        if not outside.issuperset(inputs):
            raise KeyfluidError(f"smoke: inputs {sorted(inputs)} given; a step takes {', '.join(sorted(outside))}")
        missing = outside.difference(inputs)
        return [stage for stage in self.stages(step) if missing.isdisjoint(stage.reads)]

    def _build(self, step: int) -> list[Stage]:
        solids = self.solids_at(step)
        parts = {
            "force": self._force(step),
            "diffuse": self._diffuse(solids),
            "heat": self._heat(),
            "project": [Stage("project", self._project(solids), ("velocity",), ("velocity",))],
            "advect": self._carry(solids),
        }
        return [stage for name in self.sequence for stage in parts[name]]

    def _force(self, step: int) -> list[Stage]:
        stages = []
        for index, emitter in enumerate(self.emitters):
            if not emitter.active(step * self.dt):
                continue
            reads = (emitter.name, f"emitted.{index}")
            stages.append(Stage("emit", Inflow(emitter.mask), reads, (emitter.name,)))
            if emitter.velocity is not None and emitter.velocity_mask is not None:
                reads = ("velocity", f"blown.{index}")
                stages.append(Stage("blow", Inflow(emitter.velocity_mask), reads, ("velocity",)))
        for name in self.densities:
            stages.append(Stage("source", AddRate(self.dt), (name, f"source.{name}"), (name,)))
        stages.append(Stage("force", AddRate(self.dt), ("velocity", "force"), ("velocity",)))
        if self.body_force is not None:
            constant = AddConstant(self.grid, self.body_force, self.dt)
            stages.append(Stage("body force", constant, ("velocity",), ("velocity",)))
        if self.confinement != 0:
            confine = ConfineVorticity(self.grid, self.confinement, self.dt)
            stages.append(Stage("confine", confine, ("velocity",), ("velocity",)))
        return stages

    def _diffuse(self, solids: Solids | None) -> list[Stage]:
        if self.viscosity == 0:
            return []
        operator = self._kept(
            "diffuse",
            solids,
            lambda: Diffuse(self.grid, self.viscosity, self.dt, solids, self.dtype, self.tolerance),
        )
        return [Stage("diffuse", operator, ("velocity",), ("velocity",))]

    def _heat(self) -> list[Stage]:
        if self.buoyancy == 0:
            return []
        operator = Heat(self.grid, self.buoyancy, self.dt, self.up)
        return [Stage("heat", operator, (name, "velocity"), ("velocity",)) for name in self.densities]

    def _project(self, solids: Solids | None) -> Operator:
        return self._kept(
            "project", solids, lambda: Project(self.grid, solids, self.dtype, self.tolerance)
        )

    def _kept(self, name: str, solids: Solids | None, build: Callable[[], Operator]) -> Operator:
        """The solver made last under this name, if the bodies are the same: setting one up takes time."""
        kept = self._solvers.get(name)
        if kept is None or kept[0] is not solids:
            kept = self._solvers[name] = (solids, build())
        return kept[1]

    def _carry(self, solids: Solids | None) -> list[Stage]:
        carried = (*self.densities, "velocity")
        stages = [Stage("advect", self._advect, (*carried, "velocity"), carried)]
        if solids is not None:
            mask = SolidMask(solids)
            stages += [Stage("empty bodies", mask, (name,), (name,)) for name in self.densities]
        return stages
