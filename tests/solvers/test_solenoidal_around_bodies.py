"""The projection of many steps around bodies: against the projection of one step, exact flows, symmetry, bits."""

from __future__ import annotations

import numpy as np
import pytest

from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators.project import Project
from keyfluid.solids import Solids
from keyfluid.solvers import solenoidal_around_bodies as module
from keyfluid.solvers import surface_coupling
from keyfluid.solvers.solenoidal import Solenoidal
from keyfluid.solvers.solenoidal_around_bodies import SolenoidalAroundBodies
from keyfluid.threads import set_threads

CASES = [
    ((13, 11), ("walls", "walls")),
    ((12, 13), ("periodic", "walls")),
    ((11, 14), ("periodic", "periodic")),
    ((8, 9, 7), ("walls", "walls", "walls")),
    ((7, 8, 9), ("walls", "periodic", "periodic")),
]
IDS = ["-".join(sides) for _, sides in CASES]


def ball_and_corner(grid):
    """A ball inside, and one around the origin that touches the walls or crosses the seam."""

    def distance(*x):
        ball = sum((a - c) ** 2 for a, c in zip(x, (0.6, 0.45, 0.5))) - 0.21**2
        return np.minimum(ball, sum(a**2 for a in x) - (1.9 * grid.spacing) ** 2)

    return Solids.from_distance(grid, distance)


def with_pockets(grid):
    """Two closed hollow boxes, one of them with a solid core."""
    solid = np.zeros(grid.cells, bool)
    solid[(slice(1, 6),) * grid.dim] = True
    solid[(slice(2, 5),) * grid.dim] = False
    solid[(3,) * grid.dim] = True
    other = [slice(1, 5)] * grid.dim
    other[0] = slice(5, 8)
    solid[tuple(other)] = True
    inner = [slice(2, 4)] * grid.dim
    inner[0] = slice(6, 7)
    solid[tuple(inner)] = False
    return Solids.from_distance(grid, np.where(solid, -1.0, 1.0))


BODIES = {"ball and corner": ball_and_corner, "pockets": with_pockets}


