"""The folder of a run: who may write to it, and the files in it that are not frames or pictures.

    scene.toml  result.json  frames/  checkpoint.npz  vdb/  png/  video.*  strip.png  report.html
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from keyfluid.controllers.interface import Checkpoint
from keyfluid.errors import KeyfluidError
from keyfluid.io.container import PART, load_arrays, save_arrays, write_whole
from keyfluid.runs.frames import FolderFrames
from keyfluid.scenes import Scene, dump_scene, load_scene

FILES = (
    "scene.toml", "result.json", "checkpoint.npz", "strip.png", "report.html",
    "video.webp", "video.gif", "video.mp4", "latest.png", "changes.json",
)  # fmt: skip
FOLDERS = {"frames": "*.npz", "vdb": "*.vdb", "png": "*.png", "ply": "*.ply", "mesh": "*.ply"}
"""Folders that belong to a run, and which of their files do."""

_PARTS = "checkpoint.*.npz"
_HOLDS_A_RUN = ("scene.toml", "result.json", "checkpoint.npz", "frames/0000.npz")
_UNFINISHED = (f".*{PART}", ".video.*", ".strip.*", ".report.*", ".*.png")
"""What a process was writing when it was killed; its names begin with a dot."""


class RunFolder:
    """Paths and small files of one run. Made by `begin` or `find`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.frames = FolderFrames(path / "frames")
        self._made = False
        self._lock: int | None = None

    @classmethod
    def begin(cls, path: str | Path, scene: Scene, overwrite: bool = False) -> RunFolder:
        """An empty folder for a new run; raises if another run is there, or if it can't be written."""
        folder = cls(Path(path))
        holds = [name for name in _HOLDS_A_RUN if (folder.path / name).exists()]
        if holds and not overwrite:
            raise KeyfluidError(
                f"{folder.path}: holds another run; choose another folder, add --overwrite to replace it, "
                f"or go on with it: keyfluid resume {folder.path}"
            )
        try:
            folder._made = not folder.path.exists()
            folder.path.mkdir(parents=True, exist_ok=True)
            folder.lock()
            folder.clear()
            (folder.path / "frames").mkdir(exist_ok=True)
        except OSError as error:
            raise KeyfluidError(
                f"{folder.path}: can't be written: {error.strerror or error}; choose another folder with -o"
            ) from None
        try:
            folder.write_text("scene.toml", dump_scene(scene))
        except KeyfluidError:
            folder.abandon()
            raise
        return folder

    @classmethod
    def find(cls, path: str | Path) -> RunFolder:
        """The folder of a run that was begun."""
        folder = cls(Path(path))
        if not (folder.path / "scene.toml").is_file():
            raise KeyfluidError(f"{folder.path}: holds no run (no scene.toml); give the folder of a run")
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
            raise KeyfluidError(f"{self.path}: another keyfluid process is writing there; let it end first") from None
        except OSError:
            pass  # a file system without locks
        self._lock = handle

    def unlock(self) -> None:
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def clear(self) -> None:
        """Remove the files of a run, and nothing else."""
        for name in FILES:
            (self.path / name).unlink(missing_ok=True)
        for path in self.path.glob(_PARTS):
            path.unlink(missing_ok=True)
        for name, pattern in FOLDERS.items():
            for path in (self.path / name).glob(pattern):
                path.unlink(missing_ok=True)
        self.sweep()
        for name in FOLDERS:
            if (self.path / name).is_dir() and not any((self.path / name).iterdir()):
                (self.path / name).rmdir()

    def sweep(self) -> None:
        """Remove what a killed process was writing."""
        for name in ("", *FOLDERS):
            for pattern in _UNFINISHED:
                for path in (self.path / name).glob(pattern):
                    path.unlink(missing_ok=True)

    def abandon(self) -> None:
        """A run that has nothing to go on from leaves nothing behind."""
        self.unlock()
        if self._made:
            shutil.rmtree(self.path, ignore_errors=True)
        else:
            self.clear()

    def scene(self) -> Scene:
        return load_scene(self.path / "scene.toml")

    def result(self) -> dict[str, Any] | None:
        """result.json, or None while there is none."""
        path = self.path / "result.json"
        try:
            content = json.loads(path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            return None
        except (OSError, ValueError):
            raise KeyfluidError(f"{path}: is damaged; resume the run to write it anew") from None
        if not isinstance(content, dict):
            raise KeyfluidError(f"{path}: is damaged; resume the run to write it anew")
        return content

    def write_result(self, result: Mapping[str, Any]) -> None:
        self.write_text("result.json", json.dumps(result, indent=2) + "\n")

    def write_text(self, name: str, text: str) -> None:
        write_whole(self.path / name, lambda file: file.write(text.encode("utf-8")), sync=False)

    def save_checkpoint(
        self,
        arrays: Mapping[str, np.ndarray],
        meta: Mapping[str, Any],
        shell: Mapping[str, Any],
        part: str | None = None,
        keep: Sequence[str] = (),
        sync: bool = True,
    ) -> None:
        """The controller's arrays and meta data, and what the shell itself must remember.

        A part is written before the checkpoint that names it, and removed after the first that does not.
        """
        parts = sorted({*keep, part} - {None})  # type: ignore[type-var]
        if part is not None:
            save_arrays(self._part(part), arrays, {}, sync)
            arrays = {}
        content = {"controller": dict(meta), "shell": dict(shell), "parts": parts}
        save_arrays(self.path / "checkpoint.npz", arrays, content, sync)
        wanted = {self._part(name) for name in parts if name is not None}
        for path in self.path.glob(_PARTS):
            if path not in wanted:
                path.unlink(missing_ok=True)

    def _part(self, name: str) -> Path:
        return self.path / f"checkpoint.{name}.npz"

    @property
    def has_checkpoint(self) -> bool:
        return (self.path / "checkpoint.npz").exists()

    def load_checkpoint(self) -> tuple[Checkpoint, dict[str, Any]] | None:
        """The checkpoint and the shell's memory; None if the run has none yet."""
        path = self.path / "checkpoint.npz"
        if not self.has_checkpoint:
            return None
        try:
            arrays, meta = load_arrays(path)
            for name in meta.get("parts", []):
                more, _ = load_arrays(self._part(name))
                arrays.update({f"{name}/{key}": array for key, array in more.items()})
            return Checkpoint(arrays, meta["controller"]), meta["shell"]
        except (KeyError, KeyfluidError) as error:
            reason = f"{path}: is damaged or cut short" if isinstance(error, KeyError) else str(error)
            raise KeyfluidError(reason) from None
