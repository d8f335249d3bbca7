"""A small film of four keyframes that schedule = "shooting" solves in windows."""

from __future__ import annotations

_KEYS = (
    'shape = "box"\ncenter = [0.55, 0.5]\nsize = [0.35, 0.35]',
    'shape = "disk"\ncenter = [0.6, 0.6]\nradius = 0.2',
    'shape = "box"\ncenter = [0.45, 0.55]\nsize = [0.45, 0.28]',
    'shape = "disk"\ncenter = [0.45, 0.45]\nradius = 0.2',
)


def shooting_scene(every: int, iterations: int, rounds: int) -> str:
    """A keyframe every so many frames, and one frame after the last."""
    keys = "\n".join(f"[[keyframe]]\nframe = {every * (i + 1)}\n{key}" for i, key in enumerate(_KEYS))
    return f"""
name = "long"
[domain]
resolution = 16
[time]
frames = {every * len(_KEYS) + 1}
fps = 10
[smoke]
initial = {{ shape = "disk", center = [0.4, 0.4], radius = 0.2 }}
{keys}
[output]
vdb = false
video = false
size = 32
[control]
method = "spectral"
schedule = "shooting"
iterations = {iterations}
cutoff = 5
coarse = 0
rounds = {rounds}
"""
