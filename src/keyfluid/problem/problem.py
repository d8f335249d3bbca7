"""A problem: the fluid at the start, what acts on it, and what is asked of it, all on one grid."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from keyfluid.fields import Field
from keyfluid.grid import Grid
from keyfluid.models.liquid import filled
from keyfluid.problem.emission import Emission
from keyfluid.problem.film import EditedFilm
from keyfluid.problem.targets import Flow, Keyframe, Picture
from keyfluid.solids import Solids
from keyfluid.tables import Table


@dataclass(frozen=True)
class EngineOptions:
    """How the engine advects: order of the backtrace, feet traced per field or shared, interpolation."""

    order: Literal[1, 2, 3]
    feet: Literal["own", "shared"]
    interpolation: Literal["linear", "cubic"]


@dataclass(frozen=True)
class LiquidOptions:
    """gravity m/s^2, downwards; viscosity m^2/s; keep_volume: give back what a step loses; paper_order: McNamara's."""

    gravity: float
    viscosity: float
    keep_volume: bool
    paper_order: bool


class MovingSolids(Protocol):
    """The obstacles over time: None where there are none, one object for all times unless some `move`."""

    @property
    def move(self) -> bool: ...
    def __call__(self, time: float) -> Solids | None: ...


@dataclass(frozen=True, eq=False)
class Problem(ABC):
    """What a method may ask.

    grid, dtype, fps, frames     frame f is at f / fps seconds; frame 0 is the start
    steps_per_frame, cfl         fixed steps, or None: steps of at most cfl cells, trimmed to frames
    densities                    {field: Field of centres}, zero in solids; of a liquid {"surface": signed distance}
    velocity                     Field of faces at frame 0, not yet projected
    sources, solids              what flows in; obstacles by time in seconds
    buoyancy, up, viscosity, vorticity, liquid, engine     the model
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
    sources: Sequence[Emission]
    solids: MovingSolids
    buoyancy: float
    up: int
    viscosity: float
    vorticity: float
    liquid: LiquidOptions | None
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

    def amount(self, values: np.ndarray) -> np.ndarray:
        """What counts as matter in a cell: density, or of a liquid the share of each cell that it fills."""
        return values if self.liquid is None else filled(values, self.grid.spacing)

    @abstractmethod
    def coarser(self, factor: int) -> Problem:
        """The same problem with `factor` times fewer cells per axis; raises if that grid can't hold it."""
