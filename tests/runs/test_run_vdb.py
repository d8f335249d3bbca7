"""VDB grids of a run: names, colours of several fields, the up axis, targets."""

from __future__ import annotations

import numpy as np
import pytest

import keyfluid
from keyfluid.runs.vdb_files import grids_of

SCENE = """
[domain]
size = [1.0, 1.5, 0.5]
resolution = 12
[time]
frames = 1
[[smoke.field]]
name = "red"
colour = [1.0, 0.0, 0.0]
[[smoke.field]]
name = "blue"
colour = [0.0, 0.0, 1.0]
[[smoke.initial]]
field = "red"
shape = "sphere"
center = [0.4, 0.5, 0.25]
radius = 0.2
velocity = [0.1, 0.2, 0.4]
[[smoke.initial]]
field = "blue"
shape = "sphere"
center = [0.6, 0.5, 0.25]
radius = 0.2
[[keyframe]]
frame = 1
field = "blue"
shape = "sphere"
center = [0.6, 1.0, 0.25]
radius = 0.2
"""


def grids(*overrides):
    result = keyfluid.run(SCENE, overrides=overrides)
    return result, {grid.name: grid for grid in grids_of(result.problem, result.frames[1])}


def test_several_fields_have_a_sum_and_a_colour():
    result, found = grids()
    assert list(found) == ["red", "blue", "density", "Cd", "vel", "target"]
    red, blue = found["red"].data, found["blue"].data
    assert found["density"].data == pytest.approx(red + blue)
    both = (red > 0.01) & (blue > 0.01)
    assert both.any()
    share = red / np.where(red + blue > 0, red + blue, 1)
    assert found["Cd"].data[both][:, 0] == pytest.approx(share[both], rel=1e-5)
    assert found["target"].data == pytest.approx(result.problem.keyframes[0].target)


def test_z_up_turns_places_and_vectors_alike():
    _, upright = grids()
    result, turned = grids("output.up=z", "output.names=blender")
    assert {"velocity", "color"} <= set(turned)
    dx = result.problem.grid.spacing
    x, y, z, _ = turned["density"].transform @ [3, 7, 1, 1]
    assert (x, y, z) == pytest.approx((3.5 * dx, -1.5 * dx, 7.5 * dx))
    before, after = upright["vel"].data, turned["velocity"].data
    assert np.abs(before).max() > 0.05
    assert after[..., 0] == pytest.approx(before[..., 0])
    assert after[..., 1] == pytest.approx(-before[..., 2])
    assert after[..., 2] == pytest.approx(before[..., 1])
