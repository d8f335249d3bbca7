"""The simulation, step by step as in the paper's overview (section 3):

    1. initialise marker, control and target particles            begin
    2. bulk control velocity field (section 4)                    attract, interpolate
    3. turbulent vortex velocity field (section 5)                evaluate, spin and exchange, spawn
    4. particle update (section 6)                                advect, redistribute
    5. render                                                     render/markers.py, from the stored frames

A ParticleSimulation is plain state and `frame()`. The run loop in controller.py stores what it holds; LiveRun
(runs/live.py) steps one by hand.
"""

from __future__ import annotations

import math
import time as wall
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace

import numpy as np

from keyfluid.controllers.particles import lattice_effects
from keyfluid.controllers.particles.cloud import Cloud
from keyfluid.controllers.particles.control import shepard
from keyfluid.controllers.particles.lattice import Densities, Lattice
from keyfluid.controllers.particles.settings import ParticleNumbers, ParticleSettings
from keyfluid.controllers.particles.streams import Stream, key
from keyfluid.controllers.particles.vortices import Vortices
from keyfluid.controllers.step_size import too_many_steps
from keyfluid.errors import KeyfluidError, SceneError
from keyfluid.fluids.smoke.fluid import smoke_of
from keyfluid.problem import Keyframe, Problem
from keyfluid.problem.kept import Meta, table, whole

MOST_STEPS = 1024
_CONTAIN_REACH = 2.0
"""Vortex radii beyond which containment pulls no stronger."""


@dataclass(frozen=True)
class Report:
    """What a frame did: numbers for the history."""

    energy: float
    teleports: int
    mean_speed: float
    control_speed: float
    vortices: int
    steps: int
    emitted: Mapping[str, float]


