"""The code of README and docs runs: Python is executed, scenes are planned, commands are parsed."""

from __future__ import annotations

import importlib.util
import re
import shlex

import numpy as np
import pytest
import typer
from doc_blocks import HERE, PAGES, ROOT, Block, all_blocks, blocks_of, named_commands, shown_commands
from PIL import Image

import keyfluid
from keyfluid.cli.main import app, with_preview_value
from keyfluid.gallery import bundled
from keyfluid.grid import Grid
from keyfluid.operators.registry import Setting
from keyfluid.runs.run import plan_run
from keyfluid.scenes import load_scene, preview
from keyfluid.scenes.build.problem import build
from keyfluid.verify import dot_defect

PYTHON = [block for block in all_blocks("python") if block.runs]
SCENES = [block for block in all_blocks("toml") if block.runs]
SUBCOMMANDS = typer.main.get_command(app).commands
SMALL = 24
"""Cells along the longest side of a scene that is only planned."""

QUIET = """
[output]
vdb = false
video = false
size = 32
"""
MINE = '[domain]\nresolution = 16\n[time]\nframes = 24\n[smoke]\ninitial = { shape = "disk", radius = 0.15 }\n'
PARTICLES = """
[domain]
resolution = 16
[time]
frames = 120
[smoke]
initial = { shape = "disk", radius = 0.15 }
[[keyframe]]
frame = 50
text = "A"
[control]
method = "particles"
markers = 500
control_particles = 40
vortices = 40
"""
CUBE = "v {0} 0 0\nv {0} 1 0\nv {0} 0 1\nv {1} 0 0\nv {1} 1 0\nv {1} 0 1\n" + "".join(
    f"f {face}\n" for face in ("1 3 2", "4 5 6", "1 2 5 4", "2 3 6 5", "3 1 4 6")
)
"""A wedge between two planes."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """What the pages take for granted: scenes, a mesh sequence, a painting and a finished run."""
    made = tmp_path_factory.mktemp("docs")
    (made / "my.toml").write_text(MINE + QUIET)
    (made / "scene.toml").write_text(PARTICLES + QUIET)
    for frame in range(1, 21):
        (made / f"punch.{frame:04}.obj").write_text(CUBE.format(0, 1 + frame / 20))
    Image.fromarray(np.tri(16, dtype=np.uint8) * 128).save(made / "painted.png")
    Image.fromarray(255 - np.tri(16, dtype=np.uint8) * 255).save(made / "drawing.png")
    plume = (HERE / "shot_3d.toml").read_text() + QUIET
    keyfluid.run(plume.replace('"spectral"', '"none"'), made / "out" / "plume", threads=1)
    return made


@pytest.fixture
def at_work(folder, monkeypatch):
    monkeypatch.chdir(folder)


def execute(block: Block) -> dict:
    """Run a Python block; a traceback has the page's line."""
    names = {"__name__": "docs"}
    exec(compile(block.source, block.page, "exec", dont_inherit=True), names)
    return names


@pytest.mark.parametrize("block", PYTHON, ids=str)
def test_python_runs(block, at_work):
    names = execute(block)
    if {"live", "again"} <= names.keys():
        assert names["live"].frame == 64
        assert np.array_equal(names["again"].markers(), names["live"].markers())
    for build_case in names.get("ENTRY", {}).values():
        at = Setting(Grid((5, 4)), None, np.random.default_rng(0), np.dtype(np.float64))
        operator, inputs = build_case(at)
        assert dot_defect(operator, inputs, at.rng) < 1e-12


@pytest.mark.parametrize("block", SCENES, ids=str)
def test_scenes_are_planned(block, at_work):
    scene = load_scene(block.source)
    if scene.domain.resolution > SMALL:
        scene = preview(scene, SMALL)
    plan = plan_run(build(scene))
    assert plan.problem.keyframes or scene.picture or scene.flow or scene.control.method == "none"


def test_there_is_something_of_each_kind():
    assert {block.page for block in PYTHON} >= {"README.md", "docs/cli.md", "docs/methods.md", "docs/particles.md"}
    pages = {block.page for block in SCENES}
    assert pages >= {
        "README.md",
        "docs/air.md",
        "docs/liquids.md",
        "docs/shots.md",
        "docs/tutorial.md",
        "docs/recipes/logo.md",
    }


def test_there_are_ten_steps_and_twelve_recipes():
    steps = re.findall(r"^## (\d+)\. ", (ROOT / "docs" / "tutorial.md").read_text(encoding="utf-8"), re.MULTILINE)
    assert steps == [str(number) for number in range(1, 11)]
    listed = re.findall(
        r"\| \[.*?\]\((\w+\.md)\)", (ROOT / "docs" / "recipes" / "index.md").read_text(encoding="utf-8")
    )
    assert len(listed) == 12
    assert {"index.md", *listed} == {path.name for path in (ROOT / "docs" / "recipes").glob("*.md")}


def test_every_bundled_scene_is_in_the_gallery():
    page = (ROOT / "docs" / "gallery.md").read_text(encoding="utf-8")
    assert [name for name in bundled() if f"`{name}`" not in page] == []


