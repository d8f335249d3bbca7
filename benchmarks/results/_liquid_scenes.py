"""Scenes of liquids that older versions of keyfluid can run too (benchmarks/compare_commits.py)."""

CLAY = "gravity = 0.0\nviscosity = 0.5\ncolour = '#c0764a'"
WATER = "gravity = 2.0"

LETTER = """
[domain]
resolution = 96
[time]
frames = {steps}
[liquid]
initial = {{ shape = "disk", center = [0.5, 0.5], volume = "first-key" }}
{liquid}
[[keyframe]]
frame = {steps}
text = "L"
fit = 0.6
[control]
{control}
"""
CROSS = """
[domain]
size = [1.0, 0.46, 1.0]
resolution = 50
[time]
frames = 10
[liquid]
initial = { shape = "sphere", center = [0.5, 0.23, 0.5], volume = "first-key" }
gravity = 2.0
viscosity = 0.5
[[keyframe]]
frame = 10
center = [0.5, 0.1, 0.5]
rotation = [90, 0, 0]
shape = "cross"
size = 0.64
thickness = 0.2
depth = 0.16
[control]
method = "adjoint"
sources = true
iterations = 25
"""
"""Figure 4 on the paper's grid, without a fall."""
