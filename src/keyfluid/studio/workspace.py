"""The folder that the studio works in: scenes and runs, named by their path inside it.

    FOLDER/scenes/NAME/scene.toml   a scene with the pictures and meshes it names; new scenes go here
    FOLDER/runs/NAME/               a run, or a wedge with a run in each folder inside; new runs go here
    FOLDER/trash/                   what was deleted, until a person empties it
    FOLDER/.studio/                 the queue and thumbnails

Scenes and runs elsewhere in the folder are found too. A path from a request is only used after `inside` has resolved
it, links included, and found it in the folder.
"""

from __future__ import annotations

import os
import re
import shutil
import time
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from keyfluid.io.run.layout import SCENE
from keyfluid.io.run.record import MARKER
from keyfluid.studio.answers import Refused

SCENES, RUNS, TRASH, OURS = "scenes", "runs", "trash", ".studio"
_DEEPEST = 4
_MOST_NAME = 80
_RESERVED = re.compile(r"(?i)(con|prn|aux|nul|com[0-9]|lpt[0-9])(\..*)?")


class Workspace:
    """`root` is resolved; `outside`: folders that files named by scenes may lie in, beside the workspace."""

    def __init__(self, root: Path, outside: tuple[Path, ...] = ()) -> None:
        root.mkdir(parents=True, exist_ok=True)
        self.root = root.resolve()
        self.outside = tuple(path.resolve() for path in outside)

    def inside(self, name: str, must_exist: bool = True) -> Path:
        """The path of this name in the workspace; refuses what lies elsewhere, by dots, links or otherwise."""
        if not name or len(name) > 1000 or "\\" in name or any(unicodedata.category(sign)[0] == "C" for sign in name):
            raise Refused(400, "this is not the name of a file in the workspace")
        parts = name.split("/")
        if name.startswith("/") or any(part in ("", ".", "..") for part in parts) or ":" in parts[0]:
            raise Refused(400, "this is not the name of a file in the workspace")
        try:
            path = (self.root / name).resolve()
        except (OSError, RuntimeError):
            raise Refused(404, f"{name}: is not there") from None
        if not path.is_relative_to(self.root) or path == self.root:
            raise Refused(403, f"{name}: leads out of the workspace")
        if must_exist and not path.exists():
            raise Refused(404, f"{name}: is not there")
        return path

    def name_of(self, path: Path) -> str:
        """What `inside` takes for this path."""
        return path.relative_to(self.root).as_posix()

    def may_read(self, path: Path) -> bool:
        """Whether a scene may name this file: it lies in the workspace, or in a folder that was allowed."""
        real = path.resolve()
        return any(real.is_relative_to(folder) for folder in (self.root, *self.outside))

    def scene(self, name: str) -> Path:
        """The file of a scene; raises if this is not one."""
        path = self.inside(name)
        if path.suffix != ".toml" or not path.is_file() or self._is_ours(path):
            raise Refused(404, f"{name}: is not a scene")
        return path

    def run(self, name: str) -> Path:
        """The folder of a run or a wedge; raises if this is not one."""
        path = self.inside(name)
        if not is_run(path) or self._is_ours(path):
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
        """Move a scene's or a run's folder (a scene outside scenes/: its file) to the trash."""
        target = path.parent if path.suffix == ".toml" and path.parent.parent == self.root / SCENES else path
        stamp = time.strftime("%Y%m%d-%H%M%S")
        shutil.move(target, self.free(TRASH, f"{stamp}-{target.name}"))

    def scenes(self) -> Iterator[Path]:
        """Scene files, none of them inside a run."""
        for folder, runs_here, files in self._walk():
            del runs_here
            yield from (folder / name for name in files if name.endswith(".toml"))

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
                if not name.startswith(".") and (depth > 0 or name != TRASH) and not (place / name).is_symlink()
            ]  # fmt: skip
            runs = [place / name for name in sorted(open_) if is_run(place / name)]
            folders[:] = [name for name in sorted(open_) if place / name not in runs]
            yield place, runs, sorted(name for name in files if not (place / name).is_symlink())

    def _is_ours(self, path: Path) -> bool:
        return path.relative_to(self.root).parts[0] in (OURS, TRASH)


def is_run(path: Path) -> bool:
    """Whether a folder holds a run or a wedge: it carries our record, or looks like a run from before records."""
    return path.is_dir() and ((path / MARKER).is_file() or ((path / SCENE).is_file() and (path / "frames").is_dir()))


def plain_name(name: str) -> str:
    """A name that every file system takes; raises if nothing is left of it."""
    text = unicodedata.normalize("NFC", name).strip()
    text = re.sub(r"[^\w .()+-]", "-", text).strip(" .")[:_MOST_NAME].strip(" .")
    if not text or _RESERVED.fullmatch(text):
        raise Refused(400, f"{name[:40]!r}: is not a name for a folder; use letters, digits and dashes")
    return text
