"""checkpoint.npz, the one before it, and the parts that they share.

    checkpoint.npz           the last one
    checkpoint.before.npz    the one before: what there is to go on from if the last one is torn by a power cut
    checkpoint.part3.npz     arrays that stay the same over several checkpoints, written once

What a checkpoint holds is on the disk before the one before it is given up. Parts lie in numbered slots, which are used
again once neither of the two checkpoints names them. Both renames of a checkpoint wait for one flush of the folder: a
power cut leaves both, the first alone (then the one before is the last) or neither.

A finished run keeps one small checkpoint without parts (`reduce`).
"""

from __future__ import annotations

import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import numpy as np
from pydantic import TypeAdapter
from typing_extensions import TypedDict

from keyfluid.errors import KeyfluidError
from keyfluid.fields import REAL
from keyfluid.io.container import damaged, load_arrays, load_meta, save_arrays
from keyfluid.io.packed import Packing
from keyfluid.io.run.frame_files import FrameFiles, is_one_of
from keyfluid.io.run.layout import BEFORE, LAST, is_part_file, part_file
from keyfluid.io.run.owned import OwnedFolder
from keyfluid.problem.kept import Meta


class ShellMemory(TypedDict, total=False):
    """What the run needs to go on, beside its method.

    last_frame  the last one that was stored
    logged      entries of the history
    seconds     spent so far
    iterations, evaluations: as result.json reports them
    """

    last_frame: int
    logged: list[dict[str, Any]]
    seconds: float
    iterations: int
    evaluations: int


class _Content(TypedDict):
    """A checkpoint's meta data, without what concerns files."""

    controller: dict[str, Any]
    shell: ShellMemory


_CONTENT = TypeAdapter(_Content)


@dataclass(frozen=True, eq=False)
class Stored:
    """What a checkpoint held: the controller's arrays and meta data, and the shell's memory.

    older: why the last checkpoint could not be used, where this is the one before it.
    """

    arrays: dict[str, np.ndarray]
    controller: dict[str, Any]
    shell: ShellMemory
    older: str | None = None


class Checkpoints:
    """The checkpoints of a run folder; `frames` knows the run and what it may be called."""

    def __init__(self, frames: FrameFiles, owned: OwnedFolder | None = None) -> None:
        self._frames, self._owned, self._path = frames, owned, frames.root
        self._known: dict[str, dict[str, str]] = {}

    @property
    def exist(self) -> bool:
        return (self._path / LAST).exists() or (self._path / BEFORE).exists()

    def save(
        self,
        arrays: Mapping[str, np.ndarray],
        meta: Meta,
        shell: ShellMemory,
        part: str | None = None,
        keep: Sequence[str] = (),
    ) -> None:
        """On the disk when this returns; the one before it is kept."""
        owned = self._owned
        assert owned is not None, "opened for reading"
        before = self._slots(LAST if (self._path / LAST).exists() else BEFORE)
        slots = {name: before[name] for name in keep if name != part}
        run = {"run": self._frames.run}
        if part is not None:
            slots[part] = self._free_slot({*before.values(), *self._slots(BEFORE).values()})
            with owned.writing(part_file(slots[part]), again=True) as path:
                save_arrays(path, arrays, run, entry=False)
            arrays = {}
        content = {"controller": dict(meta), "shell": dict(shell), "parts": slots, **run}
        self._step_back(owned)
        with owned.writing(LAST, again=True) as path:
            save_arrays(path, arrays, content)
        self._known[LAST] = slots

    def reduce(self, what_stays: Callable[[Stored], Stored]) -> None:
        """Replace the last checkpoint of a finished run by what is to stay of it, packed; the one before it and the
        parts go. Nothing is removed before what stays is on the disk."""
        owned = self._owned
        assert owned is not None, "opened for reading"
        found = self.load()
        if found is None:
            return
        if found.older is not None:
            raise KeyfluidError(f"{found.older}; resume the run first: keyfluid resume {self._path}")
        stays = what_stays(found)
        parts = [name for name in owned.record.files if is_part_file(name)]
        if set(stays.arrays) == set(found.arrays) and not parts and not (self._path / BEFORE).exists():
            return
        content = {"controller": stays.controller, "shell": dict(stays.shell), "parts": {}, "run": self._frames.run}
        packing = {name: Packing(((array.size,),)) for name, array in stays.arrays.items() if array.dtype in REAL}
        with owned.writing(LAST, again=True) as path:
            save_arrays(path, stays.arrays, content, packing=packing)
        self._known = {}
        for name in (BEFORE, *parts):
            owned.remove(name)

    def remove(self) -> None:
        """Remove all of them."""
        assert self._owned is not None, "opened for reading"
        for name in (BEFORE, LAST, *filter(is_part_file, list(self._owned.record.files))):
            self._owned.remove(name)

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
            content = _CONTENT.validate_python(meta, strict=True)
        except ValueError as error:
            raise damaged(self._path / name, error) from None
        for part, slot in _slots_in(meta).items():
            more, about = load_arrays(self._path / part_file(slot))
            self._require_own(part_file(slot), about)
            arrays.update({f"{part}/{key}": array for key, array in more.items()})
        return Stored(arrays, content["controller"], content["shell"])

    def _require_own(self, name: str, meta: Mapping[str, Any]) -> None:
        if self._frames.runs and not is_one_of(meta.get("run"), self._frames.runs):
            raise KeyfluidError(f"{self._path / name}: is the checkpoint of another run")

    def _step_back(self, owned: OwnedFolder) -> None:
        """The last checkpoint becomes the one before, if it is whole."""
        if not (self._path / LAST).exists() or (LAST not in self._known and not self._is_whole()):
            return
        slots = self._slots(LAST)
        with owned.writing(BEFORE, again=True) as path:
            os.replace(self._path / LAST, path)
        self._known[BEFORE] = slots

    def _is_whole(self) -> bool:
        try:
            self._load(LAST)
        except KeyfluidError:
            return False
        return True

    def _slots(self, name: str) -> dict[str, str]:
        """Where the parts of a checkpoint lie; nowhere if it has none or can't be read."""
        if name not in self._known:
            try:
                return _slots_in(load_meta(self._path / name))
            except KeyfluidError:
                return {}
        return self._known[name]

    def _free_slot(self, taken: Collection[str]) -> str:
        return next(slot for slot in map("part{}".format, count()) if slot not in taken)


def _slots_in(meta: Mapping[str, Any]) -> dict[str, str]:
    """The parts that a checkpoint names; before slots had numbers, a part lay in a file of its own name."""
    parts = meta.get("parts", {})
    if isinstance(parts, list):
        return {str(name): str(name) for name in parts}
    return {str(name): str(slot) for name, slot in parts.items()} if isinstance(parts, dict) else {}
