"""The extension without Blender: geometry, motion, the scene folder, finding keyfluid, following a job."""

from __future__ import annotations

import ast
import sys
import time
import tomllib
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from extension_core import CORE, ROOT, frames, geometry, job, messages, motion, program, scene_folder, toml_text

import keyfluid
from keyfluid.scenes.build.problem import build
from keyfluid.shapes.placement import rotation_matrix

CORNERS = np.array([[x, y, z] for x in (-1, 1) for y in (-1, 1) for z in (-1, 1)], float)
FACES = np.array(
    [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4],
     [1, 5, 7], [1, 7, 3]]
)  # fmt: skip
SQUARE = np.array([[0, 0, 0], [1, 0, 0], [1, 1, 0], [0, 1, 0]], float), np.array([[0, 1, 2], [0, 2, 3]])


def placed(scale: float, center: list[float], turn: np.ndarray | None = None) -> np.ndarray:
    matrix = np.eye(4)
    matrix[:3, :3], matrix[:3, 3] = scale * (np.eye(3) if turn is None else turn), center
    return matrix


def sample(frame: int, *place: Any) -> Any:
    return motion.Sample(frame, CORNERS, FACES, placed(*place))


def test_core_knows_nothing_of_blender() -> None:
    for path in CORE.glob("*.py"):
        tree = ast.parse(path.read_text(encoding="utf-8"))
        names = {alias.name for node in ast.walk(tree) if isinstance(node, ast.Import) for alias in node.names}
        assert not names & {"bpy", "mathutils", "keyfluid", "numba"}, path.name


def test_flat_drawings_become_solids() -> None:
    assert geometry.is_flat(SQUARE[0])
    assert not geometry.is_solid(*SQUARE)
    solid = geometry.thickened(*SQUARE, 0.5)
    assert geometry.is_solid(*solid)
    assert geometry.volume(*solid) == pytest.approx(0.5)
    assert len(geometry.open_edges(solid[1])) == 0
    backwards = geometry.thickened(SQUARE[0], SQUARE[1][:, ::-1], 0.5)
    assert geometry.volume(*backwards) == pytest.approx(0.5), "outside to the front, whichever way it was drawn"
    assert geometry.is_solid(CORNERS, FACES)
    assert not geometry.is_solid(CORNERS, FACES[:-3]), "a hole"
    split = CORNERS[FACES].reshape(-1, 3), np.arange(36).reshape(-1, 3)
    assert not geometry.is_solid(*split)
    assert geometry.is_solid(*geometry.welded(*split)), "text comes with vertices that are not joined"


def test_motion_is_told_apart() -> None:
    turn = rotation_matrix((30.0, 0.0, 60.0), 3)
    still = [sample(1, 1.0, [0, 0, 0]), sample(2, 1.0, [0, 0, 0])]
    moving = [sample(1, 0.5, [0, 0, 0]), sample(2, 0.5, [1, 2, 3], turn)]
    growing = [sample(1, 0.5, [0, 0, 0]), sample(2, 0.6, [0, 0, 0])]
    bent = [still[0], motion.Sample(2, CORNERS * [1, 1, CORNERS[:, 0].max() + 0.1], FACES, np.eye(4))]
    assert motion.at_rest(still)
    assert not motion.at_rest(moving)
    found = motion.rigid(moving)
    assert found.vertices == pytest.approx(0.5 * CORNERS)
    for one, (_, pose) in zip(moving, found.poses):
        assert found.vertices @ pose[:3, :3].T + pose[:3, 3] == pytest.approx(one.placed)
    assert motion.rigid(growing) is None
    assert motion.rigid(bent) is None


def test_angles_go_on_without_a_jump() -> None:
    """A body that turns twice about z while it is tilted; straight interpolation of the angles has to follow it."""
    turns = [rotation_matrix((20.0, 80.0, 15.0 * step), 3) for step in range(49)]
    angles = np.array(motion.euler_path(turns))
    for turn, three in zip(turns, angles):
        assert rotation_matrix(tuple(three), 3) == pytest.approx(turn, abs=1e-9)
    assert np.abs(np.diff(angles, axis=0)).max() < 16
    assert angles[-1, 2] - angles[0, 2] == pytest.approx(720)


def bodies() -> list[Any]:
    turn = rotation_matrix((0.0, 0.0, 40.0), 3)
    path = [
        sample(f, 0.1, [0.3 + 0.02 * (f - 11), 0.5, 1.5], np.linalg.matrix_power(turn, f - 11)) for f in range(11, 16)
    ]
    emitter = [sample(f, 0.15, [0.5, 0.5, 0.3 + 0.05 * (f - 11)]) for f in range(11, 16)]
    return [
        scene_folder.Body("Ball \"a\"/b", "start", [sample(11, 0.2, [0.5, 0.5, 1.0])], {"velocity": [0.0, 0.0, 1.0]}),
        scene_folder.Body("Fan", "source", emitter, {"density": 1.0, "start": 0, "stop": 3}),
        scene_folder.Body("Plate", "obstacle", path),
        scene_folder.Body("Goal", "keyframe", [sample(11, 0.25, [0.5, 0.5, 0.8])], {"frame": 4}),
        scene_folder.Body("Photo", "keyframe", (), {"frame": 3}, np.ones((4, 4, 4), np.float32)),
    ]  # fmt: skip


