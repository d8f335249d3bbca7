"""Long waves and guiding: exact for fields made of waves, on grids of any size; short waves are left alone."""

from __future__ import annotations

import numpy as np
import pytest

from keyfluid.boundary import Boundary
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators.guide import Guide
from keyfluid.operators.long_waves import LongWaves

SIDES = [("walls", "walls"), ("periodic", "walls"), ("open", "walls"), ("walls", "periodic", "open")]
CUTOFF = 2.0
"""Waves per metre, in boxes about a metre long."""


def box(sides, cells=8):
    counts = [cells, cells + cells // 4, cells][: len(sides)]
    return Grid(counts, 1.0 / cells, list(sides))


def waves_on(grid, taper=False):
    return LongWaves(grid, CUTOFF, np.dtype(np.float64), taper)


def noise(grid, seed=0):
    return Field(grid, Kind.FACES, np.random.default_rng(seed).normal(size=grid.value_count(Kind.FACES)))


@pytest.mark.parametrize("sides", SIDES, ids="-".join)
def test_guiding_replaces_long_waves_and_leaves_short_ones(sides):
    waves = waves_on(box(sides))
    before, other = noise(waves.grid), noise(waves.grid, 1)
    goal = waves.of(other)
    (after,) = Guide(waves, goal).forward(before)
    for reached, wanted in zip(waves.of(after), goal):
        np.testing.assert_allclose(reached, wanted, atol=1e-12)
    short_before, short_after = (v - waves.field(waves.of(v)) for v in (before, after))
    assert short_before.norm() > 0.5 * before.norm()
    np.testing.assert_allclose(short_after.data, short_before.data, atol=1e-12)


def test_a_pull_closes_its_share_of_the_gap():
    waves = waves_on(box(("walls", "periodic")))
    before, goal = noise(waves.grid), waves.of(noise(waves.grid, 1))
    (after,) = Guide(waves, goal, 0.25).forward(before)
    for now, old, wanted in zip(waves.of(after), waves.of(before), goal):
        np.testing.assert_allclose(now, old + 0.25 * (wanted - old), atol=1e-12)


@pytest.mark.parametrize("sides", SIDES, ids="-".join)
def test_a_coarse_grid_and_a_fine_one_have_the_same_waves(sides):
    coarse, fine = waves_on(box(sides)), waves_on(box(sides, 24))
    given = coarse.of(noise(coarse.grid))
    for on_coarse, on_fine, wanted in zip(coarse.of(coarse.field(given)), fine.of(fine.field(given)), given):
        np.testing.assert_allclose(on_coarse, wanted, atol=1e-12)
        np.testing.assert_allclose(on_fine, wanted, atol=1e-12)


def test_waves_are_those_of_the_formula():
    """u = sin(2 pi x) cos(pi y) between walls: one coefficient, on any grid."""
    for cells in (8, 20):
        grid = Grid([cells, cells], 1.0 / cells, "walls")
        velocity = Field.zeros(grid, Kind.FACES, np.float64)
        x, y = grid.coordinates(Kind.FACES.places(2)[0])
        velocity.component(0)[...] = np.sin(2 * np.pi * x) * np.cos(np.pi * y)
        found, other = waves_on(grid).of(velocity)
        assert found[1, 1] == pytest.approx(1.0)
        assert np.abs(found).sum() == pytest.approx(1.0, abs=1e-10)
        assert np.abs(other).max() < 1e-12


def test_tapered_waves_fade_from_half_the_cutoff():
    grid = box(("open", "walls"), 16)
    sharp, soft = waves_on(grid), waves_on(grid, taper=True)
    for hard, smooth in zip(sharp.weights, soft.weights):
        assert set(np.unique(hard)) == {0.0, 1.0}
        assert smooth.max() == 1.0
        assert ((smooth > 0) & (smooth < 1)).any()
        assert not (smooth[hard == 0] > 1e-12).any()


def test_nothing_flows_through_walls():
    waves = waves_on(box(("walls", "walls", "walls")))
    assert all(kind is Boundary.WALLS for kind in waves.grid.boundary)
    made = waves.field(waves.of(noise(waves.grid)))
    for axis, component in enumerate(made.components()):
        ends = np.moveaxis(component, axis, 0)[[0, -1]]
        np.testing.assert_allclose(ends, 0.0, atol=1e-12)
