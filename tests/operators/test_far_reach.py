"""The long-range metric: exact for waves, positive, blind to mass where no flow could change it, drawn from afar."""

from __future__ import annotations

import math

import numpy as np
import pytest

from keyfluid.boundary import Boundary
from keyfluid.controllers.optimised.settings import SearchNumbers
from keyfluid.errors import KeyfluidError, SceneError
from keyfluid.fields import density
from keyfluid.grid import Grid
from keyfluid.objectives import DensityKey, DensityMatch
from keyfluid.operators.blur import gaussian_blur
from keyfluid.operators.far_reach import FarReach
from keyfluid.scenes import load_scene
from keyfluid.scenes.build.problem import build

BETA = 40.0


def metric_of(cells, sides, values, near=None):
    grid = Grid(cells, 0.5, sides)
    error = density(grid, values, np.float64)
    return FarReach(grid, BETA, near).forward(error)[0].array


@pytest.mark.parametrize(("side", "cycles"), [("walls", 1.5), ("periodic", 3.0)])
def test_a_wave_is_scaled_as_its_length_says(side, cycles):
    """-laplacian of a cosine of k cycles is (2 pi k / L)^2 times it, and on a grid the same of second differences."""
    n = 48
    wave = np.cos(2 * math.pi * cycles * (np.arange(n) + 0.5) / n)[:, None] * np.ones(20)
    factor = 1 + BETA / (2 * n * math.sin(math.pi * cycles / n)) ** 2
    np.testing.assert_allclose(metric_of((n, 20), side, wave), factor * wave, atol=1e-12)
    assert factor == pytest.approx(1 + BETA / (2 * math.pi * cycles) ** 2, rel=0.02)


def test_open_sides_have_nothing_beyond():
    """There the constant counts: with both sides open it is a parabola's second difference."""
    n = 30
    line = np.arange(n) + 1.0
    parabola = line * (n + 1 - line) / 2
    found = metric_of((n, n), ["open", "periodic"], np.ones((n, n)))
    np.testing.assert_allclose(found, (1 + BETA / n**2 * parabola)[:, None] * np.ones(n), rtol=1e-12)


def test_without_open_sides_a_constant_counts_once():
    np.testing.assert_allclose(metric_of((12, 9, 7), "walls", np.full((12, 9, 7), 0.7)), 0.7, rtol=1e-13)


def test_dense_symmetric_and_never_below_the_near_part():
    grid = Grid((5, 4), 0.1, (Boundary.WALLS, Boundary.PERIODIC))
    blur = gaussian_blur(grid, 0.12)
    rows = [density(grid, row.reshape(grid.cells), np.float64) for row in np.eye(grid.count)]
    far = np.array([FarReach(grid, BETA, blur).apply(row)[0].data for row in rows])
    near = np.array([blur.apply(row)[0].data for row in rows])
    np.testing.assert_allclose(far, far.T, atol=1e-14)
    assert np.linalg.eigvalsh(far - near).min() > -1e-12
    assert np.count_nonzero(np.linalg.eigvalsh(far - near) < 1e-12) == 1, "only the constant is not seen"


def test_smoke_feels_a_target_that_it_does_not_touch():
    """The derivative by density is lower, the nearer smoke is to where some is missing; without the term it is flat."""
    grid = Grid((64, 16))
    smoke, target = np.zeros(grid.cells), np.zeros(grid.cells)
    smoke[8:12, 6:10], target[50:54, 6:10] = 1.0, 1.0
    key = DensityKey(1, "density", density(grid, target, np.float64))
    state = {"density": density(grid, smoke, np.float64)}
    flat = DensityMatch([key]).term(1, state)[1]["density"].array[14:48, 8]
    slope = DensityMatch([key], FarReach(grid, BETA)).term(1, state)[1]["density"].array[14:48, 8]
    assert not flat.any()
    assert (np.diff(slope) < 0).all()


def test_what_can_not_be():
    with pytest.raises(KeyfluidError, match="must be zero or positive"):
        FarReach(Grid((4, 4)), -1.0)
    liquid = """
[domain]
resolution = 16
[time]
frames = 2
[liquid]
initial = { shape = "disk", center = [0.5, 0.5], radius = 0.2 }
[[keyframe]]
frame = 2
shape = "disk"
center = [0.5, 0.6]
radius = 0.2
[control]
method = "adjoint"
far = 30.0
"""
    with pytest.raises(SceneError, match=r"^control.far: only smoke has"):
        SearchNumbers.of(build(load_scene(liquid)))
