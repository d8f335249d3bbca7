"""Commands about scene files: new, schema."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer


def new(
    path: Annotated[Path, typer.Argument(help="The scene file to write.")] = Path("scene.toml"),
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace the file.")] = False,
) -> None:
    """Write a commented scene to start from."""
    from keyfluid.errors import KeyfluidError

    starter = Path(__file__).parent.parent / "gallery" / "starter.toml"
    if path.exists() and not overwrite:
        raise KeyfluidError(f"{path}: already exists; choose another name or add --overwrite")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(starter.read_text(encoding="utf-8"), encoding="utf-8")
    except OSError as error:
        raise KeyfluidError(f"{path}: can't be written: {error.strerror}; choose another folder") from None
    print(f"{path}; run it: keyfluid run {path}")


def schema() -> None:
    """The JSON schema of scene files."""
    from keyfluid.scenes import schema as scene_schema

    print(json.dumps(scene_schema(), indent=2))
