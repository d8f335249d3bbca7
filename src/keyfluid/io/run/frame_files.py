"""frames/0000.npz and so on: one file per frame in run precision, which knows its number and its run."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.io.container import check_arrays, load_arrays, load_meta, save_arrays
from keyfluid.io.run.owned import OwnedFolder

FRAMES = "frames"
_AHEAD = 32
"""Frames that are listed in the folder's record at once."""


def is_one_of(name: object, runs: Collection[str | None]) -> bool:
    """Whether a run's name, as a file has it, is one of these."""
    return (name is None or isinstance(name, str)) and name in runs


def frame_name(index: int) -> str:
    return f"{FRAMES}/{index:04d}.npz"


class FrameFiles:
    """Frames of the run in `path`; `owned` where they may be written. run: what new frames are marked with."""

    def __init__(
        self, path: Path, run: str | None = None, runs: Collection[str | None] = (), owned: OwnedFolder | None = None
    ) -> None:
        self.root, self.run, self.runs, self.owned = path, run, frozenset(runs), owned

    def path(self, index: int) -> Path:
        return self.root / frame_name(index)

    def put(self, index: int, arrays: Mapping[str, np.ndarray], meta: Mapping[str, Any]) -> None:
        assert self.owned is not None, "opened for reading"
        if frame_name(index) not in self.owned.record.files:
            self.owned.expect(map(frame_name, range(index, index + _AHEAD)))
        with self.owned.writing(frame_name(index)) as path:
            save_arrays(path, arrays, {**meta, "index": index, "run": self.run})

    def arrays(self, index: int) -> tuple[Mapping[str, np.ndarray], Mapping[str, Any]]:
        arrays, meta = load_arrays(self.path(index))
        self._require_own(index, meta)
        for name, array in arrays.items():
            if array.dtype.kind == "f" and not np.isfinite(array).all():
                raise KeyfluidError(f"{self.path(index)}: {name} holds values that are not finite")
        return arrays, meta

    def meta(self, index: int) -> Mapping[str, Any]:
        meta = load_meta(self.path(index))
        self._require_own(index, meta)
        return meta

    def indices(self) -> list[int]:
        names = (path.stem for path in (self.root / FRAMES).glob("*.npz"))
        return sorted(int(name) for name in names if name.isascii() and name.isdecimal())

    def check(self, index: int) -> None:
        """Raise if a frame is missing, damaged, not finite, or not this frame of this run."""
        self._require_own(index, check_arrays(self.path(index)))

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
                self.owned.remove(frame_name(later))

    def _require_own(self, index: int, meta: Mapping[str, Any]) -> None:
        if meta.get("index") != index:
            raise KeyfluidError(f"{self.path(index)}: is frame {meta.get('index')!r} under another name")
        if self.runs and not is_one_of(meta.get("run"), self.runs):
            raise KeyfluidError(f"{self.path(index)}: is a frame of another run")
