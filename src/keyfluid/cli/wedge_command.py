"""`keyfluid wedge`: one scene with several values of its keys, here, in several processes or on a cluster."""

from __future__ import annotations

import sys
from collections.abc import Generator, Mapping
from contextlib import closing
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from keyfluid.cli.cluster_options import Certificates, ClusterAddress, Insecure, maybe_cluster
from keyfluid.cli.json_lines import faults_too
from keyfluid.cli.run_commands import (
    Json,
    Out,
    Overwrite,
    Preview,
    SceneFile,
    Set,
    Threads,
    previewed,
    run_film,
    run_scene,
)

if TYPE_CHECKING:
    from keyfluid.cli.progress import StopSwitch
    from keyfluid.cli.wedge_board import Board
    from keyfluid.cli.wedge_drawn import DrawnRun
    from keyfluid.crew import Hire
    from keyfluid.io.run.owned import OwnedFolder
    from keyfluid.runs.run import RunResult
    from keyfluid.scenes import Scene

Changes = Annotated[list[str], typer.Argument(metavar="KEY=A,B,C...", help="Values to try, for one or more keys.")]
Jobs = Annotated[int, typer.Option("-j", "--jobs", min=1, help="Runs at once on this machine, one thread each.")]
Only = Annotated[int | None, typer.Option("--only", min=0, metavar="NUMBER", help="Run only this variant, from 0 on.")]
Frame = Annotated[
    int | None, typer.Option("--frame", min=0, help="Frame to compare; default: the last keyframe's, or the last.")
]
Sort = Annotated[
    str, typer.Option(metavar="NAME", help="Number of result.json that decides what is best; -NAME: the other way.")
]
_WAIT = 600.0
"""Seconds that --only waits for other variants to write to the tables."""


def wedge(
    scene: SceneFile,
    changes: Changes,
    output: Out = None,
    set_: Set = None,
    threads: Threads = None,
    preview: Preview = None,
    frame: Frame = None,
    sort: Sort = "relative_error",
    jobs: Jobs = 1,
    only: Only = None,
    overwrite: Overwrite = False,
    as_json: Json = False,
    cluster: ClusterAddress = None,
    certificates: Certificates = None,
    insecure: Insecure = False,
) -> None:
    """Run a scene with several values of a key and compare the results side by side.

    Variants that have finished are not run again, so the same command continues a wedge that was stopped.
    """
    from keyfluid.cli.wedge_lines import end
    from keyfluid.cli.writable import owned_folder

    with faults_too(as_json):
        board = _board(scene, changes, output, set_ or [], preview, frame, sort)
        _check_only(only, len(board.scenes), jobs, cluster)
        if only is not None:
            _run_one(board, list(board.scenes)[only], threads, overwrite, as_json)
            return
        with maybe_cluster(cluster, certificates, insecure) as elsewhere, owned_folder(board.path, "wedge") as owned:
            hire = elsewhere.hiring_in(owned) if elsewhere is not None else None
            if not overwrite:
                board.take_finished()
                board.faults.clear()
            board.refresh(owned, last=True)
            whole = _run_all(board, owned, threads, jobs, hire, overwrite, as_json)
            board.refresh(owned, last=True)
    end(board, whole, as_json)


def _board(
    scene: Path, changes: list[str], output: Path | None, sets: list[str], preview: int | None, frame: int | None,
    sort: str,
) -> Board:  # fmt: skip
    """All variants, checked before the first one runs."""
    from keyfluid.cli.wedge import Order
    from keyfluid.cli.wedge_board import Board
    from keyfluid.errors import KeyfluidError, SceneError
    from keyfluid.runs.wedge import Wedge
    from keyfluid.scenes import load_scene

    values, order = Wedge.of(changes), Order.of(sort)
    first = load_scene(scene, sets)
    folder = output or Path("out") / f"{first.name}_wedge"
    scenes = {label: previewed(load_scene(scene, [*sets, *own]), preview) for label, own in values.variants.items()}
    least = min(variant.time.frames for variant in scenes.values())
    if frame is not None and frame > least:
        raise KeyfluidError(f"--frame {frame}: is beyond the last frame of a run; give one between 0 and {least}")
    if any(variant.output.keep == "scene" for variant in scenes.values()):
        raise SceneError("output.keep", '"scene" leaves no frames to compare; use "film", and keyfluid tidy afterwards')
    return Board(f"{first.name}: wedge", folder, values, scenes, order, frame)


def _check_only(only: int | None, count: int, jobs: int, cluster: str | None) -> None:
    from keyfluid.errors import KeyfluidError

    if only is not None and only >= count:
        raise KeyfluidError(f"--only {only}: there are variants 0 to {count - 1}; give one of them")
    if cluster is not None and (jobs > 1 or only is not None):
        raise KeyfluidError(f"{'--jobs' if jobs > 1 else '--only'}: has no meaning with --cluster; remove one of them")


