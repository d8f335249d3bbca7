"""A workspace full of links that lead out, and a watch over what lies outside."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from hostile_table import PNG

from keyfluid.scenes import dump_scene, scene_from

SECRET = "canary-7d1f3e"


GOOD = {
    "name": "word",
    "domain": {"resolution": 12},
    "time": {"frames": 2},
    "smoke": {"initial": {"shape": "disk", "center": [0.4, 0.5], "radius": 0.2}},
    "output": {"vdb": False, "video": False, "size": 32},
}


def workspace_with_links(folder: Path, outside: Path, run: Path) -> None:
    """A workspace with scenes, a copy of a run, and links that lead out of it."""
    text = f'name = "{SECRET}"\n'
    for place in (outside, outside / "frames"):
        place.mkdir(parents=True)
    (outside / "secret.toml").write_text(text)
    (outside / "scene.toml").write_text(text)
    (outside / "secret.png").write_bytes(PNG + SECRET.encode())
    for name in ("word", "other"):
        (folder / "scenes" / name).mkdir(parents=True)
        (folder / "scenes" / name / "scene.toml").write_text(dump_scene(scene_from(GOOD)))
    shutil.copytree(run, folder / "runs/word")
    for hidden in (".studio", "trash/old", ".git"):
        (folder / hidden).mkdir(parents=True)
    (folder / ".studio/job.toml").write_text(text)
    (folder / "trash/old/scene.toml").write_text(text)
    os.mkfifo(folder / "scenes/word/fifo.toml")
    for link, target in {
        "scenes/out": outside, "runs/out": outside, "link_home": outside, "scenes/root": "/",
        "scenes/hidden": "../.studio",
        "scenes/word/link.toml": outside / "secret.toml", "scenes/word/link.png": outside / "secret.png",
        "scenes/word/loop.toml": "loop.toml", "scenes/word/dangling.toml": outside / "new.toml",
    }.items():  # fmt: skip
        (folder / link).symlink_to(target)


_WATCHED = {
    "open", "os.listdir", "os.scandir", "os.remove", "os.rename", "os.mkdir", "os.rmdir", "os.symlink", "os.link",
    "os.truncate", "os.chmod", "os.utime", "shutil.copyfile", "shutil.move", "shutil.rmtree",
}  # fmt: skip
_BELOW_A_HANDLE = ("os.remove", "os.rmdir", "os.mkdir")
_PROTECTED = ("/etc/passwd", "/etc/shadow", "/proc/self/environ", "/dev/zero")
_watching: list[tuple[Path, Path, list[str]]] = []
_hooked = False


def _heard(event: str, arguments: tuple[Any, ...]) -> None:
    if not _watching or event not in _WATCHED:
        return
    folder, outside, found = _watching[-1]
    for name in arguments[:2] if event in ("os.rename", "os.link", "shutil.copyfile", "shutil.move") else arguments[:1]:
        if not isinstance(name, str | bytes | os.PathLike):
            continue
        place = arguments[-1] if event in _BELOW_A_HANDLE and arguments[-1] != -1 else None
        here = os.readlink(f"/proc/self/fd/{place}") if place is not None else ""
        path = os.path.realpath(os.path.join(here, os.fsdecode(name)))
        inside = path.startswith(f"{folder}{os.sep}")
        writes = event not in ("open", "os.listdir", "os.scandir", "shutil.copyfile") or (
            event == "open" and bool((arguments[2] or 0) & (os.O_WRONLY | os.O_RDWR | os.O_CREAT))
        )
        if path.startswith(str(outside)) or path in _PROTECTED or (writes and not inside and not _is_scratch(path)):
            found.append(f"{event} {path}")


def _is_scratch(path: str) -> bool:
    """Caches of compiled code, and temporary files with names that nobody can know."""
    scratch = Path(tempfile.gettempdir()).resolve()
    parts = Path(path).relative_to(scratch).parts if Path(path).is_relative_to(scratch) else ()
    temporary = bool(parts) and parts[0].startswith(("tmp", "keyfluid-"))
    return temporary or path == os.devnull or "__pycache__" in path or "kernels-" in path or "/matplotlib" in path


@contextmanager
def watched(folder: Path, outside: Path) -> Iterator[list[str]]:
    """What Python opens, lists, makes or removes outside of `folder` meanwhile, in any thread; empty if all is well."""
    global _hooked
    if not _hooked:
        sys.addaudithook(_heard)  # for good: Python has no way to take one away
        _hooked = True
    found: list[str] = []
    _watching.append((folder.resolve(), outside.resolve(), found))
    try:
        yield found
    finally:
        _watching.pop()


def tree(folder: Path) -> dict[str, bytes | None]:
    """Everything below a folder, with content; links are not followed."""
    files = {path: path.is_file() and not path.is_symlink() for path in sorted(folder.rglob("*"))}
    return {str(path): path.read_bytes() if is_file else None for path, is_file in files.items()}