def fault_of(command: str, named: bool = False) -> str | None:
    """Why a command can't be given as it stands on a page, or None. F and N are numbers to fill in."""
    words = shlex.split(re.sub(r"[\[\]]", "", command))
    program, *rest = words
    if program == "make":
        verbs = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
        return None if rest[0] in verbs else f"make has no verb {rest[0]!r}"
    if program == "python" and rest[0] == "-m":
        own = (ROOT / "tests" / rest[1]).is_dir()
        return None if own or importlib.util.find_spec(rest[1]) else f"there is no module {rest[1]!r}"
    if program == "python":
        return None if (ROOT / rest[0]).is_file() else f"there is no file {rest[0]!r}"
    name, *given = ["24" if re.fullmatch("[FN]", word) else word for word in with_preview_value(rest)]
    if name not in SUBCOMMANDS:
        return f"keyfluid has no command {name!r}"
    try:
        parsed = SUBCOMMANDS[name].make_context(name, given).params
        if name == "run":
            load_scene(MINE, parsed["set_"] or ())
    except keyfluid.KeyfluidError as error:
        return str(error)
    except Exception as error:  # typer brings its own click or uses the installed one
        message = getattr(error, "format_message", lambda error=error: repr(error))()
        return None if named and "Missing argument" in message else message
    return None


TEXTS = [path.read_text(encoding="utf-8") for path in PAGES]
SHOWN = sorted({command for text in TEXTS for command in shown_commands(text)})
NAMED = sorted({command for text in TEXTS for command in named_commands(text)})


@pytest.mark.parametrize("command", SHOWN)
def test_commands_can_be_given(command):
    assert fault_of(command) is None


@pytest.mark.parametrize("command", NAMED)
def test_commands_in_sentences_exist(command):
    assert fault_of(command, named=True) is None


def test_commands_are_found():
    assert {"make demo", "keyfluid run plume.toml -o out/plume", "keyfluid gallery [NAME]"} <= set(SHOWN)
    assert {"make lock", "keyfluid resume", "python benchmarks/same_bits.py"} <= set(NAMED)


PLANTED = """
```python
answer = 6 * 7
```

<!-- code: after the block before; 42 -> 43 -->
```python
assert answer == 42
```
"""


def test_a_broken_block_is_found():
    first, second = blocks_of("page.md", PLANTED)
    assert execute(first)["answer"] == 42
    with pytest.raises(AssertionError) as caught:
        execute(second)
    frame = caught.traceback[-1]
    assert (str(frame.path).rsplit("/", 1)[-1], frame.lineno + 1) == ("page.md", second.line)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("```python\nx = 1\n", "has no end"),
        ("```ruby\nx = 1\n```\n", "'ruby' is not one of"),
        ("```\nimport keyfluid\n```\n", "give the block its language"),
        ("```\n[smoke]\nbuoyancy = 1\n```\n", "give the block its language"),
        ("<!-- code: somehow -->\n```python\nx = 1\n```\n", "'somehow' is not a comment"),
        ("<!-- code: not run: -->\n```python\nx = 1\n```\n", "'not run:' is not a comment"),
        ("<!-- code: 7 -> 8 -->\n```python\nx = 1\n```\n", "'7' is not in the block"),
        ("<!-- code: after the block before -->\n```python\nx = 1\n```\n", "no python block before"),
    ],
)
def test_a_page_that_hides_code_is_refused(text, message):
    with pytest.raises(ValueError, match=re.escape(message)):
        blocks_of("page.md", text)


def test_a_wrong_scene_is_found(at_work):
    (block,) = blocks_of("page.md", "<!-- code: after shot_2d.toml -->\n```toml\n[[flow]]\nfrane = 3\n```\n")
    with pytest.raises(keyfluid.SceneErrors, match="frane"):
        load_scene(block.source)


@pytest.mark.parametrize(
    ("command", "fault"),
    [
        ("make coffee", "no verb 'coffee'"),
        ("python benchmarks/gone.py", "no file"),
        ("python -m keyfluid.gone", "no module"),
        ("keyfluid fly my.toml", "no command 'fly'"),
        ("keyfluid run my.toml --hurry", "No such option"),
        ("keyfluid run my.toml --set smoke.bouyancy=2", "smoke.bouyancy"),
        ("keyfluid render out/my --size large", "Invalid value for '--size'"),
        ("keyfluid run -o out/my", "Missing argument"),
    ],
)
def test_a_wrong_command_is_found(command, fault):
    assert fault in (fault_of(command) or "")


def test_commands_end_where_their_explanation_begins():
    text = "    keyfluid show out   the numbers\n    make test # all\nSo keyfluid makes `keyfluid check [--all]`.\n"
    assert shown_commands(text) == ["keyfluid show out", "make test"]
    assert named_commands(text) == ["keyfluid check [--all]"]
    assert fault_of("keyfluid resume", named=True) is None
    assert fault_of("keyfluid resume --hurry", named=True) is not None
