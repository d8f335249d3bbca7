"""Scenes that tests start from, and the shorthand to change them."""

from __future__ import annotations

from pathlib import Path

from keyfluid.scenes import Scene, load_scene

LETTER = """
name = "letter-f"
[domain]
size = [1.0, 0.75]
resolution = 48
[time]
fps = 24
frames = 40
[smoke]
initial = { shape = "disk", center = [0.4, 0.35], radius = 0.15, density = 2.0 }
[[keyframe]]
frame = 40
text = "F"
fit = 0.6
"""

VOLUME = """
[domain]
size = [1.0, 1.25, 1.0]
resolution = 30
[smoke]
initial = { shape = "sphere", center = [0.5, 0.6, 0.5], radius = 0.2 }
"""


def write_scene(folder: Path, text: str = LETTER) -> Path:
    path = folder / "scene.toml"
    path.write_text(text, encoding="utf-8")
    return path


def letter(*overrides: str) -> Scene:
    return load_scene(LETTER, list(overrides))


def volume(*overrides: str) -> Scene:
    return load_scene(VOLUME, list(overrides))
