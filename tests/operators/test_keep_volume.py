"""Volume in violent steps, where one Newton step is not enough, and of bodies apart from each other."""

from __future__ import annotations

import numpy as np
import pytest

from keyfluid.boundary import Boundary
from keyfluid.fields import density
from keyfluid.grid import Grid
from keyfluid.operators.keep_volume import KeepVolume, LiquidBodies, Smoothed, filled_smoothly

GRID = Grid((32, 32), 1 / 32)


def disks(grid, *circles):
    """The union of disks (x, y, radius)."""
    x, y = grid.coordinates((False, False))
    return density(grid, np.minimum.reduce([np.hypot(x - a, y - b) - r for a, b, r in circles]), np.float64)


def disk(grid, radius):
    return disks(grid, (0.5, 0.45, radius))


def volume(surface, part=None):
    shares = filled_smoothly(surface).reshape(surface.grid.cells)
    return float(np.sum(shares if part is None else shares[part]))


def newton_step(after, before):
    now = Smoothed.of(after, LiquidBodies.around(after, before, None), None)
    return (now.volume[1] - volume(before)) / now.area[1]


def test_a_step_that_loses_half_of_it_gets_it_back():
    before, after = disk(GRID, 0.2), disk(GRID, 0.14)
    (found,) = KeepVolume(GRID).forward(after, before)
    assert abs(volume(found) / volume(before) - 1) < 1e-10
    lost = volume(after) / volume(before) - 1
    once = volume(after.like(after.data + newton_step(after, before))) / volume(before) - 1
    assert lost < -0.45
    assert abs(once) > 0.02  # what one Newton step alone would leave


CASES = {
    "one body": (((0.5, 0.45, 0.2),), ((0.5, 0.45, 0.3),)),
    "two, one of them violent": (((0.25, 0.5, 0.1), (0.75, 0.5, 0.14)), ((0.25, 0.5, 0.14), (0.75, 0.51, 0.1401))),
}


@pytest.mark.parametrize("case", CASES)
def test_the_derivative_where_newton_goes_on(case):
    random = np.random.default_rng(3)
    keep, inputs = KeepVolume(GRID), tuple(disks(GRID, *circles) for circles in CASES[case])
    moved = tuple(field.like(0.01 * random.standard_normal(field.data.size)) for field in inputs)
    (slope,) = keep.tangent(inputs, moved)
    h = 1e-5
    (ahead,), (behind,) = (
        keep.forward(*(f.like(f.data + s * h * d.data) for f, d in zip(inputs, moved))) for s in (1, -1)
    )
    np.testing.assert_allclose((ahead.data - behind.data) / (2 * h), slope.data, atol=1e-7)
    bar = inputs[0].like(random.standard_normal(slope.data.size))
    back = keep.adjoint(inputs, (bar,))
    assert np.isclose(bar.dot(slope), sum(b.dot(d) for b, d in zip(back, moved)), rtol=1e-12)


def test_a_calm_step_is_one_newton_step():
    """phi + (V(phi) - V(before)) / A(phi), bit-identical."""
    before, after = disk(GRID, 0.2), disk(GRID, 0.1999)
    (found,) = KeepVolume(GRID).forward(after, before)
    np.testing.assert_array_equal(found.data, after.data + newton_step(after, before))


def test_a_drop_does_not_grow_by_what_the_pool_loses():
    before, after = disks(GRID, (0.3, 0.3, 0.2), (0.8, 0.8, 0.1)), disks(GRID, (0.3, 0.3, 0.19), (0.8, 0.81, 0.1))
    (found,) = KeepVolume(GRID).forward(after, before)
    for part in (np.s_[:18, :18], np.s_[18:, 18:]):
        assert abs(volume(found, part) / volume(before, part) - 1) < 2e-5
    assert volume(after, np.s_[:18, :18]) / volume(before, np.s_[:18, :18]) < 0.95


def test_drops_that_part_and_meet_are_one_body_in_that_step():
    apart, one = disks(GRID, (0.3, 0.5, 0.12), (0.7, 0.5, 0.12)), disks(GRID, (0.43, 0.5, 0.12), (0.57, 0.5, 0.12))
    for after, before in ((apart, one), (one, apart)):
        assert LiquidBodies.around(after, before, None).count == 2
        (found,) = KeepVolume(GRID).forward(after, before)
        assert abs(volume(found) / volume(before) - 1) < 2e-5


def test_what_dissolves_comes_back_in_the_largest_body():
    before, after = disks(GRID, (0.3, 0.3, 0.2), (0.8, 0.8, 0.03)), disks(GRID, (0.3, 0.3, 0.2))
    (found,) = KeepVolume(GRID).forward(after, before)
    assert abs(volume(found) / volume(before) - 1) < 2e-5


def test_a_body_across_a_periodic_side_is_one():
    grid = Grid((32, 32), 1 / 32, (Boundary.PERIODIC, Boundary.WALLS))
    split = disks(grid, (0.0, 0.5, 0.15), (1.0, 0.5, 0.15), (0.5, 0.5, 0.12))
    assert LiquidBodies.around(split, split, None).count == 3
    walls = disks(GRID, (0.0, 0.5, 0.15), (1.0, 0.5, 0.15), (0.5, 0.5, 0.12))
    assert LiquidBodies.around(walls, walls, None).count == 4