def rough(grid, steps=5, dtype=np.float64, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((grid.value_count(Kind.FACES), steps)).astype(dtype)


@pytest.mark.parametrize("bodies", BODIES)
@pytest.mark.parametrize(("cells", "sides"), CASES, ids=IDS)
def test_every_step_is_projected_as_one_step_is(cells, sides, bodies):
    grid = Grid(cells, boundary=sides)
    solids = BODIES[bodies](grid)
    v = rough(grid)
    single = Project(grid, solids, np.float64, 1e-13)
    expected = np.stack([single.apply(Field(grid, Kind.FACES, column))[0].data for column in v.T.copy()], axis=1)
    solenoidal = SolenoidalAroundBodies(grid, np.float64, solids)
    got = solenoidal.project(v.copy())
    assert np.abs(expected).max() > 0.5
    np.testing.assert_allclose(got, expected, rtol=0, atol=1e-11)
    assert not got[~solids.free].any()
    assert np.abs(solenoidal.divergence(got)).max() < 1e-12


@pytest.mark.parametrize(("dtype", "limit"), [(np.float32, 2e-6), (np.float64, 1e-13)])
@pytest.mark.parametrize("most", [None, 10], ids=["direct", "blocks"])
@pytest.mark.parametrize(("cells", "sides"), CASES, ids=IDS)
def test_symmetric_and_idempotent(cells, sides, most, dtype, limit, monkeypatch):
    if most is not None:
        monkeypatch.setattr(module, "MOST_FACES", most)
        monkeypatch.setattr(module, "BLOCK", most)
    grid = Grid(cells, boundary=sides)
    solenoidal = SolenoidalAroundBodies(grid, dtype, with_pockets(grid))
    v, w = rough(grid, dtype=dtype), rough(grid, dtype=dtype, seed=1)
    qv, qw = solenoidal.project(v.copy()), solenoidal.project(w.copy())
    assert np.abs(solenoidal.project(qv.copy()) - qv).max() < limit * np.abs(qv).max()
    defect = np.sum(qv.astype(np.float64) * w - v.astype(np.float64) * qw)
    assert abs(defect) < limit * np.linalg.norm(v) * np.linalg.norm(w)
    assert qv.dtype == dtype


def test_blocks_of_a_large_surface_give_the_same(monkeypatch):
    grid = Grid((16, 15, 14), boundary="walls")
    solids = ball_and_corner(grid)
    direct = SolenoidalAroundBodies(grid, np.float64, solids).project(rough(grid))
    monkeypatch.setattr(module, "MOST_FACES", 100)
    monkeypatch.setattr(module, "BLOCK", 40)
    in_blocks = SolenoidalAroundBodies(grid, np.float64, solids).project(rough(grid))
    np.testing.assert_allclose(in_blocks, direct, rtol=0, atol=1e-11)


@pytest.mark.parametrize(("cells", "sides"), CASES, ids=IDS)
def test_without_bodies_as_in_the_box(cells, sides):
    grid = Grid(cells, boundary=sides)
    nothing = Solids.from_distance(grid, np.ones(cells))
    got = SolenoidalAroundBodies(grid, np.float64, nothing).project(rough(grid))
    np.testing.assert_array_equal(got, Solenoidal(grid, np.float64).project(rough(grid)))


@pytest.mark.parametrize("dim", [2, 3])
def test_uniform_flow_along_a_channel(dim):
    """A bar along the channel leaves the flow beside it alone; a bar across it stops all of it."""
    grid = Grid((8, 9, 7)[:dim], boundary=("periodic", "walls", "walls")[:dim])
    wind = Field.zeros(grid, Kind.FACES, np.float64)
    wind.component(0)[...] = 0.7
    for axis, expected in ((1, 0.7), (0, 0.0)):
        solid = np.zeros(grid.cells, bool)
        solid[(slice(None),) * axis + (slice(3, 5),)] = True
        solids = Solids.from_distance(grid, np.where(solid, -1.0, 1.0))
        got = SolenoidalAroundBodies(grid, np.float64, solids).project(np.stack([wind.data] * 2, axis=1))
        free = np.zeros(len(got))
        free[: solid.size] = np.where(solid.reshape(-1), 0.0, expected)
        np.testing.assert_allclose(got, np.stack([free] * 2, axis=1), rtol=0, atol=1e-13)


def test_flow_past_a_body_passes_beside_it():
    """Through every section of the channel the same amount, faster where it is narrow."""
    grid = Grid((24, 16), boundary=("periodic", "walls"))
    solids = Solids.from_distance(grid, lambda x, y: np.hypot(x - 0.5, y - 0.3) - 0.12)
    solenoidal = SolenoidalAroundBodies(grid, np.float64, solids)
    wind = np.zeros((grid.value_count(Kind.FACES), 1))
    solenoidal.component(wind, 0)[...] = 1.0
    got = solenoidal.component(solenoidal.project(wind), 0)[..., 0]
    through = got.sum(axis=1)
    np.testing.assert_allclose(through, through[0], rtol=1e-12)
    assert got[12].max() > 1.3 * got[0].max() > 0


def test_a_filter_between_two_projections_is_symmetric():
    grid = Grid((13, 11), boundary="walls")
    solenoidal = SolenoidalAroundBodies(grid, np.float64, ball_and_corner(grid))
    filters = solenoidal.filters(lambda waves: 1.0 / (1.0 - 2.0 * waves))

    def apply(v):
        return solenoidal.project(solenoidal.filter(solenoidal.project(v.copy()), filters))

    v, w = rough(grid), rough(grid, seed=1)
    assert np.sum(apply(v) * w) == pytest.approx(np.sum(v * apply(w)), abs=1e-12)
    assert np.linalg.norm(apply(v)) > 1


@pytest.mark.parametrize("most", [10_000, 50], ids=["direct", "blocks"])
def test_threads_change_no_bit(most, monkeypatch):
    monkeypatch.setattr(module, "MOST_FACES", most)
    monkeypatch.setattr(module, "BLOCK", 50)
    monkeypatch.setattr(surface_coupling, "SERIAL_FACES", 0)
    grid = Grid((21, 20, 19), boundary=("walls", "periodic", "walls"))
    solids = ball_and_corner(grid)
    results = []
    for count in (1, 2):
        set_threads(count)
        results.append(SolenoidalAroundBodies(grid, np.float32, solids).project(rough(grid, 19, np.float32)))
    assert results[0].tobytes() == results[1].tobytes()


def test_an_open_side_is_refused():
    grid = Grid((9, 8), boundary=("walls", "open"))
    with pytest.raises(KeyfluidError, match="open"):
        SolenoidalAroundBodies(grid, np.float64, ball_and_corner(grid))
