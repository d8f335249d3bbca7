"""Small scenes for the tests of runs: each takes well under a second once compiled."""

from __future__ import annotations

from pathlib import Path

BUSY = """
name = "busy"
[domain]
size = [1.0, 1.25]
resolution = 20
boundary = ["walls", "open"]
[time]
frames = {frames}
steps_per_frame = "auto"
[smoke]
initial = {{ shape = "disk", center = [0.4, 0.3], radius = 0.12 }}
buoyancy = 2.0
[[source]]
shape = "disk"
center = [0.6, 0.2]
radius = 0.1
velocity = [0.1, 0.8]
start = 2
stop = 5
[[obstacle]]
shape = "disk"
center = [0.35, 0.7]
radius = 0.12
velocity = [0.1, 0.0]
[output]
size = 48
start_frame = 1001
"""

STILL = """
name = "still"
[domain]
resolution = 16
[time]
frames = 4
steps_per_frame = 2
[smoke]
initial = { shape = "disk", center = [0.4, 0.5], radius = 0.2 }
[[keyframe]]
frame = 4
shape = "disk"
center = [0.6, 0.5]
radius = 0.2
mass = "keep"
[output]
vdb = false
video = false
size = 32
"""

STEERED = """
name = "steered"
[domain]
resolution = 16
[time]
frames = 6
fps = 8
[smoke]
initial = { shape = "disk", center = [0.4, 0.4], radius = 0.2 }
[[keyframe]]
frame = 3
shape = "box"
center = [0.6, 0.55]
size = [0.34, 0.34]
"""
"""A disk that becomes a box in six coarse frames: something to search forces for."""


def write_scene(folder: Path, text: str, name: str = "scene.toml") -> Path:
    path = folder / name
    path.write_text(text)
    return path


def busy(frames: int = 6) -> str:
    return BUSY.format(frames=frames)
