"""Pictures of blender/README.md: two films by the extension in Blender as a module, drawn by Cycles.

python benchmarks/blender_pictures.py [smoke|liquid]      needs make blender-env; some minutes

Blender runs without a window, so the panels are not in the pictures: the scene that was set up is, and the result.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PICTURES = ROOT / "docs" / "images" / "blender"
FOLDER = ROOT / "out" / "blender_pictures"
sys.path.insert(0, str(ROOT / ".ci"))
from blender_package import build  # noqa: E402


def main() -> None:
    python = os.environ.get("KEYFLUID_BLENDER_PYTHON", str(ROOT / ".venv-blender" / "bin" / "python"))
    FOLDER.mkdir(parents=True, exist_ok=True)
    PICTURES.mkdir(parents=True, exist_ok=True)
    program = FOLDER / "keyfluid"
    program.write_text(
        f'#!/bin/sh\nPYTHONPATH="{ROOT / "src"}" exec "{sys.executable}" -m keyfluid "$@"\n', encoding="utf-8"
    )
    program.chmod(0o755)
    archive = build(FOLDER)
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment["BLENDER_USER_RESOURCES"] = str(FOLDER / "settings")
    for kind in sys.argv[1:] or ("smoke", "liquid"):
        command = [
            python,
            str(ROOT / "benchmarks" / "blender" / "film.py"),
            archive,
            program,
            FOLDER / kind,
            PICTURES,
            kind,
        ]
        subprocess.run(list(map(str, command)), env=environment, check=True)


if __name__ == "__main__":
    main()
