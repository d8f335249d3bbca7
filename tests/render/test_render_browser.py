"""Pages in Chromium: the player scrubs, steps and plays, shows targets and differences, and nothing goes wrong."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from browser import Browser
from keyfluid.render import RunReport, write_report
from keyfluid.render.chart import Band, Chart
from keyfluid.render.flipbook import flipbook
from keyfluid.render.page import page
from keyfluid.render.player import PlayerFilm, player
from keyfluid.render.report import Number, ScoreTable

FRAMES, SIDE = 6, 64
EMPTY = np.full((SIDE, SIDE, 3), 20, np.uint8)


def filled(level: int, columns: slice = slice(None)) -> np.ndarray:
    picture = EMPTY.copy()
    picture[:, columns] = level
    return picture


@pytest.fixture(scope="module")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("profile")) as one:
        yield one


@pytest.fixture(scope="module")
def report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Frame k is grey, 20 + 40 k, but at frame 4 only the left half; the target of frame 4 is the right half."""
    pictures = [filled(20 + 40 * k) for k in range(FRAMES)]
    pictures[4] = filled(220, slice(0, SIDE // 2))
    target = filled(220, slice(SIDE // 2, None))
    book = flipbook(pictures, range(FRAMES), 10**6, extras=[target, EMPTY])
    content = RunReport(
        "film " * 12,
        subtitle="smoke",
        words=["41 % of the word's smoke is missing; nothing reached KEY."],
        tiles=[("Error", Number(0.1, "0.100"), "0 is perfect")] * 6,
        player=player([PlayerFilm(book, (4,))], 2.0, FRAMES - 1, 4, True),
        keyframes=ScoreTable(["Frame", *["Number"] * 8], [["4", *["0.123"] * 8]], "words " * 40),
        charts=[Chart("Error", {"error": ([0, 9], [1, 0.1])}, "iteration", "", True, [Band(0, 9, "stage 1")])] * 3,
        scene_text="key = 'a long line' " * 30,
        facts={"a name": "a value"},
    )
    path = tmp_path_factory.mktemp("page") / "report.html"
    write_report(path, content)
    return path


def pixel(browser: Browser, x: int) -> list[int]:
    data = f"document.querySelector('canvas').getContext('2d').getImageData({x}, {SIDE // 2}, 1, 1).data"
    return list(browser.ask(f"[...{data}].slice(0, 3)"))


def grey(browser: Browser, x: int, level: int, film: int = 0) -> bool:
    """Whether a pixel gets that grey; pictures may still be decoded."""
    canvas = f"document.querySelector('canvas[data-film=\"{film}\"]')"
    data = f"{canvas}.getContext('2d').getImageData({x}, {SIDE // 2}, 1, 1).data"
    browser.until(f"Math.max(...[0, 1, 2].map(c => Math.abs({data}[c] - {level}))) <= 8")
    return True


def shows(browser: Browser, text: str) -> bool:
    return text in browser.ask("document.querySelector('[data-show=frame]').textContent")


def scrub(browser: Browser, place: int) -> None:
    find = "document.querySelector('[data-do=scrub]')"
    browser.ask(f"({find}.value = {place}, {find}.dispatchEvent(new Event('input')))")


def choose(browser: Browser, view: str) -> None:
    browser.ask(f"document.querySelector('input[value={view}]').click()")


def test_scrub_step_and_keys(browser: Browser, report: Path) -> None:
    browser.open(report)
    assert shows(browser, "Frame 4 of 5 · 2.00 s · keyframe")
    assert grey(browser, 9, 220)
    for place in (1, 3, 0):
        scrub(browser, place)
        assert shows(browser, f"Frame {place} of 5")
        assert grey(browser, 9, 20 + 40 * place)
    browser.press("ArrowRight")
    assert shows(browser, "Frame 1 of 5")
    browser.press("ArrowLeft")
    browser.press("ArrowLeft")
    assert shows(browser, "Frame 0 of 5")
    browser.ask("document.querySelector('[data-do=on]').click()")
    assert shows(browser, "Frame 1 of 5")
    browser.ask("document.querySelector('[data-jump]').click()")
    assert shows(browser, "Frame 4 of 5")
    assert browser.faults == []


def test_space_plays_and_pauses(browser: Browser, report: Path) -> None:
    browser.open(report)
    scrub(browser, 0)
    browser.press(" ")
    browser.until("document.querySelector('[data-show=frame]').textContent.startsWith('Frame 1')")
    browser.press(" ")
    assert browser.ask("document.querySelector('[data-do=play]').getAttribute('aria-pressed')") == "false"
    assert browser.faults == []


def test_target_over_film_and_difference(browser: Browser, report: Path) -> None:
    browser.open(report)
    assert grey(browser, 9, 220)
    assert grey(browser, 50, 20)
    choose(browser, "overlay")
    assert grey(browser, 50, 120)
    browser.ask(
        "(o => (o.value = 100, o.dispatchEvent(new Event('input'))))(document.querySelector('[data-do=opacity]'))"
    )
    assert grey(browser, 50, 220)
    choose(browser, "difference")
    browser.until("document.querySelector('canvas').getContext('2d').getImageData(54, 9, 1, 1).data[0] < 150")
    extra, missing = pixel(browser, 10), pixel(browser, 54)
    assert extra[0] > extra[2] + 50  # orange: in the film only
    assert missing[2] > missing[0] + 50  # blue: in the target only
    scrub(browser, 2)
    assert shows(browser, "target of frame 4")
    scrub(browser, 5)
    assert shows(browser, "no target here")
    assert grey(browser, 10, 220)
    assert browser.faults == []


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("width", [1280, 420])
def test_a_report_fits_its_window_and_asks_for_nothing(browser: Browser, report: Path, width: int, dark: bool) -> None:
    browser.events.clear()
    browser.open(report, width, 900, dark)
    assert browser.ask("document.documentElement.scrollWidth <= innerWidth")
    colour = browser.ask("getComputedStyle(document.body).backgroundColor")
    ink = browser.ask("getComputedStyle(document.body).color")
    bright = [sum(map(int, text[4:-1].split(","))) for text in (colour, ink)]
    assert abs(bright[0] - bright[1]) > 450
    assert (bright[0] < bright[1]) == dark
    assert browser.faults == []
    assert browser.requests == [report.absolute().as_uri()]


def test_the_policy_stops_a_script_that_slipped_in(browser: Browser, report: Path, tmp_path: Path) -> None:
    """The browser's own view of the policy, and that `faults` sees what it refuses."""
    spoiled = tmp_path / "spoiled.html"
    spoiled.write_text(report.read_text().replace("</header>", "</header><script>document.title = 'taken'</script>"))
    browser.events.clear()
    browser.open(spoiled)
    assert browser.ask("document.title") != "taken"
    assert any("Content Security Policy" in fault for fault in browser.faults)
    browser.events.clear()


def test_films_run_in_step(browser: Browser, tmp_path: Path) -> None:
    whole = PlayerFilm(flipbook([filled(20 + 30 * k) for k in range(7)], range(7), 10**6))
    third = PlayerFilm(flipbook([filled(20 + 30 * k) for k in (0, 3, 6)], (0, 3, 6), 10**6))
    path = tmp_path / "two.html"
    path.write_text(page("two", player([whole, third], 24.0, 6, 0, True), ("player.js",)), encoding="utf-8")
    browser.open(path)
    for place, expected in ((1, (50, 20)), (4, (140, 110)), (6, (200, 200))):
        scrub(browser, place)
        for film, level in enumerate(expected):
            assert grey(browser, 9, level, film)
    assert browser.faults == []
