"""An old run moved aside, inside its folder, until the one that replaces it has begun.

    .keyfluid-replaced/     the old run's files by their names, and last of all its record

The record moves last in both directions, so a process that is killed on the way leaves no doubt:

    record outside, none inside     it was moving files in: they go back
    record inside, none outside     the new run never began: everything goes back
    both                            the new run is under way; when it has begun, the old one goes
"""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path

from keyfluid.errors import KeyfluidError
from keyfluid.io.atomic import flush_folder
from keyfluid.io.run.owned import OwnedFolder
from keyfluid.io.run.record import MARKER, Record

ASIDE = ".keyfluid-replaced"


def move_aside(folder: OwnedFolder, inputs: Collection[Path] = ()) -> None:
    """Move the files of a run aside, its record too; raises, nothing touched, if one of them is not to be lost."""
    _require_replaceable(folder, inputs)
    aside = folder.path / ASIDE
    if not aside.is_symlink() and Record.read(aside) is not None:
        # An older run still waits there: what is to be replaced now never began.
        folder.clear()
        folder.forget()
        return
    if os.path.lexists(aside) and (aside.is_symlink() or not aside.is_dir() or any(aside.iterdir())):
        raise KeyfluidError(f"{aside}: was not written by keyfluid, and the old run would be kept there; move it away")
    aside.mkdir(exist_ok=True)
    _move(folder.path, aside, folder.present())
    folder.record.close()
    os.replace(folder.path / MARKER, aside / MARKER)
    _remove_empty_folders(folder)
    _flush(aside)


def recover(path: Path) -> None:
    """Put back what a killed process had moved aside, unless another run is under way in its place."""
    aside = path / ASIDE
    if aside.is_symlink() or not aside.is_dir():
        return
    inside, outside = Record.read(aside), Record.read(path)
    if inside is not None and outside is not None:
        return
    record = inside or outside
    if record is None:
        return
    _move(aside, path, list(record.files))
    if inside is not None:
        os.replace(aside / MARKER, path / MARKER)
    _remove_empty_folders(OwnedFolder(aside, record))
    _remove(aside)
    flush_folder(path)


def discard(path: Path) -> None:
    """Remove an old run whose successor has begun."""
    aside = path / ASIDE
    record = None if aside.is_symlink() else Record.read(aside)
    if record is None:
        return
    old = OwnedFolder(aside, record)
    old.clear()
    old.forget()
    _remove(aside)


def _require_replaceable(folder: OwnedFolder, inputs: Collection[Path]) -> None:
    changed = folder.changed()
    if changed:
        raise KeyfluidError(
            f"{folder.path / changed[0]}: has changed since the run wrote it and would be replaced; move it away"
        )
    for source in inputs:
        for name in folder.present():
            try:
                same = os.path.samefile(source, folder.path / name)
            except OSError:
                continue
            if same:
                raise KeyfluidError(
                    f"{folder.path / name}: is read by this scene and would be replaced; choose another folder with -o"
                )


def _move(source: Path, target: Path, names: list[str]) -> None:
    for name in names:
        if not os.path.lexists(source / name) or os.path.lexists(target / name):
            continue
        (target / name).parent.mkdir(parents=True, exist_ok=True)
        os.replace(source / name, target / name)


def _remove_empty_folders(folder: OwnedFolder) -> None:
    for place in folder.folders():
        if not place.is_symlink() and place.is_dir() and not any(place.iterdir()):
            place.rmdir()


def _remove(aside: Path) -> None:
    if not any(aside.iterdir()):
        aside.rmdir()


def _flush(aside: Path) -> None:
    flush_folder(aside)
    flush_folder(aside.parent)
