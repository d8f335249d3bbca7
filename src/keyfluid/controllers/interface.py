"""What a method is given and what it gives back. docs/methods.md tells it to authors, with an example.

    class Controller:
        def memory_bytes(self, problem) -> int      what it needs beyond a free run
        def run(self, problem, shell) -> None       simulate, and hand every frame to the shell

`problem` is the scene on the grid; `shell` takes frames, checkpoints and numbers, says where to go on, and when
to stop. Both are described here by their shape: controllers stand below scenes and run folders and import neither.

A run may be killed at any moment and continued from its last checkpoint, and must then end in the same bits.
So a controller keeps nothing that matters outside of what it gives to `checkpoint`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from keyfluid.fields import Field
from keyfluid.grid import Grid
from keyfluid.models.state import State
from keyfluid.operators.glow import Glow
from keyfluid.solids import Solids


class Emission(Protocol):
    """A source on the grid; acts from frame `start` until frame `stop` (scenes/present.py)."""

    @property
    def field(self) -> str: ...
    @property
    def mask(self) -> np.ndarray: ...
    @property
    def rate(self) -> float | None: ...
    @property
    def density(self) -> float | None: ...
    @property
    def velocity(self) -> tuple[float, ...] | None: ...
    @property
    def start(self) -> int: ...
    @property
    def stop(self) -> int: ...
    def wind(self, grid: Grid) -> tuple[Field, Field]: ...
    def emitted(self, frame: int, fps: float, spacing: float) -> float: ...


class Body(Protocol):
    """What a keyframe is made of, for methods that need its shape and motion (scenes/sources.py)."""

    def signed_distance(self, cells: tuple[int, ...], spacing: float, time: float) -> np.ndarray:
        """Metres, negative inside, at the centres of cells that fill the domain."""
        ...

    def surface(self, grid: Grid, time: float) -> tuple[np.ndarray, np.ndarray] | None:
        """Vertices (n, 3) in metres and faces of an animated mesh at a time; None for what does not move."""
        ...


class Keyframe(Protocol):
    """A target of one field at a frame (scenes/keyframes.py); `mask` is None where all of it counts."""

    @property
    def frame(self) -> int: ...
    @property
    def field(self) -> str: ...
    @property
    def target(self) -> np.ndarray: ...
    @property
    def weight(self) -> float: ...
    @property
    def mask(self) -> np.ndarray | None: ...
    @property
    def hold(self) -> int: ...
    @property
    def bound(self) -> float | None: ...
    @property
    def body(self) -> Body: ...
    @property
    def path(self) -> str: ...


class Picture(Protocol):
    """How one field should look at a frame (scenes/pictures.py)."""

    @property
    def frame(self) -> int: ...
    @property
    def field(self) -> str: ...
    @property
    def view(self) -> Glow: ...
    @property
    def wanted(self) -> np.ndarray: ...
    @property
    def weight(self) -> float: ...


class Flow(Protocol):
    """How the air should move at a frame (scenes/flows.py)."""

    @property
    def frame(self) -> int: ...
    @property
    def velocity(self) -> Field: ...
    @property
    def mask(self) -> Field: ...
    @property
    def speed(self) -> float: ...
    @property
    def weight(self) -> float: ...


class Edit(Protocol):
    """A film that is changed after frame `first` (scenes/other_run.py)."""

    @property
    def first(self) -> int: ...
    @property
    def last(self) -> int | None: ...
    def record(self, index: int) -> FrameRecord:
        """A frame as it was."""
        ...

    def force(self, index: int) -> Field | None:
        """The force that acted on the way to a frame."""
        ...


class Bodies(Protocol):
    """The obstacles over time; None where there are none, one object for all times unless some `move`."""

    @property
    def move(self) -> bool: ...
    def __call__(self, time: float) -> Solids | None: ...


class Problem(Protocol):
    """What a controller may ask of a scene; scenes/problem.py has the meaning of each."""

    @property
    def scene(self) -> Any:
        """The scene's tables: `scene.control` has the method's own keys, `scene.simulation` the engine's."""
        ...

    @property
    def grid(self) -> Grid: ...
    @property
    def dtype(self) -> np.dtype: ...
    @property
    def fps(self) -> float: ...
    @property
    def frames(self) -> int: ...
    @property
    def steps_per_frame(self) -> int | None: ...
    @property
    def cfl(self) -> float: ...
    @property
    def densities(self) -> Mapping[str, Field]: ...
    @property
    def velocity(self) -> Field: ...
    @property
    def sources(self) -> Sequence[Emission]: ...
    @property
    def solids(self) -> Bodies: ...
    @property
    def buoyancy(self) -> float: ...
    @property
    def up(self) -> int: ...
    @property
    def viscosity(self) -> float: ...
    @property
    def vorticity(self) -> float: ...
    @property
    def keyframes(self) -> Sequence[Keyframe]: ...
    @property
    def pictures(self) -> Sequence[Picture]: ...
    @property
    def flows(self) -> Sequence[Flow]: ...
    @property
    def edit(self) -> Edit | None: ...
    @property
    def peaks(self) -> Mapping[str, float]: ...
    @property
    def liquid(self) -> Any:
        """[liquid]; None for smoke."""
        ...

    def amount(self, values: np.ndarray) -> np.ndarray:
        """What counts as matter in a cell: density, or the share of it that liquid fills."""
        ...

    @property
    def memory_estimate_bytes(self) -> int:
        """Of a free run."""
        ...

    @property
    def memory_limit_bytes(self) -> int | None:
        """What the machine has; None if nobody knows."""
        ...

    def coarser(self, factor: int) -> Problem:
        """The same scene with `factor` times fewer cells per axis; raises if that grid can't hold it."""
        ...


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """All that a controller needs to go on: arrays in run precision, and numbers, strings and lists."""

    arrays: Mapping[str, np.ndarray]
    meta: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class FrameRecord:
    """One frame of the film, and how the flow got there from the frame before.

    state      densities and velocity at the frame
    force      mean control force since the frame before, faces, m/s^2; None if nothing steered
    carriers   (seconds, velocity) of every step since the frame before, in order: the field that advected. The
               shell measures divergence on them, and carries the start through them (transported_iou)
    emitted    mass that sources gave since the frame before, per field
    memory     numbers that `resume --from` needs to go on from this frame, beside the state
    particles  arrays of a method that lives on particles; stored with the frame, and given back by `resume --from`
    divergence relative, of what advected, where only part of a carrier counts (a liquid's); else measured on carriers
    numbers    what else is worth a curve in the report, and is added up over frames for result.json
    """

    index: int
    state: State
    force: Field | None = None
    carriers: Sequence[tuple[float, Field]] = ()
    emitted: Mapping[str, float] = field(default_factory=dict)
    memory: Mapping[str, Any] = field(default_factory=dict)
    particles: Mapping[str, np.ndarray] = field(default_factory=dict)
    divergence: float | None = None
    numbers: Mapping[str, float] = field(default_factory=dict)


