# SPDX-License-Identifier: GPL-3.0-or-later
"""Where keyfluid is: given in the preferences, installed by the button, on the PATH, or by `uv tool` or pipx."""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from .messages import NOT_FOUND, Fault, another_version

NAME = "keyfluid.exe" if os.name == "nt" else "keyfluid"
BIN = "Scripts" if os.name == "nt" else "bin"
CLEARED = ("PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "PYTHONUSERBASE", "PYTHONNOUSERSITE", "VIRTUAL_ENV")
"""Variables of Blender's own Python that would mislead another."""


def candidates(given: str, own: Path | None, home: Path | None = None) -> list[Path]:
    """Places to look at, in order; a given path alone, if there is one."""
    if given:
        path = Path(given).expanduser()
        return [path / BIN / NAME, path / NAME] if path.is_dir() else [path]
    home = home or Path.home()
    found = [own / BIN / NAME] if own is not None else []
    on_path = shutil.which("keyfluid")
    found += [Path(on_path)] if on_path else []
    found += [
        home / ".local" / "bin" / NAME,
        home / ".local" / "share" / "uv" / "tools" / "keyfluid" / BIN / NAME,
        home / ".local" / "share" / "pipx" / "venvs" / "keyfluid" / BIN / NAME,
        home / ".local" / "pipx" / "venvs" / "keyfluid" / BIN / NAME,
    ]
    if os.name == "nt" and "APPDATA" in os.environ:
        found.append(Path(os.environ["APPDATA"]) / "uv" / "tools" / "keyfluid" / BIN / NAME)
    return found


def find(given: str, own: Path | None, home: Path | None = None) -> Path:
    """The program; raises where there is none."""
    for path in candidates(given, own, home):
        if path.is_file() and os.access(path, os.X_OK):
            return path
    if given:
        raise Fault(f"{given}: is not keyfluid; correct the path in the preferences, or clear it and press Install")
    raise Fault(NOT_FOUND)


def require_version(printed: str, expected: str) -> None:
    """The same MAJOR.MINOR, or the scene's keys and the messages may differ."""
    found = printed.strip().split()[-1] if printed.strip() else "of an unknown version"
    if found.split(".")[:2] != expected.split(".")[:2]:
        raise Fault(another_version(found, f"{'.'.join(expected.split('.')[:2])}.*"))


def environment(base: Mapping[str, str] | None = None) -> dict[str, str]:
    """For a process with a Python of its own."""
    return {key: value for key, value in (base or os.environ).items() if key not in CLEARED}


def install_commands(own: Path, version: str, package: str = "") -> list[list[str]]:
    """An environment of its own, and keyfluid in it; package: a wheel or a folder instead of the published one."""
    minor = ".".join(version.split(".")[:2])
    what = package or f"keyfluid[mesh]=={minor}.*"
    python = str(own / BIN / ("python.exe" if os.name == "nt" else "python"))
    return [
        [sys.executable, "-m", "venv", "--clear", str(own)],
        [python, "-m", "pip", "install", "--disable-pip-version-check", "--quiet", what],
    ]
