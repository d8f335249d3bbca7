"""File operations of a child, counted, failed on purpose, or logged.

Installed after the fork, it wraps what Python code has for changing files: `open` and `os.open` for writing, the
write, truncate and close of such files (below Python's buffers: one call is one system call), `os.replace`, `rename`,
`link`, `symlink`, `unlink`, `mkdir`, `rmdir`, `fsync`. Only paths below `root` count. What C code writes to a file
descriptor by itself (Pillow does for some formats) is not counted, but is in the log, which reads files back.
"""

from __future__ import annotations

import builtins
import errno
import io
import mmap
import os
import pickle
import struct
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

GONE = 99
"""Exit code of a child that ended by a sudden exit."""
FAULTS = ("EIO", "ENOSPC", "short", "exit")


@dataclass(frozen=True)
class Operation:
    """One change of the disk: `content` is the file's after it; `said`: bytes of progress that had been printed."""

    kind: str
    path: str
    to: str = ""
    content: bytes = b""
    said: int = 0


class Counter:
    """A number that a forked child counts up and its parent reads."""

    def __init__(self) -> None:
        self._shared = mmap.mmap(-1, 8)

    def next(self) -> int:
        value = self.value
        self._shared[:8] = struct.pack("q", value + 1)
        return value

    @property
    def value(self) -> int:
        return int(struct.unpack("q", self._shared[:8])[0])


class Shim:
    """Counts, and fails operation number `at` with `fault`. EIO comes once; a disk that is full stays full."""

    def __init__(self, root: Path, counter: Counter, fault: str = "", at: int = -1, log: Path | None = None) -> None:
        self.root, self.counter, self.fault, self.at = os.path.realpath(root), counter, fault, at
        self.full = False
        self._log_path = log
        self._log: Any = None
        self._plain = {name: getattr(os, name) for name in _WRAPPED}
        self._open = io.open

    def install(self) -> None:
        """For the rest of this process."""
        if self._log_path is not None:
            self._log = self._open(self._log_path, "wb")
        for name, make in _WRAPPED.items():
            wrapped = make(self, self._plain[name])
            for known in (os.supports_dir_fd, os.supports_fd, os.supports_follow_symlinks):
                if self._plain[name] in known:
                    known.add(wrapped)
            setattr(os, name, wrapped)
        builtins.open = io.open = self._opened  # type: ignore[assignment]

    def inside(self, path: Any, dir_fd: int | None = None) -> str | None:
        """The absolute path, if it lies below the root. Its last part may be a link."""
        try:
            if isinstance(path, int):
                found = os.readlink(f"/proc/self/fd/{path}")
            else:
                base = os.readlink(f"/proc/self/fd/{dir_fd}") if dir_fd is not None else os.getcwd()
                whole = os.path.join(base, os.fsdecode(path))
                found = os.path.join(os.path.realpath(os.path.dirname(whole)), os.path.basename(whole))
        except OSError:
            return None
        return found if found == self.root or found.startswith(self.root + os.sep) else None

    def strike(self, kind: str, path: str) -> str:
        """Count this operation; raises, ends the process, or says "short" or "exit" where it is to do a part first."""
        number = self.counter.next()
        if self.full and kind in ("write", "create", "mkdir", "truncate"):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), path)
        if number != self.at:
            return ""
        if self.fault == "exit":
            if kind == "write":
                return "exit"
            os._exit(GONE)
        self.full = self.fault in ("ENOSPC", "short")
        if self.fault == "short" and kind == "write":
            return "short"
        code = errno.EIO if self.fault == "EIO" else errno.ENOSPC
        raise OSError(code, os.strerror(code), path)

    def note(self, kind: str, path: str, to: str = "", read: bool = False) -> None:
        """Put an operation that has been done into the log."""
        if self._log is None:
            return
        content = b""
        if read:
            with self._open(path, "rb") as file:
                content = file.read()
        pickle.dump(Operation(kind, path, to, content, os.fstat(1).st_size), self._log)
        self._log.flush()

    def _opened(
        self, file: Any, mode: str = "r", buffering: int = -1, encoding: str | None = None, errors: str | None = None,
        newline: str | None = None, closefd: bool = True, opener: Any = None,
    ) -> Any:  # fmt: skip
        path = self.inside(file) if any(letter in mode for letter in "wax+") else None
        if path is None:
            return self._open(file, mode, buffering, encoding, errors, newline, closefd, opener)
        raw = _File(self, path, file, mode.replace("b", "").replace("t", ""), closefd, opener)
        if buffering == 0:
            return raw
        buffer = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        return buffer if "b" in mode else io.TextIOWrapper(buffer, encoding, errors, newline)


