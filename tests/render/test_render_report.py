from __future__ import annotations

import base64
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from keyfluid.errors import KeyfluidError
from keyfluid.render import RunReport, write_gif, write_report
from keyfluid.render.chart import line_chart, round_ticks

NASTY = "<script>alert(\"x\")</script> & 'quotes'"
VOID = {"meta", "img", "br", "link", "input", "hr"}


class Page(HTMLParser):
    """Checks that tags close in order; keeps tags, attributes and text."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.text = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.text += data


def report(tmp_path: Path) -> tuple[str, Page]:
    picture = np.random.default_rng(1).integers(0, 256, (6, 8, 3), dtype=np.uint8)
    write_gif([picture, picture[::-1]], tmp_path / "film.gif", 10)
    content = RunReport(
        NASTY,
        {NASTY: NASTY, "error": 0.123456, "missing": None},
        film=tmp_path / "film.gif",
        strip=picture,
        curves={NASTY: ([0, 1, 2], [1.0, 0.1, 0.001]), "pair": {NASTY: ([0, 1], [3, 4]), "b": ([0], [2])}},
        scene_text=NASTY,
        versions={"keyfluid": "0.1 " + NASTY},
        keyframes=[{"frame": 40, NASTY: 0.5}, {"frame": 80, "iou": NASTY}],
        plots={NASTY: picture},
    )
    write_report(tmp_path / "report.html", content)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    page = Page()
    page.feed(text)
    page.close()
    return text, page


def test_report_is_whole_and_escapes_everything(tmp_path: Path) -> None:
    text, page = report(tmp_path)
    assert page.open == []
    assert text.startswith("<!doctype html>")
    assert "script" not in {tag for tag, _ in page.tags}
    assert "<script" not in text
    assert page.text.count("alert") >= 8
    assert "0.1235" in page.text


def test_report_needs_nothing_from_outside(tmp_path: Path) -> None:
    text, page = report(tmp_path)
    assert not re.search(r"https?://|//[a-z]|@import|url\(", re.sub(r"base64,[^\"]*", "", text))
    sources = [attributes[name] for _, attributes in page.tags for name in ("src", "href") if name in attributes]
    assert len(sources) == 3
    assert all(source is not None and source.startswith("data:image/") for source in sources)
    film = next(source for source in sources if source and "gif" in source)
    assert base64.b64decode(film.split(",")[1]) == (tmp_path / "film.gif").read_bytes()


def test_pictures_that_are_none_are_errors(tmp_path: Path) -> None:
    with pytest.raises(KeyfluidError, match="none of them"):
        write_report(tmp_path / "r.html", RunReport("t", {}, film=b"not a picture"))
    with pytest.raises(KeyfluidError, match="can't be read"):
        write_report(tmp_path / "r.html", RunReport("t", {}, film=tmp_path / "absent.gif"))
    assert list(tmp_path.iterdir()) == []


def test_chart_puts_points_where_they_belong() -> None:
    svg = line_chart({"a": ([0, 5, 10], [0.0, 1.0, 4.0])}, "frame", "error")
    points = re.search(r'points="([^"]*)"', svg)
    assert points is not None
    (x0, y0), (x1, y1), (x2, y2) = [tuple(map(float, pair.split(","))) for pair in points[1].split()]
    assert x1 == pytest.approx((x0 + x2) / 2, abs=0.1)
    assert (y0 - y1) / (y0 - y2) == pytest.approx(0.25, abs=0.01)
    assert y2 < y0


def test_chart_goes_logarithmic_and_drops_what_is_not_a_number() -> None:
    svg = line_chart({"a": ([0, 1, 2, 3], [1.0, float("nan"), 0.1, 0.001])})
    points = re.search(r'points="([^"]*)"', svg)
    assert points is not None
    heights = [float(pair.split(",")[1]) for pair in points[1].split()]
    assert len(heights) == 3
    assert (heights[1] - heights[0]) * 2 == pytest.approx(heights[2] - heights[1], abs=0.3)
    assert ">0.01<" in svg
    assert "No values" in line_chart({"a": ([0], [float("inf")])})


def test_ticks_are_round() -> None:
    assert round_ticks(0.0, 10.0) == [0, 2, 4, 6, 8, 10]
    assert round_ticks(0.13, 0.52) == pytest.approx([0.2, 0.3, 0.4, 0.5])
