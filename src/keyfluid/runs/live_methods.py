"""The methods that run live, one frame at a time, behind one interface."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from keyfluid.controllers.particles.controller import densities_of, faces_of
from keyfluid.controllers.particles.simulation import ParticleSimulation, Report
from keyfluid.controllers.target.settings import TargetNumbers
from keyfluid.controllers.target.simulation import TargetSimulation
from keyfluid.errors import SceneError
from keyfluid.fields import Field
from keyfluid.problem import FrameRecord, Keyframe
from keyfluid.scenes.build.problem import BuiltScene

METHODS = ("particles", "target")


class LiveMethod(Protocol):
    """A simulation that stands at a frame."""

    simulation: Any

    def step(self, frame: int) -> Report | None:
        """From the frame before to this one; returns what the method reports of it."""
        ...

    def record(self, frame: int) -> FrameRecord:
        """The frame where it stands, for pictures."""
        ...

    def densities(self) -> Mapping[str, np.ndarray]:
        """On the scene's grid; of a liquid the share of each cell that it fills."""
        ...

    def velocity(self) -> Field: ...

    def markers(self) -> Mapping[str, np.ndarray]:
        """Positions (3, n) in metres, by kind of smoke; nothing of methods without markers."""
        ...

    def mass(self, field: str) -> float:
        """How much there is of one kind of smoke now, m^2 or m^3 at density 1."""
        ...

    def change(self, control: Any) -> None:
        """Other settings from the next frame on."""
        ...

    def retarget(self, keyframes: Sequence[Keyframe]) -> None:
        """Other targets from the next frame on."""
        ...


def live_method(problem: BuiltScene) -> LiveMethod:
    """The scene's method at frame 0; raises for methods that know all frames at once."""
    if problem.method == "particles":
        return LiveParticles(problem)
    if problem.method == "target":
        return LiveTarget(problem)
    raise SceneError("control.method", f"{problem.method!r} can't run live; use {' or '.join(map(repr, METHODS))}")


class LiveParticles:
    """Method "particles"."""

    def __init__(self, problem: BuiltScene) -> None:
        control: Any = problem.control
        self.simulation = ParticleSimulation(problem, control)
        self.simulation.begin()
        self.change, self.retarget = self.simulation.change, self.simulation.retarget

    def step(self, frame: int) -> Report:
        return self.simulation.frame(frame)

    def record(self, frame: int) -> FrameRecord:
        state = {**densities_of(self.simulation), "velocity": self.velocity()}
        memory = {**self.simulation.memory(), "changes": []}
        particles = {name: values.copy() for name, values in self.simulation.arrays().items()}
        return FrameRecord(frame, state, memory=memory, particles=particles)

    def densities(self) -> dict[str, np.ndarray]:
        return {name: field.array for name, field in densities_of(self.simulation).items()}

    def velocity(self) -> Field:
        return faces_of(self.simulation, self.simulation.packed)

    def markers(self) -> dict[str, np.ndarray]:
        return {cloud.name: cloud.markers.position for cloud in self.simulation.clouds}

    def mass(self, field: str) -> float:
        return sum(cloud.marker_mass * cloud.markers.count for cloud in self.simulation.clouds if cloud.name == field)


class _Unwatched:
    """A frame is taken to its end, and notes about it go nowhere: there is no run that would keep them."""

    stop_requested = False

    def note(self, text: str, about: str = "") -> None:
        pass


class LiveTarget:
    """Method "target", of smoke or a liquid."""

    def __init__(self, problem: BuiltScene) -> None:
        self.simulation = TargetSimulation(problem, TargetNumbers.of(problem))
        self._problem, self._record = problem, self.simulation.begin()
        self.change, self.retarget = self.simulation.change, self.simulation.retarget

    def step(self, frame: int) -> None:
        self._record = self.simulation.frame(frame, _Unwatched())

    def record(self, frame: int) -> FrameRecord:
        return self._record

    def densities(self) -> dict[str, np.ndarray]:
        state, problem = self.simulation.state, self._problem
        values = {name: state[name].array for name in problem.densities}
        return problem.amounts(values, self._record.index / problem.fps)

    def velocity(self) -> Field:
        return self.simulation.state["velocity"]

    def markers(self) -> dict[str, np.ndarray]:
        return {}

    def mass(self, field: str) -> float:
        return float(np.sum(self.densities()[field], dtype=np.float64)) * self._problem.grid.cell_volume