class Stopped(Exception):
    """The user asked to stop. Raised by a controller, between steps, when all that must be kept is kept."""


class Shell(Protocol):
    """What a run offers to its controller."""

    @property
    def restored(self) -> Checkpoint | None:
        """Where to go on; None: from the start. After `resume --from F` it holds the state of frame F, with its
        `memory` and "frame" in meta; a method that can't go on from a frame says so (`begins_from_frames`)."""
        ...

    @property
    def stop_requested(self) -> bool:
        """Look at it between steps; when it is True, save what is worth it and raise Stopped."""
        ...

    def frame(self, record: FrameRecord) -> None:
        """A frame is ready (frame 0 too). It is on disk when this returns. May be repeated with a better one."""
        ...

    def has_frames(self, last: int) -> bool:
        """Whether frames 0 to `last` have been given."""
        ...

    def checkpoint(
        self,
        arrays: Mapping[str, np.ndarray],
        meta: Mapping[str, Any],
        part: str | None = None,
        keep: Sequence[str] = (),
    ) -> None:
        """After each frame or iteration: replaces the checkpoint before it, whole or not at all.

        Where a checkpoint shares most of its arrays with the one before, give only the new ones, as `part`, and
        the names of earlier parts to `keep`; restored, arrays of parts are named "part/array".
        """
        ...

    def other_run(self, folder: str) -> tuple[Problem, Checkpoint]:
        """The scene and the last checkpoint of another run, to begin from what it found."""
        ...

    def show(self, since: float | None = None) -> None:
        """The frames given so far make a film, though not the final one: draw its strip and its curves.

        since: when (time.perf_counter) work on that film began, if it was made to be shown: previews take a tenth of
        a run's time at most, films included.
        """
        ...

    @property
    def show_due(self) -> bool:
        """Somebody may be waiting for a picture: it is a while since the last one."""
        ...

    def note(self, text: str, about: str = "") -> None:
        """A line for the user that also stays in result.json's history: why something ended early, say.

        about: a subject on which only the first note of a run is taken, before and after a resume together.
        """
        ...

    def progress(
        self, done: int, total: int, unit: str = "frame", error: float | None = None, note: str = ""
    ) -> None:
        """For the person who waits: `done` of `total` frames or iterations, and the error so far."""
        ...

    def control(self, current: Any) -> Any:
        """[control] as it should be from the next frame on: `current`, unless somebody edits it (`run --watch`)."""
        ...

    def log(self, **values: float) -> None:
        """One entry of result.json's `history`, such as iteration=3, objective=0.2. No timings: two runs of a
        scene have the same history. Frames make their own entries."""
        ...

    def count(self, iterations: int = 0, evaluations: int = 0) -> None:
        """Add to what result.json reports; an evaluation is one simulation from the start to the last frame."""
        ...


