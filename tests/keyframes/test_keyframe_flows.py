"""Velocities wanted: they are reached, only where they are asked for, and bad ones are refused."""

from __future__ import annotations

import numpy as np
import pytest
from keyframe_scenes import problem_of

import keyfluid
from keyfluid.errors import KeyfluidError

SCENE = """
name = "wind"
[domain]
size = [1.0, 0.75]
resolution = 24
[time]
frames = 5
fps = 8
[smoke]
initial = { shape = "disk", center = [0.4, 0.4], radius = 0.15 }
[[flow]]
frame = 4
velocity = [0.3, 0.0]
mask = { shape = "box", center = [0.3, 0.4], size = [0.3, 0.15] }
[output]
vdb = false
video = false
size = 32
[control]
method = "spectral"
iterations = 15
"""


def test_the_air_moves_as_wanted_where_it_is_wanted():
    result = keyfluid.run(SCENE, threads=1)
    along = result.frames[4].velocity.component(0)
    assert along[5:10, 8:11].mean() == pytest.approx(0.3, abs=0.06)
    assert abs(along[17:22, 1:4].mean()) < 0.1, "nothing was asked of the air elsewhere"
    entries = [entry for entry in result.metrics["history"] if "objective" in entry]
    course = [entry["error"] for entry in entries]
    lowest = min(entries, key=lambda entry: entry["objective"])
    assert course[0] == pytest.approx(1.0, abs=0.5)
    assert course[-1] < 0.3 * course[0]
    assert [key["frame"] for key in result.metrics["flows"]] == [4]
    assert result.metrics["flows"][0]["relative_error"] == pytest.approx(lowest["error"], rel=1e-4)


def test_faces_that_count():
    (flow,) = problem_of(SCENE).flows
    assert flow.mask.component(0)[7, 9] == 1
    assert flow.mask.component(0)[20, 9] == 0
    assert not flow.mask.component(0)[0].any(), "walls"
    assert flow.speed == pytest.approx(0.3 / np.sqrt(2))
    (rest,) = problem_of(SCENE.replace("[0.3, 0.0]", "[0.0, 0.0]")).flows
    assert rest.speed == pytest.approx(1.0 / (4 / 8))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (("frame = 4", "frame = 9"), r"flow\[0\]\.frame: 9 is not one of the frames 1 to 5"),
        (("velocity = [0.3, 0.0]", "velocity = [0.3, 0.0, 0.1]"), r"flow\[0\]\.velocity: has 3 numbers"),
        (("center = [0.3, 0.4]", "center = [7.0, 0.4]"), r"flow\[0\]\.mask"),
        (('method = "spectral"\niterations = 15', 'method = "target"'), "asks for no velocities"),
    ],
)
def test_bad_input_is_one_line(change, words):
    with pytest.raises(KeyfluidError, match=words) as error:
        problem_of(SCENE.replace(*change))
    assert "\n" not in str(error.value).strip()
