"""Frames of a run: files (io/run/frame_files.py) or in memory; the same reading for both.

A frame holds the state (densities, velocity), the force if one acted and, in a scene with keyframes, the
velocities that advected ("carrier.0", ...); of methods that live on particles also those ("particles.NAME"). Its meta
data has what the metrics need, so that a run can be summed up without reading arrays, and what `resume --from` needs to
go on from it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind

PARTICLES = "particles."
"""Begins the names of particle arrays in frame files."""


@dataclass(frozen=True, eq=False)
class Frame:
    """A frame as read back. Arrays are a[x, y] or a[x, y, z]."""

    index: int
    densities: dict[str, np.ndarray]
    velocity: Field
    force: Field | None
    carriers: list[tuple[float, Field]]
    """(seconds, velocity) of the steps that led here; empty in scenes without keyframes."""
    meta: Mapping[str, Any]
    particles: dict[str, np.ndarray]
    surface: np.ndarray | None = None
    """A liquid's signed distance, metres; `densities` then has the share of each cell that it fills."""


class FrameStore(Protocol):
    """Where frames are put and found."""

    def put(self, index: int, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> None: ...
    def arrays(self, index: int) -> tuple[Mapping[str, np.ndarray], Mapping[str, Any]]: ...
    def meta(self, index: int) -> Mapping[str, Any]: ...
    def indices(self) -> list[int]: ...


class MemoryFrames:
    """Frames of a run without a folder."""

    def __init__(self) -> None:
        self._kept: dict[int, tuple[Mapping[str, np.ndarray], Mapping[str, Any]]] = {}

    def put(self, index: int, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> None:
        self._kept[index] = (dict(arrays), dict(meta))

    def arrays(self, index: int) -> tuple[Mapping[str, np.ndarray], Mapping[str, Any]]:
        return self._kept[index]

    def meta(self, index: int) -> Mapping[str, Any]:
        return self._kept[index][1]

    def indices(self) -> list[int]:
        return sorted(self._kept)

    def keep(self, indices: Iterable[int]) -> None:
        """Forget all other frames."""
        self._kept = {index: self._kept[index] for index in indices if index in self._kept}


class Frames:
    """Frames with their fields rebuilt: frames[3], len(frames), for frame in frames."""

    def __init__(
        self,
        store: FrameStore,
        grid: Grid,
        fields: list[str],
        amount: Callable[[np.ndarray], np.ndarray] = lambda values: values,
    ) -> None:
        self.store, self.grid, self.fields, self._amount = store, grid, fields, amount

    def __len__(self) -> int:
        return len(self.store.indices())

    def __iter__(self) -> Iterator[Frame]:
        return (self[index] for index in self.store.indices())

    def __getitem__(self, index: int) -> Frame:
        indices = self.store.indices()
        if index < 0 and indices:
            index += indices[-1] + 1
        if index not in indices:
            raise IndexError(f"frame {index}: this run has {len(indices)} frames")
        arrays, meta = self.store.arrays(index)
        try:
            faces = {
                name: Field(self.grid, Kind.FACES, values)
                for name, values in arrays.items()
                if name not in self.fields and not name.startswith(PARTICLES)
            }
            particles = {
                name.removeprefix(PARTICLES): np.asarray(values)
                for name, values in arrays.items()
                if name.startswith(PARTICLES)
            }
            stored = {name: np.asarray(arrays[name]).reshape(self.grid.cells) for name in self.fields}
            densities = {name: self._amount(values) for name, values in stored.items()}
            surface = stored.get("surface")
            carriers = [(seconds, faces[f"carrier.{i}"]) for i, seconds in enumerate(meta["carrier_seconds"])]
            return Frame(index, densities, faces["velocity"], faces.get("force"), carriers, meta, particles, surface)
        except (KeyError, ValueError):
            raise KeyfluidError(f"frame {index} does not fit the scene; run it again with --overwrite") from None
