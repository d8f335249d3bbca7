"""Commands that compute: run, resume, gallery, wedge, demo."""

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

from keyfluid.cli.json_lines import faults_too, line
from keyfluid.cli.summary import summary
from keyfluid.gallery import bundled, description
from keyfluid.io.run.layout import GIF, MESH, MP4, PLY, PNG, REPORT, STRIP, VDB, WEBP

if TYPE_CHECKING:
    from keyfluid.runs.run import RunResult
    from keyfluid.runs.wedge import Wedge
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
) -> None:
    """Run a scene: frames, film, VDB sequence and report into a folder."""
    from keyfluid.scenes import load_scene

    sets = [*(set_ or ()), *([f"control.start={json.dumps(str(start.absolute()))}"] if start is not None else [])]
    with faults_too(as_json):
        loaded = previewed(load_scene(scene, sets), preview)
        watched = (scene, sets) if watch else None
        folder = output or Path("out") / loaded.name
        finish(*run_scene(loaded, folder, threads, overwrite, as_json, watched), as_json)
        if loaded.upres is not None:
            from keyfluid.runs.upres import film_folder, upres_scene

            finish(*run_scene(upres_scene(folder), film_folder(folder), threads, True, as_json), as_json)


def resume(
    folder: Annotated[Path, typer.Argument(help="The folder of a run.", show_default=False)],
    from_frame: Annotated[int | None, typer.Option("--from", min=0, help="Recompute the frames after it.")] = None,
    accept_changes: Annotated[
        bool, typer.Option("--accept-changes", help="Continue although the scene or the machine has changed.")
    ] = False,
    threads: Threads = None,
    as_json: Json = False,
) -> None:
    """Continue a run that was stopped or killed; the result is bit-identical to an uninterrupted run."""
    from keyfluid.cli.progress import Display, StopSwitch
    from keyfluid.runs.run import resume as go_on

    with faults_too(as_json), StopSwitch().armed() as stop, Display(as_json) as display:
        result = go_on(
            folder, from_frame=from_frame, accept_changes=accept_changes, threads=threads, progress=display,
            should_stop=stop,
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


def wedge(
    scene: SceneFile,
    changes: Annotated[list[str], typer.Argument(metavar="KEY=A,B,C...", help="Values to try, for one or more keys.")],
    output: Out = None,
    set_: Set = None,
    threads: Threads = None,
    preview: Preview = None,
    frame: Annotated[
        int | None, typer.Option("--frame", min=0, help="Frame to compare; default: the last keyframe's, or the last.")
    ] = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
) -> None:
    """Run a scene with several values of a key and compare the results side by side."""
    from keyfluid.runs.wedge import Wedge

    with faults_too(as_json):
        _run_wedge(Wedge.of(changes), scene, output, set_ or [], threads, preview, frame, overwrite, as_json)


def _run_wedge(
    wanted: Wedge, scene: Path, output: Path | None, sets: list[str], threads: int | None, preview: int | None,
    frame: int | None, overwrite: bool, as_json: bool,
) -> None:  # fmt: skip
    from keyfluid.cli.wedge import scores_of, write_sheet, write_table
    from keyfluid.cli.wedge_page import wedge_page
    from keyfluid.cli.writable import owned_folder
    from keyfluid.errors import KeyfluidError, SceneError
    from keyfluid.io.atomic import write_whole
    from keyfluid.scenes import load_scene

    first = load_scene(scene, sets)
    folder = output or Path("out") / f"{first.name}_wedge"
    scenes = {
        label: previewed(load_scene(scene, [*sets, *changes]), preview) for label, changes in wanted.variants.items()
    }
    least = min(variant.time.frames for variant in scenes.values())
    if frame is not None and frame > least:
        raise KeyfluidError(f"--frame {frame}: is beyond the last frame of a run; give one between 0 and {least}")
    if any(variant.output.keep == "scene" for variant in scenes.values()):
        raise SceneError("output.keep", '"scene" leaves no frames to compare; use "film", and keyfluid tidy afterwards')
    results: dict[str, RunResult] = {}
    with owned_folder(folder, "wedge") as owned:
        for label, variant in scenes.items():
            if as_json:
                line("variant", label=label, done=len(results), total=len(scenes), folder=str(folder / label))
            print(f"{label}:", file=sys.stderr)
            result, place = run_scene(variant, folder / label, threads, overwrite, as_json)
            if not result.finished:
                finish(result, place, as_json)
            results[label] = result
        scores = scores_of(results, frame)
        with owned.writing("wedge.png") as path:
            write_sheet(path, wanted, results, scores)
        with owned.writing("wedge.json") as path:
            write_table(path, results, scores)
        text = wedge_page(f"{first.name}: wedge", wanted, results, scores)
        with owned.writing("index.html") as path:
            write_whole(path, lambda file: file.write(text.encode()))
    if as_json:
        line("wedge", folder=str(folder), scores={label: asdict(score) for label, score in scores.items()})
        return
    for label, score in scores.items():
        print(f"{label}: {score.line()}")
    print(folder / "wedge.png")
    print(folder / "index.html")


def demo(
    output: Annotated[Path, typer.Option("-o", "--output", help="Where the pictures go.")] = Path("out/demo"),
) -> None:
    """A small film: smoke that becomes a word, by optimisation; film, report and VDB files."""
    from keyfluid.scenes import load_scene

    loaded = load_scene(_bundled_scene("spectral_word"), ["control.iterations=60"])
    finish(*run_scene(loaded, output / loaded.name, None, True, False), False)


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
    """The scene as --preview asks for it."""
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
) -> tuple[RunResult, Path]:
    """Build, announce and run a scene into a folder, with progress and Ctrl-C."""
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
    plan = plan_run(problem)

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
        return run_problem(problem, folder, overwrite, display, stop, watch, plan, announce), folder


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
