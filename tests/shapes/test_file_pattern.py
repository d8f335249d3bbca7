"""Patterns of file names: what they match, in how much time, and which files a sequence takes."""

from __future__ import annotations

import re
import time

import pytest
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st

from keyfluid.errors import KeyfluidError
from keyfluid.shapes import load_mesh_sequence
from keyfluid.shapes.file_pattern import FilePattern, natural_order

PARTS = st.sampled_from(["#", "###", "%d", "%04d", "*", "**", "a", "b", "1", ".", "ab1"])


def as_expression(parts):
    digits = {"#", "###", "%d", "%04d"}
    return "".join("[0-9]+" if p in digits else ".*" if "*" in p else re.escape(p) for p in parts)


@settings(max_examples=500, deadline=None)
@given(st.lists(PARTS, max_size=6), st.text("ab1.2", max_size=8))
def test_matches_what_a_regular_expression_matches(parts, name):
    # "#" beside "###" is one run of marks, and so one number
    for k in range(len(parts) - 1, 0, -1):
        if parts[k][0] == parts[k - 1][0] == "#":
            del parts[k]
    expected = re.fullmatch(as_expression(parts), name) is not None
    assert FilePattern("".join(parts)).matches(name) is expected


def test_stars_beside_a_long_name_are_instant(tmp_path):
    """Backtracking would take longer than the age of the universe."""
    (tmp_path / ("a" * 200 + ".obj")).write_text("v 0 0 0\n")
    started = time.process_time()
    for pattern in ("*a" * 8 + "*b.obj", "*a*#" * 20 + "b.obj", "*" + "a*" * 100 + "b.obj"):
        with pytest.raises(KeyfluidError, match="no mesh file matches"):
            load_mesh_sequence(tmp_path / pattern, 24.0)
    assert FilePattern("*a" * 8 + "*").matches("a" * 200)
    assert time.process_time() - started < 0.5


def test_patterns_longer_than_a_name_are_refused(tmp_path):
    with pytest.raises(KeyfluidError, match="longer than a file name"):
        load_mesh_sequence(tmp_path / ("*a" * 200), 24.0)


def test_only_plain_digits_are_numbers(tmp_path):
    """A superscript two is a digit to str.isdigit and none to int."""
    for name in ("²1.obj", "²10.obj", "²9.obj", "1٣.obj"):
        trimesh.creation.box().export(tmp_path / name)
    assert [path.name for path in load_mesh_sequence(tmp_path, 24.0).files] == ["1٣.obj", "²1.obj", "²9.obj", "²10.obj"]
    assert len(load_mesh_sequence(tmp_path / "²#.obj", 24.0).files) == 3
    assert sorted(["b10", "b9", "a", "9"], key=natural_order) == ["9", "a", "b9", "b10"]


def test_too_many_files_and_too_large_poses(tmp_path, monkeypatch):
    for k in range(4):
        trimesh.creation.icosphere(subdivisions=4).export(tmp_path / f"a.{k}.stl")
    assert len(load_mesh_sequence(tmp_path / "a.#.stl", 24.0).files) == 4
    # 5120 triangles of a binary STL: 5120 x 96 bytes kept for each pose, 146 while it is read
    monkeypatch.setattr("keyfluid.io.budget.MOST_BYTES", 3 * 5120 * 96 + 5120 * 120)
    with pytest.raises(KeyfluidError, match=r"a\.3\.stl.* limit of .* reduce the mesh or use fewer files"):
        load_mesh_sequence(tmp_path / "a.#.stl", 24.0)
    monkeypatch.setattr("keyfluid.shapes.animated_mesh.MOST_FILES", 3)
    with pytest.raises(KeyfluidError, match="4 files match, at most 3"):
        load_mesh_sequence(tmp_path / "a.#.stl", 24.0)
