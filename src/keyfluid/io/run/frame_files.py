"""frames/0000.npz and so on: one file per frame in run precision, which knows its number and its run."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.grid import Grid
from keyfluid.io.container import check_arrays, damaged, is_packed, load_arrays, load_meta, save_arrays
from keyfluid.io.run.layout import frame_file, frame_files
from keyfluid.io.run.owned import OwnedFolder
from keyfluid.io.run.stored_frame import FrameMeta, StoredFrame, checked_meta

_AHEAD = 32
"""Frames that are listed in the folder's record at once."""


def is_one_of(name: object, runs: Collection[str | None]) -> bool:
    """Whether a run's name, as a file has it, is one of these."""
    return (name is None or isinstance(name, str)) and name in runs


class FrameFiles:
    """Frames of the run in `path`; `owned` where they may be written. run: what new frames are marked with."""

    def __init__(
        self, path: Path, run: str | None = None, runs: Collection[str | None] = (), owned: OwnedFolder | None = None
    ) -> None:
        self.root, self.run, self.runs, self.owned = path, run, frozenset(runs), owned

    def path(self, index: int) -> Path:
        return self.root / frame_file(index)

    def put(self, frame: StoredFrame) -> None:
        assert self.owned is not None, "opened for reading"
        index = frame.meta["index"]
        if frame_file(index) not in self.owned.record.files:
            self.owned.expect(map(frame_file, range(index, index + _AHEAD)))
        with self.owned.writing(frame_file(index)) as path:
            save_arrays(path, frame.arrays, {**frame.meta, "run": self.run}, packing=frame.packing)

    def read(self, index: int, wanted: Callable[[str], bool] = lambda name: True) -> StoredFrame:
        """A frame; wanted: which of its arrays, carriers apart, which are packed after one another."""
        arrays, meta = load_arrays(self.path(index), wanted)
        own = self._own(index, meta)
        for name, array in arrays.items():
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise KeyfluidError(f"{self.path(index)}: {name} holds values that are not finite")
        return StoredFrame(arrays, own)

    def pack(self, index: int, grid: Grid, fields: Iterable[str]) -> None:
        """Write a frame of an older run again, packed, if it is ours and is not."""
        assert self.owned is not None, "opened for reading"
        if self.owned.owns(frame_file(index)) and not is_packed(self.path(index)):
            frame = self.read(index)
            self.put(StoredFrame.of(frame.record(grid, fields), frame.meta))

    def meta(self, index: int) -> FrameMeta:
        return self._own(index, load_meta(self.path(index)))

    def indices(self) -> list[int]:
        names = (path.stem for path in frame_files(self.root))
        return sorted(int(name) for name in names if name.isascii() and name.isdecimal())

    def check(self, index: int) -> None:
        """Raise if a frame is missing, damaged, not finite, or not this frame of this run."""
        self._own(index, check_arrays(self.path(index)))

    def whole(self) -> int:
        """The last frame before the first damaged one; -1 if there is none."""
        last = -1
        for index in self.indices():
            try:
                self.check(index)
            except KeyfluidError:
                break
            last = index
        return last

    def drop_after(self, index: int) -> None:
        assert self.owned is not None, "opened for reading"
        for later in self.indices():
            if later > index:
                self.owned.remove(frame_file(later))

    def _own(self, index: int, meta: Mapping[str, Any]) -> FrameMeta:
        if meta.get("index") != index:
            raise KeyfluidError(f"{self.path(index)}: is frame {meta.get('index')!r} under another name")
        if self.runs and not is_one_of(meta.get("run"), self.runs):
            raise KeyfluidError(f"{self.path(index)}: is a frame of another run")
        try:
            return checked_meta(meta)
        except ValueError as error:
            raise damaged(self.path(index), error) from None
