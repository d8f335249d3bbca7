"""Target particles: exactly N, inside, and moving with the mesh."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from keyfluid.controllers.particles.targets import TargetShape, follow
from keyfluid.errors import SceneError
from keyfluid.grid import Grid
from keyfluid.scenes.build.sources import distance_from_share

GRID = Grid((24, 24, 24))


class Ball:
    """A ball of radius 0.3 whose vertices an affine map A(t) x + b(t) moves."""

    def __init__(self, moves=True, radius=0.3):
        self.moves, self.radius = moves, radius
        rng = np.random.default_rng(3)
        around = rng.normal(size=(200, 3))
        self.vertices = 0.5 + (radius + 0.03) * around / np.linalg.norm(around, axis=1)[:, None]
        self.faces = np.arange(198).reshape(-1, 3)

    def map(self, time):
        matrix = np.eye(3) + time * np.array([[0.1, 0.2, -0.1], [0.0, -0.2, 0.15], [0.05, 0.1, 0.1]])
        return matrix, time * np.array([0.02, -0.01, 0.03])

    def signed_distance(self, cells, spacing, time):
        axes = np.meshgrid(*[(np.arange(n) + 0.5) * spacing - 0.5 for n in cells], indexing="ij")
        return np.sqrt(sum(axis**2 for axis in axes)) - self.radius

    def surface(self, grid, time):
        matrix, shift = self.map(time)
        return (self.vertices @ matrix.T + shift, self.faces) if self.moves else None


@pytest.mark.parametrize("count", [1, 137, 1000])
def test_exactly_n_inside(count):
    found = TargetShape(Ball(False), GRID, "keyframe[0]").sample(count, 0, 0)
    assert found.shape == (3, count)
    assert np.linalg.norm(found - 0.5, axis=0).max() < 0.3
    assert len(np.unique(found, axis=1).T) == count


def test_strata_are_more_even_than_chance():
    found = TargetShape(Ball(False), GRID, "keyframe[0]").sample(2000, 0, 0)
    counts, _ = np.histogramdd((found.T - 0.35) / 0.3, bins=4, range=[(0, 1)] * 3)
    assert counts.var() < 0.6 * counts.mean()


def test_affine_motion_is_followed_to_rounding():
    body = Ball()
    shape = TargetShape(body, GRID, "keyframe[0]")
    rest = shape.sample(400, 0, 0)
    for time in (0.0, 0.7, 2.0):
        matrix, shift = body.map(time)
        assert np.abs(shape.fixed(rest).at(time) - (matrix @ rest + shift[:, None])).max() < 1e-13


def test_the_affine_test_can_fail():
    """Coordinates that do not sum to 1 lose the translation."""
    body = Ball()
    shape = TargetShape(body, GRID, "keyframe[0]")
    rest = shape.sample(50, 0, 0)
    corners, weights = shape.fixed(rest)._ties
    matrix, shift = body.map(1.0)
    moved = follow(body.surface(GRID, 1.0)[0], corners, weights * 1.001)
    assert np.abs(moved - (matrix @ rest + shift[:, None])).max() > 1e-4


def test_more_are_added_and_the_first_stay():
    shape = TargetShape(Ball(False), GRID, "keyframe[0]")
    few = shape.sample(100, 0, 0)
    more = shape.extend(few, 130, 0, 0)
    assert more.shape == (3, 130)
    assert np.array_equal(more[:, :100], few)
    assert np.linalg.norm(more - 0.5, axis=0).max() < 0.3


def test_faults():
    shape = TargetShape(Ball(False, 0.08), GRID, "keyframe[0]")
    with pytest.raises(SceneError, match=r"control_particles.*don't fit into keyframe"):
        shape.sample(5000, 0, 0)
    with pytest.raises(SceneError, match="no inside"):
        TargetShape(SimpleNamespace(
            signed_distance=lambda cells, spacing, time: np.ones(cells), surface=lambda grid, time: None
        ), GRID, "keyframe[0]")  # fmt: skip
    body = Ball()
    moving = TargetShape(body, GRID, "keyframe[1]")
    moving.check_motion(0, 3, 30.0)
    body.faces = body.faces[:-1]
    with pytest.raises(SceneError, match=r"keyframe\[1\].mesh: .*topology"):
        moving.check_motion(0, 3, 30.0)


def test_distance_of_a_drawing():
    """A half-plane at 3.25 cells: exact beside its edge, half a cell off nowhere."""
    share = np.tile(np.clip(3.25 - np.arange(8), 0, 1)[:, None], (1, 5))
    found = distance_from_share(share, 0.1)[:, 2]
    assert np.allclose(found[:5], (np.arange(5) + 0.5 - 3.25) * 0.1, atol=0.026)
    assert found[2] < 0 < found[4]
    assert found[3] == pytest.approx(0.025)
