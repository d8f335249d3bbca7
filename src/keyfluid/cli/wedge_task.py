"""One run of a wedge as a task: run it, continue it, or leave it alone because it has finished; then draw it.

Whoever ran it draws it: with many workers the pictures of 3D runs would otherwise wait for one process.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from keyfluid import __version__
from keyfluid.cli.wedge_drawn import DrawnRun, Look
from keyfluid.crew import Answer, serve
from keyfluid.errors import KeyfluidError
from keyfluid.io.run.fingerprint import Fingerprint
from keyfluid.io.run.owned import is_locked
from keyfluid.io.run.run_folder import RunFolder
from keyfluid.runs.run import open_run, resume, run
from keyfluid.runs.upres import film_folder
from keyfluid.scenes import Scene
from keyfluid.scenes.build.inputs import hashed_scene

MODULE = "keyfluid.cli.wedge_task"

_PATIENCE = 60.0
"""Seconds that a worker waits for the one before it to let go of a run."""


@dataclass(frozen=True, eq=False)
class Variant:
    """A run to make in a folder, and how to draw it."""

    scene: Scene
    folder: str
    threads: int
    overwrite: bool
    look: Look


@dataclass(frozen=True)
class Failed:
    """Why a run failed, in one line."""

    fault: str


def variant_state(folder: Path, scene: Scene) -> Literal["new", "unfinished", "finished"]:
    """What a folder holds of a scene's run, and of its film if the scene has [upres]."""
    try:
        found = RunFolder.find(folder)
    except KeyfluidError:
        return "new"
    if found.fingerprint is None or found.fingerprint.run != Fingerprint.of(hashed_scene(scene), __version__).run:
        return "new"
    try:
        return "unfinished" if RunFolder.find(shown_folder(folder, scene)).finished is None else "finished"
    except KeyfluidError:
        return "unfinished"


def shown_folder(folder: Path, scene: Scene) -> Path:
    """Where the frames are that a wedge shows of a run: its own, or those of its film."""
    return film_folder(folder) if scene.upres is not None else folder


def one_line(error: Exception) -> str:
    """An error as a line of a table."""
    if isinstance(error, MemoryError):
        return "out of memory; lower domain.resolution or try --preview"
    if isinstance(error, OSError):
        return f"{error.filename or 'a file'}: {error.strerror or error}"
    return "; ".join(str(error).splitlines())


def worker() -> Answer:
    """Answers tasks (keyfluid/crew.py)."""
    return _answer


def _answer(task: Variant, abandoned: Callable[[], bool]) -> DrawnRun | Failed | None:
    """None where it stopped because nobody waits."""
    try:
        if not _run(task, abandoned):
            return None
        place = shown_folder(Path(task.folder), task.scene)
        return task.look.drawn(open_run(place), place.relative_to(Path(task.folder).parent))
    except (KeyfluidError, OSError, MemoryError) as error:
        return Failed(one_line(error))


def _run(task: Variant, abandoned: Callable[[], bool]) -> bool:
    """Whether it has finished."""
    folder = Path(task.folder)
    deadline = time.monotonic() + _PATIENCE
    while is_locked(folder) and time.monotonic() < deadline and not abandoned():
        time.sleep(0.2)
    state = "new" if task.overwrite else variant_state(folder, task.scene)
    if state == "finished":
        return True
    if state == "unfinished":
        return resume(folder, threads=task.threads, should_stop=abandoned).finished
    made = run(task.scene, folder, overwrite=task.overwrite, threads=task.threads, should_stop=abandoned)
    return made.finished


if __name__ == "__main__":
    # Tasks name the classes of the imported module, not of __main__.
    from keyfluid.cli import wedge_task

    serve(wedge_task.worker())
