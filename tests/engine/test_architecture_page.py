"""docs/architecture.md and its drawing agree with the code."""

from __future__ import annotations

import ast
import re
import sys
import xml.etree.ElementTree as ElementTree
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SOURCE = ROOT / "src" / "keyfluid"
PAGE = (ROOT / "docs" / "architecture.md").read_text(encoding="utf-8")
sys.path.insert(0, str(ROOT / "benchmarks"))

import architecture  # noqa: E402

FILE = re.compile(r"((?:[\w.-]+/)*\w+\.py)\b")
FUNCTION = re.compile(r"`([\w.]+)\(\)`")


def file_of(name):
    """Below src/keyfluid, or below the repository."""
    return next((path for path in (SOURCE / name, ROOT / name) if path.is_file()), None)


def defined_in(path):
    """Functions, classes and methods of a file, methods as Class.name."""
    names = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef):
            names.add(node.name)
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{inner.name}" for inner in node.body if isinstance(inner, ast.FunctionDef)}
    return names


def faults(page):
    """Files a text names that do not exist, and functions that no file named in their line defines."""
    found = []
    for line in page.splitlines():
        files = FILE.findall(line)
        found += [name for name in files if file_of(name) is None]
        defined = set().union(*(defined_in(path) for name in files if (path := file_of(name)) is not None))
        found += [f"{name}()" for name in FUNCTION.findall(line) if name not in defined]
    return found


def test_every_file_and_function_on_the_page_exists():
    assert faults(PAGE) == []


def test_the_page_names_files_and_functions_for_the_test_to_find():
    assert len(set(FILE.findall(PAGE))) > 40
    assert len(set(FUNCTION.findall(PAGE))) > 25


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("read `operators/advection.py`", "operators/advection.py"),
        ("    python benchmarks/draw.py", "benchmarks/draw.py"),
        ("| step | `operators/advect.py` | `Advect.backward()` |", "Advect.backward()"),
        ("| step | `operators/advect.py` | `run_stages()` |", "run_stages()"),
        ("a function without a file: `run_stages()`", "run_stages()"),
    ],
)
def test_a_wrong_name_is_found(line, fault):
    assert faults(line) == [fault]


def test_the_drawing_is_of_this_code():
    wanted = architecture.draw(architecture.arrows_of(SOURCE))
    assert architecture.DRAWING.read_text(encoding="utf-8") == wanted, "run: python benchmarks/architecture.py"


def test_the_drawing_is_small_and_well_formed():
    text = architecture.DRAWING.read_text(encoding="utf-8")
    ElementTree.fromstring(text)
    assert len(text) < 60_000
    assert "prefers-color-scheme: dark" in text


def test_another_import_is_another_drawing(tmp_path):
    root = tmp_path / "keyfluid"
    sources = {"models/smoke.py": "from keyfluid.operators.base import Operator", "operators/base.py": ""}
    for name, source in sources.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(source)
    arrows = architecture.arrows_of(root)
    assert arrows == {("models", "operators"): 1}
    drawing = architecture.draw(arrows)
    assert "models imports operators" in drawing
    arrows["operators", "solvers"] = 3
    assert architecture.draw(arrows) != drawing


def test_every_room_has_words_and_a_line_on_the_page():
    for _, room in architecture.rooms_in_order():
        assert room in architecture.WORDS
    others = {architecture.GROUND, *architecture.NAMED.values()}
    drawn = set(architecture.lay_out(architecture.arrows_of(SOURCE))) - others
    missing = [room for room in drawn if f"`{room}`" not in PAGE]
    assert not missing, "docs/architecture.md: add a line to the table of rooms"
