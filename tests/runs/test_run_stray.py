"""Stray smoke: exact cases, regions, several fields, and what old results and liquids say."""

from __future__ import annotations

import json

import numpy as np
import pytest
from run_scenes import STILL
from scipy.ndimage import distance_transform_edt

import keyfluid
from keyfluid.boundary import Boundary
from keyfluid.cli.summary import summary
from keyfluid.controllers.stray import away_from, fading_away_from, grown, stray_share
from keyfluid.grid import Grid
from keyfluid.runs.metrics import stray
from keyfluid.runs.run import open_run
from keyfluid.scenes import load_scene
from keyfluid.scenes.build.problem import build

WALLS, PERIODIC = Boundary.WALLS, Boundary.PERIODIC
TWO_FIELDS = """
[domain]
resolution = 32
[time]
frames = 2
[smoke]
initial = [
  {{ shape = "disk", field = "near", center = [0.3, 0.5], radius = 0.1 }},
  {{ shape = "disk", field = "far", center = [0.7, 0.5], radius = 0.1 }},
]
[[smoke.field]]
name = "near"
[[smoke.field]]
name = "far"
[[keyframe]]
frame = 2
field = "near"
shape = "disk"
center = [0.3, 0.5]
radius = 0.1
[[keyframe]]
frame = 2
field = "far"
shape = "disk"
center = [0.25, 0.5]
radius = 0.1
{more}
[control]
method = "none"
[output]
vdb = false
video = false
"""


def box(cells, sides=None):
    return Grid(cells, 1 / cells[0], sides or (WALLS,) * len(cells))


def cell(grid, *place):
    values = np.zeros(grid.cells, np.float32)
    values[place] = 1.0
    return values


def test_four_cells_are_near_and_a_little_more_is_away():
    grid = box((16, 16))
    away = away_from(grid, cell(grid, 8, 8))
    near = [(8, 8), (12, 8), (4, 8), (8, 12), (10, 11), (6, 5)]
    far = [(13, 8), (3, 8), (12, 9), (11, 11), (8, 3), (0, 0)]
    assert not any(away[place] for place in near)
    assert all(away[place] for place in far)
    fading = fading_away_from(grid, cell(grid, 8, 8))
    assert [fading[8, place] for place in range(8, 16)] == [0, 0, 0.25, 0.5, 0.75, 1, 1, 1]
    np.testing.assert_array_equal(fading == 1, away)


@pytest.mark.parametrize(
    ("cells", "sides"),
    [((21, 18), (WALLS, WALLS)), ((19, 24), (PERIODIC, WALLS)), ((13, 12, 17), (WALLS, PERIODIC, WALLS)),
     ((6, 30), (PERIODIC, PERIODIC))],
)  # fmt: skip
def test_balls_are_the_exact_distance(cells, sides):
    grid = box(cells, sides)
    inside = np.random.default_rng(3).random(cells) < 3 / np.prod(cells)
    inside[(2,) * len(cells)] = True
    turns = [3 if grid.is_periodic(axis) else 1 for axis in range(grid.dim)]
    middle = tuple(slice(n, 2 * n) if turn == 3 else slice(None) for n, turn in zip(cells, turns))
    distance = distance_transform_edt(~np.tile(inside, turns))[middle]
    np.testing.assert_array_equal(grown(grid, inside, 4), distance <= 4)


def test_a_ball_beside_its_target_is_stray_and_one_within_four_cells_is_not():
    grid = box((24, 24, 24))
    target = np.zeros(grid.cells, np.float32)
    target[4:8, 8:16, 8:16] = 2.0
    smoke = np.zeros_like(target)
    smoke[7:12, 9:12, 9:12] = 0.3
    away = away_from(grid, target)
    assert stray_share(smoke, away) == 0.0
    assert stray_share(np.roll(smoke, 5, 0), away) == 1.0
    assert stray_share(np.roll(smoke, 2, 0), away) == pytest.approx(2 / 5)
    assert stray_share(0 * smoke, away) == 0.0


def test_faint_parts_of_a_target_are_no_support_and_an_empty_one_has_none():
    grid = box((32, 8))
    target = cell(grid, 4, 4) + 0.009 * cell(grid, 24, 4)
    assert away_from(grid, target)[24, 4]
    assert not away_from(grid, target + 0.002 * cell(grid, 24, 4))[24, 4]
    assert away_from(grid, 0 * target).all()


def test_each_field_and_only_the_region_counts():
    plain = keyfluid.run(TWO_FIELDS.format(more=""))
    shares = {key["field"]: key["stray"] for key in plain.metrics["keyframes"]}
    assert shares == {"near": 0.0, "far": 1.0}
    assert any("100 % of the smoke of far lies away from the target at frame 2" in w for w in plain.metrics["words"])
    assert any(line.endswith("stray 100.0%") for line in summary(plain.metrics))
    apart = TWO_FIELDS.format(more='mask = { shape = "box", center = [0.2, 0.5], size = [0.2, 1.0] }')
    assert {key["field"]: key["stray"] for key in keyfluid.run(apart).metrics["keyframes"]}["far"] == 0.0


def test_liquids_have_none():
    scene = load_scene(STILL.replace("[smoke]", "[liquid]"), ["domain.resolution=16"])
    problem = build(scene)
    key = problem.keyframes[0]
    assert stray(problem, key.target, key) is None


def test_results_from_before_there_was_the_number_still_open(tmp_path):
    result = keyfluid.run(STILL, tmp_path / "run")
    path = result.folder / "result.json"
    content = json.loads(path.read_text())
    before = summary(content)
    for key in content["keyframes"]:
        assert 0 <= key.pop("stray") < 1
    path.write_text(json.dumps(content))
    old = open_run(result.folder).metrics
    assert "stray" not in old["keyframes"][0]
    assert any("stray" in line for line in before)
    assert not any("stray" in line for line in summary(old))
