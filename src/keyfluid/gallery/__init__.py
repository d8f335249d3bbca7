"""Bundled scenes, as TOML files with the meshes and pictures they use."""

from __future__ import annotations

from itertools import takewhile
from pathlib import Path

FOLDER = Path(__file__).parent
STARTER = FOLDER / "starter.toml"


def bundled() -> dict[str, Path]:
    """Names and files of the bundled scenes."""
    return {path.stem: path for path in sorted(FOLDER.glob("*.toml")) if path != STARTER}


def description(path: Path) -> str:
    """The comment that a scene begins with."""
    with path.open(encoding="utf-8") as file:
        return " ".join(line.lstrip("# ").strip() for line in takewhile(lambda line: line.startswith("#"), file))
