"""Scenes in the studio: their text and its changes, revisions, faults with lines, the library, thumbnails."""

from __future__ import annotations

import json
import time
import tomllib
from collections.abc import Iterator
from io import BytesIO
from pathlib import Path
from typing import Any, get_args

import pytest

pytest.importorskip("starlette")

from PIL import Image
from pydantic import BaseModel
from studio_kit import RunningStudio, running_studio

from keyfluid.gallery import STARTER, bundled
from keyfluid.scenes import load_scene
from keyfluid.scenes.schema.faults import _models_in
from keyfluid.scenes.schema.scene import Scene
from keyfluid.studio.answers import Refused
from keyfluid.studio.scene_changes import changed_data, read_changes
from keyfluid.studio.scene_check import FILE_KEYS
from keyfluid.studio.scene_library import templates
from keyfluid.studio.schema_tables import inspector_tables
from keyfluid.studio.toml_changes import changed_text
from keyfluid.studio.toml_lines import entries, line_of
from keyfluid.tables import absolute

SCENE = """# A scene.
name = "two"   # its name

[domain]
resolution = 24                # cells

[time]
frames = 12

[smoke]
initial = { shape = "disk", center = [0.5, 0.25], radius = 0.15 }   # the start

[[keyframe]]
frame = 6
shape = "star" # five tips
center = [
  0.5,  # x
  0.5,
]

# The second one.
[[keyframe]]
frame = 12
text = "]] # not a comment"

[control]
method = "target"
"""


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStudio]:
    with running_studio(tmp_path_factory.mktemp("studio") / "work") as running:
        yield running


def write(studio: RunningStudio, name: str, text: str = SCENE) -> str:
    path = studio.folder / "scenes" / name / "scene.toml"
    path.parent.mkdir(parents=True)
    path.write_text(text, encoding="utf-8")
    return f"scenes/{name}/scene.toml"


def change(text: str, *changes: dict[str, Any]) -> str:
    return changed_text(text, read_changes(list(changes)))


def test_changes_keep_everything_else() -> None:
    text = change(
        SCENE, {"path": "keyframe[0].center", "value": [0.25, 0.5]}, {"path": "domain.resolution", "value": 32}
    )
    assert 'shape = "star" # five tips\ncenter = [0.25, 0.5]\n\n# The second one.' in text
    assert "resolution = 32                # cells" in text
    assert text.startswith('# A scene.\nname = "two"   # its name\n')
    assert text.endswith(SCENE[SCENE.index("# The sec") :])
    text = change(SCENE, {"path": "smoke.initial[0].center", "value": [0.5, 0.3]})
    assert 'initial = { shape = "disk", center = [0.5, 0.3], radius = 0.15 }   # the start' in text
    text = change(SCENE, {"path": "keyframe[0]", "remove": True})
    assert "five tips" not in text
    assert "# The second one.\n[[keyframe]]\nframe = 12" in text
    text = change(SCENE, {"path": "keyframe", "insert": {"frame": 3, "shape": "heart"}, "at": 1})
    assert [key["frame"] for key in tomllib.loads(text)["keyframe"]] == [6, 3, 12]
    assert text.index("heart") < text.index("# The second one.\n[[keyframe]]")
    text = change(SCENE, {"path": "source", "insert": {"shape": "disk", "mask": {"shape": "box"}}})
    assert text.endswith('[[source]]\nshape = "disk"\nmask = {shape = "box"}\n')
    assert change(SCENE, {"path": "seed", "value": 3}).index("seed = 3") < SCENE.index("[domain]") + 20


@pytest.mark.parametrize("path", [*bundled().values(), *templates().values(), STARTER], ids=lambda path: path.stem)
def test_changes_of_bundled_scenes_are_those_of_their_data(path: Path) -> None:
    """In every layout that the bundled scenes have: one table or several, inline or not."""
    text = path.read_text(encoding="utf-8")
    fluid = "liquid" if "[liquid]" in text else "smoke"
    changes = [
        {"path": f"{fluid}.initial", "insert": {"shape": "disk", "radius": 0.1}},
        {"path": f"{fluid}.initial[0].scale", "value": 1.5},
        {"path": "keyframe", "insert": {"frame": 3, "text": 'a"b\n'}, "at": 0},
        {"path": "keyframe[0].mask", "value": {"shape": "box", "size": [0.1, 0.2]}},
        {"path": "obstacle", "insert": {"shape": "box", "path": [{"frame": 0, "center": [0.5, 0.5]}]}},
        {"path": "control.method", "value": "none"},
        {"path": "simulation.order", "value": 1},
        {"path": f"{fluid}.initial[0]", "remove": True},
        {"path": "keyframe[0]", "remove": True},
        {"path": "output", "remove": True},
    ]
    changed = change(text, *changes)
    assert tomllib.loads(changed) == changed_data(tomllib.loads(text), read_changes(changes))
    kept = [line for line in text.splitlines() if line.startswith("#")]
    assert [line for line in changed.splitlines() if line.startswith("#")] == kept


