"""A lean folder: what stays of a finished run is enough for resume, --from and edit, bit for bit; tidy is safe."""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest
from run_scenes import STEERED

import keyfluid
from keyfluid.cli.folder_commands import export, render
from keyfluid.errors import KeyfluidError
from keyfluid.io.container import is_packed, load_arrays, save_arrays
from keyfluid.io.run import frame_files
from keyfluid.io.run.record import Record
from keyfluid.runs.tidy import tidy

SCENE = f"""{STEERED}
[[keyframe]]
frame = 5
shape = "disk"
center = [0.4, 0.55]
radius = 0.2
[output]
vdb = false
video = false
size = 32
"""
SPECTRAL = '[control]\nmethod = "spectral"\niterations = 3\ncoarse = 0\n'
EDIT = """
[edit]
run = "{run}"
first = 2
"""


def frames_of(folder):
    found = {}
    for path in sorted((folder / "frames").glob("*.npz")):
        arrays, _ = load_arrays(path)
        found[path.name] = {name: array.tobytes() for name, array in arrays.items()}
    return found


def result_of(folder):
    result = json.loads((folder / "result.json").read_text())
    return {name: value for name, value in result.items() if name not in ("seconds", "peak_memory_mb", "threads")}


def checkpoints_of(folder):
    return sorted(path.name for path in folder.glob("checkpoint*"))


def bytes_of(folder):
    """Of frames and checkpoints."""
    return sum(path.stat().st_size for path in folder.rglob("*.npz"))


