"""What the file of a frame holds: arrays by name, and meta data in JSON.

    density, ... or surface    the fields of the state, one value per cell
    temperature                of the state, one value per cell, where something is warm
    velocity                   of the state, on faces
    force                      mean control force since the frame before, where one acted
    carrier.0, carrier.1, ...  velocities that advected, where Problem.keeps_carriers
    particles.NAME             arrays of a method that lives on particles

The meta data has what the metrics need, so that a run can be summed up without reading arrays, and what
`resume --from` needs to go on from a frame.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NotRequired

import numpy as np
from pydantic import ConfigDict, TypeAdapter, with_config
from typing_extensions import TypedDict

from keyfluid.errors import KeyfluidError
from keyfluid.fields import REAL, Field
from keyfluid.grid import Grid, Kind
from keyfluid.io.packed import Packing
from keyfluid.problem import FrameRecord

_VELOCITY, _FORCE, _CARRIER, _PARTICLES = "velocity", "force", "carrier.", "particles."
_NEAREST = 3
"""Carriers that the one before them is packed after."""


@with_config(ConfigDict(extra="allow", strict=True))
class FrameMeta(TypedDict):
    """The keys in the order of the file; runs/recorder.py fills them.

    time            of the frame, seconds
    mass, emitted   per field: what there is, and what sources gave since the frame before
    left            per field, what left through open sides since the frame before; only where there are some
    numbers         of the method; runs from before liquids have none
    force_square    mean square of the force
    error           against the keyframes that come next, None after the last
    step_seconds    of every step since the frame before
    carrier_seconds of those whose velocities are stored
    memory          what the method needs to go on from here, beside the arrays
    run             whose frame it is; runs without a record have none
    """

    index: int
    time: float
    mass: dict[str, float]
    emitted: dict[str, float]
    left: NotRequired[dict[str, float]]
    divergence: float
    numbers: NotRequired[dict[str, float]]
    force_square: float
    error: float | None
    step_seconds: list[float]
    carrier_seconds: list[float]
    memory: dict[str, Any]
    run: NotRequired[str | None]


_META = TypeAdapter(FrameMeta)


def checked_meta(content: Mapping[str, Any]) -> FrameMeta:
    """The same, once every value is where it is expected; raises ValueError if not."""
    _META.validate_python(content)
    return content  # type: ignore[return-value]


@dataclass(frozen=True, eq=False)
class StoredFrame:
    """A frame as it is stored, in a file or in memory; packing: how its arrays take less space in a file."""

    arrays: Mapping[str, np.ndarray]
    meta: FrameMeta
    packing: Mapping[str, Packing] = field(default_factory=dict)

    @classmethod
    def of(cls, record: FrameRecord, meta: FrameMeta) -> StoredFrame:
        """With as many carriers as the meta data has seconds of.

        Carriers are packed from the last, which is close to the velocity, to the first, each after the ones before.
        """
        fields = dict(record.state)
        if record.force is not None:
            fields[_FORCE] = record.force
        carriers = [velocity for _, velocity in record.carriers[: len(meta["carrier_seconds"])]]
        row: list[str] = []
        after = {}
        for i in reversed(range(len(carriers))):
            name = f"{_CARRIER}{i}"
            fields[name], after[name] = carriers[i], tuple(row[:_NEAREST]) or (_VELOCITY,)
            row.insert(0, name)
        arrays = {name: values.data for name, values in fields.items()}
        packing = {
            name: Packing(tuple(values.grid.shapes(values.kind)), after.get(name, ()))
            for name, values in fields.items()
        }
        for name, values in record.particles.items():
            arrays[_PARTICLES + name] = values
            if values.dtype in REAL:
                packing[_PARTICLES + name] = Packing(((values.size,),))
        return cls(arrays, meta, packing)

    def record(self, grid: Grid, fields: Iterable[str]) -> FrameRecord:
        """As the method gave it; raises if it is of another grid or has other fields."""
        index = self.meta["index"]
        try:
            state = {name: Field(grid, Kind.CENTRES, self.arrays[name]) for name in fields}
            state[_VELOCITY] = Field(grid, Kind.FACES, self.arrays[_VELOCITY])
            force = Field(grid, Kind.FACES, self.arrays[_FORCE]) if _FORCE in self.arrays else None
            carriers = [
                (seconds, Field(grid, Kind.FACES, self.arrays[f"{_CARRIER}{i}"]))
                for i, seconds in enumerate(self.meta["carrier_seconds"])
            ]
        except (KeyError, ValueError):
            raise KeyfluidError(f"frame {index} does not fit the scene; run it again with --overwrite") from None
        particles = {n.removeprefix(_PARTICLES): v for n, v in self.arrays.items() if n.startswith(_PARTICLES)}
        return FrameRecord(
            index, state, force, carriers, self.meta["emitted"], self.meta["memory"], particles,
            numbers=self.meta.get("numbers", {}),
        )  # fmt: skip