def test_hostile_changes_are_refused() -> None:
    for given in (
        None, {}, [3], [{"path": "a..b", "value": 1}], [{"path": "a", "value": None}], [{"path": "a"}],
        [{"path": "a", "value": float("nan")}], [{"path": "a", "value": 2**70}], [{"path": "a", "value": "\ud800"}],
        [{"path": "keyframe", "insert": 3}], [{"path": "keyframe", "insert": {}, "at": -1}],
    ):  # fmt: skip
        with pytest.raises(Refused):
            read_changes(given)
    for one in ({"path": "keyframe[7].frame", "value": 1}, {"path": "name.first", "value": 1},
                {"path": "keyframe[0]", "value": 1}, {"path": "keyframe[5]", "remove": True}):  # fmt: skip
        with pytest.raises(Refused):
            change(SCENE, one)


def test_lines_of_keys() -> None:
    found = entries(SCENE)
    lines = SCENE.split("\n")
    for path, start in {
        "name": "name", "domain.resolution": "resolution", "smoke.initial[0].radius": "initial",
        "smoke.initial": "init",
        "keyframe[0].center[1]": "center", "keyframe[1]": "[[keyframe]]", "keyframe[1].text": "text",
        "keyframe": "[[key",
        "keyframe[1].fit": "[[keyframe]]", "control.method": "method",
    }.items():  # fmt: skip
        number = line_of(found, path)
        assert number is not None, path
        assert lines[number - 1].startswith(start), path
    assert line_of(found, "keyframe[1]") == 22
    assert line_of(found, "liquid.gravity") is None


def test_a_scene_is_opened_saved_and_changed(studio: RunningStudio) -> None:
    path = write(studio, "one")
    (studio.folder / "scenes/one/dot.png").write_bytes(b"")
    opened = studio.get("scene", path=path)
    assert (opened["text"], opened["faults"], opened["files"]) == (SCENE, [], ["dot.png"])
    assert opened["data"]["keyframe"][0]["frame"] == 6
    changed = studio.post(
        "scene/change", path=path, revision=opened["revision"], changes=[{"path": "keyframe[0].frame", "value": 40}]
    )
    (fault,) = changed["faults"]
    assert fault["path"] == "keyframe[0].frame"
    assert SCENE.split("\n")[fault["line"] - 1] == "frame = 6"
    assert (studio.folder / path).read_text(encoding="utf-8") == changed["text"]
    late = studio.ask("PUT", "/api/scene", {"path": path}, {"revision": opened["revision"], "text": "x"})
    assert late.status == 409
    assert (late.json["error"]["text"], late.json["error"]["revision"]) == (changed["text"], changed["revision"])
    saved = studio.put("scene", {"revision": changed["revision"], "text": "name = \n"}, path=path)
    assert saved["data"] is None
    assert saved["faults"][0]["line"] == 1
    assert studio.ask("POST", "/api/scene/change", body={"path": path, "revision": saved["revision"], "changes": [
        {"path": "name", "value": "x"}]}).status == 422  # fmt: skip
    checked = studio.post("scene/check", path=path, text=SCENE, changes=[{"path": "domain.resolution", "value": 2}])
    assert checked["faults"][0]["line"] == 5
    assert "resolution = 2 " in checked["text"]
    assert (studio.folder / path).read_text(encoding="utf-8") == "name = \n"


def test_line_breaks_of_a_file_stay(studio: RunningStudio) -> None:
    path = write(studio, "windows")
    (studio.folder / path).write_bytes(SCENE.replace("\n", "\r\n").encode())
    opened = studio.get("scene", path=path)
    assert opened["text"] == SCENE
    studio.post("scene/change", path=path, revision=opened["revision"], changes=[{"path": "seed", "value": 1}])
    content = (studio.folder / path).read_bytes()
    assert content.count(b"\r\n") == content.count(b"\n") > 10


def test_files_outside_the_workspace_are_faults(studio: RunningStudio) -> None:
    named = SCENE.replace('shape = "star"', 'image = "../../../secret.png"')
    path = write(studio, "outside", named)
    (fault,) = studio.get("scene", path=path)["faults"]
    assert fault["path"] == "keyframe[0].image"
    assert "outside the workspace" in fault["message"]
    assert studio.ask("GET", "/api/thumb", {"path": path}).status == 403


def test_the_checked_keys_are_those_that_name_files() -> None:
    found: set[str] = set()

    def walk(model: type[BaseModel], seen: tuple[type[BaseModel], ...]) -> None:
        for key, field in model.model_fields.items():
            inner = [*get_args(field.annotation), field]
            if any(getattr(m, "func", None) is absolute for one in inner for m in getattr(one, "metadata", ())) or (
                any(getattr(m, "func", None) is absolute for one in inner for m in getattr(one, "__metadata__", ()))
            ):
                found.add(f"{'control.' * (key == 'start')}{key}")
            for other in _models_in(field.annotation):
                if other not in seen:
                    walk(other, (*seen, other))

    walk(Scene, (Scene,))
    assert found == {*FILE_KEYS, "control.start"}


