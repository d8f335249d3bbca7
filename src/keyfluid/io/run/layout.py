"""Names of the files in the folder of a run; other modules ask here.

.keyfluid  scene.toml  result.json  frames/0000.npz  checkpoint*.npz  changes.json
strip.png  report.html  latest.png  video.*  NAME.usda  and sequences: vdb/NAME.1001.vdb  png/  ply/  mesh/  usd/
while it runs: .crew/
"""

from __future__ import annotations

import re
from pathlib import Path

SCENE, RESULT, CHANGES = "scene.toml", "result.json", "changes.json"
STRIP, REPORT, LATEST = "strip.png", "report.html", "latest.png"
WEBP, GIF, MP4 = "video.webp", "video.gif", "video.mp4"
LAST, BEFORE = "checkpoint.npz", "checkpoint.before.npz"
FILES = (SCENE, RESULT, LAST, BEFORE, STRIP, REPORT, WEBP, GIF, MP4, LATEST, CHANGES)

FRAMES, VDB, PNG, PLY, MESH, USD = "frames", "vdb", "png", "ply", "mesh", "usd"
FOLDERS = {FRAMES: "npz", VDB: "vdb", PNG: "png", PLY: "ply", MESH: "ply", USD: "usda"}
"""Folders of a run, and how the files in them end."""


CREW = ".crew"
"""Folder of what a run and its workers on other machines exchange while they work (keyfluid/cluster)."""


def scene_file(folder: Path) -> Path:
    return folder / SCENE


def frame_file(index: int) -> str:
    return f"{FRAMES}/{index:04d}.npz"


def frame_files(folder: Path) -> list[Path]:
    return sorted((folder / FRAMES).glob("*.npz"))


def part_file(slot: str) -> str:
    """Name of the file of a checkpoint's part."""
    return f"checkpoint.{slot}.npz"


def is_part_file(name: str) -> bool:
    return name.startswith("checkpoint.") and name.endswith(".npz") and name not in (LAST, BEFORE)


def stage_file(scene: str) -> str:
    """The USD stage."""
    return f"{scene}.usda"


def clips_file(scene: str) -> str:
    """What the layers in usd/ have."""
    return f"{scene}.clips.usda"


def numbered(scene: str, number: int) -> str:
    """A file of a sequence, without its ending."""
    return f"{scene}.{number:04d}"


def names_there(folder: Path, scene: str) -> list[str]:
    """Files in a folder that have the names of a run's; `scene`: its name, which sequences carry."""
    names = [name for name in (*FILES, stage_file(scene), clips_file(scene)) if (folder / name).is_file()]
    names += [path.name for path in folder.glob(part_file("*")) if path.name not in names]
    for inner, ending in FOLDERS.items():
        stem = r"\d+" if inner == FRAMES else rf"{re.escape(scene)}\.\d+"
        wanted = re.compile(rf"{stem}\.{ending}", re.ASCII)
        names += [f"{inner}/{path.name}" for path in (folder / inner).glob("*") if wanted.fullmatch(path.name)]
    return names
