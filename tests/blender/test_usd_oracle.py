"""The stage of a run by usd-core, its checkers included, and by Blender's importer."""

from __future__ import annotations

import shutil
from pathlib import Path

import numpy as np
import pytest
from blender_oracle import ask, needs_blender

import keyfluid
from keyfluid.runs import usd_mesh
from keyfluid.runs.pictures import Painter

pytestmark = needs_blender

SMOKE = """
name = "film-1"
[domain]
size = [1.0, 0.8, 1.2]
resolution = 16
up = "z"
[time]
frames = 3
fps = 30
[smoke.initial]
shape = "sphere"
radius = 0.2
velocity = [0.1, 0.2, 0.4]
[[obstacle]]
shape = "box"
size = 0.3
path = [{ frame = 0, center = [0.3, 0.4, 1.0] }, { frame = 3, center = [0.6, 0.4, 1.0], rotation = [30, 0, 60] }]
[[keyframe]]
frame = 2
shape = "sphere"
[camera]
orbit = 30
[output]
video = false
usd = true
start_frame = 11
"""
LIQUID = """
name = "drop"
[domain]
size = [1.0, 1.0, 1.0]
resolution = 16
[time]
frames = 2
[liquid.initial]
shape = "sphere"
radius = 0.25
velocity = [0.5, 0.0, 0.0]
[output]
video = false
usd = true
"""


@pytest.fixture(scope="module")
def smoke(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, keyfluid.Result]:
    folder = tmp_path_factory.mktemp("usd") / "smoke"
    return folder, keyfluid.run(SMOKE, folder)


def test_the_checker_has_nothing_to_say(smoke: tuple[Path, keyfluid.Result], tmp_path: Path) -> None:
    folder, _ = smoke
    found = ask("check_usd.py", folder / "film-1.usda")
    assert found["complaints"] == []
    assert found["range"] == [11, 14, 30]
    assert (found["metres"], found["up"]) == (1, "Z")
    assert found["volumes"] == {"volume": ["density", "vel"]}
    every = [f"film-1.{number:04d}.vdb" for number in range(11, 15)]
    assert found["files"] == {"density": every, "vel": every}, "each resolves"
    kinds = {path.removeprefix("/film_1/"): kind for path, kind in found["prims"].items()}
    assert kinds["camera"] == "Camera"
    assert (kinds["key"], kinds["sky"]) == ("DistantLight", "DomeLight")
    assert (kinds["obstacles/obstacle_0"], kinds["targets/target_0"], kinds["domain"]) == (
        "Mesh",
        "Mesh",
        "BasisCurves",
    )
    assert kinds["materials/fluid/preview"] == "Shader"

    copy = shutil.copytree(folder, tmp_path / "copy")
    (copy / "vdb" / every[2]).unlink()
    broken = ask("check_usd.py", copy / "film-1.usda")
    assert broken["files"]["density"][2] == "", "a file that is not there is seen"
    assert broken["complaints"]


def test_blender_imports_all_frames_and_the_camera(smoke: tuple[Path, keyfluid.Result]) -> None:
    folder, result = smoke
    view = Painter(result.problem).view(0)
    corners = np.array([[x, y, z] for x in (0, 1) for y in (0, 0.8) for z in (0, 1.2)], float)
    told = [",".join(map(str, corner)) for corner in corners]
    found = ask("import_usd.py", folder / "film-1.usda", *view.size, *told)
    assert [Path(path).name for path, _, _, _ in found["volume"]] == [f"film-1.{n:04d}.vdb" for n in range(11, 15)]
    assert all(loaded and {"density", "vel"} <= set(grids) and not fault for _, loaded, grids, fault in found["volume"])
    assert found["range"][:2] == [11, 14]
    assert {"obstacle_0": "MESH", "target_0": "MESH", "key": "LIGHT"}.items() <= found["objects"].items()
    for frame, number in ((0, "11"), (3, "14")):
        there = Painter(result.problem).view(frame)
        assert np.abs(seen_at(there, corners) - found["projected"][number]).max() < 1, "within a pixel"


def seen_at(view, corners: np.ndarray) -> np.ndarray:
    """Pixels from the top left, as our own renderer has them."""
    right, top, forward = view.camera.basis(view.up)
    arm = corners - view.camera.position
    scale = view.size[1] / (2 * np.tan(np.radians(view.camera.fov_degrees) / 2)) / (arm @ forward)
    return np.stack([view.size[0] / 2 + arm @ right * scale, view.size[1] / 2 - arm @ top * scale], axis=1)


@pytest.mark.parametrize("apart", [False, True])
def test_a_liquid_is_a_mesh_with_velocities(apart: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """In the stage, or as a layer for each frame where it is large; the same to those who read it."""
    if apart:
        monkeypatch.setattr(usd_mesh, "MOST_INLINE", 100)
    result = keyfluid.run(LIQUID, tmp_path / "run")
    assert sorted(path.name for path in (tmp_path / "run" / "usd").glob("*")) == (
        ["drop.1001.usda", "drop.1002.usda", "drop.1003.usda"] if apart else []
    )
    stage = tmp_path / "run" / "drop.usda"
    found = ask("check_usd.py", stage)
    assert found["complaints"] == []
    frames = found["meshes"]["liquid"]
    counts = [len(usd_mesh.surface_mesh(result.problem, result.frames[index])[0]) for index in range(3)]
    assert [frame["points"] for frame in frames] == [frame["velocities"] for frame in frames] == counts
    assert [frame["fault"] for frame in frames] == ["", "", ""]
    imported = ask("import_usd.py", stage, 64, 64)["liquid"]
    assert [vertices for vertices, _, _ in imported] == counts
    speeds = [
        np.abs(usd_mesh.mesh_values(result.problem, result.frames[i])["vector3f[] velocities"]).max() for i in range(3)
    ]
    assert [speed for _, _, speed in imported] == pytest.approx(speeds, rel=1e-5)