def test_a_change_by_another_program_is_an_event(studio: RunningStudio) -> None:
    path = write(studio, "watched")
    revision = studio.get("scene", path=path)["revision"]
    with studio.socket("events") as socket:
        socket.recv(10)
        time.sleep(0.6)
        (studio.folder / path).write_text(SCENE + "\n# by vim\n", encoding="utf-8")
        event = _event(socket, "file", path)
        assert event["revision"] == studio.get("scene", path=path)["revision"] != revision
        saved = studio.put("scene", {"revision": event["revision"], "text": SCENE}, path=path)
        assert _event(socket, "file", path)["revision"] == saved["revision"] == revision


def _event(socket: Any, kind: str, path: str) -> dict[str, Any]:
    while True:
        event: dict[str, Any] = json.loads(socket.recv(60))
        if event["type"] == kind and event.get("path", event.get("gallery")) == path:
            return event


def test_new_rename_duplicate_delete(studio: RunningStudio) -> None:
    path = studio.post("scene/new", name="A fish / boat", gallery="coloured_drawing")["path"]
    assert path == "scenes/A fish - boat/scene.toml"
    scene = load_scene(studio.folder / path)
    assert scene.name == "A-fish-boat"
    assert Path(str(scene.keyframe[0].image)).parent == (studio.folder / path).parent
    twin = studio.post("item/duplicate", path=path, name="twin")["path"]
    assert load_scene(studio.folder / twin).name == "twin"
    moved = studio.post("item/rename", path=twin, name="third")["path"]
    assert moved == "scenes/third/scene.toml"
    assert not (studio.folder / "scenes/twin").exists()
    assert studio.ask("POST", "/api/item/rename", body={"path": moved, "name": "A fish - boat"}).status == 409
    studio.post("item/delete", path=moved)
    assert not (studio.folder / moved).exists()
    assert len(list((studio.folder / "trash").iterdir())) == 1
    for name in ("..", "a/../../b", "", "con", "\0"):
        made = studio.ask("POST", "/api/scene/new", body={"name": name, "template": "blank_2d"})
        assert made.status in (200, 400)
    assert all(made.parent == studio.folder / "scenes" for made in (studio.folder / "scenes").iterdir())
    assert studio.ask("POST", "/api/item/delete", body={"path": "scenes"}).status == 404
    assert studio.ask("POST", "/api/scene/new", body={"name": "x", "gallery": "../starter"}).status == 404


def test_home_lists_scenes_and_what_to_begin_with(studio: RunningStudio) -> None:
    path = write(studio, "listed")
    (studio.folder / "pyproject.toml").write_text('[project]\nname = "x"\n')
    broken = write(studio, "broken", "name = ")
    home = studio.get("home")
    lines = {line["path"]: line for line in home["scenes"]}
    assert "pyproject.toml" not in lines
    line = lines[path]
    assert (line["name"], line["method"], line["dim"], line["cells"]) == ("listed", "target", 2, [24, 24])
    assert (line["frames"], line["keyframes"], line["fault"]) == (12, 2, None)
    assert "does not parse" in lines[broken]["fault"]
    assert [line["name"] for line in home["gallery"]] == list(bundled())
    assert home["templates"][0]["name"] == "blank_2d"
    assert home["templates"][0]["text"].startswith("A blank 2D scene")


def test_templates_are_scenes_without_faults() -> None:
    for path in templates().values():
        load_scene(path)


def test_every_key_is_in_the_inspector() -> None:
    answer = inspector_tables()
    tables = {table["name"]: {key["key"]: key for key in table["keys"]} for table in answer["tables"]}
    assert tables["smoke"]["buoyancy"]["unit"] == "m/s^2"
    assert tables["domain"]["resolution"]["default"] == 128
    assert tables["keyframe"]["frame"]["type"] == "integer"
    assert tables["keyframe"]["image"]["type"] == "file"
    assert tables["output"]["vdb"]["type"] == "flag"
    methods = ["adjoint", "guided", "none", "particles", "spacetime", "spectral", "target"]
    assert tables["control"]["method"]["choices"] == methods
    for name, field in Scene.model_fields.items():
        for model in _models_in(field.annotation):
            missing = set(model.model_fields) - set(tables[name])
            assert all(_models_in(model.model_fields[key].annotation) for key in missing), (name, missing)
    assert all(key["help"] for keys in tables.values() for key in keys.values())


def test_a_thumbnail_is_drawn_and_moves(studio: RunningStudio) -> None:
    path = write(studio, "drawn", SCENE.replace("]] # not a comment", "A"))
    with studio.socket("events") as socket:
        socket.recv(10)
        waiting = studio.ask("GET", "/api/thumb", {"path": path})
        assert waiting.status == 202
        _event(socket, "thumb", path)
    drawn = studio.ask("GET", "/api/thumb", {"path": path})
    assert (drawn.status, drawn.headers["content-type"]) == (200, "image/webp")
    picture = Image.open(BytesIO(drawn.content))
    assert picture.n_frames > 10
    assert max(picture.size) == 192
    seen = set()
    for frame in range(picture.n_frames):
        picture.seek(frame)
        seen.add(picture.convert("L").tobytes())
    assert len(seen) > 5
