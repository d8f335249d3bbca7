"""Commands that compute: run, resume, gallery, demo."""

from __future__ import annotations

import json
import shlex
import shutil
import sys
import textwrap
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keyfluid.cli.cluster_options import Certificates, ClusterAddress, Insecure, maybe_cluster
from keyfluid.cli.json_lines import faults_too, line
from keyfluid.cli.summary import summary
from keyfluid.gallery import bundled, description
from keyfluid.io.run.layout import GIF, MESH, MP4, PLY, PNG, REPORT, STRIP, VDB, WEBP

if TYPE_CHECKING:
    from keyfluid.runs.run import Elsewhere, RunResult
    from keyfluid.scenes import Scene

SceneFile = Annotated[Path, typer.Argument(help="A scene file (TOML).", show_default=False)]
Out = Annotated[Path | None, typer.Option("-o", "--output", help="Folder of the run; default out/NAME.")]
Set = Annotated[
    list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Change a key, such as domain.resolution=64.")
]
Threads = Annotated[
    int | None, typer.Option(min=1, help="Default: one for small grids, else all cores. Results do not depend on it.")
]
Preview = Annotated[
    int | None,
    typer.Option(
        metavar="[RESOLUTION]",
        help="Run on a coarser grid and draw a draft film; without a number: half the scene's resolution.",
    ),
]
Start = Annotated[
    Path | None,
    typer.Option("--from", metavar="FOLDER", help="Start from an earlier run, a preview or a run of spacetime, say."),
]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace the run that is in the folder.")]
WatchScene = Annotated[
    bool,
    typer.Option("--watch", help="Apply [control] whenever the scene file is saved; latest.png shows the last frame."),
]
Json = Annotated[bool, typer.Option("--json", help="Progress, result and faults as JSON lines.")]

Continue = Annotated[
    bool, typer.Option("--continue", help="If the folder holds this run, continue it, or leave it if it has finished.")
]

LONG = 10.0
"""Expected seconds from which a run prints its estimate first."""


def run(
    scene: SceneFile,
    output: Out = None,
    set_: Set = None,
    threads: Threads = None,
    preview: Preview = None,
    start: Start = None,
    watch: WatchScene = False,
    overwrite: Overwrite = False,
    as_json: Json = False,
    continue_: Continue = False,
    cluster: ClusterAddress = None,
    certificates: Certificates = None,
    insecure: Insecure = False,
) -> None:
    """Run a scene: frames, film, VDB sequence and report into a folder."""
    from keyfluid.scenes import load_scene

    sets = [*(set_ or ()), *([f"control.start={json.dumps(str(start.absolute()))}"] if start is not None else [])]
    with faults_too(as_json):
        loaded = previewed(load_scene(scene, sets), preview)
        watched = (scene, sets) if watch else None
        folder = output or Path("out") / loaded.name
        there = continue_ and is_there(folder, loaded)
    if there:
        resume(folder, None, False, threads, as_json, cluster, certificates, insecure)
        return
    with faults_too(as_json), maybe_cluster(cluster, certificates, insecure) as elsewhere:
        ended = run_scene(loaded, folder, threads, overwrite, as_json, watched, elsewhere)
    finish(*ended, as_json)
    if loaded.upres is not None:
        with faults_too(as_json):
            film = run_film(folder, threads, as_json)
        finish(*film, as_json)


def resume(
    folder: Annotated[Path, typer.Argument(help="The folder of a run.", show_default=False)],
    from_frame: Annotated[int | None, typer.Option("--from", min=0, help="Recompute the frames after it.")] = None,
    accept_changes: Annotated[
        bool, typer.Option("--accept-changes", help="Continue although the scene or the machine has changed.")
    ] = False,
    threads: Threads = None,
    as_json: Json = False,
    cluster: ClusterAddress = None,
    certificates: Certificates = None,
    insecure: Insecure = False,
) -> None:
    """Continue a run that was stopped or killed; the result is bit-identical to an uninterrupted run."""
    from keyfluid.cli.progress import Display, StopSwitch
    from keyfluid.runs.run import resume as go_on

    with (
        faults_too(as_json),
        maybe_cluster(cluster, certificates, insecure) as elsewhere,
        StopSwitch().armed() as stop,
        Display(as_json) as display,
    ):
        result = go_on(
            folder, from_frame=from_frame, accept_changes=accept_changes, threads=threads, progress=display,
            should_stop=stop, elsewhere=elsewhere,
        )  # fmt: skip
    finish(result, result.folder or folder, as_json)


