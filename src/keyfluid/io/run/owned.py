"""A folder that keyfluid may write to: it was new or empty, and since then carries our marker.

What is ours is what the record lists, by name and size, and it lies in the folder itself, not behind a link. Nothing
else is ever written over or removed. Where a file stands in the way that the record does not list, we stop and say so;
one that it lists, but that has changed since, is kept under another name (NAME.kept).
"""

from __future__ import annotations

import os
import stat
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

from keyfluid.errors import KeyfluidError
from keyfluid.io.atomic import DiskError, flush_folder, part_of
from keyfluid.io.run.layout import CREW
from keyfluid.io.run.record import MARKER, Record

LITTER = {".DS_Store", "Thumbs.db", "desktop.ini"}
"""Files that systems leave in folders by themselves: a folder that holds only these is empty."""

_SHOWN = 3
_UNKNOWN = -1


class FolderLocked(KeyfluidError):
    """Another process is writing to a folder."""


class OwnedFolder:
    """`path` and its record; made by `claim` for a new or empty folder, by `open` for one with our marker."""

    def __init__(self, path: Path, record: Record) -> None:
        self.path, self.record = path, record
        self._made: list[Path] = []
        self._lock: int | None = None

    @classmethod
    def claim(cls, path: Path, header: Mapping[str, Any]) -> OwnedFolder:
        """Mark a folder that is new or empty as ours, locked; raises, nothing touched, if it holds anything."""
        made = _missing(path)
        folder = cls(path, Record(path, header, {}))
        folder._made = made
        try:
            path.mkdir(parents=True, exist_ok=True)
            folder.lock()
            held = folder.held()
            if held:
                raise KeyfluidError(f"{path}: {_holds(held)}")
            folder.sweep()
            folder.record.write()
            for parent in {place.parent for place in made}:
                flush_folder(parent)
        except OSError as error:
            folder.leave()
            raise DiskError(
                f"{path}: can't be written: {error.strerror or error}; choose another folder with -o"
            ) from None
        except BaseException:
            folder.leave()
            raise
        return folder

    @classmethod
    def open(cls, path: Path) -> OwnedFolder:
        """A folder that carries our marker, locked, with what a killed process left half written swept away."""
        folder = cls(path, Record(path, {}, {}))
        folder.lock()
        try:
            record = Record.read(path)
            if record is None:
                raise KeyfluidError(f"{path}: has no keyfluid record; nothing was changed")
            folder.record = record
            folder.sweep()
            folder.settle()
        except BaseException:
            folder.unlock()
            raise
        return folder

    def lock(self) -> None:
        """Keep other processes out; the lock goes with this process, however it ends."""
        try:
            import fcntl
        except ImportError:
            return
        handle = os.open(self.path, os.O_RDONLY)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(handle)
            raise FolderLocked(f"{self.path}: another keyfluid process is writing there; wait until it ends") from None
        except OSError:
            pass  # a file system without locks
        self._lock = handle

    def unlock(self) -> None:
        self.record.close()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def held(self) -> list[str]:
        """What the folder holds beside our marker, and beside what systems leave there by themselves."""
        ignored = {*LITTER, MARKER, part_of(self.path / MARKER).name}
        return sorted(entry.name for entry in self.path.iterdir() if entry.name not in ignored)

    def owns(self, name: str) -> bool:
        """Whether a file is there that is ours: listed, of the size that is listed, and not behind a link."""
        size = self._size(name)
        return size != _UNKNOWN and name in self.record.files and self.record.files[name] in (None, size)

    def present(self) -> list[str]:
        """Names of the files of ours that are there."""
        return [name for name in self.record.files if self.owns(name)]

    def changed(self) -> list[str]:
        """Files that the record lists but that somebody has replaced since."""
        return [name for name in self.record.files if self._size(name) != _UNKNOWN and not self.owns(name)]

    @contextmanager
    def writing(self, name: str, again: bool = False) -> Iterator[Path]:
        """Where the block writes a file, whole (atomic.py); listed before and after.

        again: it will be written again and again, so its size is listed only when the folder is settled.
        """
        path = self.path / name
        try:
            self._make_parents(name)
            if self.record.files.get(name, _UNKNOWN) is not None:
                self._keep_changed(name)
                self.require_free(name)
                self.record.opened(name)
            yield path
            if not again:
                self.record.wrote(name, path.stat().st_size)
        except OSError as error:
            reason = error.strerror or str(error)
            raise DiskError(f"{path}: can't be written: {reason}; free some space or check permissions") from None

    def expect(self, names: Iterable[str]) -> None:
        """List files that will be written soon, all at once: one wait for the disk instead of one for each."""
        new = [name for name in names if name not in self.record.files and not os.path.lexists(self.path / name)]
        if new:
            self.record.opened(*new)

    def require_free(self, name: str) -> None:
        """Raise if something that is not ours stands where a file would go."""
        path = self.path / name
        for parent in reversed(path.parents):
            if self.path in parent.parents and (parent.is_symlink() or (parent.exists() and not parent.is_dir())):
                raise KeyfluidError(f"{parent}: is a link or a file, and keyfluid needs a folder there; move it away")
        if os.path.lexists(path) and not self.owns(name):
            raise KeyfluidError(f"{path}: was not written by keyfluid and would be replaced; move it away")

    def remove(self, name: str) -> None:
        """Remove a file of ours; one that has changed since is kept under another name."""
        self._keep_changed(name)
        if self.owns(name):
            (self.path / name).unlink(missing_ok=True)
            self.record.removed(name)

    def remove_empty(self, folder: str) -> None:
        """Remove a folder inside ours if nothing is left in it."""
        place = self.path / folder
        if not place.is_symlink() and place.is_dir() and not any(place.iterdir()):
            place.rmdir()
            flush_folder(self.path)

    def clear(self) -> None:
        """Remove every file of ours, then folders that are left empty; the marker stays."""
        self.sweep()
        for name in self.present():
            (self.path / name).unlink(missing_ok=True)
        for parent in self.folders():
            if not parent.is_symlink() and parent.is_dir() and not any(parent.iterdir()):
                parent.rmdir()
        flush_folder(self.path)

    def forget(self) -> None:
        """Remove the marker: the folder is no longer ours."""
        self.record.close()
        (self.path / MARKER).unlink(missing_ok=True)
        flush_folder(self.path)

    def leave(self) -> None:
        """Unlock, and remove the folders that were made for ours if they are empty."""
        self.unlock()
        _remove_empty(self._made)

    def folders(self) -> list[Path]:
        """Folders inside that files of the record lie in, deepest first."""
        inside = {self.path / parent for name in self.record.files for parent in Path(name).parents} - {self.path}
        return sorted(inside, key=lambda folder: -len(folder.parts))

    def sweep(self) -> None:
        """Remove what a killed process was writing or exchanged with workers; what it had written stays ours."""
        for name in [MARKER, *(name for name, size in self.record.files.items() if size is None)]:
            left = part_of(self.path / name)
            if self._is_inside(left) and not left.is_symlink() and left.is_file():
                left.unlink()
        exchanged = [name for name in self.record.files if name.startswith(f"{CREW}/")]
        for name in exchanged:
            self.remove(name)
        for folder in sorted({name.rpartition("/")[0] for name in exchanged} | {CREW}, key=len, reverse=True):
            self.remove_empty(folder)

    def settle(self) -> None:
        """List the sizes of all files that may be written again."""
        unsettled = [name for name, size in self.record.files.items() if size is None]
        for name in unsettled:
            size = self._size(name)
            if size == _UNKNOWN:
                del self.record.files[name]
            else:
                self.record.files[name] = size
        if unsettled:
            self.record.write()

    def _keep_changed(self, name: str) -> None:
        if name not in self.record.files or self._size(name) == _UNKNOWN or self.owns(name):
            return
        path = self.path / name
        names = (path.with_name(f"{path.name}.kept{number or ''}") for number in count())
        os.rename(path, next(free for free in names if not os.path.lexists(free)))

    def _size(self, name: str) -> int:
        """Size of a regular file in the folder itself; _UNKNOWN for anything else."""
        path = self.path / name
        if not self._is_inside(path):
            return _UNKNOWN
        try:
            found = path.lstat()
        except OSError:
            return _UNKNOWN
        return found.st_size if stat.S_ISREG(found.st_mode) else _UNKNOWN

    def _is_inside(self, path: Path) -> bool:
        """Whether no folder between ours and the file is a link."""
        return not any(parent.is_symlink() for parent in path.parents if self.path in parent.parents)

    def _make_parents(self, name: str) -> None:
        for parent in reversed((self.path / name).parents):
            if self.path in parent.parents and not os.path.lexists(parent):
                parent.mkdir()
                flush_folder(parent.parent)


def is_locked(path: Path) -> bool | None:
    """Whether a process is writing to a folder; None where nobody can tell."""
    try:
        import fcntl

        handle = os.open(path, os.O_RDONLY)
    except (ImportError, OSError):
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return None
    finally:
        os.close(handle)
    return False


def _holds(names: list[str]) -> str:
    listed = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    return (
        f"holds files that no keyfluid run wrote ({listed}); nothing was touched; choose a new or empty folder with -o"
    )


def _missing(path: Path) -> list[Path]:
    """Folders on the way to `path`, itself included, that do not exist yet; deepest first."""
    return [place for place in (path, *path.parents) if not os.path.lexists(place)]


def _remove_empty(folders: list[Path]) -> None:
    for folder in folders:
        try:
            folder.rmdir()
        except OSError:
            return
