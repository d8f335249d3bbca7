"""Scenes for the stage, and the arrays of its answers."""

from __future__ import annotations

import json
import tomllib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from studio_kit import RunningStudio

from browser import Browser

SCENE = """\
name = "stage"

[domain]
size = [1.0, 1.0]
resolution = 64

[time]
frames = 24
fps = 24

[smoke]
initial = { shape = "disk", radius = 0.2, center = [0.3, 0.4] }

# The word, for which the smoke is meant.
[[keyframe]]
frame = 24
shape = "star"
center = [0.6, 0.55]

[control]
method = "spectral"
"""

SPACE = """\
[domain]
size = [1.0, 1.0, 1.0]
resolution = 24
[time]
frames = 8
[smoke]
initial = { shape = "sphere", radius = 0.2 }
[[keyframe]]
frame = 8
shape = "box"
size = 0.3
center = [0.6, 0.5, 0.4]
[control]
method = "spectral"
"""


@dataclass
class Stage:
    header: dict[str, Any]
    arrays: dict[str, np.ndarray]

    def body(self, name: str) -> dict[str, Any]:
        return next(body for body in self.header["bodies"] if body["id"] == name)


def unpacked(content: bytes) -> Stage:
    """What studio/arrays.py packs."""
    length = int.from_bytes(content[:4], "little")
    header = json.loads(content[4 : 4 + length])
    arrays = {}
    for entry in header["arrays"]:
        flat = np.frombuffer(content, entry["dtype"], entry["count"], entry["offset"])
        arrays[entry["name"]] = flat.reshape(entry["shape"], order="F")
    return Stage(header, arrays)


def write_scene(studio: RunningStudio, text: str = SCENE, name: str = "one") -> str:
    path = studio.folder / "scenes" / name / "scene.toml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return f"scenes/{name}/scene.toml"


def ask_stage(studio: RunningStudio, path: str, **body: Any) -> Stage:
    answer = studio.ask("POST", "/api/stage", body={"path": path, **body})
    assert answer.status == 200, answer.content[:400]
    return unpacked(answer.content)


def show_stage(browser: Browser, studio: RunningStudio, path: str) -> None:
    """The stage of a scene, alone on the page."""
    code = Path(__file__).with_name("stage_page.js").read_text()
    tables = json.dumps(tomllib.loads((studio.folder / path).read_text()))
    browser.until("document.querySelector('#page').children.length")
    browser.ask(f"({code.split(chr(10), 1)[1].strip()})({json.dumps(path)}, {tables})")
    browser.until("window.drawn > 0 && stage.bodies.size > 1")


def on_screen(browser: Browser, place: list[float], view: int = 0) -> tuple[float, float]:
    """Where a point of a view (metres) is in the window."""
    found = browser.ask(
        f"(view => {{ const [x, y] = view.toScreen({place}), box = view.canvas.getBoundingClientRect();"
        f" return [x + box.left, y + box.top]; }})(stage.views[{view}])"
    )
    return float(found[0]), float(found[1])
