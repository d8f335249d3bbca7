"""Every command that writes, sent into random folders of a person's: nothing of theirs may change.

A folder holds names that a run uses, links to files and folders elsewhere, nested folders and read-only files, and is
new, empty, somebody's own, or a run's to which things of somebody's were added. run (with and without --overwrite),
resume, render, export and wedge are tried on it. What was there before and is not listed in keyfluid's record must be
there afterwards, byte for byte, and so must everything that links lead to.
"""

from __future__ import annotations

import hashlib
import os
import random
import shutil
from pathlib import Path
from typing import Any

from keyfluid.io.run.record import MARKER, Record
from torture.children import Child, Outcome, run_words
from torture.report import Tally
from torture.results import make_references

SCENE = "plume"
NAMES = (
    "scene.toml", "result.json", "checkpoint.npz", "checkpoint.before.npz", "checkpoint.part0.npz", "strip.png",
    "report.html", "video.webp", "video.mp4", "video.gif", "latest.png", "changes.json", "wedge.png", "wedge.json",
    "index.html", "frames/0000.npz", "frames/0003.npz", "frames/data.npz", "vdb/cloud.vdb", "vdb/plume.1001.vdb",
    "png/holiday.png", "png/plume.1001.png", "ply/scan.ply", "mesh/statue.ply", ".strip.png.part",
    ".keyfluid-replaced/a", "notes.txt", "a/b/c.txt", "smoke.buoyancy=1/notes.txt", "frame.0002.png", "plume.1001.vdb",
)  # fmt: skip


def torture(count: int, seed: int, out: Path, scratch: Path, scenes: str = "") -> dict[str, Any]:
    """`count` folders; returns the figures."""
    reference = make_references([SCENE], scratch)[SCENE]
    elsewhere = scratch / "elsewhere"
    for name in ("a.txt", "plume.1001.vdb", "0000.npz", "deep/b.txt"):
        (elsewhere / name).parent.mkdir(parents=True, exist_ok=True)
        (elsewhere / name).write_bytes(name.encode())
    there, tally = hashes(elsewhere), Tally("folders")
    for number in range(count):
        chance = random.Random(f"{seed}/{number}")
        folder = scratch / f"folder-{number}"
        kind = chance.choice(("somebody's", "somebody's", "empty", "a run's"))
        _fill(chance, kind, folder, reference.folder, elsewhere)
        theirs = _theirs(folder)
        command, words = _command(chance, reference.scene, folder, reference.folder)
        outcome = Child(words, scratch).outcome()
        now = hashes(folder)
        lost = [name for name, value in theirs.items() if now.get(name) != value]
        row = f"{command} into {kind}"
        if lost or hashes(elsewhere) != there:
            tally.failure(row, f"lost or changed: {lost[:3] or 'behind a link'}", seed=f"{seed}/{number}", words=words)
        elif outcome.code not in (0, 2) or (outcome.code == 2 and not _one_line(outcome)):
            tally.failure(row, outcome.describe(), seed=f"{seed}/{number}", words=words)
        else:
            tally.count(row, "identical" if outcome.code == 0 else "clear line")
        shutil.rmtree(folder, ignore_errors=True)
    return tally.finish(folders=count, seed=seed)


def _one_line(outcome: Outcome) -> bool:
    """Refused in one line; drawing may have begun, and said so."""
    said = [line for line in outcome.lines if not line.startswith(("warning: ", "drawing ", "writing "))]
    return len(said) == 1 and said[0].startswith("keyfluid: ")


def hashes(folder: Path) -> dict[str, str]:
    """Every file and link below, with what is in it; links are not followed."""
    found = {}
    for place, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = Path(place, name)
            key = str(path.relative_to(folder))
            if path.is_symlink():
                found[key] = f"link to {os.readlink(path)}"
            elif path.is_file():
                found[key] = hashlib.sha256(path.read_bytes()).hexdigest()
    return found


def _theirs(folder: Path) -> dict[str, str]:
    """What keyfluid's record does not list."""
    record = Record.read(folder)
    ours = {MARKER, *(record.files if record is not None else ())}
    return {name: value for name, value in hashes(folder).items() if name not in ours}


def _fill(chance: random.Random, kind: str, folder: Path, run: Path, elsewhere: Path) -> None:
    if kind == "a run's":
        shutil.copytree(run, folder)
    else:
        folder.mkdir()
    if kind == "empty":
        return
    for name in chance.sample(NAMES, chance.randint(1, 5)):
        path = folder / name
        if os.path.lexists(path) or any(parent.is_symlink() for parent in path.parents):
            continue
        if path.parent != folder and not path.parent.exists() and chance.random() < 0.25:
            path.parent.parent.mkdir(parents=True, exist_ok=True)
            path.parent.symlink_to(elsewhere)
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        if chance.random() < 0.2:
            path.symlink_to(elsewhere / "a.txt")
            continue
        path.write_bytes(chance.randbytes(chance.choice((0, 1, 2000))))
        if chance.random() < 0.2:
            path.chmod(0o400)


def _command(chance: random.Random, scene: Path, folder: Path, run: Path) -> tuple[str, list[str]]:
    command = chance.choice(("run", "run --overwrite", "resume", "render", "export", "wedge"))
    other = str(folder)
    words = {
        "run": run_words(scene, folder, 1),
        "run --overwrite": [*run_words(scene, folder, 1), "--overwrite"],
        "resume": ["resume", other, "--threads", "1", *chance.choice(([], ["--from", "2"], ["--accept-changes"]))],
        "render": chance.choice((["render", str(run), "-o", other, "--size", "16"], ["render", other, "--png"])),
        "export": chance.choice((["export", str(run), "-o", other], ["export", other])),
        "wedge": ["wedge", str(scene), "smoke.buoyancy=1", "-o", other, "--threads", "1"],
    }
    return command, words[command]
