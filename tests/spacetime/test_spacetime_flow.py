"""The Navier-Stokes subproblem: derivatives, a dense Newton solve, the cell solve, V-cycles, remedies."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from spacetime_cases import guided

from keyfluid.controllers.spacetime.flow import dot, peak
from keyfluid.controllers.spacetime.gauss_newton import GaussNewton
from keyfluid.controllers.spacetime.multigrid import Multigrid
from keyfluid.grid import Grid, Kind
from keyfluid.solvers.fas import FullApproximation, Level, Trajectory, coloured, depth
from keyfluid.solvers.fas_transfer import (
    coarser,
    prolong_centres,
    prolong_faces,
    restrict_centres,
    restrict_faces,
)
from keyfluid.solvers.kernels import coupled_gauss_seidel
from keyfluid.threads import set_threads


def solved(flow, guide, kappa, tolerance=1e-12):
    v = np.zeros_like(guide)
    v[:, 0] = 0.3 * guide[:, 0]
    u, report = GaussNewton(flow, tolerance).solve(v, guide, kappa)
    return v, u, report


@pytest.mark.parametrize("free_start", [False, True])
def test_the_gradient_is_the_derivative_of_the_objective(free_start):
    flow, guide = guided((9, 7), 4, 1.0, ("walls", "periodic"), viscosity=0.03, free_start=free_start)
    rng = np.random.default_rng(3)
    v = flow.solenoidal.project(guide + 0.2 * rng.standard_normal(guide.shape))
    d = flow.admissible(rng.standard_normal(guide.shape))
    slope = dot(flow.gradient(v, flow.forces(v), guide, 0.7), d)

    def value(t):
        w = v + t * d
        return flow.objective(flow.forces(w), w, guide, 0.7)

    assert slope == pytest.approx((value(1e-5) - value(-1e-5)) / 2e-5, rel=1e-7)


@pytest.mark.parametrize("sides", ["walls", ("walls", "periodic")], ids=str)
def test_eight_by_eight_agrees_with_a_dense_newton_solve_of_the_optimality_conditions(sides):
    """Eq. 9 with all its unknowns v, pbar, u, p, from dense matrices and with the second derivative of Adv."""
    flow, guide = guided((8, 8), 4, 1.0, sides)
    kappa = 1.0
    v, u, report = solved(flow, guide, kappa)
    assert report.converged
    noise = 0.02 * np.random.default_rng(1).standard_normal(v.shape)
    dense_v, dense_u = dense_newton(flow, guide, kappa, v + noise, u, v[:, 0])
    assert np.abs(dense_v - v).max() < 1e-8
    assert np.abs(dense_u - u).max() < 1e-8
    assert peak(v - guide) > 0.01
    assert np.abs(flow.solenoidal.divergence(v)).max() < 1e-12


def dense_newton(flow, guide, kappa, near_v, near_u, start):
    """Newton's method on eq. 9 by finite matrices, from somewhere near; wall faces are not unknowns."""
    grid, steps = flow.grid, guide.shape[1]
    level = Level(grid, 1.0, flow.viscosity, 1, np.float64)
    right = Trajectory.zeros(grid, steps, np.float64)
    right.v[...] = kappa * guide
    inner = flow.solenoidal.project(np.ones((grid.value_count(Kind.FACES), 1)))
    free = np.ones(len(inner), bool)
    for a in range(grid.dim):
        if not grid.is_periodic(a):
            planes = flow.solenoidal.component(free[:, None], a)
            planes[(slice(None),) * a + (0,)] = False
            planes[(slice(None),) * a + (-1,)] = False
    faces = np.flatnonzero(free)
    cells = np.arange(1, grid.count)  # the first pressure is held: only differences count
    sizes = [len(faces), len(faces), len(cells), len(cells)]

    def trajectory(z):
        x = Trajectory.zeros(grid, steps, np.float64)
        x.v[:, 0] = start
        blocks = np.split(z.reshape(-1, steps - 1), np.cumsum(sizes)[:-1])
        for part, rows, block in zip(x.parts(), (faces, faces, cells, cells), blocks):
            part[rows, 1:] = block
        return x

    def function(z):
        left = level.residual(trajectory(z), right, kappa)
        rows = (left.v[faces, 1:], left.u[faces, 1:], left.p[cells, 1:], left.pbar[cells, 1:])
        return np.concatenate([r.reshape(-1) for r in rows])

    pressures = np.zeros((2 * len(cells), steps - 1))
    z = np.concatenate([near_v[faces, 1:], near_u[faces, 1:], pressures]).reshape(-1)
    for _ in range(12):
        base = function(z)
        if np.abs(base).max() < 1e-13:
            break
        # The equations are quadratic, so central differences with any step are exact.
        columns = np.empty((base.size, z.size))
        for i in range(z.size):
            unit = np.zeros_like(z)
            unit[i] = 0.5
            columns[:, i] = function(z + unit) - function(z - unit)
        z = z - np.linalg.solve(columns, base)
    x = trajectory(z)
    return x.v, x.u


