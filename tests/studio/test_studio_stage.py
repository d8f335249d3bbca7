"""The stage shows bodies as a run will have them, and goes on after a fault."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("starlette")

from stage_kit import SCENE, SPACE, ask_stage, write_scene
from studio_kit import RunningStudio, running_studio

from keyfluid.scenes import load_scene
from keyfluid.scenes.build.problem import build
from keyfluid.studio.arrays import as_bytes
from keyfluid.studio.stage import Asked, StageDrawer

OBSTACLES = """
[[obstacle]]
shape = "box"
size = 0.15
path = [{ frame = 0, center = [0.2, 0.8] }, { frame = 24, center = [0.8, 0.8] }]
"""
SOURCE = """
[[source]]
shape = "disk"
radius = 0.08
center = [0.75, 0.2]
rate = 2.0
stop = 12
"""


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStudio]:
    with running_studio(tmp_path_factory.mktemp("stage")) as running:
        yield running


def test_bodies_are_those_of_a_run(studio: RunningStudio) -> None:
    text = SCENE + SOURCE + OBSTACLES
    found = ask_stage(studio, write_scene(studio, text))
    built = build(load_scene(text))
    key, source = built.keyframes[0], built.sources[0]
    assert np.array_equal(found.arrays["keyframe[0]"], as_bytes(key.target, 1.0))
    assert np.array_equal(found.arrays["smoke.initial[0]"], as_bytes(built.densities["density"].component(0), 1.0))
    assert np.array_equal(found.arrays["source[0]"], as_bytes(source.mask, 1.0))
    solids = built.solids(0.0)
    assert solids is not None
    assert np.array_equal(found.arrays["obstacle[0]"] == 255, solids.solid)
    facts = found.body("keyframe[0]")
    assert facts["bound"] == pytest.approx(key.bound, rel=1e-9)
    assert facts["mass"] == pytest.approx(key.mass, rel=1e-9)
    assert facts["sized"] != 1.0
    assert facts["center"] == [0.6, 0.55]
    assert [body["role"] for body in found.header["bodies"]] == ["start", "source", "obstacle", "keyframe"]


def test_a_drag_changes_nothing_on_disk_and_draws_one_body(studio: RunningStudio) -> None:
    path = write_scene(studio)
    before = ask_stage(studio, path)
    moved = ask_stage(
        studio, path, bodies=["keyframe[0]"], draft=True,
        changes=[{"path": "keyframe[0].center", "value": [0.6 - 8 / 64, 0.55]}],
    )  # fmt: skip
    assert list(moved.arrays) == ["keyframe[0]"]
    difference = moved.arrays["keyframe[0]"].astype(int) - np.roll(before.arrays["keyframe[0]"], -8, axis=0)
    assert np.abs(difference).max() <= 1
    assert (studio.folder / path).read_text() == SCENE


def test_sizes_and_bounds_follow_the_start(studio: RunningStudio) -> None:
    path = write_scene(studio)
    small = [{"path": "smoke.initial[0].radius", "value": 0.1}]
    before, after = ask_stage(studio, path), ask_stage(studio, path, changes=small)
    ratio = after.body("keyframe[0]")["sized"] / before.body("keyframe[0]")["sized"]
    assert ratio == pytest.approx(0.5, abs=0.01)
    assert after.body("keyframe[0]")["bound"] > before.body("keyframe[0]")["bound"]


def test_entries_come_and_go(studio: RunningStudio) -> None:
    path = write_scene(studio)
    table = {"frame": 12, "shape": "ring"}
    more = ask_stage(studio, path, changes=[{"path": "keyframe", "insert": table, "at": 0}])
    assert [more.body(f"keyframe[{i}]")["frame"] for i in (0, 1)] == [12, 24]
    less = ask_stage(studio, path, changes=[{"path": "keyframe[0]", "remove": True}])
    assert [body["id"] for body in less.header["bodies"]] == ["smoke.initial[0]"]
    two = ask_stage(studio, path, changes=[{"path": "smoke.initial", "insert": {"shape": "box", "size": 0.1}}])
    assert {"smoke.initial[0]", "smoke.initial[1]"} <= set(two.arrays)


def test_a_body_out_of_the_domain_is_still_there_to_be_dragged_back(studio: RunningStudio) -> None:
    path = write_scene(studio)
    for changes in ([{"path": "keyframe[0].center", "value": [2.0, 0.5]}],
                    [{"path": "smoke.initial[0].center", "value": [-3.0, 0.5]}]):  # fmt: skip
        found = ask_stage(studio, path, changes=changes)
        assert [body["id"] for body in found.header["bodies"]] == ["smoke.initial[0]", "keyframe[0]"]
        assert "lies outside the domain" in found.header["faults"][0]["message"]


def test_a_faulty_scene_has_faults_and_no_bodies(studio: RunningStudio) -> None:
    path = write_scene(studio)
    for text in ("[smoke\n", SCENE.replace('"star"', '"cube"')):
        found = ask_stage(studio, path, text=text)
        assert found.header["bodies"] is None
        assert found.header["faults"]


def test_obstacles_stand_where_they_are_at_the_frame(studio: RunningStudio) -> None:
    path = write_scene(studio, SCENE + OBSTACLES)
    first, last = (ask_stage(studio, path, frame=frame, bodies=["obstacle[0]"]) for frame in (0, 24))
    assert np.array_equal(np.roll(first.arrays["obstacle[0]"], round(0.6 * 64), axis=0), last.arrays["obstacle[0]"])
    assert last.body("obstacle[0]")["path"][1] == {"frame": 24.0, "center": [0.8, 0.8]}


def test_space_has_a_volume_and_three_views(studio: RunningStudio) -> None:
    found = ask_stage(studio, write_scene(studio, SPACE))
    volume = found.arrays["keyframe[0]"]
    assert volume.shape == (24, 24, 24)
    assert found.header["exact"]
    for axis, name in enumerate("xyz"):
        assert np.array_equal(found.arrays[f"keyframe[0]/{name}"], volume.max(axis=axis))
    fine = ask_stage(studio, write_scene(studio, SPACE.replace("24", "128")), bodies=["keyframe[0]"], draft=True)
    assert fine.arrays["keyframe[0]"].shape == (48, 48, 48)
    assert not fine.header["exact"]
    assert fine.body("keyframe[0]")["sized"] == pytest.approx(found.body("keyframe[0]")["sized"], rel=0.01)


def test_colours_of_a_picture_are_one_body() -> None:
    gallery = Path(load_scene.__code__.co_filename).parents[2] / "gallery"
    scene = load_scene(gallery / "coloured_drawing.toml", ["domain.resolution=32"])
    header, arrays = StageDrawer().draw(scene, Asked())
    assert [body["id"] for body in header["bodies"]] == ["smoke.initial[0]", "keyframe[0]"]
    assert len(arrays) == 2


def test_files_outside_the_workspace_are_not_read(studio: RunningStudio, tmp_path: Path) -> None:
    from PIL import Image

    Image.new("L", (8, 8), 255).save(tmp_path / "secret.png")
    link = studio.folder / "scenes" / "one" / "link.png"
    for name in (str(tmp_path / "secret.png"), "link.png"):
        if not link.is_symlink():
            write_scene(studio)
            link.symlink_to(tmp_path / "secret.png")
        found = ask_stage(
            studio, write_scene(studio, SCENE.replace('shape = "star"', f"image = '{name}'"))
        )  # fmt: skip
        assert found.header["bodies"] is None
        assert "outside the workspace" in found.header["faults"][0]["message"]


@pytest.mark.parametrize(
    "body",
    [
        {"changes": 3}, {"changes": [{"path": "keyframe[9].center", "value": 1}]}, {"changes": [{"path": "a b"}]},
        {"bodies": "keyframe[0]"}, {"frame": -1}, {"frame": "x"}, {"text": 5},
        {"changes": [{"path": "name.x", "value": 1}]},
    ],
)  # fmt: skip
def test_what_is_not_a_request_is_refused(studio: RunningStudio, body: dict[str, object]) -> None:
    answer = studio.ask("POST", "/api/stage", body={"path": write_scene(studio), **body})
    assert 400 <= answer.status < 500
    assert answer.json["error"]["message"]


def test_a_picture_is_read_again_when_it_changes(studio: RunningStudio) -> None:
    from PIL import Image

    path = write_scene(studio, SCENE.replace('shape = "star"', 'image = "dot.png"'))
    picture = (studio.folder / path).with_name("dot.png")
    drawn = []
    for box in ((10, 10, 50, 50), (10, 28, 50, 36)):
        pixels = np.zeros((64, 64), np.uint8)
        pixels[box[1] : box[3], box[0] : box[2]] = 255
        Image.fromarray(pixels).save(picture)
        drawn.append(ask_stage(studio, path).arrays["keyframe[0]"])
    assert not np.array_equal(*drawn)
