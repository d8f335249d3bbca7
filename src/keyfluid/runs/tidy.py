"""What stays in the folder of a finished run (`output.keep`), and `keyfluid tidy`, which says so afterwards.

    all     everything: frames, the last two checkpoints and the optimiser's memory
    film    frames, and one small checkpoint with the forces that were found
    scene   neither: scene.toml, result.json, films, report and exported files

Only files that the folder's record lists are rewritten or removed, and what replaces a file is on the disk before it
goes: a process that is killed on the way leaves a finished run, and tidying can be repeated.
"""

from __future__ import annotations

from pathlib import Path

from keyfluid.controllers import controller_for
from keyfluid.controllers.shell import Checkpoint
from keyfluid.errors import KeyfluidError
from keyfluid.io.run.checkpoints import ShellMemory, Stored
from keyfluid.io.run.result_file import Result
from keyfluid.io.run.run_folder import RunFolder
from keyfluid.scenes import Scene, load_scene
from keyfluid.scenes.build.memory import make_grid

KEPT = ("film", "scene")


def keep_only(folder: RunFolder, scene: Scene, keep: str) -> None:
    """Remove from the folder of a finished run what `keep` does not name."""
    if keep == "scene" or folder.has_no_frames:
        folder.give_up_frames()
    elif keep == "film":
        method, result = controller_for(scene.control.method), folder.finished

        def what_stays(found: Stored) -> Stored:
            last = method.what_stays(Checkpoint(found.arrays, found.controller))
            return Stored(dict(last.arrays), dict(last.meta), found.shell if result is None else _at_end(found, result))

        folder.checkpoints.reduce(what_stays)


def tidy(path: str | Path, keep: str = "film") -> tuple[int, int]:
    """Reduce the folder of a finished run; bytes of its files now and before. Raises if the run is not finished."""
    if keep not in KEPT:
        raise KeyfluidError(f"--keep {keep}: is not possible; use {' or '.join(KEPT)}")
    folder = RunFolder.open(path)
    try:
        assert folder.owned is not None
        result = folder.result()
        if result is None or result["status"] != "finished":
            status = "running" if result is None else result["status"]
            raise KeyfluidError(f"{path}: is not finished ({status}); finish it first: keyfluid resume {path}")
        before = _bytes(folder)
        scene = load_scene(folder.scene_file)
        keep_only(folder, scene, keep)
        if not folder.has_no_frames:
            for index in folder.frames.indices():
                folder.frames.pack(index, make_grid(scene), [field.name for field in scene.fluid.field])
        return _bytes(folder), before
    finally:
        folder.close()


def _at_end(found: Stored, result: Result) -> ShellMemory:
    """The memory of the run when it had ended, which is later than its last checkpoint."""
    of_frames = [entry for entry in found.shell.get("logged", []) if "frame" in entry and "iteration" not in entry]
    logged = [*(dict(entry) for entry in result["history"] if "mass" not in entry), *of_frames]
    return {
        **found.shell,
        "logged": logged,
        "seconds": result["seconds"],
        "iterations": result["iterations"],
        "evaluations": result["evaluations"],
    }


def _bytes(folder: RunFolder) -> int:
    """Bytes of all files of the run."""
    assert folder.owned is not None
    return sum((folder.path / name).stat().st_size for name in folder.owned.present())
