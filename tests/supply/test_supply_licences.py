"""Every bundled file has a row with its origin in LICENSES.md, and the pictures are what their script draws."""

from __future__ import annotations

import fnmatch
import json
import re
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from supply_files import ROOT, table_rows

GALLERY = ROOT / "src" / "keyfluid" / "gallery"
DATA = ROOT / "tests" / "data"
ROWS = table_rows((GALLERY / "LICENSES.md").read_text(encoding="utf-8"), "file")
PATTERNS = [pattern for row in ROWS for pattern in re.findall(r"`([^`]+)`", row[0])]


def bundled() -> list[str]:
    folders = (GALLERY, DATA)
    paths = [(path, folder) for folder in folders for path in folder.rglob("*") if path.is_file()]
    return sorted(path.relative_to(folder).as_posix() for path, folder in paths if "__pycache__" not in path.parts)


def test_every_bundled_file_is_listed() -> None:
    assert [name for name in bundled() if not any(fnmatch.fnmatchcase(name, each) for each in PATTERNS)] == []


def test_every_row_is_about_a_file() -> None:
    assert [each for each in PATTERNS if not fnmatch.filter(bundled(), each)] == []
    assert all(len(row) == 3 and all(row) for row in ROWS)


def test_only_scenes_and_vdb_fixtures_are_listed_by_a_pattern() -> None:
    """A picture or mesh needs a row of its own: its origin differs from its neighbour's."""
    assert [each for each in PATTERNS if "*" in each] == ["*.toml", "vdb/*.vdb.gz"]


def test_scripts_named_as_origin_exist() -> None:
    scripts = {name for row in ROWS for name in re.findall(r"`((?:benchmarks|tests)/[^`]+)`", row[2])}
    assert len(scripts) >= 4
    assert [name for name in sorted(scripts) if not (ROOT / name).is_file()] == []


def test_the_spacetime_pictures_are_what_their_script_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks" / "results"), *sys.path])
    from _gallery_pictures import PICTURES, picture

    for name, shape in PICTURES.items():
        assert np.array_equal(np.asarray(Image.open(GALLERY / name)), picture(shape))


def test_the_drawings_are_what_their_script_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks" / "results"), *sys.path])
    from _gallery_drawings import DRAWINGS, picture

    for name, drawing in DRAWINGS.items():
        assert np.array_equal(np.asarray(Image.open(GALLERY / name)), np.asarray(picture(drawing)))


def test_the_knot_is_what_its_script_makes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks" / "results"), *sys.path])
    from _gallery_knot import knot

    assert (GALLERY / "knot.obj").read_text(encoding="utf-8") == knot()


def test_vendored_scripts_are_whole_and_listed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(sys, "path", [str(ROOT / "benchmarks"), *sys.path])
    import vendor_scripts

    assert vendor_scripts.differences() == []
    listed = json.loads((vendor_scripts.VENDOR / "vendor.json").read_text(encoding="utf-8"))
    rows = table_rows((GALLERY / "LICENSES.md").read_text(encoding="utf-8"), "package")
    assert {row[0]: (row[1], row[2]) for row in rows} == {
        name: (entry["version"], entry["licence"]) for name, entry in listed.items()
    }
    for name, (version, licence, package, files) in vendor_scripts.PACKAGES.items():
        entry = listed[name]
        assert (entry["version"], entry["licence"], entry["package"]) == (version, licence, package)
        assert sorted(file.removeprefix("dist/") for file in files) == sorted(entry["files"])
        assert "LICENSE" in entry["files"]
    expression = re.search(r'^license = "(.+?)"', (ROOT / "pyproject.toml").read_text(encoding="utf-8"), re.MULTILINE)
    assert expression is not None
    assert {entry["licence"] for entry in listed.values()} <= set(expression[1].split(" AND "))

    copy = shutil.copytree(vendor_scripts.VENDOR, tmp_path / "vendor")
    monkeypatch.setattr(vendor_scripts, "VENDOR", copy)
    (copy / "lit-html" / "lit-html.js").write_text("changed", encoding="utf-8")
    (copy / "uplot" / "new.js").write_text("new", encoding="utf-8")
    assert vendor_scripts.differences() == [
        "lit-html/lit-html.js: differs from vendor.json",
        "uplot/new.js: differs from vendor.json",
    ]
