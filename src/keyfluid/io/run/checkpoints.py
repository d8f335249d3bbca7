"""checkpoint.npz, the one before it, and the parts that they share.

    checkpoint.npz           the last one
    checkpoint.before.npz    the one before: what there is to go on from if the last one is torn by a power cut
    checkpoint.NAME.npz      arrays that stay the same over several checkpoints, written once

Each is on the disk before the one before it is given up. A part is written before the checkpoint that names it and
removed after the last that does.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.io.atomic import flush_folder
from keyfluid.io.container import damaged, load_arrays, load_meta, save_arrays
from keyfluid.io.run.frame_files import FrameFiles
from keyfluid.io.run.owned import OwnedFolder

LAST, BEFORE = "checkpoint.npz", "checkpoint.before.npz"


@dataclass(frozen=True, eq=False)
class Stored:
    """What a checkpoint held: the controller's arrays and meta data, and the shell's memory.

    older: why the last checkpoint could not be used, where this is the one before it.
    """

    arrays: dict[str, np.ndarray]
    controller: dict[str, Any]
    shell: dict[str, Any]
    older: str | None = None


class Checkpoints:
    """Of the run in a folder; `frames` knows the run and what it may be called."""

    def __init__(self, frames: FrameFiles, owned: OwnedFolder | None = None) -> None:
        self._frames, self._owned, self._path = frames, owned, frames.root
        self._named: dict[str, list[str]] = {}

    @property
    def exist(self) -> bool:
        return (self._path / LAST).exists() or (self._path / BEFORE).exists()

    def save(
        self,
        arrays: Mapping[str, np.ndarray],
        meta: Mapping[str, Any],
        shell: Mapping[str, Any],
        part: str | None = None,
        keep: Sequence[str] = (),
    ) -> None:
        """On the disk when this returns; the one before it is kept."""
        owned = self._owned
        assert owned is not None, "opened for reading"
        parts = sorted({*keep, *([part] if part is not None else [])})
        run = {"run": self._frames.run}
        if part is not None:
            with owned.writing(_part(part)) as path:
                save_arrays(path, arrays, run)
            arrays = {}
        content = {"controller": dict(meta), "shell": dict(shell), "parts": parts, **run}
        self._step_back(owned)
        with owned.writing(LAST, again=True) as path:
            save_arrays(path, arrays, content)
        before, self._named[LAST] = self._parts_of(LAST), parts
        self._named[BEFORE] = before
        self._drop_parts(owned, {*parts, *before})

    def load(self) -> Stored | None:
        """The last checkpoint, or if it is torn the one before; None if the run has none yet."""
        if not self.exist:
            return None
        if not (self._path / LAST).exists():
            return self._load(BEFORE)  # a process was killed before it could write the next one
        try:
            return self._load(LAST)
        except KeyfluidError as error:
            try:
                found = self._load(BEFORE)
            except KeyfluidError:
                raise error from None
            return Stored(found.arrays, found.controller, found.shell, str(error))

    def _load(self, name: str) -> Stored:
        arrays, meta = load_arrays(self._path / name)
        self._require_own(name, meta)
        try:
            parts, controller, shell = meta["parts"], meta["controller"], meta["shell"]
        except KeyError as error:
            raise damaged(self._path / name, error) from None
        if not (isinstance(parts, list) and isinstance(controller, dict) and isinstance(shell, dict)):
            raise damaged(self._path / name, ValueError())
        for part in map(str, parts):
            more, about = load_arrays(self._path / _part(part))
            self._require_own(_part(part), about)
            arrays.update({f"{part}/{key}": array for key, array in more.items()})
        return Stored(arrays, controller, shell)

    def _require_own(self, name: str, meta: Mapping[str, Any]) -> None:
        if self._frames.runs and meta.get("run") not in self._frames.runs:
            raise KeyfluidError(f"{self._path / name}: is the checkpoint of another run")

    def _step_back(self, owned: OwnedFolder) -> None:
        """The last checkpoint becomes the one before, if it is whole."""
        if not (self._path / LAST).exists():
            return
        if LAST not in self._named and not self._is_whole():
            return
        with owned.writing(BEFORE, again=True) as path:
            os.replace(self._path / LAST, path)
            flush_folder(self._path)

    def _is_whole(self) -> bool:
        try:
            self._load(LAST)
        except KeyfluidError:
            return False
        return True

    def _parts_of(self, name: str) -> list[str]:
        if name not in self._named:
            try:
                self._named[name] = [str(part) for part in load_meta(self._path / BEFORE).get("parts", [])]
            except KeyfluidError:
                self._named[name] = []
        return self._named[name]

    def _drop_parts(self, owned: OwnedFolder, wanted: Collection[str]) -> None:
        kept = {LAST, BEFORE, *(_part(name) for name in wanted)}
        for name in list(owned.record.files):
            if name.startswith("checkpoint.") and name.endswith(".npz") and name not in kept:
                owned.remove(name)


def _part(name: str) -> str:
    return f"checkpoint.{name}.npz"
