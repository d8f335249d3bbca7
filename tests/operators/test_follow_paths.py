"""Smoke carried along paths: moved by any flow, smeared by none, given what sources give."""

from __future__ import annotations

import math

import numpy as np
import pytest

from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field, density
from keyfluid.grid import Grid, Kind
from keyfluid.operators.follow_paths import FollowPaths, Gift, Paths, places
from keyfluid.threads import set_threads


def wind(grid, *speeds):
    return Field.of(grid, Kind.FACES, *[np.full(shape, v) for shape, v in zip(grid.shapes(Kind.FACES), speeds)])


def blob(grid, *centre):
    square = sum((x - c) ** 2 for x, c in zip(grid.coordinates((False,) * grid.dim), centre))
    return density(grid, np.exp(-square / 0.02))


@pytest.mark.parametrize("per_cell", [1, 2, 4])
def test_a_wind_of_whole_cells_moves_smoke_and_wraps_it(per_cell):
    """Straight paths that end where points of a cell lie: as if the smoke had been there from the start."""
    grid = Grid((16, 12), 1 / 16, "periodic")
    start = blob(grid, 0.3, 0.4)
    follow = FollowPaths(grid, grid.spacing, per_cell)
    for steps in (1, 9):
        there = density(grid, np.roll(start.array, (3 * steps, -2 * steps), (0, 1)))
        (moved,) = follow.forward(start, *[wind(grid, 3.0, -2.0)] * steps)
        (at_rest,) = follow.forward(there, wind(grid, 0.0, 0.0))
        np.testing.assert_allclose(moved.array, at_rest.array, atol=1e-14)
        if per_cell == 1:
            np.testing.assert_allclose(moved.array, there.array, atol=1e-14)


@pytest.mark.parametrize(("cells", "per_cell"), [((6, 5), 4), ((6, 4), 2), ((4, 5, 6), 8), ((4, 4, 4), 2)])
def test_places_differ_from_cell_to_cell(cells, per_cell):
    """Opposite in pairs, off the grid lines, mirrored in a mirror, and in no rows where smoke could hide."""
    ends = places(Grid(cells), per_cell)
    np.testing.assert_allclose(ends.sum(axis=0), 0, atol=1e-6)
    assert np.all((abs(ends) > 0.09) & (abs(ends) < 0.41))
    assert len(np.unique(np.round(abs(ends[..., 0]), 6))) >= np.prod([n // 2 for n in cells])
    for axis in range(len(cells)):
        seen = np.flip(ends, 1 + axis) * np.where(np.arange(len(cells)) == axis, -1, 1)
        for cell in np.ndindex(cells):
            np.testing.assert_allclose(*(sorted(map(tuple, each[:, *cell].round(6))) for each in (ends, seen)))


def test_a_turn_brings_smoke_back():
    """A whole turn of smoke that linear interpolation reads exactly: what is left is the midpoint rule's, of second
    order, however often the grid would have smeared it."""
    grid = Grid((40, 40))
    turn = Field.from_function(grid, Kind.FACES, lambda x, y: (-(y - 0.5), x - 0.5))
    x, y = grid.coordinates((False, False))
    start, near = density(grid, x + 0.3 * y), (x - 0.5) ** 2 + (y - 0.5) ** 2 < 0.3**2
    errors = []
    for steps in (60, 120):
        (back,) = FollowPaths(grid, 2 * math.pi / steps, 4).forward(start, *[turn] * steps)
        errors.append(np.abs(back.array - start.array)[near].max())
    assert errors[1] < 1.5e-3
    assert 3.5 < errors[0] / errors[1] < 4.5


def test_beyond_an_open_side_there_is_no_smoke_and_beyond_a_wall_its_last_value():
    for side, expected in (("open", 0.0), ("walls", 1.0)):
        grid = Grid((8, 8), 1.0, (side, "walls"))
        full = density(grid, np.ones(grid.cells))
        (after,) = FollowPaths(grid, 1.0, 4).forward(full, wind(grid, 3.0, 0.0), wind(grid, 3.0, 0.0))
        assert after.array[:5].max() == pytest.approx(expected)
        assert after.array[7:].min() == pytest.approx(1.0)


def test_gifts_are_those_of_the_step_where_they_are_met():
    """Air at rest: rho <- keep fade rho + gain, step after step."""
    grid = Grid((6, 5, 4))
    rng = np.random.default_rng(3)
    start, gain, keep = (density(grid, rng.random(grid.cells)) for _ in range(3))
    follow = FollowPaths(grid, 0.1, 1, 0.7, [{1: Gift(gain, keep)}])
    (after,) = follow.forward(start, *[wind(grid, 0.0, 0.0, 0.0)] * 3)
    expected = 0.7 * (keep.data * 0.7 * (0.7 * start.data) + gain.data)
    np.testing.assert_allclose(after.data, expected, rtol=1e-12)


def test_bits_do_not_depend_on_threads():
    grid = Grid((80, 64), 1 / 80, ("open", "walls"))
    rng = np.random.default_rng(5)
    start = blob(grid, 0.4, 0.4).astype(np.float32)
    carriers = [wind(grid, *rng.normal(size=2)).astype(np.float32) for _ in range(4)]
    carriers = [one.like(one.data * rng.random(one.data.size).astype(np.float32)) for one in carriers]
    found = []
    for count in (1, 2):
        set_threads(count)
        paths = Paths(FollowPaths(grid, 0.05, 4), carriers)
        (after,) = paths.read([start])
        found.append([field.data.tobytes() for field in (after, *paths.adjoint([start], [after]))])
    assert found[0] == found[1]


def test_what_can_not_be_followed_is_refused():
    grid = Grid((8, 8))
    with pytest.raises(KeyfluidError, match="3 per cell; use 1, 2 or 4"):
        FollowPaths(grid, 0.1, 3)
    with pytest.raises(KeyfluidError, match="must be positive"):
        FollowPaths(grid, 0.0, 4)
