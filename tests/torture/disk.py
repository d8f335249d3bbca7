"""What a disk may show after a power cut, from a log of file operations.

The model, between what ALICE (Pillai et al., OSDI 2014) found on real file systems and what SQLite asks of one:

- A file's bytes are safe as of its last fsync. Written later, they may be all there, not at all, cut at any length,
  or end in zeros where blocks were allotted but never filled. Bytes that were synced and are then only added to stay.
- Names (create, rename, unlink, mkdir, rmdir) are safe once their folder has been fsynced after the change. Until
  then any number of the first of these changes may have happened, in order within one folder and independently in
  different ones: a journal keeps their order, and commits when it likes.
- fsync of a file does not make its name safe. (ext4 does; POSIX does not say so.)
- A rename is atomic: a name leads to the old file or to the new one. What was synced is not damaged by later writes
  elsewhere (SQLite's "powersafe overwrite"), and the disk does not lie about fsync.
"""

from __future__ import annotations

import os
import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from torture.shim import Operation


@dataclass
class _Inode:
    """A file: its bytes now and as of the last fsync (None: never). A folder: its names likewise."""

    folder: bool
    now: bytes = b""
    safe: bytes | None = None
    names: dict[str, _Inode] = field(default_factory=dict)
    safe_names: dict[str, _Inode] = field(default_factory=dict)
    pending: list[tuple[str, str, _Inode | None]] = field(default_factory=list)
    """Changes of names since the last fsync: (kind, name, file)."""


class Disk:
    """The files below `root` as the operations make them; `root` itself is safe and empty at the start."""

    def __init__(self, root: str | Path) -> None:
        self.root = os.path.realpath(root)
        self._top = _Inode(True)

    def replay(self, operations: Sequence[Operation]) -> Disk:
        for operation in operations:
            self._apply(operation)
        return self

    def _apply(self, operation: Operation) -> None:
        kind, folder, name = operation.kind, self._folder(operation.path), os.path.basename(operation.path)
        if kind == "fsync folder":
            inode = self._find(operation.path)
            inode.safe_names, inode.pending = dict(inode.names), []
        elif kind == "fsync":
            inode = self._find(operation.path)
            inode.now = inode.safe = operation.content
        elif kind in ("create", "mkdir"):
            self._change(folder, "set", name, _Inode(kind == "mkdir"))
        elif kind == "truncate":
            folder.names[name].now = b""
        elif kind == "write":
            if name in folder.names:
                folder.names[name].now = operation.content
        elif kind in ("unlink", "rmdir"):
            self._change(folder, "drop", name, None)
        elif kind == "rename":
            inode, there = folder.names[name], self._folder(operation.to)
            if there is folder:
                folder.pending.append((f"move {name}", os.path.basename(operation.to), inode))
                folder.names.pop(name)
                folder.names[os.path.basename(operation.to)] = inode
            else:
                self._change(there, "set", os.path.basename(operation.to), inode)
                self._change(folder, "drop", name, None)
        elif kind == "link":
            self._change(self._folder(operation.to), "set", os.path.basename(operation.to), folder.names[name])
        else:
            raise ValueError(f"an operation that the model does not know: {kind}")

    def _change(self, folder: _Inode, kind: str, name: str, inode: _Inode | None) -> None:
        folder.pending.append((kind, name, inode))
        _change_names(folder.names, kind, name, inode)

    def _folder(self, path: str) -> _Inode:
        return self._find(os.path.dirname(path)) if path != self.root else self._top

    def _find(self, path: str) -> _Inode:
        inode = self._top
        relative = os.path.relpath(path, self.root)
        for part in [] if relative == "." else relative.split(os.sep):
            inode = inode.names[part]
        return inode

    def after_power_cut(self, place: Path, chance: random.Random) -> None:
        """Write into the empty folder `place` one of the states that the disk may be found in."""
        self._settle(self._top, place, chance)

    def _settle(self, folder: _Inode, place: Path, chance: random.Random) -> None:
        names = dict(folder.safe_names)
        count = len(folder.pending)
        for kind, name, inode in folder.pending[: chance.choice((0, count, chance.randint(0, count)))]:
            _change_names(names, kind, name, inode)
        place.mkdir(parents=True, exist_ok=True)
        for name, inode in names.items():
            if inode.folder:
                self._settle(inode, place / name, chance)
            else:
                (place / name).write_bytes(_found(inode, chance))


def _change_names(names: dict[str, _Inode], kind: str, name: str, inode: _Inode | None) -> None:
    if kind == "drop":
        names.pop(name, None)
        return
    assert inode is not None
    if kind.startswith("move "):
        names.pop(kind.removeprefix("move "), None)
    names[name] = inode


def _found(inode: _Inode, chance: random.Random) -> bytes:
    """The bytes of a file after the cut."""
    if inode.safe == inode.now:
        return inode.now
    kept = len(inode.safe) if inode.safe is not None and inode.now.startswith(inode.safe) else 0
    cut = chance.randint(kept, len(inode.now))
    torn = (inode.safe or b"", inode.now[:cut], inode.now[:cut] + bytes(len(inode.now) - cut), inode.now)
    return chance.choice(torn)
