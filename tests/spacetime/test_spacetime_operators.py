"""Are the forwards right? Self-advection, the implicit step and transport against exact values and invariants."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg

from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators import transport
from keyfluid.operators.advect_vorticity import AdvectVorticity
from keyfluid.operators.project import Project, relative_divergence
from keyfluid.operators.step_implicit import StepImplicit
from keyfluid.operators.transport import Transport
from keyfluid.solids import Solids
from keyfluid.verify import observed_order

SIDES = {2: ("walls", "periodic"), 3: ("periodic", "walls", "walls")}
CELLS = {2: (9, 7), 3: (5, 6, 4)}


def flow(grid, seed=0):
    """Without divergence, nowhere at rest."""
    rng = np.random.default_rng(seed)
    rough = Field(grid, Kind.FACES, rng.standard_normal(grid.value_count(Kind.FACES)))
    return Project(grid, dtype=np.float64).apply(rough)[0]


@pytest.mark.parametrize("dim", [2, 3])
def test_self_advection_neither_gains_nor_loses_energy(dim):
    v = flow(Grid(CELLS[dim], boundary=SIDES[dim]))
    (a,) = AdvectVorticity(v.grid).forward(v)
    assert a.norm() > 1
    assert abs(a.dot(v)) < 1e-12 * a.norm() * v.norm()


def test_self_advection_of_second_order():
    """(curl v) x v of v = (sin x cos y, 2 cos x cos y) on a periodic box of side 2 pi."""
    errors, sizes = [], (16, 32, 64)
    for n in sizes:
        grid = Grid((n, n), 2 * np.pi / n, "periodic")

        def field(x, y):
            return np.sin(x) * np.cos(y), 2 * np.cos(x) * np.cos(y)

        def exact(x, y):
            u, v = field(x, y)
            w = -2 * np.sin(x) * np.cos(y) + np.sin(x) * np.sin(y)
            return -w * v, w * u

        (a,) = AdvectVorticity(grid).forward(Field.from_function(grid, Kind.FACES, field))
        errors.append((a - Field.from_function(grid, Kind.FACES, exact)).norm() / n)
    assert observed_order([1 / n for n in sizes], errors) == pytest.approx(2.0, abs=0.1)


def test_viscosity_is_the_laplacian_where_there_is_no_divergence():
    grid = Grid((9, 7), 0.1, ("walls", "periodic"))
    v = flow(grid)
    (a,) = AdvectVorticity(grid, 0.3).forward(v)
    (b,) = AdvectVorticity(grid).forward(v)
    got = (a - b).component(1)  # y faces: mirrored at the walls across x, periodic along y
    q = v.component(1)
    padded = np.concatenate([q[:1], q, q[-1:]])
    wanted = -(0.3 / 0.01) * (padded[2:] + padded[:-2] - 2 * q + np.roll(q, 1, 1) + np.roll(q, -1, 1) - 2 * q)
    np.testing.assert_allclose(got, wanted, atol=1e-10)


@pytest.mark.parametrize("dim", [2, 3])
def test_the_implicit_step_solves_its_equation_and_loses_energy_when_free(dim):
    grid = Grid(CELLS[dim], boundary=SIDES[dim])
    v0, u = flow(grid), flow(grid, 1)
    dt = 0.4 * grid.spacing
    step = StepImplicit(grid, dt, dtype=np.float64)
    (v1,) = step.forward(v0, u)
    (moved,) = AdvectVorticity(grid).forward(v1)
    left = Project(grid, dtype=np.float64).apply((v1 - v0) * (1 / dt) + moved - u)[0]
    assert left.norm() < 1e-10 * v1.norm() / dt
    assert relative_divergence(v1) < 1e-12
    assert step.report.converged
    (free,) = step.forward(v0, u.zeros_like())
    assert 0.5 * v0.norm() < free.norm() < v0.norm()


@pytest.mark.parametrize("viscosity", [0.0, 0.02])
@pytest.mark.parametrize("dim", [2, 3])
def test_the_implicit_step_around_bodies(dim, viscosity):
    """It solves its equation where air may pass, and nothing passes into bodies; without bodies nothing changes."""
    grid = Grid(CELLS[dim], boundary=SIDES[dim])
    solid = np.zeros(grid.cells, bool)
    solid[(slice(1, 4),) * dim] = True
    solids = Solids.from_distance(grid, np.where(solid, -1.0, 1.0), dtype=np.float64)
    project = Project(grid, solids, np.float64, 1e-13)
    v0, u, dt = project.apply(flow(grid))[0], flow(grid, 1), 0.4 * grid.spacing
    step = StepImplicit(grid, dt, viscosity, np.float64, solids=solids)
    (v1,) = step.forward(v0, u)
    (moved,) = AdvectVorticity(grid, viscosity).forward(v1)
    left = project.apply((v1 - v0) * (1 / dt) + moved - u)[0]
    assert left.norm() < 1e-10 * v1.norm() / dt
    assert relative_divergence(v1, solids) < 1e-12
    assert not v1.data[~solids.free].any()
    assert (v1 - v0).norm() > 0.1 * v0.norm()
    nothing = Solids.from_distance(grid, np.ones(grid.cells), dtype=np.float64)
    (free,) = StepImplicit(grid, dt, viscosity, np.float64, solids=nothing).forward(v0, u)
    (box,) = StepImplicit(grid, dt, viscosity, np.float64).forward(v0, u)
    np.testing.assert_allclose(free.data, box.data, rtol=0, atol=1e-12)


def test_the_implicit_step_refuses_moving_bodies():
    grid = Grid((9, 7))
    moving = Solids.from_distance(grid, lambda x, y: np.hypot(x - 0.5, y - 0.4) - 0.2, (0.1, 0.0))
    with pytest.raises(KeyfluidError, match="at rest"):
        StepImplicit(grid, 0.1, solids=moving)


@pytest.mark.parametrize("dim", [2, 3])
def test_transport_is_the_matrix_exponential_and_keeps_mass(dim):
    grid = Grid({2: (6, 5), 3: (4, 3, 4)}[dim], boundary=SIDES[dim])
    transport = Transport(grid, 1.0)
    v = flow(grid) * (0.9 * grid.spacing)  # almost two cells a step in places: several sub-steps
    rho = np.random.default_rng(2).random(grid.count)
    # A(v) from tiny steps: exp(A h) = 1 + A h + ..., with h so small that the first order is all there is.
    tiny = Transport(grid, 1e-9)
    columns = [(tiny.forward(Field(grid, Kind.CENTRES, e), v)[0].data - e) / 1e-9 for e in np.eye(grid.count)]
    exact = scipy.linalg.expm(np.stack(columns, axis=1)) @ rho
    (got,) = transport.forward(Field(grid, Kind.CENTRES, rho), v)
    assert np.abs(got.data - rho).max() > 0.1
    np.testing.assert_allclose(got.data, exact, atol=2e-4)
    assert got.data.sum() == pytest.approx(rho.sum(), rel=1e-14)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("sides", [("walls", "open"), ("open", "periodic", "walls")], ids=["2d", "3d"])
def test_substeps_run_again_change_no_bit_of_the_adjoint(sides, dtype, monkeypatch):
    grid = Grid(CELLS[len(sides)], boundary=sides)
    rng = np.random.default_rng(3)
    rho, bar = (Field(grid, Kind.CENTRES, rng.random(grid.count).astype(dtype)) for _ in range(2))
    v = Field.zeros(grid, Kind.FACES, dtype)
    v.data[:] = grid.spacing * rng.standard_normal(v.data.size)
    step = Transport(grid, 4.0)
    assert len(step.orders(rho, v)) > 4
    results = []
    for kept in (1, 64, 10**4):
        monkeypatch.setattr(transport, "MOST_KEPT", kept)
        results.append(step.adjoint((rho, v), (bar,)))
    for one, other in zip(results[0] * 2, results[1] + results[2]):
        np.testing.assert_array_equal(one.data, other.data)
    assert results[0][1].norm() > 0


def test_float32_agrees_with_short_substeps_in_float64(monkeypatch):
    """Six cells a step: no more than 2e-5 of the peak is lost to truncation and rounding."""
    grid = Grid((32, 24), boundary="walls")
    v = flow(grid)
    v = v * (6 * grid.spacing / sum(np.abs(c).max() for c in v.components()))
    rho = Field(grid, Kind.CENTRES, (np.random.default_rng(5).random(grid.count) > 0.5).astype(np.float64))
    step = Transport(grid, 1.0)
    (got,) = step.forward(rho.astype(np.float32), v.astype(np.float32))
    orders = step.orders(rho, v)
    monkeypatch.setattr(transport, "CFL", 0.25)
    monkeypatch.setattr(transport, "TOLERANCE", 1e-13)
    (wanted,) = step.forward(rho, v)
    assert len(orders) in (3, 4)
    assert min(orders) > 5
    assert max(orders) < 15
    assert np.abs(wanted.data - rho.data).max() > 0.1
    assert np.abs(got.data - wanted.data).max() < 2e-5


def test_fluxes_worked_out_by_hand():
    """One step of first order on a row between walls, air moving up at 0.1 cells a step."""
    grid = Grid((5, 2), 1.0, ("walls", "periodic"))
    rho = np.array([1.0, 2.0, 4.0, 3.0, 5.0])
    u = np.zeros((6, 2))
    u[1:5] = 1e-7
    v = Field.of(grid, Kind.FACES, u, np.zeros((5, 2)))
    (got,) = Transport(grid, 1.0).forward(Field.of(grid, Kind.CENTRES, np.stack([rho, rho], 1)), v)
    # Face values: (2 next + 5 rho - previous) / 6, with the first value repeated beyond the wall.
    q = np.array([2 * 2 + 5 * 1 - 1, 2 * 4 + 5 * 2 - 1, 2 * 3 + 5 * 4 - 2, 2 * 5 + 5 * 3 - 4]) / 6
    change = -np.diff(np.concatenate([[0.0], q, [0.0]]))
    np.testing.assert_allclose((got.array[:, 0] - rho) / 1e-7, change, rtol=1e-5)


def test_transport_of_third_order():
    """On finer grids the terms of the series that are left out show: they add up to 1e-4."""
    errors, sizes = [], (8, 16, 32)
    for n in sizes:
        grid = Grid((n, 4), 1.0 / n, "periodic")
        start = Field.from_function(grid, Kind.CENTRES, lambda x, y: 1 + 0.5 * np.sin(2 * np.pi * x) + 0 * y)
        wind = Field.from_function(grid, Kind.FACES, lambda x, y: (1.0 + 0 * x * y, 0 * x * y))
        (got,) = Transport(grid, 0.1).forward(start, wind)
        moved = Field.from_function(grid, Kind.CENTRES, lambda x, y: 1 + 0.5 * np.sin(2 * np.pi * (x - 0.1)) + 0 * y)
        errors.append(float(np.abs(got.data - moved.data).max()))
    assert errors[0] / errors[-1] > 40
    assert observed_order([1 / n for n in sizes], errors) > 2.7


def test_smoke_flows_around_a_disk():
    """Nothing enters it, no mass is lost, and values stray no further than along walls (-0.15 and 1.20)."""
    grid = Grid((96, 48), 1 / 48, ("periodic", "walls"))
    disk = Solids.from_distance(grid, lambda x, y: np.hypot(x - 1.0, y - 0.5) - 0.15, dtype=np.float64)
    wind = Field.zeros(grid, Kind.FACES, np.float64)
    wind.component(0)[...] = 1.0
    (wind,) = Project(grid, disk, np.float64, 1e-13).forward(wind)
    transport = Transport(grid, grid.spacing)
    beside = np.roll(disk.solid, 1, 1) & disk.fluid
    for centre in ((0.6, 0.5), (0.85, 0.7)):
        puff = Field.from_function(grid, Kind.CENTRES, lambda x, y, c=centre: np.hypot(x - c[0], y - c[1]) < 0.12)
        smoke = puff.like(puff.data * disk.fluid.reshape(-1))
        mass, touched = smoke.data.sum(), 0.0
        for _ in range(30):
            (smoke,) = transport.forward(smoke, wind)
            assert smoke.data.min() > -0.2
            assert smoke.data.max() < 1.25
            touched = max(touched, float(smoke.array[beside].max()))
        assert not smoke.array[disk.solid].any()
        assert smoke.data.sum() == pytest.approx(mass, rel=1e-13)
        assert touched > 0.3


def test_at_rest_the_derivative_by_the_wind_is_the_mean_of_both_sides():
    grid = Grid((7, 6), boundary="walls")
    rng = np.random.default_rng(4)
    rho = Field(grid, Kind.CENTRES, rng.random(grid.count))
    bar = Field(grid, Kind.CENTRES, rng.standard_normal(grid.count))
    still = Field.zeros(grid, Kind.FACES, np.float64)
    wind = Field(grid, Kind.FACES, np.abs(rng.standard_normal(still.data.size)) + 0.1)
    transport = Transport(grid, 1.0)
    slope = transport.adjoint((rho, still), (bar,))[1].dot(wind)
    h = 1e-7
    ahead = (transport.forward(rho, wind * h)[0] - rho).dot(bar) / h
    behind = (rho - transport.forward(rho, wind * -h)[0]).dot(bar) / h
    assert abs(ahead - behind) > 1e-3 * abs(slope)
    assert slope == pytest.approx(0.5 * (ahead + behind), rel=1e-4)
