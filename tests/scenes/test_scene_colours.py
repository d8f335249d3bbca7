"""smoke.colours: pictures become one body per colour, and everything after that is a scene like any other."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageDraw

import keyfluid
from keyfluid.render.colour import parse_colour, to_srgb
from keyfluid.runs.pictures import Painter
from keyfluid.runs.vdb_files import grids_of
from keyfluid.scenes.build.problem import build
from keyfluid.shapes.mass import mass_of

RED, BLUE = "#d02818", "#2040c0"
SCENE = {
    "domain": {"resolution": 24},
    "time": {"frames": 4},
    "smoke": {"colours": "auto", "initial": {"image": "a.png"}},
    "keyframe": [{"frame": 4, "image": "b.png"}],
    "control": {"method": "target"},
    "output": {"size": 64},
}


@pytest.fixture
def folder(tmp_path):
    """Two squares side by side, then one above the other and larger, on white paper."""
    for name, boxes in {"a": ((10, 38, 45, 80), (55, 40, 90, 80)), "b": ((25, 3, 75, 45), (25, 55, 75, 95))}.items():
        image = Image.new("RGB", (100, 100), "white")
        for box, colour in zip(boxes, (RED, BLUE)):
            ImageDraw.Draw(image).rectangle(box, fill=colour)
        image.save(tmp_path / f"{name}.png")
    return tmp_path


def scene(folder, **changes):
    return keyfluid.scene_from({**SCENE, **changes}, folder)


def test_fields_starts_and_targets(folder):
    problem = build(scene(folder))
    assert problem.colours == {"red": RED, "blue": BLUE}
    assert [(key.field, key.frame) for key in problem.keyframes] == [("red", 4), ("blue", 4)]
    red, blue = (problem.densities[name].array for name in ("red", "blue"))
    assert red[:12].sum() > 0.9 * red.sum()
    assert blue[12:].sum() > 0.9 * blue.sum()
    upper, lower = (key.target for key in problem.keyframes)
    assert upper[:, 12:].sum() > 0.9 * upper.sum()
    assert lower[:, :12].sum() > 0.9 * lower.sum()
    spacing = problem.grid.spacing
    assert [key.mass for key in problem.keyframes] == pytest.approx([mass_of(red, spacing), mass_of(blue, spacing)])
    assert (upper + lower).max() <= 1 + 1e-5
    assert problem.warnings[0] == f"smoke.colours: red {RED}, blue {BLUE}"


def test_the_run_has_a_scene_that_reads_back(folder):
    built = build(scene(folder)).scene
    assert built.smoke.colours is None
    again = keyfluid.load_scene(keyfluid.dump_scene(built))
    assert again == built
    assert [key.target.tolist() for key in build(again).keyframes] == [
        k.target.tolist() for k in build(built).keyframes
    ]


@pytest.mark.parametrize("control", [{"method": "target"}, {"method": "adjoint", "iterations": 2}])
def test_a_run_has_these_colours_in_pictures_and_vdb(folder, control):
    result = keyfluid.run(scene(folder, control=control))
    assert {key["field"] for key in result.metrics["keyframes"]} == {"red", "blue"}
    assert all(0.9 < key["mass_ratio"] < 1.1 for key in result.metrics["keyframes"])
    grids = {grid.name: grid for grid in grids_of(result.problem, result.frames[0])}
    assert {"red", "blue", "density", "Cd"} <= set(grids)
    colour = np.asarray(grids["Cd"].data)[7, 12, 0]
    assert colour == pytest.approx(parse_colour(RED), abs=1e-3)
    left, right = Painter(result.problem).frame(result.frames, 0)[30, [18, 46]].astype(float)
    assert left[0] > 2 * left[2]
    assert right[2] > 2 * right[0]
    assert to_srgb(colour)[0] == pytest.approx(0xD0 / 255, abs=1e-2)


def test_given_colours_and_fields(folder):
    smoke = {**SCENE["smoke"], "colours": [BLUE, "red"]}
    assert list(build(scene(folder, smoke=smoke)).densities) == ["blue", "red"]
    smoke = {
        **SCENE["smoke"],
        "colours": "fields",
        "field": [{"name": "hot", "colour": "red"}, {"name": "cold", "colour": BLUE}],
    }
    problem = build(scene(folder, smoke=smoke))
    assert list(problem.densities) == ["hot", "cold"]
    assert problem.densities["hot"].array[:12].sum() > 0


def test_sources_and_fields_by_name(folder):
    source = [{"image": "a.png", "rate": 1.0, "stop": 2}, {"shape": "disk", "radius": 0.05, "field": "blue"}]
    problem = build(scene(folder, source=source))
    assert [emission.field for emission in problem.sources] == ["red", "blue", "blue"]


@pytest.mark.parametrize(
    ("smoke", "fault"),
    [
        ({"colours": "auto", "initial": {"shape": "disk"}}, "there is no smoke of 'blue'"),
        ({"colours": "many", "initial": {"image": "a.png"}}, "smoke.colours: 'many' is not allowed"),
        (
            {"colours": ["redd"], "initial": {"image": "a.png"}},
            "smoke.colours[0]: 'redd' is not a colour; did you mean",
        ),
        ({"colours": "auto", "field": [{"name": "a"}], "initial": {"image": "a.png"}}, "smoke.colours: stands beside"),
        ({"colours": 2, "initial": {"image": "a.png", "mass": "first-key"}}, 'smoke.initial.mass: "first-key" can\'t'),
        ({"initial": {"image": "a.png", "ink": "red"}}, "smoke.initial.ink: is not one of the colours"),
        ({"initial": {"image": "a.png", "palette": ["red"]}}, "smoke.initial.palette: has no ink"),
        ({"colours": "auto", "initial": {"image": "a.png", "field": "pink"}}, "'pink' is not a field of the smoke"),
    ],
)
def test_faults_are_one_line(folder, smoke, fault):
    with pytest.raises(keyfluid.KeyfluidError) as found:
        build(scene(folder, smoke=smoke))
    assert fault in str(found.value)


def test_colours_need_a_picture(folder):
    with pytest.raises(keyfluid.SceneErrors, match=r"smoke.colours: no start, source or keyframe is an image"):
        build(
            scene(folder, smoke={"colours": 2, "initial": {"shape": "disk"}}, keyframe=[], control={"method": "none"})
        )
