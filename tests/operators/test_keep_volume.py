"""Volume in violent steps: one Newton step is not enough there, and its derivative stays right."""

from __future__ import annotations

import numpy as np

from keyfluid.fields import density
from keyfluid.grid import Grid
from keyfluid.operators.keep_volume import KeepVolume, Smoothed


def disk(grid, radius):
    x, y = grid.coordinates((False, False))
    return density(grid, np.hypot(x - 0.5, y - 0.45) - radius, np.float64)


def volume(surface):
    return Smoothed.of(surface, None).volume


def test_a_step_that_loses_half_of_it_gets_it_back():
    grid = Grid((32, 32), 1 / 32)
    keep, before, after = KeepVolume(grid), disk(grid, 0.2), disk(grid, 0.14)
    (found,) = keep.forward(after, before)
    assert abs(volume(found) / volume(before) - 1) < 1e-10
    lost = volume(after) / volume(before) - 1
    now = Smoothed.of(after, None)
    shift = (now.volume - volume(before)) / now.area
    once = volume(after.like(after.data + shift)) / volume(before) - 1
    assert lost < -0.45
    assert abs(once) > 0.02  # what one Newton step alone would leave


def test_the_derivative_where_newton_goes_on():
    grid, random = Grid((16, 16), 1 / 16), np.random.default_rng(3)
    keep, inputs = KeepVolume(grid), (disk(Grid((16, 16), 1 / 16), 0.2), disk(Grid((16, 16), 1 / 16), 0.3))
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
    """Bit-identical to what it was: phi + (V(phi) - V(before)) / A(phi)."""
    grid = Grid((32, 32), 1 / 32)
    keep, before, after = KeepVolume(grid), disk(grid, 0.2), disk(grid, 0.1999)
    now = Smoothed.of(after, None)
    shift = (now.volume - volume(before)) / now.area
    np.testing.assert_array_equal(keep.forward(after, before)[0].data, after.data + shift)
