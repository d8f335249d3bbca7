"""The notebooks run as they are, and what they show in the docs is of this kind."""

from __future__ import annotations

import sys

import pytest
from doc_blocks import ROOT

sys.path.insert(0, str(ROOT / "benchmarks"))
import notebooks

NAMES = ["arrays", "creature", "first_run", "gradient"]


def test_there_are_four() -> None:
    assert notebooks.names() == NAMES
    listed = (ROOT / "docs" / "notebooks" / "index.md").read_text(encoding="utf-8")
    assert all(f"\n{name}\n" in listed for name in NAMES)


def kinds(notebook: dict) -> list[list[list[str]]]:
    """What each cell shows: of a text only that there is one."""
    cells = [cell["outputs"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return [[sorted(output.get("data", {"text": 0})) for output in outputs] for outputs in cells]


@pytest.mark.parametrize("name", NAMES)
def test_a_notebook_runs(name, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    kept = notebooks.load(name)
    made = notebooks.run(kept, name)
    assert kinds(made) == kinds(kept)
    said = [
        line
        for cell in made["cells"]
        for out in cell.get("outputs", [])
        for line in out.get("data", {}).get("text/plain", [])
    ]
    assert "False" not in said


def test_a_cell_that_fails_is_found() -> None:
    broken = {"cells": [{"cell_type": "code", "source": ["1 / 0"], "outputs": []}]}
    with pytest.raises(ZeroDivisionError) as caught:
        notebooks.run(broken, "page")
    assert caught.traceback[-1].path is not None
    assert "cell 0" in str(caught.traceback[-1].frame.code.raw.co_filename)
