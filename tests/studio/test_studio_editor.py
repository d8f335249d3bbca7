"""Home and editor in a browser: a new scene, keys in time, faults while typing, undo, and two tabs on one scene."""

from __future__ import annotations

import time
import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest

pytest.importorskip("starlette")

from studio_kit import RunningStudio, running_studio

from browser import Browser

CONTROL, SHIFT = 2, 8
SAVED = "document.querySelector('[data-id=saved]').textContent.trim() === 'saved'"
HOLD_SAVES = """(() => { const real = window.fetch; window.fetch = (...all) => all[1]?.method === "PUT"
  ? new Promise((go) => { window.release = () => { window.fetch = real; go(real(...all)); }; }) : real(...all); })()"""
"""What this page saves waits until release() is called."""


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningStudio]:
    with running_studio(tmp_path_factory.mktemp("studio") / "work") as running:
        yield running


@pytest.fixture(scope="module")
def browser(studio: RunningStudio, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    with Browser(tmp_path_factory.mktemp("browser"), webgl=True) as one:
        one.open(studio.address, 1280, 720)
        yield one


def chord(browser: Browser, key: str, modifiers: int) -> None:
    browser.call("Input.dispatchKeyEvent", type="keyDown", key=key, modifiers=modifiers)
    browser.call("Input.dispatchKeyEvent", type="keyUp", key=key, modifiers=modifiers)


def replace_in_text(browser: Browser, old: str, new: str) -> None:
    """Select the first `old` in the text and type `new` over it."""
    browser.ask(
        f"(a => {{ a.focus(); const at = a.value.indexOf({old!r}); a.setSelectionRange(at, at + {len(old)}); }})"
        "(document.querySelector('#scene-text'))"
    )
    browser.type(new)


@contextmanager
def second_tab(browser: Browser, address: str) -> Iterator[Callable[[], None]]:
    """Another tab of the same browser, which the block talks to; calling what it gives switches between both."""
    first = browser._session
    browser._session = ""
    target = browser.call("Target.createTarget", url="about:blank")["targetId"]
    other = browser.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def switch() -> None:
        browser._session = first if browser._session == other else other

    switch()
    for domain in ("Page", "Runtime", "Log"):
        browser.call(f"{domain}.enable")
    browser.open(address, 1280, 720)
    try:
        yield switch
    finally:
        browser._session = first


def test_a_scene_is_made_timed_and_edited(studio: RunningStudio, browser: Browser) -> None:
    browser.ask("location.hash = '#/home'")
    browser.click("[data-do=new][data-id=blank_2d]")
    browser.until("document.querySelector('#ask-name')")
    browser.type("puff")
    browser.click(".ask [data-do=yes]")
    browser.until("document.querySelector('.group')")
    file = studio.folder / "scenes/puff/scene.toml"

    def data() -> dict[str, Any]:
        browser.until(SAVED)
        return tomllib.loads(file.read_text(encoding="utf-8"))

    browser.press("End")
    browser.press("k")
    mark = ".mark[data-id='keyframe[0]']"
    browser.until(f"document.querySelector({mark!r})")
    assert data()["keyframe"][0]["frame"] == 48
    x, y = browser.middle(mark)
    left, width = browser.ask(
        "(b => [b.left, b.width])(document.querySelector('.ruler .track').getBoundingClientRect())"
    )
    browser.drag([(x, y), (x - 20, y), (left + width * 24 / 48, y)])
    browser.until("document.querySelector('[data-do=undo]').title.includes('Move')")
    assert data()["keyframe"][0]["frame"] == 24
    chord(browser, "z", CONTROL)
    browser.until("document.querySelector('[data-do=redo]').title.includes('Move')")
    assert data()["keyframe"][0]["frame"] == 48
    chord(browser, "Z", CONTROL | SHIFT)
    browser.until("document.querySelector('[data-do=redo]').disabled")
    assert data()["keyframe"][0]["frame"] == 24

    browser.ask("document.querySelector('#inspector-search').focus()")
    browser.type("upward acceleration of air filled")
    browser.until("document.querySelectorAll('.inspector .key').length === 1")
    browser.ask("document.querySelector('.inspector .key input').focus()")
    browser.type("0.5")
    browser.ask("document.querySelector('.inspector .key input').blur()")
    browser.until("document.querySelector('[data-do=undo]').title.includes('buoyancy')")
    assert data()["smoke"]["buoyancy"] == 0.5

    browser.click("[data-do=tab-text]")
    before = file.read_text(encoding="utf-8")
    replace_in_text(browser, "resolution = 96", "resolution = 2")
    browser.until("document.querySelector('.text-lines .fault-line')")
    line = before.split("\n").index(next(one for one in before.split("\n") if one.startswith("resolution"))) + 1
    assert browser.ask("document.querySelector('.text-lines .fault-line').textContent") == str(line)
    assert "domain.resolution" in browser.ask("document.querySelector('.text-faults').textContent")
    chord(browser, "z", CONTROL)
    browser.until("!document.querySelector('.text-lines .fault-line')")
    data()
    assert file.read_text(encoding="utf-8") == before

    file.write_text(before + "# from outside\n", encoding="utf-8")
    browser.until("document.querySelector('#scene-text').value.endsWith('# from outside\\n')")
    assert browser.faults == []


def test_spans_are_dragged_and_everything_is_undone(studio: RunningStudio, browser: Browser) -> None:
    file = studio.folder / studio.post("scene/new", name="vent", gallery="spectral_inflow")["path"]
    first = file.read_text(encoding="utf-8")
    browser.ask("location.hash = '#/editor?path=scenes/vent/scene.toml'")
    browser.until("document.querySelector('.group[data-id=control]')")
    frame = browser.ask("document.querySelector('.ruler .track').getBoundingClientRect().width") / 60

    def dragged(selector: str, frames: int) -> None:
        x, y = browser.middle(selector)
        browser.drag([(x, y), (x + 3, y), (x + frames * frame, y)])

    def until(table: str, **values: int) -> None:
        end = time.monotonic() + 30
        while not values.items() <= tomllib.loads(file.read_text(encoding="utf-8"))[table][0].items():
            assert time.monotonic() < end, (table, values)
            time.sleep(0.05)

    dragged(".grip[data-id='source[0].stop']", -10)
    until("source", stop=30)
    dragged(".bar[data-id='source[0].span']", 10)
    until("source", start=10, stop=40)
    browser.click(".mark[data-id='keyframe[0]']")
    browser.until("document.querySelector('.group.chosen')?.dataset.id === 'keyframe[0]'")
    assert browser.ask("document.querySelector('.time-frame').value") == "52"
    dragged(".grip[data-id='keyframe[0].hold']", 5)
    until("keyframe", hold=5)
    browser.click(".group.chosen [data-do=add-mask]")
    browser.until("document.querySelector(\".group[data-id='keyframe[0].mask']\")")
    for _ in range(4):
        browser.click("[data-do=undo]")
    browser.until("document.querySelector('[data-do=undo]').disabled")
    browser.until(SAVED)
    assert file.read_text(encoding="utf-8") == first
    assert browser.faults == []


def test_two_tabs_lose_nothing(studio: RunningStudio, browser: Browser) -> None:
    path = studio.post("scene/new", name="shared", template="blank_2d")["path"]
    file = studio.folder / path
    text = "document.querySelector('#scene-text').value"
    address = f"http://127.0.0.1:{studio.port}/#/editor?path={path}&tab=text"
    browser.open(address, 1280, 720)
    browser.until(f"document.querySelector('.editor-bar code')?.textContent === {path!r}")
    with second_tab(browser, address) as switch:
        browser.until("document.querySelector('#scene-text')")
        replace_in_text(browser, "frames = 48", "frames = 60")
        switch()
        browser.until(f"{text}.includes('frames = 60')")  # nothing was being changed here: it just shows
        switch()
        browser.ask(HOLD_SAVES)
        replace_in_text(browser, "resolution = 96", "resolution = 80")
        browser.until("window.release")
        switch()
        replace_in_text(browser, "frames = 60", "frames = 72")
        browser.until(SAVED)
        assert "frames = 72" in file.read_text(encoding="utf-8")
        switch()
        browser.ask("window.release()")
        browser.until("document.querySelector('[data-do=take-theirs]')")
        assert "resolution = 80" in browser.ask(text)
        assert "resolution = 96" in file.read_text(encoding="utf-8")
        browser.click("[data-do=take-theirs]")
        browser.until(f"{text}.includes('frames = 72') && {text}.includes('resolution = 96')")
        browser.click("[data-do=undo]")  # mine is one step away
        browser.until(SAVED)
        assert "resolution = 80" in file.read_text(encoding="utf-8")
        browser.click("[data-do=redo]")
        browser.until(f"{text}.includes('frames = 72')")
        browser.until(SAVED)
        browser.ask(f"delete window.release; {HOLD_SAVES}")
        replace_in_text(browser, "resolution = 96", "resolution = 64")
        browser.until("window.release")
        switch()
        browser.until(f"{text}.includes('frames = 72') && {SAVED}")
        replace_in_text(browser, "frames = 72", "frames = 84")
        browser.until(SAVED)
        switch()
        browser.ask("window.release()")
        browser.click("[data-do=keep-mine]")
        browser.until(f"!document.querySelector('[data-do=keep-mine]') && {SAVED}")
        kept = file.read_text(encoding="utf-8")
        assert "resolution = 64" in kept
        assert "frames = 72" in kept
        browser.click("[data-do=undo]")  # theirs is one step away
        browser.until(f"{text}.includes('frames = 84')")