class ParticleSimulation:
    """State of all particles, and the velocity that last carried them (`packed`, on `lattice`)."""

    def __init__(self, problem: Problem, control: ParticleSettings) -> None:
        self.problem = problem
        self.seed = int(problem.seed)
        self.settings = ParticleNumbers.of(control, problem.grid)
        self.grid = Lattice.of_grid(problem.grid, problem.dtype)
        self.lattice = Lattice.of_cells(problem.grid, self.settings.velocity_cells, problem.dtype)
        self.densities = Densities(self.grid)
        self.clouds = [
            Cloud(problem, name, index, self.settings, self.densities) for index, name in enumerate(problem.densities)
        ]
        self.vortices = Vortices(problem.dtype)
        self.bodies = lattice_effects.Bodies(problem, self.grid, self.lattice)
        self._projection: lattice_effects.Projection | None = None
        self.packed = self.lattice.packed()
        self.steps = 0
        self.carriers: list[tuple[float, np.ndarray]] = []
        """(seconds, packed velocity) of the steps of the last frame."""
        self.cells = 0.0
        """That the fastest smoke crossed in one of them."""
        self.seconds: dict[str, float] = {}
        """Time spent per module, for the benchmark; nothing depends on it."""
        self._need_keys()

    def _need_keys(self) -> None:
        if not any(cloud.turns for cloud in self.clouds):
            raise SceneError("keyframe", "method 'particles' needs a target; give a [[keyframe]]")

    def change(self, control: ParticleSettings) -> None:
        """New parameters from now on; counts of particles and the size of the velocity lattice stay."""
        kept = self.settings
        self.settings = replace(
            ParticleNumbers.of(control, self.problem.grid), markers=kept.markers, velocity_cells=kept.velocity_cells
        )
        for cloud in self.clouds:
            cloud.settings = self.settings

    def retarget(self, keyframes: Sequence[Keyframe]) -> None:
        """Other targets from now on."""
        for cloud in self.clouds:
            cloud.aim(keyframes)
            cloud.forget_target()
        self._need_keys()

    # 1. Initialise

    def begin(self) -> None:
        """Markers over the start's density, control particles among them."""
        problem = self.problem
        masses = {cloud.name: self._mass(cloud.name) for cloud in self.clouds}
        total = sum(masses.values())
        for cloud in self.clouds:
            share = round(self.settings.markers * masses[cloud.name] / total)
            cloud.fill(share, masses[cloud.name])
            if problem.velocity.peak() > 0:
                cloud.control.velocity = np.stack(
                    [self.grid.sample(lattice_effects.centred(problem.velocity, axis), cloud.control.position)
                     if axis < problem.grid.dim else np.zeros(cloud.control.count, problem.dtype)
                     for axis in range(3)]
                )  # fmt: skip
                cloud.control.before = cloud.control.velocity.copy()

    def _mass(self, name: str) -> float:
        problem = self.problem
        start = float(np.sum(problem.densities[name].data, dtype=np.float64)) * problem.grid.cell_volume
        given = sum(
            source.emitted(problem.frames, problem.fps, problem.grid.spacing)
            for source in problem.sources
            if source.field == name
        )
        return start + given

    def frame(self, index: int) -> Report:
        """All steps from frame index - 1 to frame `index`."""
        count = self.problem.steps_per_frame or self._steps_wanted(index)
        dt = 1.0 / (self.problem.fps * count)
        self.carriers, self.cells = [], 0.0
        emitted: dict[str, float] = {}
        teleports = 0
        for part in range(count):
            start = ((index - 1) * count + part) * dt
            for name, mass in self.step(index, start, dt).items():
                emitted[name] = emitted.get(name, 0.0) + mass
            self.carriers.append((dt, self.packed))
            teleports += sum(cloud.teleports for cloud in self.clouds)
        markers = sum(cloud.markers.count for cloud in self.clouds)
        controls = sum(cloud.control.count for cloud in self.clouds)
        return Report(
            energy=sum(cloud.energy * cloud.control.count for cloud in self.clouds) / max(controls, 1),
            teleports=teleports,
            mean_speed=sum(c.markers.mean_speed() * c.markers.count for c in self.clouds) / max(markers, 1),
            control_speed=sum(c.control.mean_speed() * c.control.count for c in self.clouds) / max(controls, 1),
            vortices=self.vortices.count,
            steps=count,
            emitted=emitted,
        )

    def _steps_wanted(self, frame: int) -> int:
        """steps_per_frame = "auto": no marker crosses more than `cfl` cells of the velocities in a step."""
        fastest = self._fastest()
        count = max(1, math.ceil(fastest / (self.problem.fps * self.problem.cfl * self.lattice.spacing) - 1e-9))
        if count > MOST_STEPS:
            otherwise = "lower control.strength or control.vortex_strength"
            raise too_many_steps(self.problem, frame, fastest, count, otherwise)
        return count

    def _fastest(self) -> float:
        """The largest component of the velocity that carries the markers."""
        values = self.packed.reshape(-1, 4)[:, :3]
        return float(np.maximum(values.max(), -values.min()))

    def step(self, frame: int, start: float, dt: float) -> dict[str, float]:
        """One step from `start` seconds; returns the mass that sources gave."""
        settings, lattice, end = self.settings, self.lattice, start + dt
        self.steps += 1
        with self._timed("sources and control placement"):
            emitted = self._emit(start, dt)
        with self._timed("match and attract"):
            free = [cloud for cloud in self.clouds if not cloud.steer(frame, self.steps, start, dt)]
        with self._timed("control velocity"):
            bulk = self._bulk_velocity()
        with self._timed("vortex velocity"):
            turbulent = self.vortices.velocity_field(lattice)
        with self._timed("vortex update"):
            wind = lattice_effects.blowing(lattice, self.problem.winds, end, self.grid)
            self.packed = self._combined(bulk, turbulent, wind, frame, end)
            cells = self.problem.fluid.cells_crossed(self.problem, self._fastest(), dt, start)
            self.cells = max(self.cells, cells)
            self.vortices.spin(lattice, self.packed, dt)
            self.vortices.exchange(lattice, settings, dt)
            self._spawn(turbulent)
        with self._timed("advect markers"):
            for cloud in self.clouds:
                cloud.markers.advect(lattice, self.packed, dt)
        with self._timed("advect control and vortices"):
            self.vortices.advect(lattice, self.packed, dt)
            for cloud in self.clouds:
                cloud.control.move(lattice, dt)
            if wind is not None:
                for cloud in free:
                    cloud.control.drift(lattice, wind, dt)
        with self._timed("redistribute markers"):
            for cloud in self.clouds:
                share = settings.redistributions * cloud.markers.count // max(self.marker_count, 1)
                cloud.redistribute(self.steps, self.packed, lattice, share)
            self._leave_bodies(end)
        with self._timed("marker density"):
            for cloud in self.clouds:
                cloud.measure()
        return emitted

    @property
    def marker_count(self) -> int:
        return sum(cloud.markers.count for cloud in self.clouds)

    def _emit(self, start: float, dt: float) -> dict[str, float]:
        emitted: dict[str, float] = {}
        now = start * self.problem.fps + 1e-6
        by_name = {cloud.name: cloud for cloud in self.clouds}
        for number, source in enumerate(self.problem.sources):
            if source.start <= now < source.stop:
                mass = by_name[source.field].emit(source, number, self.steps, dt)
                emitted[source.field] = emitted.get(source.field, 0.0) + mass
        for cloud in self.clouds:
            if cloud.name in emitted:
                cloud.measure()
            if cloud.name in emitted or self.settings.place == "frame":
                cloud.place_control(self.steps)
        return emitted

    # 2. Bulk control velocity

    def _bulk_velocity(self) -> np.ndarray:
        settings, lattice = self.settings, self.lattice
        volume = sum(cloud.volume() for cloud in self.clouds)
        count = sum(cloud.control.count for cloud in self.clouds)
        radius = settings.reach(volume, count, lattice.spacing, lattice.grid.dim)
        position = np.concatenate([cloud.control.position for cloud in self.clouds], axis=1)
        velocity = np.concatenate([cloud.control.velocity for cloud in self.clouds], axis=1)
        bulk = shepard(lattice, position, velocity, radius)
        if settings.project:
            self._projection = self._projection or lattice_effects.Projection(lattice)
            self._projection.apply(bulk)
        return bulk

    # 3. Turbulent vortex velocity

    def _combined(
        self, bulk: np.ndarray, turbulent: np.ndarray, wind: np.ndarray | None, frame: int, time: float
    ) -> np.ndarray:
        """Both fields and, where a scene asks for them, the effects of lattice_effects.py."""
        problem, settings, lattice = self.problem, self.settings, self.lattice
        packed = bulk + turbulent
        if settings.contain > 0:
            for cloud in self.clouds:
                distance = cloud.distance(frame, time, lattice)
                if distance is not None:
                    reach = _CONTAIN_REACH * settings.vortex_radius
                    lattice_effects.contain(lattice, packed, distance, settings.contain, reach)
        buoyancy = smoke_of(problem).buoyancy
        if buoyancy != 0:
            speed = buoyancy / max(settings.damping, 1e-6)
            for cloud in self.clouds:
                lattice_effects.lift(lattice, packed, self.grid.onto(lattice, cloud.smoke), speed, problem.up)
        if wind is not None:
            packed += wind
        for source in problem.sources:
            if source.velocity is not None and source.start < frame <= source.stop:
                lattice_effects.blow(lattice, packed, source, self.grid)
        if self.bodies.at(time):
            self.bodies.stop(packed)
        return packed

    def _spawn(self, turbulent: np.ndarray) -> None:
        smoke = np.zeros(self.grid.total, self.grid.dtype)
        for cloud in self.clouds:
            smoke += cloud.smoke * self.grid.real(1.0 / self.problem.peaks[cloud.name])
        self.vortices.remove(smoke, self.grid, self.settings)
        for cloud in self.clouds:
            word = key(self.seed, Stream.SPAWN, self.steps, cloud.index)
            self.vortices.spawn(cloud.markers.position, smoke, self.grid, self.lattice, turbulent, self.settings, word)

    # 4. Particle update

    def _leave_bodies(self, time: float) -> None:
        if self.bodies.at(time):
            for cloud in self.clouds:
                self.bodies.push_out(cloud.markers.position)

    # Storing

    def arrays(self) -> dict[str, np.ndarray]:
        vortices = self.vortices
        found = {
            "vortices": vortices.position,
            "vortices_before": vortices.before,
            "vortices_omega": vortices.omega,
            "vortices_radius": vortices.radius,
            "packed": self.packed,
        }
        for cloud in self.clouds:
            found.update(cloud.arrays())
        return found

    def memory(self) -> Meta:
        return {
            "steps": self.steps,
            "old_vortices": self.vortices.old,
            "clouds": {cloud.name: cloud.memory() for cloud in self.clouds},
        }

    def restore(self, arrays: Mapping[str, np.ndarray], memory: Meta) -> None:
        try:
            self.steps, self.vortices.old = whole(memory, "steps"), whole(memory, "old_vortices")
            self.vortices.position = np.array(arrays["vortices"])
            self.vortices.before = np.array(arrays["vortices_before"])
            self.vortices.omega = np.array(arrays["vortices_omega"])
            self.vortices.radius = np.array(arrays["vortices_radius"])
            self.packed = np.array(arrays["packed"])
            for cloud in self.clouds:
                cloud.restore(arrays, table(table(memory, "clouds"), cloud.name))
        except KeyError:
            raise KeyfluidError("the checkpoint does not fit the scene; run the scene again with --overwrite") from None
        if self.packed.size != 4 * self.lattice.total or self.packed.dtype != self.problem.dtype:
            raise KeyfluidError("the checkpoint does not fit the scene; run the scene again with --overwrite")

    @contextmanager
    def _timed(self, module: str) -> Iterator[None]:
        began = wall.perf_counter()
        yield
        self.seconds[module] = self.seconds.get(module, 0.0) + wall.perf_counter() - began
