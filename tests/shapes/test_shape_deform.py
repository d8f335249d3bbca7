"""Smoke that is moved, twisted and bent: where it ends up, worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest

from keyfluid.shapes.deform import deformed


def bar(shape, *boxes):
    values = np.zeros(shape)
    for box, value in boxes:
        values[box] = value
    return values


def test_moved_by_whole_cells_it_is_the_same():
    values = np.random.default_rng(3).random((6, 5))
    moved = deformed(values, 0.5, 1, [1.0, -0.5], 0.0, 0.0)
    np.testing.assert_allclose(moved[2:, :4], values[:4, 1:])
    assert not moved[:2].any()
    assert not moved[:, 4].any()


def test_twisted_the_upper_end_is_turned_and_the_lower_is_not():
    """An upright blade along x: at the top, turned by 90 degrees, it lies along z."""
    values = bar((21, 11, 21), (np.s_[4:17, :, 10], 1.0))
    twisted = deformed(values, 1.0, 1, None, 90.0, 0.0)
    np.testing.assert_allclose(twisted[:, 0], values[:, 0])
    np.testing.assert_allclose(twisted[10, 10, 4:17], 1.0, atol=1e-9)
    assert twisted[4:9, 10].sum() < 1e-6
    middle = np.argwhere(twisted[:, 5] > 0.5) - 10
    assert np.all(np.abs(np.abs(middle[:, 0]) - np.abs(middle[:, 1])) <= 1), "45 degrees half way up"
    corner = bar((21, 11, 21), (np.s_[10:17, :, 10], 1.0), (np.s_[4:10, :, 10], 0.5))
    asymmetric = deformed(corner, 1.0, 1, None, 90.0, 0.0)[:, 10]
    full = np.argwhere(asymmetric > 0.75)[:, 1].mean()
    assert full < 9 or full > 11
    assert np.sign(full - 10) == -1, "positive angles turn x towards -z: counter-clockwise seen from above"


@pytest.mark.parametrize("angle", [60.0, -60.0, 170.0])
def test_bent_it_leans_and_keeps_its_length(angle):
    values = bar((61, 61), (np.s_[29:32, 5:36], 1.0))
    bent = deformed(values, 1.0, 1, None, 0.0, angle)
    np.testing.assert_allclose(bent[:, 5], values[:, 5])
    assert bent.sum() == pytest.approx(values.sum(), rel=0.03)
    radius, turn = 30 / np.radians(angle), np.radians(angle)
    end = 30 + radius * (1 - np.cos(turn)), 5 + radius * np.sin(turn)
    near = bent[round(end[0]) - 2 : round(end[0]) + 3, round(end[1]) - 2 : round(end[1]) + 3]
    assert near.max() > 0.6


def test_nothing_stays_nothing():
    assert not deformed(np.zeros((4, 4)), 1.0, 1, [1.0, 0.0], 0.0, 30.0).any()