class _File(io.FileIO):
    """A file opened for writing: the layer below Python's buffers."""

    def __init__(self, shim: Shim, path: str, file: Any, mode: str, closefd: bool, opener: Any) -> None:
        self._shim, self._path = shim, path
        existed = os.path.lexists(path)
        kind = "truncate" if existed else "create"
        shim.strike(kind, path)
        super().__init__(file, mode, closefd, opener)
        if not existed or "w" in mode:
            shim.note(kind, path)

    def write(self, data: Any) -> int:
        path = self._shim.inside(self.fileno()) or self._path
        part = self._shim.strike("write", path)
        if part:
            data = memoryview(data).cast("B")
            data = data[: max(1, len(data) // 2)]
        written = super().write(data)
        if part == "exit":
            os._exit(GONE)
        self._shim.note("write", path, read=os.path.exists(path))
        return int(written or 0)

    def truncate(self, size: int | None = None) -> int:
        self._shim.strike("truncate", self._path)
        done = super().truncate(size)
        self._shim.note("write", self._path, read=True)
        return done

    def close(self) -> None:
        if self.closed:
            return
        path = self._shim.inside(self.fileno()) or self._path
        super().close()
        self._shim.strike("close", path)
        if os.path.isfile(path):
            self._shim.note("write", path, read=True)


def _os_open(shim: Shim, plain: Callable[..., int]) -> Callable[..., int]:
    def opened(path: Any, flags: int, mode: int = 0o777, *, dir_fd: int | None = None) -> int:
        writes = flags & (os.O_CREAT | os.O_TRUNC | os.O_WRONLY | os.O_RDWR)
        inside = shim.inside(path, dir_fd) if writes else None
        if inside is None:
            return plain(path, flags, mode, dir_fd=dir_fd)
        existed = os.path.lexists(inside)
        shim.strike("truncate" if existed else "create", inside)
        handle = plain(path, flags, mode, dir_fd=dir_fd)
        if not existed or flags & os.O_TRUNC:
            shim.note("truncate" if existed else "create", inside)
        return handle

    return opened


def _os_write(shim: Shim, plain: Callable[..., int]) -> Callable[..., int]:
    def wrote(handle: int, data: Any) -> int:
        path = shim.inside(handle)
        if path is None:
            return plain(handle, data)
        part = shim.strike("write", path)
        done = plain(handle, bytes(data)[: max(1, len(data) // 2)] if part else data)
        if part == "exit":
            os._exit(GONE)
        shim.note("write", path, read=os.path.exists(path))
        return done

    return wrote


def _two_names(kind: str) -> Callable[[Shim, Callable[..., None]], Callable[..., None]]:
    def make(shim: Shim, plain: Callable[..., None]) -> Callable[..., None]:
        def moved(source: Any, target: Any, **more: Any) -> None:
            path, to = shim.inside(source, more.get("src_dir_fd")), shim.inside(target, more.get("dst_dir_fd"))
            if kind == "symlink":
                path = to
            if path is None and to is None:
                return plain(source, target, **more)
            shim.strike(kind, path or str(to))
            if kind == "rename" and path is not None and os.path.isfile(path):
                shim.note("write", path, read=True)  # what C code wrote is seen here at the latest
            plain(source, target, **more)
            shim.note(kind, path or "", to or "")
            return None

        return moved

    return make


def _one_name(kind: str) -> Callable[[Shim, Callable[..., None]], Callable[..., None]]:
    def make(shim: Shim, plain: Callable[..., None]) -> Callable[..., None]:
        def changed(path: Any, *rest: Any, **more: Any) -> None:
            inside = shim.inside(path, more.get("dir_fd"))
            if inside is None:
                return plain(path, *rest, **more)
            exists = os.path.lexists(inside)
            if exists == (kind != "mkdir"):  # else nothing is changed, and it fails by itself
                shim.strike(kind, inside)
            plain(path, *rest, **more)
            shim.note(kind, inside)
            return None

        return changed

    return make


def _synced(shim: Shim, plain: Callable[[Any], None]) -> Callable[[Any], None]:
    def synced(file: Any) -> None:
        handle = file if isinstance(file, int) else file.fileno()
        path = shim.inside(handle)
        if path is None:
            return plain(handle)
        folder = os.path.isdir(path)
        shim.strike("fsync", path)
        plain(handle)
        shim.note("fsync folder" if folder else "fsync", path, read=not folder and os.path.exists(path))
        return None

    return synced


_WRAPPED: dict[str, Callable[[Shim, Any], Any]] = {
    "open": _os_open,
    "write": _os_write,
    "replace": _two_names("rename"),
    "rename": _two_names("rename"),
    "link": _two_names("link"),
    "symlink": _two_names("symlink"),
    "unlink": _one_name("unlink"),
    "remove": _one_name("unlink"),
    "mkdir": _one_name("mkdir"),
    "rmdir": _one_name("rmdir"),
    "fsync": _synced,
    "fdatasync": _synced,
}
