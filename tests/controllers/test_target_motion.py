"""Targets that move: their own velocity, which damping leaves alone; and settings of one kind of smoke."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import keyfluid
from keyfluid.controllers.target.goals import Goals
from keyfluid.controllers.target.settings import TargetNumbers
from keyfluid.errors import SceneError
from keyfluid.operators.project import relative_divergence
from keyfluid.scenes import load_scene
from keyfluid.scenes.build.problem import build

SHIP = Path(keyfluid.__file__).parent / "gallery" / "target_ship.glb"
SCENE = f"""
[domain]
size = [1.5, 0.75, 0.75]
resolution = 32
[time]
frames = 22
[smoke]
initial = {{{{ shape = "sphere", center = [0.3, 0.37, 0.375], mass = "first-key" }}}}
[[keyframe]]
frame = 12
until = 22
mesh = "{SHIP}"
animated = true
center = [0.75, 0.37, 0.375]
[control]
method = "target"
{{more}}
"""
TWO = """
[domain]
resolution = 32
[time]
frames = 8
[[smoke.field]]
name = "a"
[[smoke.field]]
name = "b"
[[smoke.initial]]
field = "a"
shape = "disk"
[[smoke.initial]]
field = "b"
shape = "disk"
[[keyframe]]
frame = 8
field = "a"
text = "A"
[[keyframe]]
frame = 8
field = "b"
text = "B"
[control]
method = "target"
smoothing = 0.1
reach = 0.0
"""


def sailing(more=""):
    return load_scene(SCENE.format(more=more))


def test_the_motion_is_that_of_the_ship_and_has_no_divergence():
    """As its centre of mass moves from one target to the next."""
    made = build(sailing())
    pull = Goals(made, TargetNumbers.of(made)).pulls(20)["density"]
    assert pull.motion is not None
    assert relative_divergence(pull.motion) < 1e-4
    along, _, across = pull.motion.components()
    inside = pull.goal.target.array > 0.5
    before, after = (centre_along(key.target, made.grid) for key in made.keyframes if key.frame in (19, 20))
    speed = (after - before) * made.fps
    assert speed > 0.2
    assert np.mean(0.5 * (along[1:] + along[:-1])[inside]) == pytest.approx(speed, rel=0.15)
    assert abs(np.mean(0.5 * (across[..., 1:] + across[..., :-1])[inside])) < 0.02 * speed


def centre_along(smoke, grid):
    """Of its mass, metres along x."""
    shares = smoke.sum(axis=(1, 2)) / smoke.sum()
    return float(shares @ (np.arange(grid.cells[0]) + 0.5)) * grid.spacing


def test_what_does_not_move_has_no_motion():
    for more, frame in (("", 6), ("follow = false", 20)):
        made = build(sailing(more))
        assert Goals(made, TargetNumbers.of(made)).pulls(frame)["density"].motion is None


def test_smoke_keeps_up_with_a_ship_only_if_damping_does():
    lags = []
    for more in ("", "follow = false"):
        result = keyfluid.run(sailing(more))
        grid, target = result.problem.grid, result.problem.keyframes[-1].target
        lags.append(centre_along(target, grid) - centre_along(result.frames[-1].densities["density"], grid))
    assert lags[1] > 0.02
    assert abs(lags[0]) < 0.3 * lags[1]


def test_a_kind_of_smoke_has_a_blur_of_its_own():
    made = build(load_scene(TWO + '[[control.field]]\nname = "b"\nsmoothing = 0.03\nstrength = 2.0\n'))
    pulls = Goals(made, TargetNumbers.of(made)).pulls(1)
    assert pulls["a"].width == pytest.approx(0.1)
    assert pulls["b"].width == pytest.approx(0.03)
    assert pulls["b"].coefficients.force == pytest.approx(2 * pulls["a"].coefficients.force)


def test_its_smoothing_wins_over_a_common_sigma():
    made = build(load_scene(TWO + 'sigma = 0.2\n[[control.field]]\nname = "b"\nsmoothing = 0.03\n'))
    pulls = Goals(made, TargetNumbers.of(made)).pulls(1)
    assert (pulls["a"].width, pulls["b"].width) == pytest.approx((0.2, 0.03))


@pytest.mark.parametrize("names", [["c"], ["a", "a"]])
def test_a_kind_that_is_none_or_there_twice_is_named(names):
    made = build(load_scene(TWO + "".join(f'[[control.field]]\nname = "{name}"\n' for name in names)))
    with pytest.raises(SceneError, match=rf"control\.field\[{len(names) - 1}\]\.name.*'{names[-1]}'"):
        TargetNumbers.of(made)
