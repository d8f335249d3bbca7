"""`run` and `resume`: from a scene to a finished folder, or to arrays in memory."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from keyfluid.controllers import controller_for
from keyfluid.controllers.method import Plan, Workers
from keyfluid.controllers.shell import Stopped
from keyfluid.crew import Hire
from keyfluid.errors import KeyfluidError, SceneError, WorkerDied
from keyfluid.io.atomic import DiskError
from keyfluid.io.run.layout import scene_file
from keyfluid.io.run.result_file import Result
from keyfluid.io.run.run_folder import RunFolder
from keyfluid.rollout.allocation import give_back_large_arrays
from keyfluid.runs.busy import idle_cores
from keyfluid.runs.changes import go_on_with
from keyfluid.runs.expected import expected_seconds
from keyfluid.runs.frames import Frames
from keyfluid.runs.in_notebooks import result_html
from keyfluid.runs.new_folder import adopted_folder, new_folder
from keyfluid.runs.other_runs import open_other_run
from keyfluid.runs.outputs import Outputs
from keyfluid.runs.progress import Listener, Reporter, after_a_second
from keyfluid.runs.recorder import Recorder
from keyfluid.runs.restoration import Restoration
from keyfluid.runs.run_shell import RunShell
from keyfluid.runs.tidy import keep_only
from keyfluid.runs.time_left import TimeLeft
from keyfluid.runs.upres import film_folder, upres_scene
from keyfluid.runs.watch import SceneWatch
from keyfluid.scenes import Scene, load_scene, scene_from
from keyfluid.scenes.build.problem import BuiltScene, build
from keyfluid.scenes.schema.checks import all_bodies
from keyfluid.threads import available, set_processes, set_threads

TINY_GRID, SMALL_GRID = 10_000, 150_000
"""Cells below which a second thread gains little or nothing, and below which it mostly waits on a busy machine:
128 x 192 took 0.9 s with one and 3 s with two. With idle cores two threads solve a letter at 128^2 in 0.67 of the time;
an evaluation takes 0.77 at 64^2, 1.2 at 32^2."""


class Elsewhere(Protocol):
    """Workers of other machines (keyfluid/cluster): how many, and what gets them for the run in a folder."""

    @property
    def workers(self) -> Workers: ...
    def hiring(self, folder: RunFolder) -> Hire: ...


@dataclass(frozen=True, eq=False)
class RunResult:
    """A run that has ended: `metrics` is result.json, `frames[i]` has arrays, `folder` is None for memory."""

    metrics: Result
    frames: Frames
    problem: BuiltScene
    folder: Path | None

    @property
    def finished(self) -> bool:
        return self.metrics["status"] == "finished"

    def _repr_html_(self) -> str:
        """In a notebook: the film and how well keyframes were met, in one self-contained piece."""
        return result_html(self.metrics, self.frames, self.problem, self.folder)


def run(
    scene: Scene | str | Path | Mapping[str, object],
    folder: str | Path | None = None,
    *,
    overrides: Sequence[str] = (),
    overwrite: bool = False,
    threads: int | None = None,
    progress: Listener | None = None,
    should_stop: Callable[[], bool] = lambda: False,
) -> RunResult:
    """Run a scene: a Scene, a path, TOML text, or a dict as `scene_from` takes it.

    folder: where to write frames, checkpoints, films and VDB files; None keeps the frames in memory. With
    output.keep = "scene" there are no frames once it has ended.
    threads: None chooses by the size of the grid; results do not depend on it.
    progress: called with a Progress after each frame or iteration; should_stop: asked between steps.
    Of a scene with [upres] the result is the film's, in the folder `upres` of the run.
    Raises SceneErrors with all faults of a scene, KeyfluidError for a folder that can't be used.
    """
    if not isinstance(scene, Scene | str | Path | Mapping):
        raise KeyfluidError(f"run: takes a Scene, a path, TOML text or a dict, not {type(scene).__name__}")
    if isinstance(scene, str | Path):
        scene = load_scene(scene, overrides)
    elif isinstance(scene, Mapping) or overrides:
        scene = scene_from(scene, overrides=overrides)
    if scene.upres is not None and folder is None:
        raise SceneError("upres", "the film reads the frames of the run from its folder; give a folder")
    problem = build(scene, after_a_second(progress))
    choose_threads(problem, threads)
    solved = run_problem(problem, folder, overwrite, progress, should_stop)
    return _filmed(solved, threads, progress, should_stop, again=True)


def _filmed(
    solved: RunResult, threads: int | None, progress: Listener | None, should_stop: Callable[[], bool], again: bool
) -> RunResult:
    """The finer film of a finished run with [upres]; other runs as they are. again: from the start, not resumed."""
    if solved.problem.scene.upres is None or solved.folder is None or not solved.finished:
        return solved
    place = film_folder(solved.folder)
    if not again and scene_file(place).is_file():
        return resume(place, threads=threads, progress=progress, should_stop=should_stop)
    return run(
        upres_scene(solved.folder), place, overwrite=True, threads=threads, progress=progress, should_stop=should_stop
    )


def choose_threads(problem: BuiltScene, wanted: int | None) -> None:
    """As many threads as requested; by default one for tiny grids, as many as there are idle cores for small ones, and
    all cores for others. All may draw."""
    set_threads(wanted if wanted is not None else usual_threads(problem.grid.count))
    set_processes(wanted if wanted is not None else available())


def usual_threads(cells: int) -> int:
    """Threads for a grid, unless somebody chooses them."""
    if cells >= SMALL_GRID:
        return available()
    idle = idle_cores() if cells >= TINY_GRID else None
    return 1 if idle is None else min(max(1, round(idle)), available())


def run_problem(
    problem: BuiltScene,
    folder: str | Path | None = None,
    overwrite: bool = False,
    progress: Listener | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    watch: Callable[[RunFolder], SceneWatch] | None = None,
    plan: Plan | None = None,
    announce: Callable[[float], None] | None = None,
    elsewhere: Elsewhere | None = None,
) -> RunResult:
    """Run what `build` made of a scene; `watch` makes, of the run's folder, what looks after [control] meanwhile.

    plan: of this problem, where it was made before (`plan_run`, with the same `elsewhere`)
    announce: called before the run with the seconds that it will take, measured on its first frames or iterations
    """
    _keep_apart(problem.scene, folder)
    plan = plan or plan_run(problem, elsewhere)
    place = new_folder(folder, problem.scene, overwrite) if folder is not None else None
    try:
        hire = elsewhere.hiring(place) if elsewhere is not None and place is not None else None
        expected = {} if announce is None or place is None else _announced(problem, should_stop, announce, elsewhere)
        shell = RunShell(Recorder(problem, place), Reporter(progress, should_stop, TimeLeft(expected)))
        shell.hire = hire
    except BaseException:
        if place is not None:
            place.abandon()
            place.close()
        raise
    try:
        if watch is not None and place is not None:
            shell.watch = watch(place)
        return _go(shell, plan)
    except KeyfluidError:
        if place is not None and not shell.recorder.can_go_on:
            place.abandon()
        raise
    finally:
        if place is not None:
            place.close()


def _announced(
    problem: BuiltScene,
    should_stop: Callable[[], bool],
    announce: Callable[[float], None],
    elsewhere: Elsewhere | None,
) -> dict[str, float]:
    """The seconds of each phase, announced; none where a try fails: the run itself will say what is wrong."""
    with suppress(KeyfluidError, OSError):
        expected = expected_seconds(problem, plan_run(problem, elsewhere), should_stop)
        announce(sum(expected.values()))
        return expected
    return {}


def plan_run(problem: BuiltScene, elsewhere: Elsewhere | None = None) -> Plan:
    """What the scene's method will do and take; raises what it can't do. Threads are chosen before it."""
    controller = controller_for(problem.method)
    plan = controller.plan(problem, open_other_run)
    return plan if elsewhere is None else controller.shared(plan, elsewhere.workers)


def resume(
    folder: str | Path,
    *,
    from_frame: int | None = None,
    accept_changes: bool = False,
    threads: int | None = None,
    progress: Listener | None = None,
    should_stop: Callable[[], bool] = lambda: False,
    elsewhere: Elsewhere | None = None,
) -> RunResult:
    """Continue a run that was stopped or killed; the result is bit-identical to an uninterrupted run.

    from_frame: recompute the frames after this one. Without it, a finished run is only checked, and tidied as its
    output.keep says.
    accept_changes: continue although the scene, its files or the machine's transforms have changed since the run
    started, where that makes sense; result.json then lists what changed.
    elsewhere: workers of other machines; the result does not depend on them.
    Of a scene with [upres] the film is then made or resumed too, and the result is the film's.
    """
    solved = _resumed(folder, from_frame, accept_changes, threads, progress, should_stop, elsewhere)
    return _filmed(solved, threads, progress, should_stop, again=from_frame is not None)


def _resumed(
    folder: str | Path,
    from_frame: int | None,
    accept_changes: bool,
    threads: int | None,
    progress: Listener | None,
    should_stop: Callable[[], bool],
    elsewhere: Elsewhere | None,
) -> RunResult:
    place = adopted_folder(folder) if accept_changes else RunFolder.open(folder)
    try:
        scene = load_scene(place.scene_file)
        method = scene.control.method
        controller = controller_for(method)
        if from_frame is not None and not controller.begins_from_frames:
            raise KeyfluidError(
                f'--from {from_frame}: method "{method}" optimises all frames together and can\'t start from one; '
                "resume it without --from"
            )
        notes = go_on_with(place, scene, controller.begins_from_frames, accept_changes)
        problem = build(scene, after_a_second(progress))
        choose_threads(problem, threads)
        shell = RunShell(Recorder(problem, place), Reporter(progress, should_stop))
        restoration = Restoration(place, problem)
        finished = place.finished if from_frame is None else None
        if finished is None:
            place.require_frames()
        elif place.has_no_frames or restoration.is_whole():
            with suppress(KeyfluidError):  # a damaged checkpoint, which a finished run does not need
                keep_only(place, scene, scene.output.keep)
            return RunResult(finished, shell.recorder.frames, problem, place.path)
        found = restoration.from_checkpoint() if from_frame is None else restoration.from_frame(from_frame)
        shell.recorder.go_on(found)
        if found is not None and found.older is not None:
            shell.reporter.say(f"{found.older}; resumed from the checkpoint before it")
        for note in notes:
            shell.note(note)
        if elsewhere is not None:
            shell.hire = elsewhere.hiring(place)
        return _go(shell, plan_run(problem, elsewhere))
    finally:
        place.close()


def _keep_apart(scene: Scene, folder: str | Path | None) -> None:
    """A run that the scene reads must not be replaced by the one that reads it."""
    read = {f"{path}.run": getattr(body, "run", None) for path, body in all_bodies(scene)}
    read["edit.run"] = scene.edit.run if scene.edit is not None else None
    read |= {f"control.{key}": getattr(scene.control, key, None) for key in ("start", "run")}
    for key, other in read.items():
        if folder is not None and other is not None and Path(other).resolve() == Path(folder).resolve():
            raise SceneError(key, f"{other} is the output folder of this run; choose another folder with -o")


def open_run(folder: str | Path) -> RunResult:
    """Read a run without changing it; its metrics are those of result.json."""
    place = RunFolder.find(folder)
    problem = build(load_scene(place.scene_file))
    result = place.result()
    if result is None:
        raise KeyfluidError(f"{place.path}: has no result.json yet; resume it: keyfluid resume {place.path}")
    return RunResult(result, Frames(place.frames, problem), problem, place.path)


def _go(shell: RunShell, plan: Plan) -> RunResult:
    recorder, reporter = shell.recorder, shell.reporter
    folder, problem = recorder.folder, recorder.problem
    give_back_large_arrays()
    final: Result | None = None
    try:
        recorder.write_result("running")
        controller_for(problem.method).run(plan, shell)
        reporter.check_stop()
        recorder.score()
        if folder is not None:
            outputs = Outputs(problem, recorder.frames, folder, reporter.wrote, check=reporter.check_stop)
            final = outputs.write_all(lambda: recorder.result("finished"))
        else:
            final = recorder.result("finished")
    except Stopped:
        pass
    except OSError as error:
        # Not one of our files: a compiled kernel in Numba's cache, a mesh on a share that went away.
        _leave_word(recorder)
        raise _to_resume(DiskError(f"{error.filename or 'the disk'}: {error.strerror or error}"), recorder) from None
    except KeyfluidError as error:
        _leave_word(recorder)
        raise _to_resume(error, recorder) from None
    # The report shows the same numbers, so they are made once.
    result = final if final is not None else recorder.result("stopped")
    recorder.write(result)
    if folder is not None and final is not None:
        keep_only(folder, problem.scene, problem.scene.output.keep)
    return RunResult(result, recorder.frames, problem, None if folder is None else folder.path)


def _to_resume(error: KeyfluidError, recorder: Recorder) -> KeyfluidError:
    """The same error, with the command to resume where there is something to resume from."""
    if not isinstance(error, DiskError | WorkerDied) or recorder.folder is None or not recorder.can_go_on:
        return error
    return type(error)(f"{error}, then: keyfluid resume {recorder.folder.path}")


def _leave_word(recorder: Recorder) -> None:
    """Record in result.json that the run has stopped, unless even that can't be written."""
    with suppress(KeyfluidError):
        recorder.write_result("stopped")
