"""Moving thumbnails of scenes and runs: drawn by a process of low priority, one at a time, and kept as files.

A page that asks for one that is not drawn yet gets an empty picture at once, and the event `thumb` when it is there:
a request that waited would hold one of the few connections that a browser has.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from threading import Condition, Thread

from keyfluid import __version__
from keyfluid.crew import Crew
from keyfluid.errors import KeyfluidError
from keyfluid.gallery import bundled
from keyfluid.io.run.layout import RESULT, frame_files
from keyfluid.scenes.schema.load import parse_toml
from keyfluid.studio.answers import Refused
from keyfluid.studio.events import Events
from keyfluid.studio.runs_listing import runs_of_wedge
from keyfluid.studio.scene_check import named_files, outside
from keyfluid.studio.scene_files import read_scene
from keyfluid.studio.thumb_task import Thumb
from keyfluid.studio.watcher import stamp
from keyfluid.studio.workspace import OURS, Workspace

_MOST_WAITING = 300
_MOST_KEPT = 3000
_IDLE = 30.0
"""Seconds after which the process ends; the next thumbnail starts another."""


class Thumbs:
    """Made on demand; `close` ends the process."""

    def __init__(self, workspace: Workspace, events: Events) -> None:
        self._workspace, self._events = workspace, events
        self._waiting: dict[str, tuple[str, Thumb]] = {}
        self._failed: set[Path] = set()
        self._wake = Condition()
        self._thread: Thread | None = None
        self._closed = False

    def find(self, path: str | None, gallery: str | None) -> Path | None:
        """The file of a thumbnail; None while it is being drawn, and of what can't be drawn."""
        name = f"path:{path}" if path is not None else f"gallery:{gallery}"
        task = self._task(name, path, gallery)
        if task.target.is_file():
            return task.target
        with self._wake:
            if task.target not in self._failed and not self._closed:
                self._waiting[name] = (name, task)
                while len(self._waiting) > _MOST_WAITING:
                    self._waiting.popitem()
                if self._thread is None:
                    self._thread = Thread(target=self._draw_all, name="thumbs", daemon=True)
                    self._thread.start()
                self._wake.notify()
        return None

    def close(self) -> None:
        with self._wake:
            self._closed = True
            self._wake.notify()

    def _task(self, name: str, path: str | None, gallery: str | None) -> Thumb:
        text = None
        if path is None:
            if gallery not in bundled():
                raise Refused(404, "this is not a scene of the gallery")
            file = bundled()[gallery]
            folder, text = file.parent, read_scene(file).text
            revision = text
        elif path.endswith(".toml"):
            file = self._workspace.scene(path)
            folder, text = file.parent, read_scene(file).text
            revision = f"{text}{self._files(text, folder)}"
        else:
            folder = self._workspace.run(path)
            folder = next(iter(runs_of_wedge(self._workspace, folder) or ()), folder)  # a wedge shows its first run
            revision = f"{stamp(folder / RESULT)}{min(len(frame_files(folder)) // 10, 10)}"
        digest = hashlib.sha256(f"{__version__}{revision}".encode("utf-8", "replace")).hexdigest()[:16]
        ours = self._workspace.root / OURS
        kept = ours / "thumbs"
        if ours.is_symlink() or kept.is_symlink():
            raise Refused(403, f"{OURS}: is a link; the studio needs a folder there")
        return Thumb(folder, text, kept / f"{hashlib.sha256(name.encode()).hexdigest()[:16]}-{digest}.webp")

    def _files(self, text: str, folder: Path) -> str:
        """What changes with the files that a scene names; raises if one of them may not be read."""
        try:
            data = parse_toml(text, "scene")
        except KeyfluidError:
            return ""
        faults = outside(self._workspace, data, folder)
        if faults:
            raise Refused(403, str(faults[0]))
        return "".join(str(stamp(folder / name)) for _, name in named_files(data))

    def _draw_all(self) -> None:
        crew: Crew | None = None
        while not self._closed:
            with self._wake:
                if not self._waiting:
                    self._wake.wait(_IDLE)
                found = self._next() if not self._closed else None
                if found is None:
                    self._thread = None
                    break
            if crew is None:
                crew = Crew("keyfluid.studio.thumb_worker", 1, self._check)
            name, task = found
            try:
                task.target.parent.mkdir(parents=True, exist_ok=True)
                next(iter(crew.answers([task])))
                self._tidy(task.target)
            except (KeyfluidError, OSError):
                if len(self._failed) > _MOST_KEPT:
                    self._failed.clear()
                self._failed.add(task.target)
                crew.dismiss()
                crew = None
                continue
            kind, _, what = name.partition(":")
            self._events.publish("thumb", **{kind: what})
        if crew is not None:
            crew.dismiss()

    def _next(self) -> tuple[str, Thumb] | None:
        """In the order of asking, a person's own scenes and runs before the gallery."""
        name = min(self._waiting, key=lambda name: name.startswith("gallery:"), default=None)
        return self._waiting.pop(name) if name is not None else None

    def _check(self) -> None:
        if self._closed:
            raise KeyfluidError("the studio ends")

    @staticmethod
    def _tidy(target: Path) -> None:
        """Older pictures of the same thing go, and of all the oldest if there are many."""
        stem = target.name.partition("-")[0]
        for other in target.parent.glob(f"{stem}-*.webp"):
            if other != target:
                other.unlink(missing_ok=True)
        there = list(target.parent.glob("*.webp"))
        if len(there) > _MOST_KEPT:
            for old in sorted(there, key=lambda file: file.stat().st_mtime)[: len(there) // 2]:
                old.unlink(missing_ok=True)
