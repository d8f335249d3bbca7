"""The studio starts, lets in who has the token, and its page works in a browser."""

from __future__ import annotations

from pathlib import Path

import pytest
from studio_kit import running_studio

from browser import Browser

pytest.importorskip("starlette")


def test_the_first_page_takes_the_token_and_hides_it(tmp_path: Path) -> None:
    with running_studio(tmp_path / "work") as studio:
        entered = studio.ask("GET", f"/?token={studio.token}", headers={})
        assert (entered.status, entered.headers["location"]) == (303, "/")
        assert entered.headers["set-cookie"].endswith("HttpOnly; Path=/; SameSite=strict")
        cookie = entered.headers["set-cookie"].partition(";")[0]
        assert studio.ask("GET", "/api/hello", headers={"Cookie": cookie}).status == 200
        assert studio.ask("GET", "/api/hello", headers={}).status == 403


def test_the_page_opens_in_a_browser(tmp_path: Path) -> None:
    with running_studio(tmp_path / "work") as studio, Browser(tmp_path / "profile", webgl=True) as browser:
        browser.open(studio.address, 1280, 720)
        browser.until("document.querySelector('#page').children.length")
        assert browser.ask("location.search") == ""
        assert browser.faults == []
