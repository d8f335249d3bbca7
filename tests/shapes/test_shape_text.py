"""Text: areas against the font's outlines, lines and alignment, and the errors a user can make."""

from __future__ import annotations

import numpy as np
import pytest

from keyfluid.errors import KeyfluidError
from keyfluid.shapes import Placement, Text, mass_of, stroke_width_cells
from keyfluid.shapes.polygon import polygon_coverage


def test_letter_i_is_a_bar_of_exact_area():
    """DejaVu Sans Bold's I is 385 x 1493 font units (of which FreeType's 26.6 numbers keep four digits)."""
    coverage = Text("I").rasterize((61, 67), 1 / 67, Placement(fit=0.7))
    width, height = np.ptp(Text("I").ink().points, axis=0)
    assert mass_of(coverage, 1 / 67) == pytest.approx(0.7**2 * 385 / 1493, rel=1e-3)
    assert mass_of(coverage, 1 / 67) == pytest.approx(0.7**2 * width / height, rel=1e-9)
    assert coverage.max() == 1.0


def test_turned_letters_keep_their_area():
    areas = [
        mass_of(Text("Rä").rasterize((48, 48), 1 / 48, Placement(fit=0.6, scale=s, rotation=r)), 1 / 48) / s**2
        for s, r in ((1.0, 0.0), (1.0, 180.0), (0.8, 0.0))
    ]
    assert areas == pytest.approx([areas[0]] * 3, rel=1e-9)


def test_counters_are_holes():
    coverage = Text("O").rasterize((65, 65), 1 / 65, Placement(fit=0.8))
    assert coverage[32, 32] == 0
    assert coverage[32].max() == 1


def test_polygon_cells_by_hand():
    """A triangle with corners (0.5, 0), (2, 0), (2, 1.5): the diagonal cuts cells at x = y + 0.5."""
    triangle = np.array([(0.5, 0.0), (2.0, 0.0), (2.0, 1.5)])
    expected = np.array([[0.125, 0.0], [0.875, 0.125]])
    assert polygon_coverage([triangle], (2, 2), 1.0) == pytest.approx(expected)
    assert polygon_coverage([triangle[::-1]], (2, 2), 1.0) == pytest.approx(expected)
    shifted = polygon_coverage([triangle - (1.0, 0.0)], (2, 2), 1.0)
    assert shifted == pytest.approx(np.array([[0.875, 0.125], [0.0, 0.0]]))


def test_lines_stack_downwards_and_align():
    boxes = {}
    for align in ("left", "center", "right"):
        coverage = Text("WWW\nI", align=align).rasterize((96, 96), 1 / 96, Placement(fit=0.9))
        top, bottom = coverage[:, 48:], coverage[:, :40]
        assert top.sum() > 3 * bottom.sum()
        boxes[align] = np.flatnonzero(bottom.any(axis=1)), np.flatnonzero(coverage.any(axis=1))
    assert boxes["left"][0][0] == boxes["left"][1][0]
    assert boxes["right"][0][-1] == boxes["right"][1][-1]
    assert boxes["center"][0].mean() == pytest.approx(boxes["center"][1].mean(), abs=0.5)


def test_dollar_signs_are_dollar_signs():
    assert len(Text("$x$").outlines) > len(Text("x").outlines)


def test_greek_and_cyrillic_are_there():
    assert Text("Ωж").rasterize((32, 32), 1 / 32).sum() > 10


@pytest.mark.parametrize("text", ["", "   ", "\n\n", "\u00a0", "\u200b"])
def test_nothing_visible(text):
    with pytest.raises(KeyfluidError, match="nothing visible"):
        Text(text)


def test_missing_glyphs_are_named():
    with pytest.raises(KeyfluidError, match=r"no glyph for '中' \(U\+4E2D\), '国'"):
        Text("A中国中")


def test_font_errors(tmp_path):
    with pytest.raises(KeyfluidError, match="does not exist"):
        Text("A", font=tmp_path / "none.ttf")
    (tmp_path / "broken.ttf").write_bytes(b"\x00\x01\x00\x00" + bytes(range(200)))
    with pytest.raises(KeyfluidError, match="can't be read"):
        Text("A", font=tmp_path / "broken.ttf")
    with pytest.raises(KeyfluidError, match="align"):
        Text("A", align="middle")
    with pytest.raises(KeyfluidError, match="characters"):
        Text("A" * 5000)


@pytest.mark.parametrize("cells", [32, 128])
def test_stroke_width_of_a_bar(cells):
    """The I at fit 0.6 is 0.6 * 385 / 1493 wide."""
    width = stroke_width_cells(Text("I"), (cells, cells), 1 / cells, Placement(fit=0.6))
    assert width == pytest.approx(0.6 * 385 / 1493 * cells, rel=0.03)


def test_stroke_width_of_a_word_shrinks_with_its_length():
    short, long = (stroke_width_cells(Text(t), (64, 64), 1 / 64, Placement(fit=0.9)) for t in ("FL", "KEYFLUID"))
    assert short > 2 * long
    assert 1.5 < long < 5
