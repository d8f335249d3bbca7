from __future__ import annotations

import base64
import hashlib
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from keyfluid.render import RunReport, write_report
from keyfluid.render.chart import Band, Chart, line_chart, log_ticks, round_ticks
from keyfluid.render.flipbook import flipbook
from keyfluid.render.player import PlayerFilm, player
from keyfluid.render.report import FILM_BYTES, MOST_BYTES, Number, ScoreTable

NASTY = "</script><script>alert(\"x\")</script> & 'quotes'"
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


def noise(count: int, side: int) -> list[np.ndarray]:
    """Pictures that hardly compress."""
    random = np.random.default_rng(1)
    return [random.integers(0, 256, (side, side, 3), dtype=np.uint8) for _ in range(count)]


def report(tmp_path: Path) -> tuple[str, Page]:
    pictures = noise(3, 8)
    film = PlayerFilm(flipbook(pictures[:2], [0, 4], 10_000, extras=pictures[1:]), (4,))
    content = RunReport(
        NASTY,
        subtitle=NASTY,
        words=(NASTY, "41 % is missing"),
        tiles=[(NASTY, Number(0.123456, NASTY), NASTY)],
        player=player([film], 24.0, 4, 4, True),
        keyframes=ScoreTable([NASTY], [[NASTY], [None]], NASTY, [[NASTY]], NASTY),
        charts=[Chart(NASTY, {NASTY: ([0, 1, 2], [1.0, 0.1, 0.001])}, NASTY, NASTY, bands=[Band(0, 2, NASTY)])],
        constant=[NASTY],
        facts={NASTY: NASTY, "missing": None},
        notes=[NASTY],
        plots={NASTY: pictures[0]},
        scene_text=NASTY,
        versions={"keyfluid": "0.1 " + NASTY},
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
    assert [tag for tag, _ in page.tags].count("script") == 2
    assert "<script>alert" not in text
    assert page.text.count("alert") >= 18
    assert ("data", {"value": "0.123456"}) in page.tags
    assert "41 % is missing" in page.text


def test_the_policy_allows_this_style_this_script_and_nothing_else(tmp_path: Path) -> None:
    text, page = report(tmp_path)
    policy = next(attributes["content"] for tag, attributes in page.tags if "http-equiv" in attributes)
    assert policy is not None
    rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
    inside = {kind: re.search(f"<{kind}>(.*?)</{kind}>", text, re.DOTALL) for kind in ("style", "script")}
    for kind, match in inside.items():
        assert match is not None
        digest = base64.b64encode(hashlib.sha256(match[1].encode()).digest()).decode()
        assert rules.pop(f"{kind}-src") == f"'sha256-{digest}'"
    assert rules == {"default-src": "'none'", "img-src": "data:", "base-uri": "'none'", "form-action": "'none'"}
    assert not any("style" in attributes for _, attributes in page.tags)


def test_report_needs_nothing_from_outside(tmp_path: Path) -> None:
    text, page = report(tmp_path)
    assert not re.search(r"https?://|[\"'(]//|@import|url\(", re.sub(r"base64,[^\"]*", "", text))
    sources = [attributes[name] for _, attributes in page.tags for name in ("src", "href") if name in attributes]
    assert len(sources) == 2
    assert all(source is not None and source.startswith("data:image/webp") for source in sources)


def test_data_of_the_player_cannot_end_its_element(tmp_path: Path) -> None:
    from keyfluid.render.page import data_block

    block = data_block("a", {"b": NASTY})
    assert block.count("</script>") == 1
    assert block.endswith("</script>")


def test_a_long_film_that_hardly_compresses_stays_within_the_limit(tmp_path: Path) -> None:
    pictures = noise(240, 160)
    book = flipbook(pictures, range(240), FILM_BYTES, keep=(97,), extras=pictures[:6])
    assert book.nbytes <= FILM_BYTES
    assert {0, 97, 239} <= set(book.frames)
    assert 40 < len(book.frames) < 240
    content = RunReport("film", player=player([PlayerFilm(book, (97,))], 24.0, 239, 97, True))
    write_report(tmp_path / "report.html", content)
    assert (tmp_path / "report.html").stat().st_size < MOST_BYTES
    assert f"{len(book.frames)} of 240 frames" in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_a_film_keeps_all_frames_if_smaller_pictures_do() -> None:
    pictures = noise(12, 64)
    whole = flipbook(pictures, range(12), 10**6)
    assert whole.size == (64, 64)
    fitted = flipbook(pictures, range(12), whole.nbytes // 2, side=64)
    assert fitted.frames == whole.frames
    assert fitted.nbytes <= whole.nbytes // 2
    least = flipbook(pictures, range(12), 10)
    assert least.frames == (0, 11)


def points(svg: str) -> list[list[tuple[float, float]]]:
    lines = re.findall(r'<polyline[^>]*points="([^"]*)"', svg)
    return [[(float(x), float(y)) for x, y in (pair.split(",") for pair in line.split())] for line in lines]


def test_chart_puts_points_where_they_belong() -> None:
    (line,) = points(line_chart(Chart("error", {"a": ([0, 5, 10], [0.0, 1.0, 4.0])}, "frame", "")))
    (x0, y0), (x1, y1), (x2, y2) = line
    assert x1 == pytest.approx((x0 + x2) / 2, abs=0.1)
    assert (y0 - y1) / (y0 - y2) == pytest.approx(0.25, abs=0.01)
    assert y2 < y0


def test_chart_goes_logarithmic_and_drops_what_is_not_a_number() -> None:
    svg = line_chart(Chart("a", {"a": ([0, 1, 2, 3], [1.0, float("nan"), 0.1, 0.001])}, "", ""))
    (line,) = points(svg)
    heights = [y for _, y in line]
    assert len(heights) == 3
    assert (heights[1] - heights[0]) * 2 == pytest.approx(heights[2] - heights[1], abs=0.3)
    assert ">0.01<" in svg
    assert "No values" in line_chart(Chart("a", {"a": ([0], [float("inf")])}, "", ""))


def test_chart_logarithmic_on_request_with_bands_and_breaks() -> None:
    bands = [Band(0, 2, "stage 1"), Band(2, 4, "stage 2")]
    curve = {"error": ([0, 1, 2, 3, 4], [0.8, 0.4, 0.2, 0.4, 0.2])}
    svg = line_chart(Chart("Error", curve, "iteration", "", True, bands, breaks=[2]))
    first, second = points(svg)
    assert len(first) == 3
    assert len(second) == 2
    assert first[0][1] - first[1][1] == pytest.approx(first[1][1] - first[2][1], abs=0.2)
    left = [float(x) for x in re.findall(r'<rect class="band\d" x="([\d.]+)"', svg)]
    assert left == pytest.approx([first[0][0], first[2][0]], abs=0.1)
    assert "stage 2" in svg
    assert ">iteration<" in svg


def test_ticks_are_round() -> None:
    assert round_ticks(0.0, 10.0) == [0, 2, 4, 6, 8, 10]
    assert round_ticks(0.13, 0.52) == pytest.approx([0.2, 0.3, 0.4, 0.5])
    assert log_ticks(0.001, 10.0) == pytest.approx([0.001, 0.01, 0.1, 1.0, 10.0])
    assert log_ticks(0.3, 0.7) == pytest.approx([0.3, 0.4, 0.5, 0.7])
