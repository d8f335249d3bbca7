"""Small scenes for optimisation: a second or two each once compiled."""

from __future__ import annotations

from keyfluid.scenes import load_scene
from keyfluid.scenes.build.problem import build

FLAT = """
name = "small"
[domain]
size = [1.0, 0.75]
resolution = 16
{sides}
[time]
frames = 6
fps = 12
[smoke]
initial = {{ shape = "disk", center = [0.4, 0.35], radius = 0.17 }}
buoyancy = 0.4
[[source]]
shape = "disk"
center = [0.3, 0.2]
radius = 0.1
rate = 0.5
stop = 4
[[keyframe]]
frame = 4
shape = "box"
center = [0.55, 0.4]
size = [0.3, 0.25]
weight = 0.5
mask = {{ shape = "disk", center = [0.5, 0.4], radius = 0.3 }}
[[keyframe]]
frame = 5
shape = "disk"
center = [0.6, 0.45]
radius = 0.17
hold = 1
[simulation]
precision = "{precision}"
[output]
vdb = false
video = false
size = 32
[control]
{control}
"""

DEEP = """
name = "deep"
[domain]
size = [1.0, 0.75, 0.75]
resolution = 8
[time]
frames = 3
fps = 8
[smoke]
initial = {{ shape = "sphere", center = [0.4, 0.35, 0.4], radius = 0.2 }}
[[keyframe]]
frame = 3
shape = "sphere"
center = [0.6, 0.4, 0.35]
radius = 0.2
[simulation]
precision = "{precision}"
[output]
vdb = false
video = false
size = 32
[control]
{control}
"""


def flat(control, precision="float32", sides=""):
    return FLAT.format(control=control, precision=precision, sides=sides)


def deep(control, precision="float32"):
    return DEEP.format(control=control, precision=precision)


def problem_of(text):
    return build(load_scene(text))
