"""The blur around bodies: against the dense exponential and the blur of a box, mass, the way around, bits."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators import blur_around
from keyfluid.operators.blur import Blur
from keyfluid.operators.blur_around import BlurAround
from keyfluid.solids import Solids
from keyfluid.threads import set_threads

CASES = [
    ((9, 8), ("walls", "walls")),
    ((8, 9), ("periodic", "walls")),
    ((9, 7), ("open", "periodic")),
    ((5, 6, 4), ("walls", "walls", "walls")),
    ((4, 5, 6), ("periodic", "open", "periodic")),
]
IDS = ["-".join(sides) for _, sides in CASES]


def ball(grid):
    return Solids.from_distance(
        grid, lambda *x: sum((a - c) ** 2 for a, c in zip(x, (0.55, 0.45, 0.5), strict=False)) - 0.25**2
    )


def smoke(grid, dtype=np.float64, seed=0):
    return Field(grid, Kind.CENTRES, np.random.default_rng(seed).random(grid.count).astype(dtype))


def second_differences(grid, solid):
    """L between fluid cells as a dense matrix, link by link; clean air beyond open sides."""
    matrix = np.zeros((grid.count, grid.count))
    for place in np.ndindex(grid.cells):
        c = int(np.ravel_multi_index(place, grid.cells))
        for axis, way in ((axis, way) for axis in range(grid.dim) for way in (-1, 1)):
            other = list(place)
            other[axis] += way
            outside = not 0 <= other[axis] < grid.cells[axis]
            if solid[place] or (outside and grid.boundary[axis] == "walls"):
                continue
            if outside and grid.boundary[axis] == "open":
                matrix[c, c] -= 1
                continue
            other[axis] %= grid.cells[axis]
            if not solid[tuple(other)]:
                matrix[c, c] -= 1
                matrix[c, int(np.ravel_multi_index(other, grid.cells))] += 1
    return matrix


@pytest.mark.parametrize(("cells", "sides"), CASES, ids=IDS)
def test_the_sum_of_dense_exponentials(cells, sides):
    grid = Grid(cells, boundary=sides)
    solids, q = ball(grid), smoke(grid)
    sigmas = (0.0, 0.7 * grid.spacing, 2.9 * grid.spacing)
    (got,) = BlurAround(grid, solids, sigmas, power=2, dtype=np.float64).forward(q)
    matrix = second_differences(grid, solids.solid)
    kept = np.where(solids.solid.reshape(-1), 0, q.data)
    expected = sum(scipy.linalg.expm((sigma / grid.spacing) ** 2 * matrix) @ kept for sigma in sigmas)
    assert np.abs(expected - 3 * kept).max() > 0.3
    np.testing.assert_allclose(got.data, expected, rtol=0, atol=1e-13)
    assert not got.array[solids.solid].any()


@pytest.mark.parametrize(("dtype", "limit"), [(np.float32, 3e-6), (np.float64, 1e-14)])
@pytest.mark.parametrize(("cells", "sides"), CASES, ids=IDS)
def test_without_bodies_the_blur_of_the_box(cells, sides, dtype, limit):
    grid = Grid([4 * n for n in cells], boundary=sides)
    nothing = Solids.from_distance(grid, np.ones(grid.cells))
    sigmas = (0.0, 0.5 * grid.spacing, 4.0 * grid.spacing)
    q = smoke(grid, dtype)
    (got,) = BlurAround(grid, nothing, sigmas, power=2, dtype=dtype).forward(q)
    (expected,) = Blur(grid, sigmas, power=2).forward(q)
    assert got.dtype == dtype
    np.testing.assert_allclose(got.data, expected.data, rtol=0, atol=limit * len(sigmas))


@pytest.mark.parametrize("sides", ["walls", "periodic"])
@pytest.mark.parametrize("dim", [2, 3])
def test_mass_is_kept_nothing_is_negative_and_no_width_is_no_change(dim, sides):
    grid = Grid((20, 18, 16)[:dim], boundary=sides)
    solids, q = ball(grid), smoke(grid)
    fluid = solids.fluid.reshape(-1)
    for sigma in (0.03, 0.5):
        point = np.zeros(grid.count)
        point[0] = 1.0
        (got,) = BlurAround(grid, solids, (sigma,), dtype=np.float64).forward(q.like(point))
        assert got.data.sum() == pytest.approx(1.0, rel=1e-13)
        assert got.data.min() > -1e-16
    (same,) = BlurAround(grid, solids, (0.0,), dtype=np.float64).forward(q)
    np.testing.assert_array_equal(same.data, np.where(fluid, q.data, 0))


def test_distances_go_around():
    """Behind a wall with a gap at its end, what is near the gap gets more than what is straight across."""
    grid = Grid((32, 32))
    solid = np.zeros(grid.cells, bool)
    solid[15:17, :26] = True
    solids = Solids.from_distance(grid, np.where(solid, -1.0, 1.0))
    point = Field.zeros(grid, Kind.CENTRES, np.float64)
    point.array[11, 4] = 1.0
    (around,) = BlurAround(grid, solids, (0.25,), dtype=np.float64).forward(point)
    (across,) = Blur(grid, (0.25,)).forward(point)
    assert across.array[20, 4] > 10 * across.array[20, 28]
    assert around.array[20, 28] > 5 * around.array[20, 4] > 0


def test_a_closed_pocket_keeps_its_own():
    grid = Grid((20, 20))
    solid = np.zeros(grid.cells, bool)
    solid[5:15, 5:15] = True
    solid[7:13, 7:13] = False
    solids = Solids.from_distance(grid, np.where(solid, -1.0, 1.0))
    point = Field.zeros(grid, Kind.CENTRES, np.float64)
    point.array[8, 9] = 36.0
    (got,) = BlurAround(grid, solids, (2.0,), dtype=np.float64).forward(point)
    np.testing.assert_allclose(got.array[7:13, 7:13], 1.0, atol=1e-10)
    got.array[7:13, 7:13] = 0
    assert not got.data.any()


def test_threads_change_no_bit(monkeypatch):
    monkeypatch.setattr(blur_around, "SERIAL_CELLS", 0)
    grid = Grid((21, 19, 23), boundary=("walls", "periodic", "walls"))
    blur = BlurAround(grid, ball(grid), (0.0, 0.1), power=2)
    results = []
    for count in (1, 2):
        set_threads(count)
        results.append(blur.forward(smoke(grid, np.float32))[0].data.tobytes())
    assert results[0] == results[1]


def test_a_negative_width_is_refused():
    grid = Grid((8, 8))
    with pytest.raises(KeyfluidError, match="zero or positive"):
        BlurAround(grid, ball(grid), (-0.1,))
