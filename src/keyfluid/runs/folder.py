"""The folder of a run: begun, found or opened again, and the files in it that are not frames or pictures.

    .keyfluid  scene.toml  result.json  frames/  checkpoint*.npz  vdb/  png/  ply/  mesh/  video.*  strip.png
    report.html

Its format is that of keyfluid.io.run: only a folder that is new, empty or carries our record is ever written to, and
only what the record lists is ever replaced or removed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any

from keyfluid import __version__
from keyfluid.controllers.shell import Checkpoint
from keyfluid.errors import KeyfluidError
from keyfluid.io.atomic import DiskError, write_whole
from keyfluid.io.run.aside import ASIDE, discard, move_aside, recover
from keyfluid.io.run.checkpoints import BEFORE, LAST, Checkpoints
from keyfluid.io.run.fingerprint import Fingerprint
from keyfluid.io.run.frame_files import FRAMES, FrameFiles
from keyfluid.io.run.owned import OwnedFolder, is_locked
from keyfluid.io.run.record import Record
from keyfluid.io.run.result_file import Result, read_result
from keyfluid.scenes import Scene, dump_scene, load_scene
from keyfluid.scenes.build.inputs import hashed_scene, input_files

FILES = (
    "scene.toml", "result.json", LAST, BEFORE, "strip.png", "report.html", "video.webp", "video.gif", "video.mp4",
    "latest.png", "changes.json",
)  # fmt: skip
FOLDERS = {FRAMES: "npz", "vdb": "vdb", "png": "png", "ply": "ply", "mesh": "ply"}
"""Folders of a run, and how the files in them end."""


class RunFolder:
    """Paths and small files of one run. `begin` and `open` lock it for writing, `find` only reads."""

    def __init__(self, path: Path, fingerprint: Fingerprint | None, owned: OwnedFolder | None = None) -> None:
        self.path, self.owned = path, owned
        self.identify(fingerprint)

    def identify(self, fingerprint: Fingerprint | None) -> None:
        """Set what the run is; None: a folder from before there were fingerprints, whose frames name no run."""
        self.fingerprint = fingerprint
        run, runs = (None, ()) if fingerprint is None else (fingerprint.run, fingerprint.runs)
        self.frames = FrameFiles(self.path, run, runs, self.owned)
        self.checkpoints = Checkpoints(self.frames, self.owned)

    @classmethod
    def begin(cls, path: str | Path, scene: Scene, overwrite: bool = False) -> RunFolder:
        """A folder for a new run; raises, nothing touched, if something is there that is not to be replaced."""
        place = Path(path)
        fingerprint = Fingerprint.of(hashed_scene(scene), __version__)
        with _readable(place):
            if place.is_dir():
                recover_unlocked(place)
            record = Record.read(place)
        if record is None:
            _refuse_old_run(place)
            owned = OwnedFolder.claim(place, fingerprint.header())
        else:
            owned = _replaced(place, record, scene, fingerprint, overwrite)
        folder = cls(place, fingerprint, owned)
        try:
            folder.write_text("scene.toml", dump_scene(scene))
        except KeyfluidError:
            folder.abandon()
            raise
        return folder

    @classmethod
    def find(cls, path: str | Path) -> RunFolder:
        """The folder of a run that was begun, to read it."""
        place = Path(path)
        with _readable(place):
            if place.is_dir():
                recover_unlocked(place)
            if not (place / "scene.toml").is_file():
                raise KeyfluidError(f"{place}: holds no run (no scene.toml); give the folder of a run")
            record = Record.read(place)
        return cls(place, _fingerprint(place, record))

    @classmethod
    def open(cls, path: str | Path) -> RunFolder:
        """The folder of a run that was begun, locked, to write to it."""
        found = cls.find(path)
        if found.fingerprint is None:
            raise KeyfluidError(
                f"{found.path}: is a run of an older keyfluid, which kept no record of its files; go on with it by "
                f"keyfluid resume {found.path} --accept-changes"
            )
        owned = OwnedFolder.open(found.path)
        return cls(found.path, _fingerprint(found.path, owned.record), owned)

    @classmethod
    def adopt(cls, path: str | Path) -> RunFolder:
        """The folder of a run from before there were records: what a run of its scene would have written is taken as
        its own."""
        found = cls.find(path)
        if found.fingerprint is not None:
            return cls.open(path)
        scene = found.scene()
        fingerprint = Fingerprint.of(hashed_scene(scene), __version__)
        nameless = Fingerprint(**{**vars(fingerprint), "accepted": (None,), "changes": ("from an older keyfluid",)})
        owned = OwnedFolder(found.path, Record(found.path, nameless.header(), {}))
        owned.lock()
        owned.record.files = {name: (found.path / name).stat().st_size for name in _names_there(found.path, scene.name)}
        owned.record.write()
        return cls(found.path, nameless, owned)

    def close(self) -> None:
        """Let go of the folder."""
        if self.owned is not None:
            with suppress(KeyfluidError, OSError):  # a full disk: the list then says "any size", which is true
                self.owned.settle()
            self.owned.unlock()

    def abandon(self) -> None:
        """A run that has nothing to go on from leaves nothing behind, and what it would have replaced comes back."""
        assert self.owned is not None
        with suppress(OSError):  # what can't be removed stays listed, and goes when the folder is used again
            self.owned.clear()
            self.owned.forget()
            recover(self.path)
        self.owned.leave()
        self.owned = None

    def writing(self, name: str, again: bool = False) -> AbstractContextManager[Path]:
        """See OwnedFolder.writing."""
        assert self.owned is not None, "opened for reading"
        return self.owned.writing(name, again)

    def has_begun(self) -> None:
        """There is something to go on from: what this run replaces can go."""
        if (self.path / ASIDE).is_dir():
            discard(self.path)

    def accept(self, fingerprint: Fingerprint) -> None:
        """Go on as another run than it was."""
        assert self.owned is not None
        self.owned.record.header = fingerprint.header()
        self.owned.record.write()
        self.identify(fingerprint)

    @property
    def is_running(self) -> bool | None:
        """Whether a process is writing to it; None where nobody can tell."""
        return True if self.owned is not None else is_locked(self.path)

    def scene(self) -> Scene:
        return load_scene(self.path / "scene.toml")

    def result(self) -> Result | None:
        """result.json, or None while there is none; of a run whose process is gone the status is "interrupted"."""
        result = read_result(self.path / "result.json")
        if result is not None and result["status"] == "running" and self.is_running is False:
            result["status"] = "interrupted"
        return result

    def write_result(self, result: Mapping[str, Any]) -> None:
        self.write_text("result.json", json.dumps(result, indent=2) + "\n")

    def write_text(self, name: str, text: str) -> None:
        with self.writing(name, again=name != "scene.toml") as path:
            write_whole(path, lambda file: file.write(text.encode("utf-8")))

    def load_checkpoint(self) -> tuple[Checkpoint, dict[str, Any], str | None] | None:
        """The checkpoint, the shell's memory, and why it is the last but one, if it is; None if there is none yet."""
        found = self.checkpoints.load()
        return None if found is None else (Checkpoint(found.arrays, found.controller), found.shell, found.older)


