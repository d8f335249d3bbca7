"""Frames as a method hands them over, and a film that is to be changed."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

import numpy as np

from keyfluid.fields import Field
from keyfluid.models.state import State
from keyfluid.problem.kept import Meta


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
    memory: Meta = field(default_factory=dict)
    particles: Mapping[str, np.ndarray] = field(default_factory=dict)
    divergence: float | None = None
    numbers: Mapping[str, float] = field(default_factory=dict)


def dissipated_name(field: str) -> str:
    """Under which a frame's numbers have the mass of a field that has dissipated."""
    return f"dissipated_{field}"


def gathered_name(fields: Collection[str], field: str) -> str:
    """Under which result.json has the share of a field that was gathered."""
    return "gathered" if len(fields) == 1 else f"gathered_{field}"


class EditedFilm(Protocol):
    """A film that is changed after frame `first`; control ends at `last` (None: at the last keyframe)."""

    @property
    def first(self) -> int: ...
    @property
    def last(self) -> int | None: ...
    @property
    def paths(self) -> int:
        """Paths of a cell along which its smoke was carried; 0: the grid carried it."""
        ...

    def record(self, index: int) -> FrameRecord:
        """A frame as it was."""
        ...

    def force(self, index: int) -> Field | None:
        """The force that acted on the way to a frame."""
        ...