def gallery(
    name: Annotated[str | None, typer.Argument(help="A bundled scene to run; without a name: list them.")] = None,
    output: Out = None,
    set_: Set = None,
    threads: Threads = None,
    preview: Preview = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """List the bundled scenes, or run one of them."""
    scenes = bundled()
    if name is None:
        if as_json:
            print(json.dumps({key: description(path) for key, path in scenes.items()}))
            return
        width = max(map(len, scenes))
        for key, path in scenes.items():
            print(_hanging(f"{key:<{width}}  {description(path)}", width + 2))
        print("\nkeyfluid gallery NAME -o FOLDER runs one")
        return
    run(_bundled_scene(name), output, set_, threads, preview, overwrite=overwrite, as_json=as_json)


def demo(
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the pictures go.")] = Path("out/demo"),
) -> None:
    """A small film: smoke that becomes a word, by optimisation; film, report and VDB files."""
    from keyfluid.scenes import load_scene

    loaded = load_scene(_bundled_scene("spectral_word"), ["control.iterations=60"])
    finish(*run_scene(loaded, output / loaded.name, None, True, False), False)


def is_there(folder: Path, scene: Scene) -> bool:
    """Whether a folder holds the run of a scene, finished or not."""
    from keyfluid.cli.wedge_task import variant_state

    return variant_state(folder, scene) != "new"


def _bundled_scene(name: str) -> Path:
    from keyfluid.errors import KeyfluidError

    scenes = bundled()
    if name not in scenes:
        raise KeyfluidError(f"gallery: no scene {name!r}; use {', '.join(scenes)}")
    return scenes[name]


def _hanging(text: str, indent: int) -> str:
    """The text in lines as wide as the terminal; in a file or a pipe, in one."""
    if not sys.stdout.isatty():
        return text
    return textwrap.fill(text, max(shutil.get_terminal_size().columns, 2 * indent), subsequent_indent=" " * indent)


def previewed(scene: Scene, resolution: int | None) -> Scene:
    """The scene on a coarser grid, with a draft film, if --preview was given."""
    from keyfluid.scenes import preview

    if resolution is None:
        return scene
    return preview(scene, resolution or max(16, scene.domain.resolution // 2), draft=True)


def run_scene(
    scene: Scene,
    folder: Path,
    threads: int | None,
    overwrite: bool,
    as_json: bool,
    watched: tuple[Path, Sequence[str]] | None = None,
    elsewhere: Elsewhere | None = None,
) -> tuple[RunResult, Path]:
    """Run a scene in a folder, with its estimate first and its progress meanwhile."""
    from keyfluid.cli.progress import Display, StopSwitch
    from keyfluid.runs.compiling import when_compiling
    from keyfluid.runs.estimate import compiling_line, estimate
    from keyfluid.runs.progress import after_a_second
    from keyfluid.runs.run import choose_threads, plan_run, run_problem
    from keyfluid.scenes.build.problem import build

    with Display(as_json) as display:
        problem = build(scene, after_a_second(display))
    choose_threads(problem, threads)
    for warning in problem.warnings:
        if as_json:
            line("warning", message=warning)
        print(f"warning: {warning}", file=sys.stderr)
    plan = plan_run(problem, elsewhere)

    def announce(seconds: float) -> None:
        expected = estimate(problem, plan, seconds)
        if as_json:
            line("estimate", **asdict(expected))
        elif seconds > LONG:
            cells = " x ".join(map(str, problem.grid.cells))
            print(f"{scene.name}: {cells} cells, {problem.frames} frames; {expected.line()}", file=sys.stderr)

    if as_json:
        cells, keys = list(problem.grid.cells), {key.path: key.frame for key in problem.keyframes}
        line("plan", method=problem.method, cells=cells, frames=problem.frames, keyframes=keys, lines=list(plan.lines))
        when_compiling(lambda: line("compiling", message=compiling_line(problem.method)))
    else:
        for text in plan.lines:
            print(text, file=sys.stderr)
        when_compiling(lambda: print(compiling_line(problem.method), file=sys.stderr))
    watch = None
    if watched is not None:
        from keyfluid.runs.watch import SceneWatch, need_method

        need_method(problem)
        path, overrides = watched
        watch = lambda place: SceneWatch(problem, path, overrides, place)  # noqa: E731
    with StopSwitch().armed() as stop, Display(as_json) as display:
        return run_problem(problem, folder, overwrite, display, stop, watch, plan, announce, elsewhere), folder


def run_film(folder: Path, threads: int | None, as_json: bool) -> tuple[RunResult, Path]:
    """Make the finer film of a finished run with [upres], likewise."""
    from keyfluid.runs.upres import film_folder, upres_scene

    return run_scene(upres_scene(folder), film_folder(folder), threads, True, as_json)


def finish(result: RunResult, folder: Path, as_json: bool) -> None:
    """Print how the run ended; a stopped run exits with 130."""
    if as_json:
        line("result", folder=str(folder), **result.metrics)
    if not result.finished:
        print(f"stopped; to continue: keyfluid resume {shlex.quote(str(folder))}", file=sys.stderr)
        raise typer.Exit(130)
    if not as_json:
        for text in summary(result.metrics):
            print(text)
        better_film = any((folder / name).exists() for name in (MP4, GIF))
        for name in (MP4, GIF, WEBP, STRIP, REPORT, VDB, MESH, PLY, PNG):
            if (folder / name).exists() and not (name == WEBP and better_film):
                print(folder / name)
