"""`run` and `resume`: from a scene to a finished folder, or to arrays in memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from keyfluid.controllers import controller_for
from keyfluid.controllers.interface import Stopped
from keyfluid.errors import KeyfluidError
from keyfluid.io.container import DiskError
from keyfluid.rollout.allocation import give_back_large_arrays
from keyfluid.runs.folder import RunFolder
from keyfluid.runs.frames import Frames
from keyfluid.runs.outputs import Outputs
from keyfluid.runs.session import Listener, Progress, Session
from keyfluid.runs.watch import Watch
from keyfluid.scenes import Scene, load_scene
from keyfluid.scenes.problem import Problem, build
from keyfluid.threads import available, set_threads

SMALL_GRID = 150_000
"""Cells below which a second thread mostly waits: 128 x 192 took 0.9 s with one and 3 s with two on a busy machine."""


@dataclass(frozen=True, eq=False)
class RunResult:
    """A run that has ended: `metrics` is result.json, `frames[i]` has arrays, `folder` is None for memory."""

    metrics: dict[str, Any]
    frames: Frames
    problem: Problem
    folder: Path | None

    @property
    def finished(self) -> bool:
        return bool(self.metrics["status"] == "finished")


def run(
    scene: Scene | str | Path,
    folder: str | Path | None = None,
    *,
    overrides: Sequence[str] = (),
    overwrite: bool = False,
    threads: int | None = None,
    progress: Listener | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> RunResult:
    """Run a scene: a Scene, a path, or TOML text.

    folder: where to write frames, checkpoints, films and VDB files; None keeps the frames in memory.
    threads: None chooses by the size of the grid; results do not depend on it.
    progress: called with a Progress after each frame or iteration; should_stop: asked between steps.
    Raises SceneErrors with all faults of a scene, KeyfluidError for a folder that can't be used.
    """
    if not isinstance(scene, Scene):
        scene = load_scene(scene, overrides)
    elif overrides:
        raise KeyfluidError("overrides: a scene that is already loaded is changed with load_scene, or in Python")
    problem = build(scene)
    choose_threads(problem, threads)
    return run_problem(problem, folder, overwrite, progress, should_stop)


def choose_threads(problem: Problem, wanted: int | None) -> None:
    """As many threads as asked for; if nobody asked, one for small grids and all cores for others."""
    set_threads(wanted if wanted is not None else 1 if problem.grid.count < SMALL_GRID else available())


def run_problem(
    problem: Problem,
    folder: str | Path | None = None,
    overwrite: bool = False,
    progress: Listener | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    watch: Callable[[Path], Watch] | None = None,
) -> RunResult:
    """Run what `build` made of a scene; `watch` makes, of the run's folder, what looks after [control] meanwhile."""
    method = problem.scene.control.method
    controller = controller_for(method)
    place = RunFolder.begin(folder, problem.scene, overwrite) if folder is not None else None
    session = Session(problem, method, place, progress, should_stop)
    if watch is not None and place is not None:
        session.watch = watch(place.path)
    try:
        return _go(session, problem, controller.run, progress)
    except KeyfluidError:
        if place is not None and not session.metas:
            place.abandon()
        raise
    finally:
        if place is not None:
            place.unlock()


def resume(
    folder: str | Path,
    *,
    from_frame: int | None = None,
    threads: int | None = None,
    progress: Listener | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> RunResult:
    """Go on with a run that was stopped or killed; it ends in the same bits as an undisturbed one.

    from_frame: make the frames after this one again. Without it, a finished run is only checked.
    """
    place = RunFolder.find(folder)
    problem = build(place.scene())
    choose_threads(problem, threads)
    method = problem.scene.control.method
    place.lock()
    try:
        session = Session(problem, method, place, progress, should_stop)
        session.restore(from_frame)
        before = place.result()
        if from_frame is None and before is not None and before.get("status") == "finished":
            return RunResult(before, session.frames, problem, place.path)
        return _go(session, problem, controller_for(method).run, progress)
    finally:
        place.unlock()


def open_run(folder: str | Path) -> RunResult:
    """Read a run without changing it; its metrics are those of result.json."""
    place = RunFolder.find(folder)
    problem = build(place.scene())
    result = place.result()
    if result is None:
        raise KeyfluidError(f"{place.path}: has no result.json yet; resume it: keyfluid resume {place.path}")
    frames = Frames(place.frames, problem.grid, list(problem.densities), problem.amount)
    return RunResult(result, frames, problem, place.path)


def _go(
    session: Session, problem: Problem, compute: Callable[..., None], progress: Listener | None
) -> RunResult:
    folder = session.folder.path if session.folder is not None else None

    def told(what: str, done: int, total: int) -> None:
        session.check_stop()
        if progress is not None:
            progress(Progress(done, total, what))

    give_back_large_arrays()
    try:
        session.write_result("running")
        compute(problem, session)
        session.check_stop()
        session.score()
        if folder is not None:
            Outputs(problem, session.frames, folder, told).write_all(session.result("finished"))
        status = "finished"
    except Stopped:
        status = "stopped"
    except OSError as error:
        # Not one of our files: a compiled kernel in Numba's cache, a mesh on a share that went away.
        _leave_word(session)
        raise _to_resume(DiskError(f"{error.filename or 'the disk'}: {error.strerror or error}"), session) from None
    except KeyfluidError as error:
        _leave_word(session)
        raise _to_resume(error, session) from None
    session.write_result(status)
    return RunResult(session.result(status), session.frames, problem, folder)


def _to_resume(error: KeyfluidError, session: Session) -> KeyfluidError:
    """The same error, with the line to go on where there is something to go on from."""
    if not isinstance(error, DiskError) or session.folder is None or not session.metas:
        return error
    return DiskError(f"{error}, then: keyfluid resume {session.folder.path}")


def _leave_word(session: Session) -> None:
    """Say in result.json that the run stands still, unless even that can't be written."""
    try:
        session.write_result("stopped")
    except KeyfluidError:
        return