def recover_unlocked(path: Path) -> None:
    """Put back a run that a killed process had moved aside, unless a process is at work there."""
    if (path / ASIDE).is_dir() and is_locked(path) is not True:
        recover(path)


def _replaced(place: Path, record: Record, scene: Scene, fingerprint: Fingerprint, overwrite: bool) -> OwnedFolder:
    """A folder whose run was moved aside for a new one."""
    kind = record.header.get("keyfluid")
    if kind != "run":
        raise KeyfluidError(f"{place}: holds the output of keyfluid {kind}; choose another folder with -o")
    if not overwrite:
        raise KeyfluidError(
            f"{place}: already holds a run; choose another folder, add --overwrite to replace it, "
            f"or continue it: keyfluid resume {place}"
        )
    owned = OwnedFolder.open(place)
    try:
        for name in (*FILES, *(f"{folder}/-" for folder in FOLDERS), *_names_there(place, scene.name)):
            if name not in owned.changed():
                owned.require_free(name)
        move_aside(owned, input_files(scene))
        owned.record = Record(place, fingerprint.header(), {})
        owned.record.write()
    except OSError as error:
        recover(place)
        owned.unlock()
        raise DiskError(f"{place}: can't be written: {error.strerror or error}; choose another folder") from None
    except BaseException:
        recover(place)
        owned.unlock()
        raise
    return owned


def _names_there(place: Path, scene: str) -> list[str]:
    """Files in a folder that have the names of a run's."""
    names = [name for name in FILES if (place / name).is_file()]
    names += [path.name for path in place.glob("checkpoint.*.npz") if path.name not in names]
    for folder, ending in FOLDERS.items():
        stem = r"\d+" if folder == FRAMES else rf"{re.escape(scene)}\.\d+"
        wanted = re.compile(rf"{stem}\.{ending}", re.ASCII)
        names += [f"{folder}/{path.name}" for path in (place / folder).glob("*") if wanted.fullmatch(path.name)]
    return names


def _fingerprint(place: Path, record: Record | None) -> Fingerprint | None:
    if record is None:
        return None
    if record.header.get("keyfluid") != "run":
        kind = record.header.get("keyfluid")
        raise KeyfluidError(f"{place}: holds the output of keyfluid {kind}, not a run; give the folder of a run")
    try:
        return Fingerprint.read(record.header)
    except KeyfluidError as error:
        raise KeyfluidError(f"{place}: {error}") from None


def _refuse_old_run(place: Path) -> None:
    if (place / "scene.toml").is_file() and (place / FRAMES).is_dir():
        raise KeyfluidError(
            f"{place}: holds a run of an older keyfluid, which kept no record of its files, so it is not replaced; "
            "choose another folder with -o, or remove it yourself"
        )


@contextmanager
def _readable(place: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise KeyfluidError(f"{place}: can't be read: {error.strerror or error}; check the path") from None
