"""`keyfluid upres`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from keyfluid.cli.run_commands import Json, Out, Overwrite, Set, Threads, finish, run_scene


def upres(
    folder: Annotated[Path, typer.Argument(help="The folder of a finished run of smoke.", show_default=False)],
    factor: Annotated[int, typer.Option("--factor", min=2, max=64, help="Cells per axis, times those of the run.")] = 4,
    output: Out = None,
    set_: Set = None,
    threads: Threads = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Film a solved run again on a finer grid: its long waves, and free short ones."""
    from keyfluid.runs.upres import upres_scene

    scene = upres_scene(folder, factor, set_ or ())
    place = output or folder.absolute().parent / f"{folder.absolute().name}_x{factor}"
    finish(*run_scene(scene, place, threads, overwrite, as_json), as_json)
