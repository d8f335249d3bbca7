"""docs/methods.md does what it says: its method runs under its name, and a key is added in one file."""

from __future__ import annotations

import ast
import inspect
import json
import re
import shutil
import subprocess
import sys
from typing import Annotated

import pytest
from doc_blocks import ROOT, Block, all_blocks
from pydantic import Field

import keyfluid
from keyfluid.controllers import METHODS
from keyfluid.problem import Fluid
from keyfluid.scenes.schema.control import AnyControl

PYTHON = [block for block in all_blocks("python") if block.page == "docs/methods.md"]
SCENE = """
[domain]
size = [1.0, 0.75]
resolution = 16
boundary = ["periodic", "walls"]
[time]
frames = 6
[smoke]
initial = { shape = "disk", center = [0.3, 0.4], radius = 0.15 }
[control]
method = "wind"
"""


def block_with(text: str) -> Block:
    (found,) = [block for block in PYTHON if text in block.text]
    return found


def test_free_is_the_file_that_the_page_shows():
    file = ast.parse((ROOT / "src/keyfluid/controllers/free/controller.py").read_text(encoding="utf-8"))
    code = [node for node in file.body[1:] if ast.unparse(node) != "from __future__ import annotations"]
    assert ast.unparse(ast.parse(block_with("class Free(").text)) == ast.unparse(ast.Module(code, []))


@pytest.fixture
def wind(tmp_path, monkeypatch):
    """The page's three steps: a module with the method, a line in METHODS, and its settings in the union."""
    (tmp_path / "wind_of_the_page.py").write_text(block_with("class Wind(").text)
    monkeypatch.syspath_prepend(tmp_path)
    import wind_of_the_page

    monkeypatch.setitem(METHODS, "wind", "wind_of_the_page:Wind")
    union = AnyControl.__origin__ | wind_of_the_page.WindSettings
    control = keyfluid.Scene.model_fields["control"]
    monkeypatch.setattr(control, "annotation", Annotated[union, Field(discriminator="method")])
    keyfluid.Scene.model_rebuild(force=True)
    yield
    monkeypatch.undo()
    keyfluid.Scene.model_rebuild(force=True)


def centre(frame) -> float:
    """Of the smoke, along x, in cells."""
    amount = frame.densities["density"].sum(axis=1)
    return float((amount * range(len(amount))).sum() / amount.sum())


def test_the_method_in_forty_lines_moves_smoke_to_the_right(wind):
    assert len(block_with("class Wind(").text.splitlines()) <= 40
    calm = keyfluid.run(keyfluid.load_scene(SCENE, ["control.strength=0"]), threads=1)
    result = keyfluid.run(keyfluid.load_scene(SCENE, ["control.strength=8"]), threads=1)
    assert result.finished
    assert centre(calm.frames[6]) == pytest.approx(centre(calm.frames[0]), abs=1e-3)
    seconds = 6 / 24
    assert centre(result.frames[6]) - centre(result.frames[0]) == pytest.approx(0.5 * 8 * seconds**2 * 16, rel=0.25)


def test_its_key_is_checked_like_any_other(wind):
    with pytest.raises(keyfluid.SceneErrors, match=r"control\.strength: .*a number of at least 0"):
        keyfluid.load_scene(SCENE, ["control.strength=-1"])


PROGRAM = '''
import json
import re
from keyfluid.scenes import load_scene, schema
from keyfluid.scenes.schema.docs import scene_format
target = """
[smoke]
initial = { shape = "disk", radius = 0.15 }
[[keyframe]]
frame = 10
text = "A"
[control]
method = "target"
"""
for value in ("2.5", "-1"):
    try:
        print(json.dumps(load_scene(target, [f"control.patience={value}"]).control.patience))
    except Exception as error:
        print(json.dumps(str(error)))
print(json.dumps(schema()["$defs"]["TargetSettings"]["properties"].get("patience")))
print(json.dumps([line for line in scene_format().splitlines() if "`patience`" in line]))
'''


def answers(source) -> list:
    """What the sources in a folder make of the key: its value, a wrong value, its schema, its line of the page."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], env={"PYTHONPATH": str(source)}, capture_output=True, text=True, check=True
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_a_new_key_is_one_line_in_one_file(tmp_path):
    block = block_with("patience: ")
    shutil.copytree(ROOT / "src", tmp_path / "src", ignore=shutil.ignore_patterns("__pycache__"))
    value, _, schema, lines = answers(tmp_path / "src")
    assert "unknown key" in value
    assert (schema, lines) == (None, [])

    file = tmp_path / "src" / "keyfluid" / str(block.key_of)
    text = file.read_text(encoding="utf-8")
    (table,) = [node for node in ast.parse(text).body if getattr(node, "name", "") == "TargetSettings"]
    assert isinstance(table, ast.ClassDef)
    rows = text.splitlines(keepends=True)
    rows.insert(max(row.end_lineno or 0 for row in table.body if isinstance(row, ast.AnnAssign)), block.text)
    file.write_text("".join(rows), encoding="utf-8")

    value, refused, schema, lines = answers(tmp_path / "src")
    assert value == 2.5
    assert "control.patience" in refused
    assert "above 0" in refused
    assert schema == {
        "default": 0.5,
        "description": "waiting time before the smoke is driven, s",
        "exclusiveMinimum": 0,
        "title": "Patience",
        "type": "number",
    }
    assert len(lines) == 1
    assert "waiting time" in lines[0]


def test_the_page_lists_the_members_of_a_fluid():
    page = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8")
    section = page.split("## A new fluid")[1].split("\n## ")[0]
    rows = [row.split("|")[1:3] for row in section.splitlines() if row.startswith("| `")]
    listed = {name: "optional" in words for names, words in rows for name in re.findall(r"`(\w+)", names)}
    members = {name for name in (*vars(Fluid), *Fluid.__annotations__) if not name.startswith("_")}
    assert set(listed) == members
    assert not [name for name in Fluid.__abstractmethods__ if listed[name]]


def test_the_signatures_of_a_fluid_are_those_on_the_page():
    page = (ROOT / "docs" / "methods.md").read_text(encoding="utf-8").split("## A new fluid")[1].split("\n## ")[0]
    for name in Fluid.__abstractmethods__:
        given = list(inspect.signature(getattr(Fluid, name)).parameters)[1:]
        assert f"`{name}({', '.join(given)})`" in page