def _run_all(
    board: Board,
    owned: OwnedFolder,
    threads: int | None,
    jobs: int,
    hire: Hire | None,
    overwrite: bool,
    as_json: bool,
) -> bool:
    """Run what is left, in whatever order it finishes; False if it was stopped."""
    from keyfluid.cli.progress import StopSwitch
    from keyfluid.cli.wedge_lines import tell

    todo = {label: board.scenes[label] for label in board.waiting}
    if jobs == 1 and hire is None:
        ends = _here(board, todo, threads, overwrite, as_json)
    else:
        ends = _by_crew(board, todo, threads, jobs, hire, overwrite, as_json, StopSwitch())
    with closing(ends):
        for label, end in ends:
            if end is None:
                return False
            if isinstance(end, str):
                board.faults[label] = end
            else:
                board.take(label, end)
            tell(board, label, as_json)
            board.refresh(owned)
    return True


def _here(
    board: Board, todo: Mapping[str, Scene], threads: int | None, overwrite: bool, as_json: bool
) -> Generator[tuple[str, DrawnRun | str | None], None, None]:
    """One after the other in this process: (label, the run, why it failed, or None if it was stopped)."""
    from keyfluid.cli.wedge_lines import announce
    from keyfluid.cli.wedge_task import one_line, shown_folder
    from keyfluid.errors import KeyfluidError

    for label, scene in todo.items():
        announce(board, label, as_json)
        print(f"{label}:", file=sys.stderr)
        try:
            result = _run_variant(board.path / label, scene, threads, overwrite, as_json)
            drawn = board.look.drawn(result, shown_folder(Path(label), scene)) if result.finished else None
        except (KeyfluidError, OSError, MemoryError) as error:
            yield label, one_line(error)
            continue
        yield label, drawn


def _run_variant(folder: Path, scene: Scene, threads: int | None, overwrite: bool, as_json: bool) -> RunResult:
    from keyfluid.cli.progress import Display, StopSwitch
    from keyfluid.cli.wedge_task import variant_state
    from keyfluid.runs.run import resume

    if overwrite or variant_state(folder, scene) == "new":
        result = run_scene(scene, folder, threads, overwrite, as_json)[0]
        if scene.upres is None or not result.finished:
            return result
        return run_film(folder, threads, as_json)[0]
    with StopSwitch().armed() as stop, Display(as_json) as display:
        return resume(folder, threads=threads, progress=display, should_stop=stop)


def _by_crew(
    board: Board,
    todo: Mapping[str, Scene],
    threads: int | None,
    jobs: int,
    hire: Hire | None,
    overwrite: bool,
    as_json: bool,
    stop: StopSwitch,
) -> Generator[tuple[str, DrawnRun | str | None], None, None]:
    """By processes of this machine or of a cluster, as they finish; otherwise likewise."""
    from keyfluid.cli.wedge_lines import announce
    from keyfluid.cli.wedge_task import MODULE, Failed, Variant
    from keyfluid.controllers.shell import Stopped
    from keyfluid.crew import Crew, LocalCrew
    from keyfluid.errors import KeyfluidError

    def check() -> None:
        if stop.pressed:
            raise Stopped

    if not todo:
        return
    labels = list(todo)
    folders, look = [str((board.path / label).absolute()) for label in labels], board.look
    tasks = [Variant(todo[label], folder, threads or 1, overwrite, look) for label, folder in zip(labels, folders)]
    with stop.armed():
        crew: Crew = LocalCrew(MODULE, min(jobs, len(tasks)), check) if hire is None else hire(MODULE, check)
        # Processes of this machine take the tasks in their order; what a cluster does with them is not known here.
        begins = iter(labels)
        try:
            for label in islice(begins, jobs if hire is None else len(labels)):
                announce(board, label, as_json)
            for place, end in crew.finished(tasks):
                fault = str(end) if isinstance(end, KeyfluidError) else end.fault if isinstance(end, Failed) else None
                yield labels[place], end if fault is None else fault
                for label in islice(begins, 1):
                    announce(board, label, as_json)
        except Stopped:
            yield labels[0], None
        finally:
            crew.dismiss()


def _run_one(board: Board, label: str, threads: int | None, overwrite: bool, as_json: bool) -> None:
    """One variant, as a farm runs it: others may run at the same time, so the wedge's folder is locked only briefly."""
    from keyfluid.cli.wedge_lines import fail, tell
    from keyfluid.cli.wedge_task import variant_state
    from keyfluid.cli.writable import owned_folder

    with owned_folder(board.path, "wedge", _WAIT) as owned:
        if not (board.path / "wedge.json").exists():
            board.refresh(owned, last=True)
    folder, scene = board.path / label, board.scenes[label]
    if overwrite or variant_state(folder, scene) != "finished":
        for _, end in _here(board, {label: scene}, threads, overwrite, as_json):
            if end is None:
                print("stopped; to continue, give the same command again", file=sys.stderr)
                raise typer.Exit(130)
            if isinstance(end, str):
                board.faults[label] = end
    fault = board.faults.get(label)
    with owned_folder(board.path, "wedge", _WAIT) as owned:
        board.take_finished()
        if fault is None:
            board.faults.pop(label, None)
        board.refresh(owned, last=True)
    tell(board, label, as_json)
    if fault is not None:
        fail({label: fault}, as_json)
