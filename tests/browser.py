"""Chromium for tests of pages: a page opened from a file or an address, looked at, clicked and asked.

Speaks the DevTools protocol over a pipe (--remote-debugging-pipe: JSON messages, each ended by a zero byte), so that
nothing but the browser has to be installed. What the page writes to its console as an error, throws or is refused by
its policy is in `Browser.faults`.
"""

from __future__ import annotations

import base64
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
PATIENCE = 60.0
FLAGS = (
    "--headless", "--no-sandbox", "--disable-dev-shm-usage", "--disable-background-networking",
    "--disable-component-update", "--disable-extensions", "--no-first-run", "--remote-debugging-pipe",
)  # fmt: skip
WEBGL = ("--enable-unsafe-swiftshader", "--use-angle=swiftshader")
"""WebGL in software; without it the browser is told that there is no graphics card."""


def chromium() -> str:
    """The browser's program; skips the test where there is none."""
    found = next((path for name in NAMES if (path := shutil.which(name)) is not None), None)
    if found is None:
        pytest.skip("Chromium is missing; install it (apt-get install chromium) to test pages in a browser")
    return found


class Browser:
    """One page of a browser, which ends with the `with` block."""

    def __init__(self, profile: Path, webgl: bool = False) -> None:
        program = chromium()
        flags = (*FLAGS, *(WEBGL if webgl else ("--disable-gpu",)))
        commands, self._write = os.pipe()
        self._read, answers = os.pipe()
        words = " ".join(["exec", program, *flags, f"--user-data-dir='{profile}'", "about:blank"])
        self._process = subprocess.Popen(
            ["bash", "-c", f"{words} 3<&{commands} 4>&{answers}"], pass_fds=(commands, answers),
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        os.close(commands)
        os.close(answers)
        self._buffer, self._number, self._session = b"", 0, ""
        self.events: list[dict[str, Any]] = []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._session = ""
            self.call("Browser.close")
            self._process.wait(10)
        except (OSError, AssertionError, subprocess.TimeoutExpired):
            self._process.kill()
        finally:
            os.close(self._write)
            os.close(self._read)

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._next()
            if answer.get("id") == self._number:
                assert "error" not in answer, answer["error"]
                return dict(answer["result"])
            self.events.append(answer)

    def _next(self) -> dict[str, Any]:
        end = time.monotonic() + PATIENCE
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._read], [], [], max(0.0, end - time.monotonic()))
            assert ready, "the browser does not answer"
            data = os.read(self._read, 1 << 16)
            assert data, "the browser has ended"
            self._buffer += data
        text, _, self._buffer = self._buffer.partition(b"\0")
        return dict(json.loads(text))

    def open(self, page: Path | str, width: int = 1280, height: int = 900, dark: bool = False) -> None:
        """Show a file or an address in a window of this size."""
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call("Page.navigate", url=page if isinstance(page, str) else page.absolute().as_uri())
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'")
        # Lazy pictures below the window are not fetched, so they never are complete.
        self.until("[...document.images].every(image => image.complete || image.loading === 'lazy')")

    def ask(self, expression: str) -> Any:
        """The value of a JavaScript expression in the page; promises are awaited."""
        answer = self.call("Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def until(self, expression: str, patience: float | None = None) -> None:
        """Wait until an expression is true; patience: in seconds, more where kernels may have to be compiled first."""
        end = time.monotonic() + (PATIENCE if patience is None else patience)
        while not self.ask(f"Boolean({expression})"):
            assert time.monotonic() < end, f"never true: {expression}"
            time.sleep(0.02)

    def press(self, key: str) -> None:
        text = {"text": " "} if key == " " else {}
        self.call("Input.dispatchKeyEvent", type="keyDown", key=key, code="Space" if key == " " else key, **text)
        self.call("Input.dispatchKeyEvent", type="keyUp", key=key, code="Space" if key == " " else key)

    def click(self, selector: str) -> None:
        """Press the middle of an element, which is scrolled into view."""
        x, y = self.middle(selector)
        self.drag([(x, y)])

    def middle(self, selector: str) -> tuple[float, float]:
        """Where an element is in the window; waits until there is one."""
        found = f"document.querySelector({json.dumps(selector)})"
        self.until(found)
        box = self.ask(
            f"(e => {{ e.scrollIntoView({{block: 'nearest'}}); const b = e.getBoundingClientRect();"
            f" return [b.x + b.width / 2, b.y + b.height / 2]; }})({found})"
        )
        return float(box[0]), float(box[1])

    def drag(self, points: Sequence[tuple[float, float]]) -> None:
        """The mouse is pressed at the first point, moved through the others and released at the last."""
        common = {"button": "left", "clickCount": 1, "pointerType": "mouse"}
        (x, y), *others = points
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)
        self.call("Input.dispatchMouseEvent", type="mousePressed", x=x, y=y, **common)
        for x, y in others:
            self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y, buttons=1, **common)
        self.call("Input.dispatchMouseEvent", type="mouseReleased", x=x, y=y, **common)

    def type(self, text: str) -> None:
        """Text where the focus is."""
        self.call("Input.insertText", text=text)

    def screenshot(self, path: Path, whole: bool = True) -> None:
        picture = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(picture["data"]))

    @property
    def faults(self) -> list[str]:
        """Errors of the page: thrown, logged, or refused by its policy."""
        self.ask("1")
        found = []
        for event in self.events:
            method, values = event.get("method"), event.get("params", {})
            if method == "Runtime.exceptionThrown":
                found.append(str(values["exceptionDetails"].get("text")))
            elif method == "Log.entryAdded" and values["entry"]["level"] in ("error", "warning"):
                found.append(values["entry"]["text"])
            elif method == "Runtime.consoleAPICalled" and values["type"] in ("error", "warning", "assert"):
                found.append(str(values["args"]))
        return found

    @property
    def requests(self) -> list[str]:
        """Addresses that were requested, without the data that pages carry."""
        sent = [event["params"]["request"]["url"] for event in self.events
                if event.get("method") == "Network.requestWillBeSent"]  # fmt: skip
        return [url for url in sent if not url.startswith("data:")]
