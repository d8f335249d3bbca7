"""Warnings before the wait: each where it belongs, with what to do, and none where nothing is wrong."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image

from keyfluid.errors import KeyfluidError
from keyfluid.scenes import load_scene
from keyfluid.scenes.build.problem import build

SCENE = """
[domain]
size = {size}
resolution = {resolution}
[time]
frames = 20
[{fluid}]
initial = {{ shape = "disk", radius = 0.2 }}
{more}
"""


def warnings(more="", size="[1.0, 1.0]", resolution=32, fluid="smoke"):
    scene = load_scene(SCENE.format(more=more, size=size, resolution=resolution, fluid=fluid))
    return build(scene).warnings


def key(frame, rest):
    return f"[[keyframe]]\nframe = {frame}\n{rest}\n"


STEERED = '[control]\nmethod = "target"\n'


def test_a_plain_scene_has_none():
    assert warnings(key(20, 'shape = "disk"\ncenter = [0.6, 0.5]') + STEERED) == []


def test_keyframes_that_nothing_steers_to():
    (line,) = warnings(key(20, 'shape = "disk"\ncenter = [0.6, 0.5]'))
    assert line.startswith('keyframe: method "none" steers nothing')
    assert 'control.method = "spectral"' in line
    (line,) = warnings(key(20, 'shape = "disk"\ncenter = [0.6, 0.5]'), fluid="liquid")
    assert 'control.method = "adjoint"' in line


def test_the_bound_is_that_of_a_rearrangement():
    line = warnings(key(20, 'shape = "disk"\nradius = 0.1\nmass = "keep"') + STEERED)[0]
    assert "a rearrangement of the smoke can't get its relative error below" in line
    assert "(blur, sources and partly filled cells can); mass = 'resize' helps" in line


def test_a_volume_that_changes_between_keys():
    small, large = (key(f, f'shape = "box"\nsize = {s}\nmass = "keep"') for f, s in ((10, 0.2), (20, 0.34)))
    found = [line for line in warnings(small + large + STEERED) if "volume changes" in line]
    assert len(found) == 1
    assert "by a factor of 2.9 between frames 10 and 20" in found[0]
    assert found[0].startswith("keyframe[0] and keyframe[1]: ")
    resized = warnings(small.replace("keep", "resize") + large.replace("keep", "resize") + STEERED)
    assert not any("volume changes" in line for line in resized)


def drawing(path, paper, ink, mode="L"):
    pixels = np.full((40, 40), paper, np.uint8)
    pixels[10:30, 15:25] = ink
    Image.fromarray(pixels).convert(mode).save(path)
    return key(20, f'image = "{path}"')


@pytest.mark.parametrize(("paper", "ink", "extra", "advice"), [
    (255, 0, "", "set invert = true, or give the picture an alpha channel"),
    (255, 0, "invert = true", None),
    (0, 255, "", None),
    (0, 255, "invert = true", "remove invert, or"),
])  # fmt: skip
def test_paper_is_not_smoke(tmp_path, paper, ink, extra, advice):
    found = [
        line for line in warnings(drawing(tmp_path / "a.png", paper, ink) + extra + "\n" + STEERED) if "border" in line
    ]
    assert len(found) == (advice is not None)
    if advice is not None:
        assert found[0].startswith("keyframe[0].image: its border is bright")
        assert advice in found[0]


@pytest.mark.parametrize(("resolution", "need"), [(24, 50), (48, 50), (64, None)])
def test_a_thin_obstacle(resolution, need):
    box = '[[obstacle]]\nshape = "box"\ncenter = [0.5, 0.9, 0.5]\nsize = [0.16, 0.06, 0.16]\n'
    found = [line for line in warnings(box, "[1.0, 1.0, 1.0]", resolution) if "thick" in line]
    assert len(found) == (need is not None)
    if need is not None:
        assert found[0].startswith("obstacle[0]: is ")
        assert f"set domain.resolution = {need}, or make it thicker" in found[0]
        assert not [w for w in warnings(box, "[1.0, 1.0, 1.0]", need) if "thick" in w]


def test_a_thin_body_and_a_thin_ring():
    for body in ('shape = "box"\nsize = [0.4, 0.03]', 'shape = "ring"\nradius = 0.2\nthickness = 0.03'):
        found = [w for w in warnings(f"[[source]]\n{body}\n") if "thick" in w]
        assert found == ["source[0]: is 0.96 cells thick, less than 2, and will hardly keep its shape; "
                         "set domain.resolution = 67, or make it thicker"] or "ring" in body  # fmt: skip
        assert len(found) == 1


def test_a_source_inside_an_obstacle_gives_what_lies_outside():
    wall = '[[obstacle]]\nshape = "box"\ncenter = [0.5, 0.1]\nsize = [1.0, 0.2]\n'
    vent = '[[source]]\nshape = "box"\ncenter = [0.5, 0.2]\nsize = [0.3, 0.2]\nrate = 1.0\n'
    problem = build(load_scene(SCENE.format(more=wall + vent, size="[1.0, 1.0]", resolution=40, fluid="smoke")))
    assert "source[0]: 50 % of it lies inside an obstacle and emits nothing" in problem.warnings
    emission = problem.sources[0]
    assert emission.emitted(12, 24.0, problem.grid.spacing) == pytest.approx(0.5 * 0.3 * 0.1, rel=1e-6)
    with pytest.raises(KeyfluidError, match=r"source\[0\].shape: lies inside an obstacle"):
        warnings(wall + vent.replace("0.2]\nsize", "0.08]\nsize").replace("0.3, 0.2", "0.3, 0.1"))


def test_no_advice_that_is_not_allowed():
    """`mass = 'match'` is for keyframes of smoke only."""
    big = 'initial = { shape = "disk", radius = 0.2, %s = 0.95 }'
    text = SCENE.format(more="", size="[1.0, 1.0]", resolution=32, fluid="smoke")
    for fluid, name in (("smoke", "mass"), ("liquid", "volume")):
        with pytest.raises(
            KeyfluidError, match=rf"{fluid}.initial.{name}: .*use less {fluid} or another center"
        ) as told:
            build(
                load_scene(
                    text.replace("[smoke]", f"[{fluid}]").replace(
                        'initial = { shape = "disk", radius = 0.2 }', big % name
                    )
                )
            )
        assert "match" not in str(told.value)
    corner = key(20, 'shape = "disk"\ncenter = [0.1, 0.1]') + STEERED
    with pytest.raises(KeyfluidError, match="or mass = 'match'"):
        warnings(corner)
    with pytest.raises(KeyfluidError, match=r"use less liquid or another center$"):
        warnings(corner, fluid="liquid")
