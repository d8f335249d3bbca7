"""Reading, changing and writing scenes."""

from __future__ import annotations

import subprocess
import sys
import tomllib

import pytest
from scene_texts import LETTER, letter, volume, write_scene

from keyfluid.errors import KeyfluidError, SceneErrors
from keyfluid.scenes import dump_scene, load_scene, preview, scene_from, schema

RICH = """
name = "rich"
seed = 7
[domain]
size = [1.0, 1.5, 0.5]
resolution = 24
boundary = ["walls", "open", "periodic"]
up = "z"
[time]
fps = 23.976
frames = 30
steps_per_frame = "auto"
[smoke]
buoyancy = 0.1
viscosity = 1e-5
[[smoke.initial]]
shape = "box"
size = [0.1, 0.2, 0.3]
velocity = [0.0, 1, -2.5]
mass = 0.01
[[smoke.initial]]
field = "b"
text = "two\\nlines \\"quoted\\" \\\\ \\u007f ü"
align = "left"
[[smoke.field]]
name = "a"
colour = [0.1, 0.5, 1.0]
[[smoke.field]]
name = "b"
[[source]]
shape = "sphere"
rate = 0.5
stop = 3
[[obstacle]]
shape = "cone"
spin = [0.0, 30.0, 0.0]
path = [{ frame = 0, center = [0.5, 0.5, 0.2] }, { frame = 10.5, center = [0.5, 0.9, 0.2], rotation = 20 }]
[[keyframe]]
frame = 12
shape = "star"
points = 7
mask = { shape = "box", outside = true }
[camera]
position = [3, 0, 0.5]
"""


def test_the_designs_example_loads():
    scene = load_scene(
        """
        name = "letter-f"
        seed = 0
        [domain]
        size = [1.0, 1.0]
        resolution = 128
        boundary = "walls"
        up = "y"
        [time]
        fps = 24
        frames = 40
        steps_per_frame = 1
        [smoke]
        initial = { shape = "disk", center = [0.5, 0.5], mass = "first-key" }
        buoyancy = 0.0
        viscosity = 0.0
        [[keyframe]]
        frame = 40
        text = "F"
        fit = 0.6
        mass = "resize"
        weight = 1.0
        hold = 0
        [control]
        method = "none"
        [output]
        vdb = true
        video = true
        start_frame = 1001
        """
    )
    assert scene.smoke.initial[0].mass == "first-key"
    assert scene.keyframe[0].fit == 0.6
    assert (scene.name, scene.output.start_frame, scene.dimension) == ("letter-f", 1001, 2)


@pytest.mark.parametrize("text", [LETTER, RICH])
def test_what_is_written_reads_back_equal(text):
    scene = load_scene(text)
    written = dump_scene(scene)
    assert load_scene(written) == scene
    assert dump_scene(load_scene(written)) == written
    assert tomllib.loads(written)["simulation"]["precision"] == "float32"


def test_text_survives_writing():
    assert load_scene(dump_scene(load_scene(RICH))).smoke.initial[1].text == 'two\nlines "quoted" \\ \x7f ü'


def test_files_lie_beside_the_scene_and_become_absolute(tmp_path, monkeypatch):
    (tmp_path / "pictures").mkdir()
    picture = tmp_path / "pictures" / "a.png"
    picture.write_bytes(b"not read yet")
    path = write_scene(tmp_path, LETTER.replace('text = "F"', 'image = "pictures/a.png"'))
    scene = load_scene(path)
    assert scene.keyframe[0].image == str(picture)
    monkeypatch.chdir(tmp_path / "pictures")
    assert load_scene(dump_scene(scene)) == scene
    assert load_scene(str(path)) == scene


@pytest.mark.parametrize(
    ("override", "get", "value"),
    [
        ("domain.resolution=64", lambda s: s.domain.resolution, 64),
        ("keyframe[0].text=Hi there", lambda s: s.keyframe[0].text, "Hi there"),
        ('keyframe.0.text="1"', lambda s: s.keyframe[0].text, "1"),
        ("time.steps_per_frame = auto", lambda s: s.time.steps_per_frame, "auto"),
        ("smoke.initial.center=[0.5, 0.25]", lambda s: s.smoke.initial[0].center, [0.5, 0.25]),
        ("output.half=true", lambda s: s.output.half, True),
        ("obstacle=[{shape='box'}]", lambda s: s.obstacle[0].shape, "box"),
        ("name=a-b", lambda s: s.name, "a-b"),
    ],
)
def test_overrides(override, get, value):
    assert get(letter(override)) == value


@pytest.mark.parametrize(
    ("override", "key", "words"),
    [
        ("resolution", "--set", "not key=value"),
        ("=3", "--set", "not key=value"),
        ("a b=3", "--set", "not key=value"),
        ("keyframe[3].text=a", "keyframe[3]", "there are 1 of them"),
        ("keyframe.frame=3", "keyframe.frame", "name one by its index"),
        ("name.x=3", "name.x", "not a table"),
        ("domain.resoluton=3", "domain.resoluton", "did you mean 'resolution'"),
        ("domain.resolution=many", "domain.resolution", "whole number"),
    ],
)
def test_bad_overrides_name_their_key(override, key, words):
    with pytest.raises(SceneErrors) as caught:
        letter(override)
    assert caught.value.faults[0].key == key
    assert words in str(caught.value)


def test_overrides_leave_the_callers_data_alone():
    data = {"smoke": {"initial": {"shape": "disk", "center": (0.5, 0.5)}}}
    scene_from(data, overrides=["smoke.initial.radius=0.1"])
    assert data == {"smoke": {"initial": {"shape": "disk", "center": (0.5, 0.5)}}}


def test_preview_changes_only_the_resolution():
    scene = load_scene(RICH)
    coarse = preview(scene, 12)
    assert coarse.domain.resolution == 12
    assert preview(coarse, 24) == scene
    with pytest.raises(KeyfluidError, match=r"domain\.resolution"):
        preview(scene, 1)


def test_schema_names_every_table_with_descriptions():
    made = schema()
    assert {"domain", "time", "smoke", "keyframe", "control", "output"} <= set(made["properties"])
    resolution = made["$defs"]["Domain"]["properties"]["resolution"]
    assert (resolution["type"], resolution["minimum"]) == ("integer", 4)
    for model in made["$defs"].values():
        assert model["additionalProperties"] is False
        assert all("description" in field for field in model["properties"].values())


def test_loading_imports_nothing_heavy():
    code = (
        "import sys, keyfluid.scenes as s\n"
        f"s.load_scene({LETTER!r})\n"
        "print([m for m in ('numpy', 'scipy', 'numba', 'matplotlib', 'PIL') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_dimension_follows_the_size():
    assert (letter().dimension, volume().dimension) == (2, 3)