def film(**changes: Any) -> Any:
    values = {"name": "My film", "size": (1.0, 1.0, 2.0), "frames": frames.FrameRange(11, 15), "fps": 24.0}
    return scene_folder.Film(**{**values, "resolution": 16, "control": {"method": "target", "damping": 1.5}, **changes})


def test_what_it_writes_is_a_scene_that_keyfluid_builds(tmp_path: Path) -> None:
    folder = scene_folder.SceneFolder(tmp_path / "scene")
    text = folder.write(film(), bodies()).read_text(encoding="utf-8")
    assert text.startswith("# Made by the keyfluid extension")
    scene = keyfluid.load_scene(folder.scene_file)
    assert (scene.name, scene.time.frames, scene.output.start_frame) == ("My_film", 4, 11)
    assert [(source.start, source.stop) for source in scene.source] == [(0, 1), (1, 2), (2, 3)]
    built = build(scene)
    assert sorted(key.frame for key in built.keyframes) == [3, 4]
    dx = built.grid.spacing
    start = built.densities["density"].array
    cells = (np.argwhere(start > 0.5) + 0.5) * dx
    assert cells.mean(axis=0) == pytest.approx([0.5, 0.5, 1.0], abs=0.02)
    for index, one in enumerate(bodies()[2].samples):
        solid = (np.argwhere(built.solids.distance(index / 24) < 0) + 0.5) * dx
        assert solid.mean(axis=0) == pytest.approx(one.placed.mean(axis=0), abs=0.4 * dx), f"frame {index}"
    assert all(not Path(path).is_absolute() for path in tomllib.loads(text)["source"][0]["mesh"].split())


def test_files_that_a_scene_no_longer_names_go(tmp_path: Path) -> None:
    folder = scene_folder.SceneFolder(tmp_path)
    folder.write(film(), bodies())
    mine = tmp_path / "meshes" / "notes.txt"
    mine.write_text("keep", encoding="utf-8")
    folder.write(film(), bodies()[:1])
    assert sorted(path.name for path in (tmp_path / "meshes").iterdir()) == ["Ball_a_b.ply", "notes.txt"]
    assert list((tmp_path / "arrays").iterdir()) == []


def test_objects_far_away_and_of_one_name(tmp_path: Path) -> None:
    far = scene_folder.Body("Far", "obstacle", [sample(11, 0.1, [5.0, 0.5, 0.5])])
    with pytest.raises(messages.Fault, match="Far: lies outside the domain; move it in"):
        scene_folder.SceneFolder(tmp_path).write(film(), [far])
    twice = [
        scene_folder.Body(name, "start", [sample(11, 0.1, [0.5, 0.5, z])]) for name, z in (("a b", 0.5), ("a/b", 1.0))
    ]
    scene_folder.SceneFolder(tmp_path).write(film(), twice)
    assert {path.name for path in (tmp_path / "meshes").iterdir()} == {"a_b.ply", "a_b_2.ply"}


def test_an_image_stands_where_its_object_does() -> None:
    picture = np.zeros((10, 20))
    picture[5:, 10:] = 1
    upright = rotation_matrix((90.0, 0.0, 0.0), 3) @ np.diag([1.0, 0.5, 1.0])
    density = scene_folder.image_density(picture, placed(1.0, [0.5, 0.6, 0.25], upright), (2.0, 1.0, 1.0), 0.2, 40)
    where = (np.argwhere(density > 0.5) + 0.5) / 20
    assert density.shape == (40, 20, 20)
    assert where.min(axis=0) == pytest.approx([1.0, 0.5, 0.5], abs=0.06), "the upper right quarter of the picture"
    assert where.max(axis=0) == pytest.approx([1.5, 0.7, 0.75], abs=0.06)


def test_toml_is_read_back() -> None:
    scene = {
        "name": 'a "b"', "domain": {"size": [1.0, 2.5]}, "smoke": {"initial": [{"mesh": "a.ply"}, {"mesh": "b.ply"}]},
        "obstacle": [{"mesh": "c.ply", "path": [{"frame": 0, "center": [0.1, 1e-9]}]}], "flag": True, "whole": 3,
    }  # fmt: skip
    assert tomllib.loads(toml_text.toml_text(scene, "two\nlines")) == scene


