"""The documentation and the bundled scenes are current."""

from __future__ import annotations

import dataclasses
import re
from importlib import resources
from pathlib import Path

import pytest

from keyfluid.scenes import dump_scene, load_scene, preview
from keyfluid.scenes.build.problem import build
from keyfluid.scenes.schema.bodies import SHAPE_KEYS, ShapeName
from keyfluid.scenes.schema.check_bodies import MESH_SUFFIXES
from keyfluid.scenes.schema.docs import scene_format
from keyfluid.shapes import SHAPES
from keyfluid.shapes.mesh import MESH_SUFFIXES as READABLE

GALLERY = Path(str(resources.files("keyfluid.gallery")))
SCENES = sorted(path.name for path in GALLERY.glob("*.toml"))


def test_scene_format_is_current():
    page = Path(__file__).parents[2] / "docs" / "scene_format.md"
    assert page.read_text(encoding="utf-8") == scene_format(), (
        "run: python -m keyfluid.scenes.schema.docs docs/scene_format.md"
    )


def test_the_page_shows_every_section_and_its_first_example_runs():
    page = scene_format()
    assert "| `resolution` | a whole number from 4 to 16384 | `128` |" in page
    assert '## [control] method = "none"' in page
    example = "\n".join(line[4:] for line in page.splitlines() if line.startswith("    "))
    assert build(load_scene(example)).densities["density"].array.max() == 1.0


def test_shapes_and_their_measures_are_those_that_exist():
    assert set(SHAPE_KEYS) == set(SHAPES) == set(ShapeName.__args__)
    for name, keys in SHAPE_KEYS.items():
        assert set(keys) == {field.name for field in dataclasses.fields(SHAPES[name])}, name
    assert MESH_SUFFIXES == READABLE


def test_the_gallery_is_there():
    assert {"plume_obstacle_2d.toml", "plume_mesh_3d.toml", "two_colours.toml", "starter.toml"} <= set(SCENES)
    assert sum(path.stat().st_size for path in GALLERY.iterdir() if path.is_file()) < 300_000


@pytest.mark.parametrize("name", SCENES)
def test_gallery_scenes_build(name):
    scene = load_scene(GALLERY / name)
    assert scene.name == name.removesuffix(".toml")
    assert load_scene(dump_scene(scene)) == scene
    problem = build(preview(scene, 32))
    told = [line for line in problem.warnings if not line.startswith("smoke.colours: ")]
    assert [line for line in told if "resolution" not in line] == []
    moments = [problem.solids(frame / problem.fps) for frame in (0, problem.frames // 2, problem.frames)]
    assert all(solids is None or solids.solid.any() for solids in moments)


def test_the_starters_commented_parts_work():
    text = (GALLERY / "starter.toml").read_text(encoding="utf-8")
    opened = re.sub(r"^# (\[\[|\w+ = )", r"\1", text, flags=re.MULTILINE)
    scene = load_scene(opened)
    assert (len(scene.source), len(scene.obstacle), len(scene.keyframe)) == (1, 1, 1)
    build(preview(scene, 64))