def run_all(place: Path, control: str) -> Path:
    """A run that keeps everything, in plain frames, as keyfluid wrote them before they were packed."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(frame_files, "save_arrays", lambda path, arrays, meta, packing: save_arrays(path, arrays, meta))
        keyfluid.run(SCENE + control, place, threads=1, overrides=["output.keep=all"])
    record = Record.read(place)
    record.header["format"] = 2
    record.write()
    return place


@pytest.fixture(scope="module", params=["sequence", "all"])
def whole(request, tmp_path_factory):
    control = f'{SPECTRAL}schedule = "{request.param}"\n'
    return run_all(tmp_path_factory.mktemp(request.param) / "run", control)


@pytest.fixture
def lean(whole, tmp_path):
    folder = shutil.copytree(whole, tmp_path / "lean")
    tidy(folder)
    return folder


def test_an_old_folder_gets_smaller_and_keeps_its_bits(whole, lean):
    assert len(checkpoints_of(whole)) > 3
    assert checkpoints_of(lean) == ["checkpoint.npz"]
    assert all(map(is_packed, (lean / "frames").glob("*.npz")))
    assert bytes_of(lean) < 0.6 * bytes_of(whole)
    assert frames_of(lean) == frames_of(whole)
    assert Record.read(lean).header["format"] == 3
    before = {path: path.stat().st_mtime_ns for path in lean.rglob("*.npz")}
    tidy(lean)
    assert {path: path.stat().st_mtime_ns for path in lean.rglob("*.npz")} == before, "nothing is left to do"


def test_a_run_that_is_lean_from_the_start_is_the_same(whole, lean, tmp_path):
    keyfluid.run(whole / "scene.toml", tmp_path / "film", threads=1, overrides=["output.keep=film"])
    assert frames_of(tmp_path / "film") == frames_of(whole)
    assert checkpoints_of(tmp_path / "film") == ["checkpoint.npz"]
    found, wanted = (load_arrays(run / "checkpoint.npz")[0] for run in (tmp_path / "film", lean))
    assert {name: array.tobytes() for name, array in found.items()} == {n: a.tobytes() for n, a in wanted.items()}


@pytest.mark.parametrize("lost", ["result.json", "frames/0004.npz"])
def test_what_is_lost_is_made_again_by_resume(whole, lean, lost):
    (lean / lost).unlink()
    assert keyfluid.resume(lean, threads=1).finished
    assert frames_of(lean) == frames_of(whole)
    assert result_of(lean) == result_of(whole)


def test_a_run_that_begins_from_it_is_the_same(whole, lean, tmp_path):
    for run in (whole, lean):
        start = [f'control.start="{run}"', "control.iterations=2"]
        keyfluid.run(whole / "scene.toml", tmp_path / f"from-{run.name}", threads=1, overrides=start)
    assert frames_of(tmp_path / "from-run") == frames_of(tmp_path / "from-lean")


def test_an_edit_of_it_is_the_same(whole, lean, tmp_path):
    for run in (whole, lean):
        changed = SCENE.replace("center = [0.4, 0.55]", "center = [0.55, 0.6]") + SPECTRAL + EDIT.format(run=run)
        keyfluid.run(changed, tmp_path / f"edit-{run.name}", threads=1)
    assert frames_of(tmp_path / "edit-run") == frames_of(tmp_path / "edit-lean")
    assert result_of(tmp_path / "edit-run") == result_of(tmp_path / "edit-lean")


def test_shooting_is_filmed_again_from_its_forces(tmp_path):
    more = '[[keyframe]]\nframe = 6\nshape = "disk"\ncenter = [0.5, 0.6]\nradius = 0.2\n'
    control = f'{SPECTRAL}schedule = "shooting"\nrounds = 1\n'
    keyfluid.run(SCENE + more + control, tmp_path / "run", threads=1)
    assert checkpoints_of(tmp_path / "run") == ["checkpoint.npz"]
    frames, result = frames_of(tmp_path / "run"), result_of(tmp_path / "run")
    (tmp_path / "run" / "frames" / "0002.npz").unlink()
    keyfluid.resume(tmp_path / "run", threads=1)
    assert frames_of(tmp_path / "run") == frames
    assert result_of(tmp_path / "run") == result


@pytest.mark.parametrize("method", ["target", "particles"])
def test_a_run_in_one_pass_goes_on_from_its_frames(method, tmp_path):
    control = f'[control]\nmethod = "{method}"\n' + (
        "markers = 500\ncontrol_particles = 60\n" if method == "particles" else ""
    )
    folder = run_all(tmp_path / "run", control)
    frames, result = frames_of(folder), result_of(folder)
    tidy(folder)
    assert not load_arrays(folder / "checkpoint.npz")[0], "the last frame has what it had"
    keyfluid.resume(folder, from_frame=3, threads=1)
    assert frames_of(folder) == frames
    assert result_of(folder) == result
    (folder / "result.json").unlink()
    keyfluid.resume(folder, threads=1)
    assert result_of(folder) == result


def test_a_run_without_frames_says_so(whole, tmp_path):
    folder = shutil.copytree(whole, tmp_path / "run")
    tidy(folder, "scene")
    assert not (folder / "frames").exists()
    assert checkpoints_of(folder) == []
    assert result_of(folder) == result_of(whole)
    assert keyfluid.open_run(folder).finished
    assert keyfluid.resume(folder).finished
    said = r'run: has kept no frames \(output.keep = "scene"\); run its scene again'
    with pytest.raises(KeyfluidError, match=said):
        export(folder)
    with pytest.raises(KeyfluidError, match=said):
        render(folder)
    for key in (f'control.start="{folder}"', f'edit.run="{folder}"\nfirst = 2'):
        table = "[edit]\n" + key.removeprefix("edit.") if key.startswith("edit") else ""
        overrides = [] if table else [key]
        with pytest.raises(KeyfluidError, match="has kept no frames"):
            keyfluid.run(SCENE + SPECTRAL + table, overrides=overrides)


def test_an_unfinished_run_is_refused(tmp_path):
    calls = iter([False] * 4 + [True] * 100)
    stopped = keyfluid.run(SCENE + SPECTRAL, tmp_path / "run", threads=1, should_stop=lambda: next(calls))
    assert not stopped.finished
    before = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    with pytest.raises(KeyfluidError, match=r"run: is not finished \(stopped\); finish it first: keyfluid resume"):
        tidy(tmp_path / "run")
    with pytest.raises(KeyfluidError, match="--keep all: is not possible; use film or scene"):
        tidy(tmp_path / "run", "all")
    after = {path: path.read_bytes() for path in (tmp_path / "run").rglob("*") if path.is_file()}
    assert {p: c for p, c in after.items() if p.name != ".keyfluid"} == {
        p: c for p, c in before.items() if p.name != ".keyfluid"
    }


def killed_after(operations: int, folder: Path, keep: str) -> bool:
    """Tidy in a child that dies before the file operation of this number; whether it came so far."""
    child = os.fork()
    if child == 0:
        left = iter(range(operations))
        for module, name in ((os, "replace"), (os, "rename"), (Path, "unlink"), (Path, "rmdir")):
            original = getattr(module, name)

            def counted(*words, real=original, **more):
                if next(left, None) is None:
                    os._exit(9)
                return real(*words, **more)

            setattr(module, name, counted)
        try:
            tidy(folder, keep)
        finally:
            os._exit(0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 9


@pytest.mark.parametrize("keep", ["film", "scene"])
def test_killed_at_any_moment_it_is_a_finished_run(whole, keep, tmp_path):
    wanted = frames_of(whole)
    for operations in range(0, 60, 3):
        folder = shutil.copytree(whole, tmp_path / str(operations))
        killed = killed_after(operations, folder, keep)
        assert keyfluid.open_run(folder).finished
        if keep == "film":
            assert frames_of(folder) == wanted
        tidy(folder, keep)
        assert checkpoints_of(folder) == (["checkpoint.npz"] if keep == "film" else [])
        assert frames_of(folder) == (wanted if keep == "film" else {})
        assert not list(folder.rglob(".*.part"))
        if not killed:
            return
    pytest.fail("tidying takes more operations than are tried here")


def test_a_frame_that_somebody_changed_is_not_removed(whole, tmp_path):
    folder = shutil.copytree(whole, tmp_path / "run")
    (folder / "frames" / "0002.npz").write_bytes(b"mine")
    (folder / "frames" / "notes.txt").write_text("also mine")
    tidy(folder, "scene")
    left = {path.name for path in (folder / "frames").iterdir()}
    assert left == {"0002.npz.kept", "notes.txt"}
