"""The guide of a liquid: what it replaces, what it leaves alone, and where it moves a surface to."""

from __future__ import annotations

import numpy as np
import pytest

from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators.guide_liquid import GuideLiquid, KeepNear, SurfacePull
from keyfluid.operators.keep_volume import filled_smoothly
from keyfluid.operators.redistance import Redistance
from keyfluid.operators.wet import Wet

GRID = Grid((32, 24))
STILL = SurfacePull(dead=0.02, most=0.04, firm=0.0, soft=0.0)


def disk(centre=(0.5, 0.37), radius=0.25):
    shape = Field.from_function(GRID, Kind.CENTRES, lambda x, y: np.hypot(x - centre[0], y - centre[1]) - radius)
    return Redistance(GRID).forward(shape)[0]


def uniform(*speeds):
    field = Field.zeros(GRID, Kind.FACES, np.float64)
    for values, speed in zip(field.components(), speeds):
        values[...] = speed
    return field


def wet_faces(surface):
    return Wet.of(surface, None).faces


def wet_parts(surface):
    wet = Wet.of(surface, None)
    return wet.components(wet.faces)


def test_a_steady_wind_is_replaced_where_it_is_wet_whatever_lies_outside():
    surface = disk()
    wet = wet_faces(surface)
    before = uniform(0.3, -0.2)
    before.data[~wet] = 77.0
    (after,) = GuideLiquid(uniform(1.0, 0.5), surface, 0.05, STILL, 1.0).forward(before, surface)
    np.testing.assert_allclose(after.data[wet], uniform(1.0, 0.5).data[wet], atol=1e-12)
    assert np.array_equal(after.data[~wet], before.data[~wet])


def test_half_the_strength_goes_half_the_way():
    surface = disk()
    (after,) = GuideLiquid(uniform(1.0, 0.0), surface, 0.05, STILL, 0.5).forward(uniform(0.0, 0.0), surface)
    np.testing.assert_allclose(after.data, 0.5 * uniform(1.0, 0.0).data * wet_faces(surface), atol=1e-12)


def test_short_waves_are_the_liquids_own_and_long_ones_are_not():
    surface = disk(radius=0.34)
    x = GRID.coordinates((False, True))[0]
    kept = {}
    for waves in (1, 10):
        before = uniform(0.0, 0.0)
        before.component(1)[...] = np.sin(2 * np.pi * waves * x)
        width = 0.1874 / 4  # half of a wave of 1/4 m is replaced
        (after,) = GuideLiquid(uniform(0.0, 0.0), surface, width, STILL, 1.0).forward(before, surface)
        inside = (slice(12, 20), slice(9, 15))
        kept[waves] = np.linalg.norm(after.component(1)[inside]) / np.linalg.norm(before.component(1)[inside])
    assert kept[1] < 0.1
    assert kept[10] > 0.9


@pytest.mark.parametrize(("gap", "speed"), [(0.01, 0.001), (-0.01, -0.001), (0.05, 0.065), (-0.05, -0.065), (9, 0.08)])
def test_the_pull_beyond_the_dead_zone(gap, speed):
    pull = SurfacePull(dead=0.02, most=0.04, firm=2.0, soft=0.1)
    assert pull.speed(np.array([gap]))[0] == pytest.approx(speed)


def test_a_drop_is_pulled_back_as_a_whole():
    surface, followed = disk((0.75, 0.37), 0.1), disk((0.3, 0.37), 0.15)
    pull = SurfacePull(dead=0.01, most=0.04, firm=1.0, soft=0.0)
    (after,) = GuideLiquid(uniform(0, 0), followed, 0.05, pull, 1.0).forward(uniform(0.0, 0.0), surface)
    wet = wet_parts(surface)
    assert after.component(0)[wet[0]].mean() < -0.01
    assert abs(after.component(1)[wet[1]].mean()) < 0.1 * abs(after.component(0)[wet[0]].mean())


def test_the_surface_moves_outwards_where_it_lies_within():
    surface, followed = disk(radius=0.2), disk(radius=0.25)
    pull = SurfacePull(dead=0.01, most=0.08, firm=1.0, soft=0.0)
    (after,) = GuideLiquid(uniform(0, 0), followed, 0.05, pull, 1.0).forward(uniform(0.0, 0.0), surface)
    line = after.component(0)[:, 12]
    assert line[21] == pytest.approx(0.04, rel=0.1)  # x = 0.66, inside the right end of the disk
    assert line[11] == pytest.approx(-0.04, rel=0.1)


def test_spray_leaves_the_outermost_liquid_alone():
    surface = disk()
    pull = SurfacePull(dead=0.02, most=4 * GRID.spacing, firm=0.0, soft=0.0)
    (after,) = GuideLiquid(uniform(1.0, 0.0), surface, 0.05, pull, 1.0, 1.0).forward(uniform(0.0, 0.0), surface)
    line, wet = after.component(0)[:, 12], wet_parts(surface)[0][:, 12]
    assert line[16] == pytest.approx(1.0)
    ends = np.flatnonzero(wet)[[0, -1]]
    assert np.all(line[ends] < 0.2)


def test_a_strength_above_one_is_refused():
    with pytest.raises(KeyfluidError, match="between 0 and 1"):
        GuideLiquid(uniform(0, 0), disk(), 0.05, STILL, 1.1)


def test_a_surface_is_kept_near_another():
    surface, followed = disk((0.75, 0.37), 0.1), disk((0.3, 0.37), 0.15)
    (after,) = KeepNear(followed, 0.02).forward(surface, surface)
    assert np.all(after.data[followed.data > 0.02] > 0), "nothing is left far outside"
    assert np.all(after.data[followed.data < -0.02] < 0), "nothing is missing deep inside"
    near = disk((0.31, 0.37), 0.15)
    kept = KeepNear(followed, 0.02).forward(near, near)[0]
    np.testing.assert_array_equal(kept.data, near.data)
    with pytest.raises(KeyfluidError, match="kept within"):
        KeepNear(followed, 0.0)


def test_what_is_cut_off_is_given_to_the_rest_within_the_limit():
    followed, far = disk((0.4, 0.37), 0.2), disk((0.8, 0.37), 0.04)
    surface = far.like(np.minimum(disk((0.41, 0.37), 0.2).data, far.data))
    (after,) = KeepNear(followed, 0.05).forward(surface, surface)
    assert filled_smoothly(surface).sum() > 1.02 * filled_smoothly(followed).sum(), "there is something to cut off"
    assert filled_smoothly(after).sum() == pytest.approx(filled_smoothly(surface).sum(), rel=2e-6)
    assert np.all(after.data >= followed.data - 0.05 - 1e-6)
    assert np.all(after.data <= followed.data + 0.05 + 1e-6)


def test_a_volume_that_the_limits_do_not_allow_is_missed_by_as_little_as_possible():
    followed = disk((0.4, 0.37), 0.2)
    (after,) = KeepNear(followed, 0.02).forward(followed, disk((0.4, 0.37), 0.3))
    np.testing.assert_allclose(after.data, followed.data - 0.02, atol=1e-6)
