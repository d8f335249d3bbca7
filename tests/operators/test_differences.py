"""Curl, the penalty on forces and gathering against numpy, for every kind of sides."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.objectives import ForcePenalty
from keyfluid.operators.advect_limited import AdvectLimited
from keyfluid.operators.curl import Curl
from keyfluid.operators.gather import Gather

SIDES = ("walls", "periodic", "open")
GRIDS = [Grid(cells, 0.1, sides) for cells in ((7, 5), (9, 4, 6)) for sides in product(SIDES, repeat=len(cells))]


@pytest.fixture(params=GRIDS, ids=lambda grid: "-".join(side.value for side in grid.boundary))
def grid(request):
    return request.param


def noise(grid, kind, seed, least=-0.5):
    size = grid.layout(kind).total
    return Field(grid, kind, np.random.default_rng(seed).random(size) + least)


def difference(values, axis, periodic):
    return np.roll(values, -1, axis) - values if periodic else np.diff(values, axis=axis)


def test_curl_is_the_differences_around_a_face(grid):
    psi = noise(grid, Kind.EDGES, 1)
    (v,) = Curl(grid).forward(psi)
    if grid.dim == 2:
        terms = [(0, 0, 1, 1), (1, 0, 0, -1)]
    else:
        terms = [t for a in range(3) for t in ((a, (a + 2) % 3, (a + 1) % 3, 1), (a, (a + 1) % 3, (a + 2) % 3, -1))]
    expected = v.zeros_like()
    for face, edge, axis, sign in terms:
        slope = difference(psi.component(edge), axis, grid.is_periodic(axis)) / grid.spacing
        expected.component(face)[...] += sign * slope
    np.testing.assert_allclose(v.data, expected.data, atol=1e-13)
    other = noise(grid, Kind.FACES, 2)
    assert v.dot(other) == pytest.approx(psi.dot(Curl(grid).transpose(other)[0]), rel=1e-12)


def test_the_penalty_on_forces_is_their_size_and_roughness(grid):
    force, change = noise(grid, Kind.FACES, 3), noise(grid, Kind.FACES, 4)
    penalty = ForcePenalty(alpha=0.3, beta=0.7, scale=2.0)
    value, bar = penalty.term(force)
    rough = sum(
        np.sum(difference(values, axis, grid.is_periodic(axis)) ** 2)
        for values in force.components()
        for axis in range(grid.dim)
    )
    assert value == pytest.approx(2.0 * (0.15 * force.dot(force) + 0.7 * rough), rel=1e-12)
    slope = (penalty.term(force + change)[0] - penalty.term(force - change)[0]) / 2
    assert bar.dot(change) == pytest.approx(slope, rel=1e-10)


@pytest.mark.parametrize("reverse", [False, True])
def test_gathering_is_advection_by_its_own_speed_and_the_wind(grid, reverse):
    rho, target = noise(grid, Kind.CENTRES, 5, 0.0), noise(grid, Kind.CENTRES, 6, 0.0)
    weight, wind = noise(grid, Kind.FACES, 7, 0.0), noise(grid, Kind.FACES, 8)
    gather, advect, limit = Gather(grid, target, weight, 0.02, 0.0), AdvectLimited(grid, 0.03, reverse), 0.45
    carried = gather.carry(rho, wind, advect, limit)
    for axis in advect.order:
        speed = wind.copy()
        faces, weights = (np.moveaxis(f.component(axis), axis, 0) for f in (speed, weight))
        astray = np.moveaxis(rho.array - target.array, axis, 0)
        down = -difference(astray, 0, grid.is_periodic(axis)) * gather.rate / grid.spacing
        if grid.is_periodic(axis):
            faces += weights * np.roll(down, 1, 0)
        else:
            faces[1:-1] += weights[1:-1] * down
        np.clip(speed.data, -limit, limit, out=speed.data)
        assert np.abs(speed.data).max() == limit
        rho = advect.carry(rho, speed, (axis,))
    np.testing.assert_allclose(carried.data, rho.data, atol=1e-14)
