"""The folder that the studio works in: scenes and runs, named by their path inside it.

    FOLDER/scenes/NAME/scene.toml   a scene with the pictures and meshes it names; new scenes go here
    FOLDER/runs/NAME/               a run, or a wedge with a run in each folder inside; new runs go here
    FOLDER/trash/                   what was deleted, until a person empties it
    FOLDER/.studio/                 the queue and thumbnails

Scenes and runs elsewhere in the folder are found too, but nothing that is hidden. A path from a request is only used
after `inside` has resolved it, links included, and found it in the folder.
"""

from __future__ import annotations

import os
import re
import shutil
import tempfile
import time
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from keyfluid.errors import KeyfluidError
from keyfluid.io.run.layout import SCENE
from keyfluid.io.run.record import MARKER
from keyfluid.studio.answers import Refused

SCENES, RUNS, TRASH, OURS = "scenes", "runs", "trash", ".studio"
_DEEPEST = 4
_MOST_NAME, _MOST_PART, _MOST_PATH = 120, 255, 1000
"""Bytes of a new name, of a part of a path, and of a path in the workspace."""
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?")


class Workspace:
    """`root` is resolved; `outside`: folders that files named by scenes may lie in, beside the workspace."""

    def __init__(self, root: Path, outside: tuple[Path, ...] = ()) -> None:
        try:
            root.mkdir(parents=True, exist_ok=True)
            with tempfile.TemporaryFile(dir=root):
                self.root = root.resolve()
        except OSError as error:
            reason = error.strerror or str(error)
            raise KeyfluidError(f"{root}: can't be a workspace: {reason}; give a folder you may write to") from None
        if self.root.parent == self.root:
            raise KeyfluidError(f"{root}: is the whole disk; give a folder for scenes and runs")
        self.outside = tuple(path.resolve() for path in outside)

    def inside(self, name: str, must_exist: bool = True) -> Path:
        """The path of this name in the workspace; refuses what is hidden or lies elsewhere, by dots, links or else."""
        if len(name.encode(errors="replace")) > _MOST_PATH or not all(_is_part(part) for part in name.split("/")):
            raise Refused(400, "this is not the name of a file in the workspace")
        try:
            path = (self.root / name).resolve()
            there = not must_exist or path.exists()
        except (OSError, RuntimeError):
            raise Refused(404, f"{name}: is not there") from None
        if not path.is_relative_to(self.root) or path == self.root:
            raise Refused(403, f"{name}: leads out of the workspace")
        if any(part.startswith(".") for part in path.relative_to(self.root).parts):
            raise Refused(403, f"{name}: leads to a hidden folder")
        if not there:
            raise Refused(404, f"{name}: is not there")
        return path

    def name_of(self, path: Path) -> str:
        """What `inside` takes for this path."""
        return path.relative_to(self.root).as_posix()

    def may_read(self, path: Path) -> bool:
        """Whether a scene may name this file: it lies in the workspace, or in a folder that was allowed."""
        try:
            real = path.resolve()
        except (OSError, RuntimeError, ValueError):
            return False
        return any(real.is_relative_to(folder) for folder in (self.root, *self.outside))

    def scene(self, name: str) -> Path:
        """The file of a scene; raises if this is not one."""
        path = self.inside(name)
        if path.suffix != ".toml" or not path.is_file() or self._is_trash(path):
            raise Refused(404, f"{name}: is not a scene")
        return path

    def run(self, name: str) -> Path:
        """The folder of a run or a wedge; raises if this is not one."""
        path = self.inside(name)
        if not is_run(path) or self._is_trash(path):
            raise Refused(404, f"{name}: is not a run")
        return path

    def free(self, folder: str, name: str) -> Path:
        """A path in scenes/ or runs/ that is not taken yet: NAME, NAME-2, NAME-3 ..."""
        plain = plain_name(name)
        parent = self.root / folder
        if parent.resolve() != parent:
            raise Refused(403, f"{folder}: is a link; the studio needs a folder there")
        parent.mkdir(exist_ok=True)
        candidates = (plain if number == 1 else f"{plain}-{number}" for number in range(1, 100_000))
        return next(parent / one for one in candidates if not os.path.lexists(parent / one))

    def discard(self, path: Path) -> None:
        """Move a scene's or a run's folder to the trash; a scene that shares its folder goes alone."""
        alone = path.parent.parent == self.root / SCENES and len(list(path.parent.glob("*.toml"))) == 1
        target = path.parent if path.suffix == ".toml" and path.is_file() and alone else path
        stamp = time.strftime("%Y%m%d-%H%M%S")
        shutil.move(target, self.free(TRASH, f"{stamp}-{target.name}"))

    def scenes(self) -> Iterator[Path]:
        """Scene files, none of them inside a run."""
        for folder, runs_here, files in self._walk():
            del runs_here
            yield from (folder / name for name in files if name.endswith(".toml") and (folder / name).is_file())

    def runs(self) -> Iterator[Path]:
        """Folders of runs and wedges; the runs inside a wedge are part of it."""
        for _, runs_here, _ in self._walk():
            yield from runs_here

    def _walk(self) -> Iterator[tuple[Path, list[Path], list[str]]]:
        """Folders, the runs in each and the files in each; links are not followed."""
        for here, folders, files in os.walk(self.root):
            place = Path(here)
            depth = len(place.relative_to(self.root).parts)
            open_ = [] if depth >= _DEEPEST else [
                name for name in folders
                if _is_part(name) and (depth > 0 or name.casefold() != TRASH) and not (place / name).is_symlink()
            ]  # fmt: skip
            runs = [place / name for name in sorted(open_) if is_run(place / name)]
            folders[:] = [name for name in sorted(open_) if place / name not in runs]
            yield place, runs, sorted(name for name in files if _is_part(name) and not (place / name).is_symlink())

    def _is_trash(self, path: Path) -> bool:
        return path.relative_to(self.root).parts[0].casefold() == TRASH  # some file systems don't know case


def _is_part(text: str) -> bool:
    """Whether a folder or file of this name is ours to open: not hidden, no signs that mean something elsewhere."""
    strange = any(sign in "\\:\u2028\u2029" or unicodedata.category(sign)[0] == "C" for sign in text)
    return bool(text) and text[0] != "." and not strange and len(text.encode()) <= _MOST_PART


def is_run(path: Path) -> bool:
    """Whether a folder holds a run or a wedge: it carries our record, or looks like a run from before records."""
    return path.is_dir() and ((path / MARKER).is_file() or ((path / SCENE).is_file() and (path / "frames").is_dir()))


def plain_name(name: str) -> str:
    """A name that every file system takes; raises if nothing is left of it."""
    text = unicodedata.normalize("NFC", name).strip()
    text = re.sub(r"[^\w .()+-]", "-", text).strip(" .").encode()[:_MOST_NAME].decode(errors="ignore").strip(" .")
    if not text or _RESERVED.fullmatch(text):
        raise Refused(400, f"{name[:40]!r}: is not a name for a folder; use letters, digits and dashes")
    return text
