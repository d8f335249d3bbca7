"""Home and editor in a browser: a new scene, keys in time, faults while typing, undo, and two tabs on one scene."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("starlette")

from browser import Browser
from studio_kit import running_studio

CONTROL, SHIFT = 2, 8
HOLD_SAVES = """(() => { const real = window.fetch; window.fetch = (...all) => all[1]?.method === "PUT"
  ? new Promise((go) => { window.release = () => { window.fetch = real; go(real(...all)); }; }) : real(...all); })()"""
"""What this page saves waits until release() is called."""


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


def test_a_scene_is_made_timed_and_edited(tmp_path: Path) -> None:
    with running_studio(tmp_path / "work") as studio, Browser(tmp_path / "profile", webgl=True) as browser:
        browser.open(studio.address, 1280, 720)
        browser.click("[data-do=new][data-id=blank_2d]")
        browser.until("document.querySelector('#ask-name')")
        browser.type("puff")
        browser.click(".ask [data-do=yes]")
        browser.until("document.querySelector('.group')")
        file = studio.folder / "scenes/puff/scene.toml"

        def data() -> dict[str, Any]:
            browser.until("document.querySelector('[data-id=saved]').textContent.trim() === 'saved'")
            return tomllib.loads(file.read_text(encoding="utf-8"))

        browser.press("End")
        browser.press("k")
        mark = ".mark[data-id='keyframe[0]']"
        browser.until(f"document.querySelector({mark!r})")
        assert data()["keyframe"][0]["frame"] == 48
        x, y = browser.middle(mark)
        left, width = browser.ask("(b => [b.left, b.width])(document.querySelector('.ruler .track').getBoundingClientRect())")
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
        browser.screenshot(tmp_path / "editor.png", whole=False)
        assert browser.faults == []


def test_two_tabs_lose_nothing(tmp_path: Path) -> None:
    with running_studio(tmp_path / "work") as studio, Browser(tmp_path / "profile", webgl=True) as browser:
        path = studio.post("scene/new", name="shared", template="blank_2d")["path"]
        file = studio.folder / path
        text = "document.querySelector('#scene-text').value"
        browser.open(studio.address, 1280, 720)
        address = f"http://127.0.0.1:{studio.port}/#/editor?path={path}&tab=text"
        browser.open(address, 1280, 720)
        browser.until("document.querySelector('#scene-text')")
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
            browser.until("document.querySelector('[data-id=saved]').textContent.trim() === 'saved'")
            assert "frames = 72" in file.read_text(encoding="utf-8")
            switch()
            browser.ask("window.release()")
            browser.until("document.querySelector('[data-do=take-theirs]')")
            assert "resolution = 80" in browser.ask(text) and "resolution = 96" in file.read_text(encoding="utf-8")
            browser.click("[data-do=take-theirs]")
            browser.until(f"{text}.includes('frames = 72') && {text}.includes('resolution = 96')")
            browser.click("[data-do=undo]")  # mine is one step away
            browser.until("document.querySelector('[data-id=saved]').textContent.trim() === 'saved'")
            assert "resolution = 80" in file.read_text(encoding="utf-8")
            browser.click("[data-do=redo]")
            browser.until(f"{text}.includes('frames = 72')")
