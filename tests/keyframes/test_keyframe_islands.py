"""Stages where smoke is not there yet: sources that have yet to give, and parts of a target that no smoke is near."""

from __future__ import annotations

import numpy as np
import pytest
from keyframe_scenes import problem_of

from keyfluid.controllers.islands import meets, smoke_for, tunnels, way_to_far_islands
from keyfluid.controllers.optimised.position import restored_from
from keyfluid.controllers.optimised.settings import SearchNumbers
from keyfluid.controllers.optimised.stages import plan_stages
from keyfluid.controllers.shell import Checkpoint
from keyfluid.errors import KeyfluidError
from keyfluid.grid import Grid

DISK = 'initial = {{ shape = "disk", center = [{}, {}], radius = 0.15 }}'

SCENE = """
[domain]
resolution = 32
[time]
frames = 12
[smoke]
{start}
{source}
[[keyframe]]
frame = 12
text = "{text}"
fit = 0.6
center = [0.5, {height}]
mass = "keep"
[control]
method = "{method}"
"""

VENT = """
[[source]]
shape = "disk"
center = [0.5, 0.1]
radius = 0.08
rate = 20.0
stop = 8
"""


def blurs(start="", source="", text="I", height=0.6, method="spectral"):
    problem = problem_of(SCENE.format(start=start, source=source, text=text, height=height, method=method))
    return [stage.blur for stage in plan_stages(problem, SearchNumbers.of(problem)) if not stage.paths]


@pytest.mark.parametrize("method", ["spectral", "adjoint"])
def test_what_a_source_will_have_given_counts(method):
    assert blurs(source=VENT, method=method) == pytest.approx([0.25, 0.125, 0.0625, 0.0], rel=0.01)


def test_a_source_inside_the_target_is_no_reason_to_blur():
    assert blurs(source=VENT.replace("[0.5, 0.1]", "[0.5, 0.6]").replace("0.08", "0.25")) == [0.0]


def test_a_far_line_behind_one_that_smoke_meets():
    """The centres of mass are 0.11 m apart, and the shapes meet; the upper line is 0.33 m away."""
    near, far = blurs(DISK.format(0.5, 0.35), text="I", height=0.4), blurs(DISK.format(0.5, 0.2), text="--\\n\\n--")
    assert near == [0.0]
    assert far[0] > 0.2


def test_letters_beside_the_smoke_are_near():
    assert blurs(DISK.format(0.5, 0.5), text="HIH", height=0.5) == [0.0]


def test_islands_by_hand():
    grid = Grid((16, 16))
    smoke, target = np.zeros((16, 16)), np.zeros((16, 16))
    smoke[6:10, 1:4] = target[6:10, 1:4] = target[6:10, 12:15] = 1.0
    assert way_to_far_islands(grid, smoke, target, 1.0) == pytest.approx(11 / 16)
    speck = np.where(np.arange(16)[None, :] > 10, 0.0, target)
    speck[8, 14] = 0.1
    assert way_to_far_islands(grid, smoke, speck, 1.0) == 0.0
    assert way_to_far_islands(grid, target, target, 1.0) == 0.0
    touching = target.copy()
    touching[8, 4:12] = 1.0
    assert way_to_far_islands(grid, smoke, touching, 1.0) == 0.0
    assert meets(0.5 * target, target, 1.0)
    assert not meets(9.0 * smoke * (np.arange(16) < 2), target, 1.0)


def test_sources_give_only_between_two_frames():
    problem = problem_of(SCENE.format(start="", source=VENT, text="I", height=0.6, method="spectral"))
    none = np.zeros(problem.grid.cells)
    whole, half = smoke_for(problem, "density", none, 0, 12), smoke_for(problem, "density", none, 4, 12)
    assert whole.sum() * problem.grid.cell_volume == pytest.approx(20.0 * np.pi * 0.08**2 * 8 / problem.fps, rel=1e-3)
    np.testing.assert_allclose(half, 0.5 * whole)
    assert smoke_for(problem, "density", none, 8, 12) is none


def test_a_checkpoint_of_other_unknowns_is_refused():
    problem = problem_of(SCENE.format(start=DISK.format(0.5, 0.5), source="", text="I", height=0.5, method="adjoint"))
    settings = SearchNumbers.of(problem)
    meta = {"window": 0, "stage": 0, "lowest": 0, "trail": {"0": 1.0}, "best": 1.0, "evaluations": 1,
            "decrease": None, "stalled": "", "error": None, "kept": []}  # fmt: skip
    short = {"0-0-0/x": np.zeros(8, np.float32), "0-0-0/g": np.zeros(8, np.float32)}
    with pytest.raises(KeyfluidError, match="does not fit the scene"):
        restored_from(Checkpoint(short, meta), [plan_stages(problem, settings)], settings)


def _radius(*middle: float) -> np.ndarray:
    """Cells to a point, on a grid of 24^3."""
    return np.sqrt(sum((line - m) ** 2 for line, m in zip(np.ogrid[:24, :24, :24], middle, strict=True)))


def test_tunnels_of_shapes_whose_number_is_known() -> None:
    ball = _radius(12, 12, 12) < 8
    hollow = ball & (_radius(12, 12, 12) > 4)
    bored = ball & (np.hypot(*np.ogrid[-12:12, -12:12])[:, :, None] > 2)
    cross = bored & (np.hypot(*np.ogrid[-12:12, -12:12])[None] > 2)
    apart = (_radius(6, 6, 6) < 4) | (_radius(18, 18, 18) < 4)
    shapes = {"ball": ball, "hollow": hollow, "bored": bored, "bored twice": cross, "two balls": apart}
    assert {name: tunnels(shape.astype(np.float32)) for name, shape in shapes.items()} == {
        "ball": 0, "hollow": 0, "bored": 1, "bored twice": 3, "two balls": 0,
    }  # fmt: skip
    assert tunnels(bored[:, :, 12].astype(np.float32)) == 1, "in 2D a hole"


RING = """
[domain]
size = [1.0, 1.0, 1.0]
resolution = 16
[time]
frames = 6
[smoke]
initial = {{ shape = "sphere", center = [0.5, 0.5, 0.5], radius = 0.25 }}
[[keyframe]]
frame = 6
center = [0.5, 0.5, 0.5]
{shape}
[control]
method = "spectral"
paths = 2
"""


@pytest.mark.parametrize(
    ("shape", "widest"),
    [
        pytest.param('shape = "torus"\nradius = 0.25\nthickness = 0.2', 0.12, id="a tunnel opens"),
        pytest.param('shape = "box"\nsize = [0.4, 0.4, 0.4]', 0.06, id="none does"),
    ],
)
def test_the_first_blur_along_paths_is_wide_where_tunnels_open(shape: str, widest: float) -> None:
    problem = problem_of(RING.format(shape=shape))
    stages = plan_stages(problem, SearchNumbers.of(problem))
    assert max(stage.blur for stage in stages if stage.paths) == pytest.approx(widest)
