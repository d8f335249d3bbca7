"""The folder of a run that was begun: found to read it, or opened, locked, to write to it.

Only a folder that carries our record is ever written to, and only what the record lists is ever replaced or removed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from keyfluid.errors import KeyfluidError
from keyfluid.io.atomic import write_whole
from keyfluid.io.run import FORMAT
from keyfluid.io.run.aside import ASIDE, discard, recover
from keyfluid.io.run.checkpoints import Checkpoints
from keyfluid.io.run.fingerprint import Fingerprint
from keyfluid.io.run.frame_files import FrameFiles
from keyfluid.io.run.layout import FRAMES, RESULT, SCENE, scene_file
from keyfluid.io.run.owned import OwnedFolder, is_locked
from keyfluid.io.run.record import Record
from keyfluid.io.run.result_file import Result, read_result

_KEPT = "keep"
"""Key of the record's header."""


class RunFolder:
    """One run's files. `read` and `find` only read; `open` locks it for writing."""

    def __init__(self, path: Path, fingerprint: Fingerprint | None, owned: OwnedFolder | None = None) -> None:
        self.path, self.owned = path, owned
        self._identify(fingerprint)

    def _identify(self, fingerprint: Fingerprint | None) -> None:
        """Set what the run is; None: a folder from before there were fingerprints, whose frames name no run."""
        self.fingerprint = fingerprint
        run, runs = (None, ()) if fingerprint is None else (fingerprint.run, fingerprint.runs)
        self.frames = FrameFiles(self.path, run, runs, self.owned)
        self.checkpoints = Checkpoints(self.frames, self.owned)

    @classmethod
    def read(cls, path: Path) -> RunFolder:
        """As it is; raises if its format is not ours."""
        return cls(path, _fingerprint(path, Record.read(path)))

    @classmethod
    def find(cls, path: str | Path) -> RunFolder:
        """The same, once a run that a killed process had moved aside is back; raises if there is none."""
        place = Path(path)
        with readable(place):
            recover_unlocked(place)
            if not scene_file(place).is_file():
                raise KeyfluidError(f"{place}: holds no run (no {SCENE}); give the folder of a run")
            return cls.read(place)

    @classmethod
    def open(cls, path: str | Path) -> RunFolder:
        """Locked, to write to it."""
        found = cls.find(path)
        if found.fingerprint is None:
            raise KeyfluidError(
                f"{found.path}: is a run of an older keyfluid, which kept no record of its files; go on with it by "
                f"keyfluid resume {found.path} --accept-changes"
            )
        owned = OwnedFolder.open(found.path)
        if owned.record.header.get("format") != FORMAT:
            owned.record.header["format"] = FORMAT
            owned.record.write()
        return cls(found.path, _fingerprint(found.path, owned.record), owned)

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
        self._identify(fingerprint)

    @property
    def has_no_frames(self) -> bool:
        """Whether a finished run gave up its frames on purpose (`give_up_frames`)."""
        record = self.owned.record if self.owned is not None else Record.read(self.path)
        return record is not None and record.header.get(_KEPT) == "scene"

    def require_frames(self) -> None:
        """Raise if the run gave them up."""
        if self.has_no_frames:
            raise KeyfluidError(f'{self.path}: has kept no frames (output.keep = "scene"); run its scene again')

    def give_up_frames(self) -> None:
        """Remove frames and checkpoints of a finished run; the record says so first, so that no reader takes what is
        left after a kill for the whole film."""
        assert self.owned is not None, "opened for reading"
        if not self.has_no_frames:
            self.owned.record.header[_KEPT] = "scene"
            self.owned.record.write()
        self.checkpoints.remove()
        self.frames.drop_after(-1)
        self.owned.remove_empty(FRAMES)

    @property
    def is_running(self) -> bool | None:
        """Whether a process is writing to it; None where nobody can tell."""
        return True if self.owned is not None else is_locked(self.path)

    @property
    def scene_file(self) -> Path:
        return scene_file(self.path)

    def write_scene(self, text: str) -> None:
        self._write(SCENE, text, again=False)

    def result(self) -> Result | None:
        """result.json, or None while there is none; of a run whose process is gone the status is "interrupted"."""
        result = read_result(self.path / RESULT)
        if result is not None and result["status"] == "running" and self.is_running is False:
            result["status"] = "interrupted"
        return result

    @property
    def finished(self) -> Result | None:
        """result.json of a run that has ended; None for others, and where it can't be read."""
        try:
            result = self.result()
        except KeyfluidError:
            return None
        return result if result is not None and result["status"] == "finished" else None

    def write_result(self, result: Result) -> None:
        self._write(RESULT, json.dumps(result, indent=2) + "\n", again=True)

    def _write(self, name: str, text: str, again: bool) -> None:
        with self.writing(name, again) as path:
            write_whole(path, lambda file: file.write(text.encode("utf-8")))


def recover_unlocked(path: Path) -> None:
    """Put back a run that a killed process had moved aside, unless a process is at work there."""
    if (path / ASIDE).is_dir() and is_locked(path) is not True:
        recover(path)


def _fingerprint(path: Path, record: Record | None) -> Fingerprint | None:
    if record is None:
        return None
    if record.header.get("keyfluid") != "run":
        kind = record.header.get("keyfluid")
        raise KeyfluidError(f"{path}: holds the output of keyfluid {kind}, not a run; give the folder of a run")
    try:
        return Fingerprint.read(record.header)
    except KeyfluidError as error:
        raise KeyfluidError(f"{path}: {error}") from None


@contextmanager
def readable(path: Path) -> Iterator[None]:
    """Turns faults of the disk into one line."""
    try:
        yield
    except OSError as error:
        raise KeyfluidError(f"{path}: can't be read: {error.strerror or error}; check the path") from None
