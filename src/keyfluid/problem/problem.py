"""A problem: the fluid at the start, what acts on it, and what is asked of it, all on one grid.

Problem and Fluid know each other, so they share a file. The fluids themselves are in keyfluid/fluids.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import inf
from typing import ClassVar, Literal, Protocol

import numpy as np

from keyfluid.fields import Field
from keyfluid.grid import Grid
from keyfluid.models.air import TEMPERATURE
from keyfluid.models.wind import Wind
from keyfluid.objectives.match import KeyframeMatch
from keyfluid.problem.emission import Emission
from keyfluid.problem.film import EditedFilm
from keyfluid.problem.search import SearchDefaults
from keyfluid.problem.steps import Steps
from keyfluid.problem.targets import Flow, Keyframe, Picture, TargetBody
from keyfluid.solids import Solids
from keyfluid.tables import Table


@dataclass(frozen=True)
class EngineOptions:
    """How the engine advects: order of the backtrace, feet traced per field or shared, interpolation."""

    order: Literal[1, 2, 3]
    feet: Literal["own", "shared"]
    interpolation: Literal["linear", "cubic"]


class MovingSolids(Protocol):
    """The obstacles over time: None where there are none, one object for all times unless some `move`."""

    @property
    def move(self) -> bool: ...
    def __call__(self, time: float) -> Solids | None: ...


@dataclass(frozen=True, kw_only=True)
class Fluid(ABC):
    """What is moved. docs/methods.md ("A new fluid") tells what to write for another one.

    name       as the scene's table is called
    drawn_as   what pictures show: "density" (its fields are densities) or "surface" (its field is a signed distance)
    fast       share of the longest side that it may cross in a step before a run notes it
    in_bodies  whether its field has values inside bodies, which are not matter: a signed distance does
    viscosity  m^2/s
    dissipation  share of it that is lost per second (of what is left), 1/s
    mesh       whether frames of a 3D scene are also written as meshes
    """

    name: ClassVar[str]
    drawn_as: ClassVar[Literal["density", "surface"]]
    fast: ClassVar[float] = inf
    in_bodies: ClassVar[bool] = False

    viscosity: float
    dissipation: float = 0.0
    mesh: bool = False

    @property
    def weight(self) -> float:
        """The upward acceleration that holds it where it is, m/s^2."""
        return 0.0

    @abstractmethod
    def amount(self, values: np.ndarray, spacing: float) -> np.ndarray:
        """What counts as matter in a cell, from the values of its field."""

    @abstractmethod
    def acceleration(self, densities: Iterable[float], temperature: float = 0.0) -> float:
        """The largest that it gives itself where its fields are at most these, m/s^2."""

    @abstractmethod
    def initial(self, grid: Grid, dtype: np.dtype, values: np.ndarray, bodies: Sequence[TargetBody]) -> Field:
        """One of its fields at frame 0, where it fills cells to these values, which come from these bodies."""

    @abstractmethod
    def wanted(self, problem: Problem, key: Keyframe) -> np.ndarray:
        """A keyframe as values of its field, to be drawn."""

    @abstractmethod
    def steps(self, problem: Problem) -> Steps:
        """Its model with the scene's sources and bodies in place."""

    @abstractmethod
    def match(
        self, problem: Problem, frames: tuple[int, int], blur: float, pyramid: int | None = None, far: float = 0.0
    ) -> KeyframeMatch | None:
        """The distance to the keyframes after frames[0], up to frames[1]; None if there are none.

        blur: width of gamma in metres, 0 for none; pyramid: levels of the Gaussian pyramid to use instead; far:
        beta of the long-range part, of fluids that take one.
        """

    @abstractmethod
    def search(self, problem: Problem) -> SearchDefaults:
        """What the search for its forces takes by default."""

    @abstractmethod
    def cells_crossed(self, problem: Problem, speed: float, dt: float, time: float) -> float:
        """Cells that it crosses in a step of `dt` seconds; raises BlowUp if no simulation can mean that."""

    def culprit(self, problem: Problem) -> tuple[str, float] | None:
        """The key of its table that most likely made it too fast, and its value."""
        return None

    def score(self, key: Keyframe, ratio: float) -> dict[str, float]:
        """What else a keyframe's entry in result.json has; ratio: mass reached over mass wanted."""
        return {}

    def totals(
        self, masses: Sequence[float], given: float, numbers: Mapping[str, float]
    ) -> dict[str, dict[str, float]]:
        """What else result.json has, under its name: from the mass at each frame, what sources gave, and the numbers
        of its steps, added up."""
        return {}


@dataclass(frozen=True, eq=False)
class Problem(ABC):
    """What a method may ask.

    grid, dtype, fps, frames     frame f is at f / fps seconds; frame 0 is the start
    steps_per_frame, cfl         fixed steps, or None: steps of at most cfl cells, trimmed to frames
    densities                    {field: Field of centres}, zero in solids; of a liquid {"surface": signed distance}
    velocity                     Field of faces at frame 0, not yet projected
    temperature                  Field of centres at frame 0, kelvin above the air around; None where nothing is warm
    sources, winds, solids       what flows in; what blows; obstacles by time in seconds
    fluid, up, engine            what it is, which axis is up, how it is computed
    keyframes, pictures, flows   what is asked, in order of frames
    edit                         the film to change, or None
    peaks                        {field: density that counts as full smoke}
    control                      the method's own table of the scene
    seed                         of everything random
    memory_estimate_bytes, memory_limit_bytes              of a free run; what the machine has, None if nobody knows
    """

    grid: Grid
    dtype: np.dtype
    fps: float
    frames: int
    steps_per_frame: int | None
    cfl: float
    densities: Mapping[str, Field]
    velocity: Field
    temperature: Field | None
    sources: Sequence[Emission]
    winds: Sequence[Wind]
    solids: MovingSolids
    fluid: Fluid
    up: int
    engine: EngineOptions
    keyframes: Sequence[Keyframe]
    pictures: Sequence[Picture]
    flows: Sequence[Flow]
    edit: EditedFilm | None
    peaks: Mapping[str, float]
    control: Table
    seed: int
    memory_estimate_bytes: int
    memory_limit_bytes: int | None

    @property
    def method(self) -> str:
        """`control.method`."""
        return str(getattr(self.control, "method"))  # noqa: B009

    @property
    def keeps_carriers(self) -> bool:
        """Whether frames keep the velocities that led to them."""
        return bool(self.keyframes) and bool(getattr(self.control, "carriers", True))

    @property
    def start(self) -> dict[str, Field]:
        """The state at frame 0."""
        warm = {} if self.temperature is None else {TEMPERATURE: self.temperature}
        return {**self.densities, **warm, "velocity": self.velocity}

    @property
    def carried(self) -> tuple[str, ...]:
        """Names of the centred fields of a state: densities, and the temperature if there is one."""
        return tuple(name for name in self.start if name != "velocity")

    def amounts(self, values: Mapping[str, np.ndarray], time: float) -> dict[str, np.ndarray]:
        """What counts as matter in each cell, from the values of the fluid's fields at a time in seconds."""
        found = {name: self.fluid.amount(array, self.grid.spacing) for name, array in values.items()}
        bodies = self.solids(time) if self.fluid.in_bodies else None
        if bodies is None:
            return found
        return {name: np.where(bodies.solid, array.dtype.type(0), array) for name, array in found.items()}

    @abstractmethod
    def coarser(self, factor: int) -> Problem:
        """The same problem with `factor` times fewer cells per axis; raises if that grid can't hold it."""
