"""Watches the scenes that pages show, and says when their files change, whoever changed them."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from pathlib import Path
from threading import Event, Lock, Thread

from keyfluid.studio.events import Events
from keyfluid.studio.workspace import Workspace

LOOK = 0.5
"""Seconds between two looks."""
MOST = 100
"""Scenes that are watched; the one that was asked for longest ago is dropped."""

Stamp = tuple[int, int, int]


class FileWatcher:
    """A thread of its own from `start` to `stop`."""

    def __init__(self, workspace: Workspace, events: Events) -> None:
        self._workspace, self._events = workspace, events
        self._known: OrderedDict[Path, tuple[Stamp | None, str | None]] = OrderedDict()
        self._lock, self._end = Lock(), Event()

    def start(self) -> None:
        Thread(target=self._run, name="watcher", daemon=True).start()

    def stop(self) -> None:
        self._end.set()

    def watch(self, path: Path, revision: str) -> None:
        """Look after a file that a page shows at this revision."""
        with self._lock:
            self._known.setdefault(path, (None, revision))
            self._known.move_to_end(path)
            while len(self._known) > MOST:
                self._known.popitem(last=False)

    def saved(self, path: Path, revision: str) -> None:
        """We changed it ourselves: all pages hear of it at once."""
        with self._lock:
            self._known[path] = (stamp(path), revision)
            self._publish(path, revision)

    def look(self) -> None:
        """Publish what has changed since the last look."""
        with self._lock:
            for path, (before, revision) in list(self._known.items()):
                now = stamp(path)
                if now == before:
                    continue
                found = _content(path)
                self._known[path] = (now, found)
                if found != revision:
                    self._publish(path, found)

    def _publish(self, path: Path, revision: str | None) -> None:
        self._events.publish("file", path=self._workspace.name_of(path), revision=revision)

    def _run(self) -> None:
        while not self._end.wait(LOOK):
            self.look()


def stamp(path: Path) -> Stamp | None:
    """What differs when a file was written; None if it is gone."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino


def revision_of(content: bytes) -> str:
    """What names a file's content."""
    return hashlib.sha256(content).hexdigest()[:16]


def _content(path: Path) -> str | None:
    try:
        return revision_of(path.read_bytes())
    except OSError:
        return None