@pytest.mark.parametrize("first", [0, 1])
@pytest.mark.parametrize(("cells", "sides"), [((4, 4), "walls"), ((4, 4), "periodic"), ((4, 4, 4), "walls")], ids=str)
def test_the_solve_of_a_cell_agrees_with_a_dense_solve(cells, sides, first):
    """One cell smoothed alone leaves no residual in any of its own equations, as a dense solve of them would."""
    steps, kappa = 3, 0.8
    rng = np.random.default_rng(5)
    grid = Grid(cells, boundary=sides)
    level = Level(grid, 1.0, 0.02, first, np.float64)
    flow, _ = guided(cells, steps, 1.0, sides)
    x = Trajectory.zeros(grid, steps, np.float64)
    right = Trajectory.zeros(grid, steps, np.float64)
    for part in (*x.parts(), *right.parts()):
        part[...] = 0.3 * rng.standard_normal(part.shape)
    for part in (x.v, x.u, right.v, right.u):
        flow.solenoidal.subtract_gradient(part, np.zeros((*grid.cells, steps)))
    x.u[:, 0] = 0
    for cell in (0, grid.count // 2 + 1):
        level.colours, level.firsts = np.array([cell]), np.array([0, 1])
        before = [part.copy() for part in x.parts()]
        y = Trajectory(*(part.copy() for part in before))
        level.smooth(y, right, kappa, 1.0, 1)
        dense = dense_cell(level, before, right, kappa, cell)
        for got, old, wanted in zip(y.parts(), before, dense.parts()):
            np.testing.assert_allclose(got - old, wanted, rtol=0, atol=1e-12)


def dense_cell(level, before, right, kappa, cell):
    """The Gauss-Newton system of one cell (eq. 10), assembled by differences of the residual and solved densely."""
    grid, steps, first = level.grid, before[0].shape[1], level.first
    where = np.unravel_index(cell, grid.cells)
    faces = []
    layout = grid.layout(Kind.FACES)
    for a in range(grid.dim):
        for up in (0, 1):
            index = list(where)
            index[a] += up
            if grid.is_periodic(a):
                index[a] %= grid.cells[a]
            elif index[a] in (0, grid.cells[a]):
                continue
            faces.append(layout.parts[a].start + int(np.ravel_multi_index(index, layout.shapes[a])))
    places = [(0, f, k) for f in faces for k in range(first, steps)]
    places += [(1, f, k) for f in faces for k in range(1, steps)]
    places += [(2, cell, k) for k in range(1, steps)] + [(3, cell, k) for k in range(first, steps)]
    rows = [(0, f, k) for f in faces for k in range(first, steps)]
    rows += [(1, f, k) for f in faces for k in range(1, steps)]
    rows += [(3, cell, k) for k in range(1, steps)] + [(2, cell, k) for k in range(first, steps)]

    def residual(change):
        x = Trajectory(*(part.copy() for part in before))
        for (part, i, k), value in zip(places, change):
            x.parts()[part][i, k] += value
        left = level.residual(x, right, kappa)
        return np.array([left.parts()[part][i, k] for part, i, k in rows])

    base = residual(np.zeros(len(places)))
    matrix = np.empty((len(rows), len(places)))
    for i in range(len(places)):
        unit = np.zeros(len(places))
        unit[i] = 0.5
        matrix[:, i] = residual(-unit) - residual(unit)
    # Newton's matrix also has the second derivative of Adv between v and v; Gauss-Newton leaves it out.
    count = len([p for p in places if p[0] == 0])
    matrix[:count, :count] = kappa * np.eye(count)
    change = np.linalg.solve(matrix, base)
    out = Trajectory(*(np.zeros_like(part) for part in before))
    for (part, i, k), value in zip(places, change):
        out.parts()[part][i, k] = value
    return out


@pytest.mark.parametrize(
    ("cells", "sides", "courant", "kappa"),
    [
        ((16, 16), "walls", 1.0, 1.0),
        ((16, 16), "periodic", 3.0, 10.0),
        ((8, 8, 8), ("walls", "periodic", "walls"), 1.0, 1.0),
    ],
    ids=str,
)
def test_v_cycles_converge_to_the_same_trajectory(cells, sides, courant, kappa):
    flow, guide = guided(cells, 6, courant, sides)
    v = np.zeros_like(guide)
    _, report = Multigrid(flow, 1e-9, np.float64).solve(v, guide, kappa)
    assert report.solver == "fas"
    rates = [b / a for a, b in zip(report.residuals[2:], report.residuals[3:])]
    assert max(rates) < 0.5, rates
    w = np.zeros_like(guide)
    GaussNewton(flow, 1e-10).solve(w, guide, kappa)
    assert np.abs(v - w).max() < 1e-8


def test_where_v_cycles_diverge_the_solver_notices_and_still_converges():
    flow, guide = guided((16, 16), 12, 3.0, "periodic", seed=2)
    v = np.zeros_like(guide)
    _, report = Multigrid(flow, 1e-7, np.float64).solve(v, guide, 0.1)
    assert report.converged
    assert report.solver != "fas"
    assert peak(flow.gradient(v, flow.forces(v), guide, 0.1)) <= 1e-6


def test_a_step_that_raises_the_objective_is_rejected_and_the_guard_goes_on():
    flow, guide = guided((16, 16), 8, 6.0, "walls", seed=4)
    v = np.zeros_like(guide)
    v[:, 1:] = -guide[:, 1:]
    _, report = GaussNewton(flow, 1e-4).solve(v, guide, 0.05)
    assert report.converged
    assert report.rejected > 0


def test_gauss_newton_needs_few_iterations_at_rest_and_viscosity_is_preconditioned():
    flow, guide = guided((16, 12), 8, 1e-6, "walls")
    assert solved(flow, guide, 1.0)[2].cg_iterations <= 4
    flow, guide = guided((16, 12), 8, 0.3, "walls", viscosity=2.0)
    report = solved(flow, guide, 1.0, 1e-9)[2]
    assert report.converged
    assert report.cg_iterations < 120


def test_threads_change_no_bit_of_a_v_cycle():
    results = []
    for count in (1, 2):
        set_threads(count)
        flow, guide = guided((10, 14), 5, 1.0, "periodic")
        v = np.zeros_like(guide)
        fas = FullApproximation(flow.grid, dtype=np.float64)
        right = Trajectory.zeros(flow.grid, 5, np.float64)
        right.v[...] = guide
        x = Trajectory(v, v.copy(), *(np.zeros((flow.grid.count, 5)) for _ in range(2)))
        fas.cycle(x, right, 1.0)
        results.append(b"".join(part.tobytes() for part in x.parts()))
    assert results[0] == results[1]


def test_cells_of_one_colour_never_touch():
    for cells, sides in (((5, 4), "periodic"), ((5, 7), "walls"), ((3, 5, 4), "periodic")):
        grid = Grid(cells, boundary=sides)
        order, firsts = coloured(grid)
        assert sorted(order) == list(range(grid.count))
        for begin, end in pairwise(firsts):
            places = np.array(np.unravel_index(order[begin:end], cells)).T
            for i, p in enumerate(places):
                gaps = np.abs(places[i + 1 :] - p)
                wraps = np.array([grid.is_periodic(a) for a in range(grid.dim)])
                gaps = np.where(wraps, np.minimum(gaps, np.array(cells) - gaps), gaps)
                assert np.all(gaps.max(axis=1, initial=0) >= 2) or len(gaps) == 0


@pytest.mark.parametrize("sides", ["walls", "periodic", ("periodic", "walls", "walls")], ids=str)
def test_transfers_keep_fluxes_sums_and_straight_lines(sides):
    cells = (8, 12) if sides != ("periodic", "walls", "walls") else (8, 4, 12)
    grid = Grid(cells, boundary=sides)
    _, guide = guided(cells, 3, 1.0, sides)
    coarse = coarser(grid)
    down = restrict_faces(grid, guide, weighted=False)
    coarse_flow, _ = guided(coarse.cells, 3, 1.0, sides)
    assert np.abs(coarse_flow.solenoidal.divergence(down)).max() < 1e-13
    q = np.random.default_rng(0).standard_normal((*cells, 3))
    space = tuple(range(grid.dim))
    np.testing.assert_allclose(restrict_centres(grid, q).sum(space) * 2**grid.dim, q.sum(space))
    ones = np.ones((coarse.value_count(Kind.FACES), 3))
    assert np.all(prolong_faces(coarse, ones) == 1)
    assert np.all(prolong_centres(coarse, np.ones((*coarse.cells, 3))) == 1)
    assert np.all(restrict_faces(grid, np.ones((grid.value_count(Kind.FACES), 3)), weighted=True)[:, 0] == 1)
    assert depth((96, 64)) == 5
    assert depth((25, 50)) == 1


def test_a_smoother_with_wrong_blocks_does_not_converge(monkeypatch):
    flow, guide = guided((16, 16), 6, 1.0, "walls")
    plain = coupled_gauss_seidel.smooth2

    def sabotaged(*arguments):
        changed = list(arguments)
        changed[15] = changed[15] * 0.2  # kappa of the blocks, not of the equations
        plain(*changed)

    monkeypatch.setattr(coupled_gauss_seidel, "smooth2", sabotaged)
    v = np.zeros_like(guide)
    _, report = Multigrid(flow, 1e-8, np.float64).solve(v, guide, 1.0)
    assert report.solver != "fas"
