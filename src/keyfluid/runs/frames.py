"""Frames of a run, in files (io/run/frame_files.py) or in memory; the same reading for both."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.grid import Kind
from keyfluid.io.run.stored_frame import FrameMeta, StoredFrame
from keyfluid.models.air import TEMPERATURE
from keyfluid.problem import Problem


@dataclass(frozen=True, eq=False)
class Frame:
    """A frame as read back. Arrays are a[x, y] or a[x, y, z]."""

    index: int
    densities: dict[str, np.ndarray]
    velocity: Field
    force: Field | None
    carriers: Sequence[tuple[float, Field]]
    """(seconds, velocity) of the steps that led here; empty in scenes without keyframes."""
    meta: FrameMeta
    particles: dict[str, np.ndarray]
    surface: np.ndarray | None = None
    """A liquid's signed distance, metres; `densities` then has the share of each cell that it fills."""
    temperature: np.ndarray | None = None
    """Kelvin above the air around, where a scene warms something."""


def _all(name: str) -> bool:
    return True


class FrameStore(Protocol):
    """Where frames are put and found; wanted: which arrays to read, by name, carriers apart."""

    def put(self, frame: StoredFrame) -> None: ...
    def read(self, index: int, wanted: Callable[[str], bool] = ...) -> StoredFrame: ...
    def meta(self, index: int) -> FrameMeta: ...
    def indices(self) -> list[int]: ...


class MemoryFrames:
    """Frames of a run without a folder."""

    def __init__(self) -> None:
        self._kept: dict[int, StoredFrame] = {}

    def put(self, frame: StoredFrame) -> None:
        self._kept[frame.meta["index"]] = frame

    def read(self, index: int, wanted: Callable[[str], bool] = _all) -> StoredFrame:
        return self._kept[index]

    def meta(self, index: int) -> FrameMeta:
        return self._kept[index].meta

    def indices(self) -> list[int]:
        return sorted(self._kept)

    def keep(self, indices: Iterable[int]) -> None:
        """Forget all other frames."""
        self._kept = {index: self._kept[index] for index in indices if index in self._kept}


class Frames:
    """Frames with their fields rebuilt: frames[3], len(frames), for frame in frames."""

    def __init__(self, store: FrameStore, problem: Problem) -> None:
        self.store, self._problem = store, problem

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
        stored = self.store.read(index)
        record = stored.record(self._problem.grid, self._problem.carried)
        heat = record.state.get(TEMPERATURE)
        values = {name: record.state[name].array for name in self._problem.densities}
        densities = self._problem.amounts(values, index / self._problem.fps)
        return Frame(
            index, densities, record.state["velocity"], record.force, record.carriers, stored.meta,
            dict(record.particles), values.get("surface"), heat.array if heat is not None else None,
        )  # fmt: skip

    def densities(self, index: int) -> dict[str, np.ndarray]:
        """Those of `self[index]`, read without velocities."""
        return self._problem.amounts(self.fields(index), index / self._problem.fps)

    def fields(self, index: int) -> dict[str, np.ndarray]:
        """The densities of a frame as they are stored, or a liquid's distance, without its velocities, which take most
        of the time to read."""
        names = self._problem.densities
        stored = self.store.read(index, lambda name: name in names)
        try:
            return {name: Field(self._problem.grid, Kind.CENTRES, stored.arrays[name]).array for name in names}
        except (KeyError, ValueError):
            raise KeyfluidError(f"frame {index} does not fit the scene; run it again with --overwrite") from None