def test_the_program_is_found_in_order(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path / "path"))
    home, own = tmp_path / "home", tmp_path / "own"

    def put(path: Path) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("#!/bin/sh\n", encoding="utf-8")
        path.chmod(0o755)
        return path

    with pytest.raises(messages.Fault, match="keyfluid was not found; press Install"):
        program.find("", own, home)
    tool = put(home / ".local" / "share" / "uv" / "tools" / "keyfluid" / "bin" / "keyfluid")
    assert program.find("", own, home) == tool
    on_path = put(tmp_path / "path" / "keyfluid")
    assert program.find("", own, home) == on_path
    mine = put(own / "bin" / "keyfluid")
    assert program.find("", own, home) == mine
    given = put(tmp_path / "given" / "bin" / "keyfluid")
    assert program.find(str(tmp_path / "given"), own, home) == given
    with pytest.raises(messages.Fault, match="is not keyfluid; correct the path"):
        program.find(str(tmp_path / "missing"), own, home)


def test_versions_and_environment() -> None:
    program.require_version("0.1.9\n", "0.1.0")
    for other in ("0.2.0", "1.1.0", ""):
        with pytest.raises(messages.Fault, match=r"this extension needs 0\.1\.\*; update it"):
            program.require_version(other, "0.1.0")
    assert program.environment({"PYTHONPATH": "x", "PATH": "y"}) == {"PATH": "y"}
    venv, install = program.install_commands(Path("own"), "0.1.0")
    assert venv[1:] == ["-m", "venv", "--clear", "own"]
    assert install[-1] == "keyfluid[mesh]==0.1.*"
    manifest = tomllib.loads((ROOT / "blender" / "keyfluid" / "blender_manifest.toml").read_text(encoding="utf-8"))
    assert manifest["version"] == keyfluid.__version__


PROGRAM = """
import json, signal, sys, time
def say(**event): print(json.dumps(event), flush=True)
def stop(*_): say(event="progress", done=2, total=4, unit="frame"); sys.exit(130)
signal.signal(signal.SIGINT, stop)
mode = sys.argv[1]
say(event="progress", done=1, total=4, unit="frame", seconds_left=61.0, errors={"keyframe[0]": 0.5})
if mode == "wait": time.sleep(60)
if mode == "fault": say(event="error", message="a.b: is wrong; fix it\\nc: too", faults=[]); sys.exit(2)
print("not JSON", flush=True)
say(event="result", keyframes=[{"frame": 3, "relative_error": 0.25, "iou": 0.9}])
"""


def started(folder: Path, mode: str, first: list[list[str]] | None = None, checks: tuple[Any, ...] = ()) -> Any:
    script = folder / "program.py"
    folder.mkdir(parents=True, exist_ok=True)
    script.write_text(PROGRAM, encoding="utf-8")
    return job.Job(folder, "run").start([*(first or []), [sys.executable, str(script), mode]], checks)


def test_a_job_is_followed_without_waiting(tmp_path: Path) -> None:
    began = time.perf_counter()
    found = started(tmp_path, "wait")
    found.look()
    assert time.perf_counter() - began < 2, "nothing waits for the process"
    job.wait(found, 20, lambda: found.fraction and found.stop())
    assert (found.state, found.message) == ("stopped", "stopped; press Resume to continue")


def test_progress_result_and_end(tmp_path: Path) -> None:
    printed = []
    version = [sys.executable, "-c", "print('0.1.0')"]
    found = started(tmp_path, "fine", [version], (printed.append,))
    job.wait(found, 20)
    assert printed == ["0.1.0\n"]
    assert (found.state, found.fraction) == ("finished", 1.0)
    assert found.errors == {"keyframe[0]": 0.5}
    assert found.result["keyframes"][0]["frame"] == 3


def test_what_goes_wrong_is_one_line(tmp_path: Path) -> None:
    found = started(tmp_path, "fault")
    job.wait(found, 20)
    assert (found.state, found.message) == ("failed", "a.b: is wrong; fix it (and 1 more; see run.log)")

    def refuse(_printed: str) -> None:
        raise messages.Fault("another version")

    found = started(tmp_path, "fine", [[sys.executable, "-c", ""]], (refuse,))
    job.wait(found, 20)
    assert (found.state, found.message, found.result) == ("failed", "another version", None)
    found = job.Job(tmp_path, "run").start([[str(tmp_path / "nothing")]])
    assert found.state == "failed"
    assert "can't be started" in found.message


def test_a_run_outlives_blender_and_is_found_again(tmp_path: Path) -> None:
    first = started(tmp_path, "wait")
    again = job.Job(tmp_path, "run")
    job.wait(first, 20, lambda: setattr(first, "state", "left") if first.fraction else None)
    assert again.attach()
    assert again.message == "frame 1 of 4"
    again.stop()
    first._process.wait(20)
    job.wait(again, 20)
    assert again.state == "stopped"
    assert not job.Job(tmp_path, "run").attach(), "it has ended"


def test_sequences_end_at_the_first_gap(tmp_path: Path) -> None:
    for number in (11, 12, 13, 15):
        (tmp_path / f"a.b.{number:04d}.vdb").touch()
    (tmp_path / "a.b.0014.vdb.part").touch()
    assert [number for number, _ in frames.sequence(tmp_path, "a.b", "vdb")] == [11, 12, 13]
    assert frames.sequence(tmp_path / "none", "a", "vdb") == []
    assert frames.FrameRange(11, 15).to_run(13) == 2