class Controller(Protocol):
    """A method."""

    def memory_bytes(self, problem: Problem) -> int:
        """What the method holds beyond a free simulation, for the estimate before a run."""
        ...

    def run(self, problem: Problem, shell: Shell) -> None:
        """Simulate from `shell.restored` or the start to the last frame; raise Stopped to end early."""
        ...


def plan_lines(controller: Controller, problem: Problem) -> Sequence[str]:
    """What a method will search or store, told before a run; a method says so in `plan_lines(problem)`, if it does."""
    lines: Sequence[str] = controller.plan_lines(problem) if hasattr(controller, "plan_lines") else ()
    return lines


def check_first(controller: Controller, problem: Problem, shell: Shell) -> None:
    """What a method can't do, raised before anything is written: by `check(problem, shell)` of a method that has one.

    Of the shell only `other_run` may be asked.
    """
    if hasattr(controller, "check"):
        controller.check(problem, shell)


def begins_from_frames(controller: Controller) -> bool:
    """Whether `resume --from` can be asked of a method: not of one with `begins_from_frames = False`."""
    return bool(getattr(controller, "begins_from_frames", True))


def films_again(controller: Controller) -> bool:
    """Whether frames are films of what a checkpoint holds, so that damaged ones can be made again from it."""
    return bool(getattr(controller, "films_again", False))


def stored_bytes(controller: Controller, problem: Problem) -> int:
    """What a method's checkpoint takes on disk beyond a state: `stored_bytes(problem)` of a method that says so."""
    return int(controller.stored_bytes(problem)) if hasattr(controller, "stored_bytes") else 0


def simulations(controller: Controller, problem: Problem) -> float:
    """How many free simulations' work a run is: `simulations(problem)` of a method that needs more than one."""
    return float(controller.simulations(problem)) if hasattr(controller, "simulations") else 1.0
