"""`keyfluid upres`."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from keyfluid.cli.json_lines import faults_too
from keyfluid.cli.run_commands import (
    Continue,
    Json,
    Out,
    Overwrite,
    Preview,
    Set,
    Threads,
    finish,
    is_there,
    previewed,
    resume,
    run_scene,
)


def upres(
    folder: Annotated[Path, typer.Argument(help="The folder of a finished run.", show_default=False)],
    factor: Annotated[
        int | None,
        typer.Option("--factor", min=1, max=64, help="Cells per axis, times the run's; default 4, or as in [upres]."),
    ] = None,
    polish: Annotated[
        int | None, typer.Option("--polish", min=0, help="Iterations of L-BFGS on the fine grid; default 0.")
    ] = None,
    output: Out = None,
    set_: Set = None,
    threads: Threads = None,
    preview: Preview = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    continue_: Continue = False,
) -> None:
    """Film a solved run again on a finer grid: its long waves, and free short ones."""
    from keyfluid.runs.upres import upres_scene

    with faults_too(as_json):
        scene = previewed(upres_scene(folder, factor, set_ or (), polish), preview)
        place = output or folder.absolute().parent / scene.name
        there = continue_ and is_there(place, scene)
    if there:
        resume(place, threads=threads, as_json=as_json)
        return
    with faults_too(as_json):
        finish(*run_scene(scene, place, threads, overwrite, as_json), as_json)
