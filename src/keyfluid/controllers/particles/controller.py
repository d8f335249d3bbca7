"""`method = "particles"`: smoke creatures at interactive rates [Madill & Mould 2013].

The steps are in simulation.py. A frame stores all particles beside the density they make and the velocity that carried
them, so that a run can go on from any frame, and pictures and PLY files can be made of the markers afterwards.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from keyfluid.controllers.method import Method, OtherRuns, Plan
from keyfluid.controllers.particles.settings import settings_of
from keyfluid.controllers.particles.simulation import ParticleSimulation
from keyfluid.controllers.shell import Shell, Stopped
from keyfluid.controllers.step_size import tell_if_fast
from keyfluid.fields import Field
from keyfluid.grid import Kind
from keyfluid.models.state import State
from keyfluid.problem import FrameRecord, Problem
from keyfluid.problem.kept import Json, items, whole

_PACKED, _LATTICE = 0.72, 0.07
"""Bytes on disk over those in memory, of particles and of the velocity lattice (benchmarks/folder_size.py)."""


@dataclass(frozen=True, eq=False, kw_only=True)
class ParticlesPlan(Plan):
    """The simulation, ready to begin."""

    simulation: ParticleSimulation


class Particles(Method):
    """The method."""

    def plan(self, problem: Problem, other_runs: OtherRuns) -> ParticlesPlan:
        """Memory: markers with a velocity each, twice while a frame is stored; lattices."""
        simulation = ParticleSimulation(problem, settings_of(problem))
        settings = simulation.settings
        particles = 6 * (settings.markers + 3 * settings.control_particles + settings.vortices)
        lattices = 12 * problem.grid.count + 16 * settings.velocity_cells**problem.grid.dim
        memory = (2 * particles + lattices) * problem.dtype.itemsize
        stored = round(_PACKED * particles * problem.dtype.itemsize + _LATTICE * 16 * settings.velocity_cells**3)
        return ParticlesPlan(problem=problem, memory_bytes=memory, frame_bytes=stored, simulation=simulation)

    def run(self, plan: Plan, shell: Shell) -> None:
        assert isinstance(plan, ParticlesPlan)
        problem, simulation = plan.problem, plan.simulation
        control = settings_of(problem)
        changes: list[Json] = []
        frame = 0
        if shell.restored is not None:
            frame, changes = whole(shell.restored.meta, "frame"), list(items(shell.restored.meta, "changes"))
            if changes:
                last = changes[-1]
                assert isinstance(last, Mapping)
                control = type(control).model_validate(last["control"])
                simulation.change(control)
            simulation.restore(shell.restored.arrays, shell.restored.meta)
        else:
            shell.count(evaluations=1)
            simulation.begin()
            _store(shell, simulation, 0, changes, {})
        while frame < problem.frames:
            if shell.stop_requested:
                raise Stopped
            wanted = shell.control(control)
            if wanted != control:
                control = wanted
                simulation.change(control)
                changes = [*changes, {"frame": frame + 1, "control": control.model_dump(mode="json")}]
            frame += 1
            report = simulation.frame(frame)
            tell_if_fast(problem, shell, simulation.cells, (frame - 1) / problem.fps)
            shell.log(
                frame=frame, energy=report.energy, teleports=report.teleports, mean_speed=report.mean_speed,
                control_speed=report.control_speed, vortices=report.vortices,
            )  # fmt: skip
            _store(shell, simulation, frame, changes, dict(report.emitted))
            shell.progress(frame, problem.frames)


def _store(
    shell: Shell, simulation: ParticleSimulation, frame: int, changes: list[Json], emitted: dict[str, float]
) -> None:
    carriers = [(dt, faces_of(simulation, packed)) for dt, packed in simulation.carriers]
    velocity = carriers[-1][1] if carriers else faces_of(simulation, simulation.packed)
    state: dict[str, Field] = {**densities_of(simulation), "velocity": velocity}
    memory = {**simulation.memory(), "changes": changes}
    particles = simulation.arrays()
    shell.frame(FrameRecord(frame, state, None, carriers, emitted, memory, particles))
    shell.checkpoint(particles, {"frame": frame, **memory})


def densities_of(simulation: ParticleSimulation) -> State:
    """The markers' densities as fields."""
    grid = simulation.problem.grid
    return {cloud.name: Field(grid, Kind.CENTRES, cloud.smoke) for cloud in simulation.clouds}


def faces_of(simulation: ParticleSimulation, packed: np.ndarray) -> Field:
    """A packed velocity lattice read at the faces of the scene's grid; walls carry none."""
    problem, grid = simulation.problem, simulation.problem.grid
    out = Field.zeros(grid, Kind.FACES, problem.dtype)
    for axis in range(grid.dim):
        component = out.component(axis)
        offset = tuple(0.0 if a == axis else 0.5 for a in range(3))
        values = np.ascontiguousarray(packed.reshape(-1, 4)[:, axis])
        shape = (*component.shape, 1)[:3]
        component[...] = simulation.lattice.onto(simulation.grid, values, offset, shape).reshape(component.shape)
        if grid.boundary[axis].value == "walls":
            line = np.moveaxis(component, axis, 0)
            line[0] = line[-1] = 0
    return out
