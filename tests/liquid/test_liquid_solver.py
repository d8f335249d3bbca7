"""The solver of a liquid's cells against dense matrices."""

from __future__ import annotations

import numpy as np
import pytest

from keyfluid.solvers.liquid import LiquidSolver


def system(shape, periodic, seed):
    """Two thirds of the cells active, weights of three decades, more shift on some; and the matrix of active cells."""
    rng = np.random.default_rng(seed)
    active = rng.uniform(size=shape) < 0.67
    links = [10.0 ** rng.uniform(-2, 1, size=shape) for _ in shape]
    shift = np.where(rng.uniform(size=shape) < 0.3, 10.0 ** rng.uniform(-2, 1, size=shape), 0.01)
    matrix = np.diag(shift.ravel())
    number = np.arange(active.size).reshape(shape)
    for cell in np.argwhere(active):
        for axis, wraps in enumerate(periodic):
            following = cell.copy()
            following[axis] = (cell[axis] + 1) % shape[axis]
            if active[tuple(following)] and (wraps or following[axis] > cell[axis]):
                here, there, w = number[tuple(cell)], number[tuple(following)], links[axis][tuple(cell)]
                matrix[here, here] += w
                matrix[there, there] += w
                matrix[here, there] -= w
                matrix[there, here] -= w
    inside = np.flatnonzero(active)
    return active, links, shift, matrix[np.ix_(inside, inside)]


@pytest.mark.parametrize(
    ("shape", "periodic"),
    [((9, 7), (False, False)), ((8, 9), (True, False)), ((5, 6, 4), (False, True, True)), ((2, 7), (True, True))],
)
def test_the_solution_is_that_of_the_matrix(shape, periodic):
    active, links, shift, matrix = system(shape, periodic, len(shape))
    b = np.random.default_rng(5).normal(size=shape)
    solver = LiquidSolver(active, links, shift, periodic, 1e-12, "test")
    x, report = solver.solve(b)
    assert report.converged
    assert 3 < report.iterations < 50
    assert np.all(x[~active] == 0)
    np.testing.assert_allclose(x[active], np.linalg.solve(matrix, b[active]), rtol=1e-9, atol=1e-11)
    left = np.linalg.norm(b[active] - matrix @ x[active]) / np.linalg.norm(b[active])
    assert left == pytest.approx(report.residual, rel=0.05, abs=1e-14)


def test_the_residual_it_stops_at_is_that_of_the_equation():
    """Not that of the scaled and factored one which it iterates on."""
    active, links, shift, matrix = system((20, 20), (False, True), 3)
    b = np.random.default_rng(6).normal(size=active.shape)
    for tolerance in (1e-1, 1e-3, 1e-6):
        x, report = LiquidSolver(active, links, shift, (False, True), tolerance, "test").solve(b)
        left = np.linalg.norm(b[active] - matrix @ x[active]) / np.linalg.norm(b[active])
        assert left == pytest.approx(report.residual, rel=1e-6)
        assert left <= tolerance


def test_iterations_with_strong_viscosity():
    """192 is clay's number at 96^2. Without the factor, scaled by the diagonal, it takes 23 and 162 iterations."""
    x, y = np.meshgrid(np.arange(48), np.arange(48), indexing="ij")
    active = (x - 23.3) ** 2 + (y - 24.1) ** 2 < 20**2
    b = np.sin(0.3 * x + 0.1 * y * y)
    for number, most in ((1.0, 8), (192.0, 44)):
        solver = LiquidSolver(active, [np.full(b.shape, number)] * 2, np.ones(b.shape), (False, False), 1e-7, "test")
        assert solver.solve(b)[1].iterations <= most


def test_a_cell_without_links_or_shift_stays_zero():
    active = np.zeros((5, 5), bool)
    active[1, 1] = active[3, 2] = active[3, 3] = True
    shift = np.where(active, 1.0, 0.0)
    shift[1, 1] = 0.0
    b = np.zeros((5, 5))
    b[3, 2:4] = 1.0, 2.0
    x, report = LiquidSolver(active, [np.ones((5, 5))] * 2, shift, (False, False), 1e-12, "test").solve(b)
    assert report.converged
    assert x[1, 1] == 0
    np.testing.assert_allclose(x[3, 2:4], np.linalg.solve([[2.0, -1.0], [-1.0, 2.0]], [1.0, 2.0]))


@pytest.mark.parametrize("periodic", [(False, False), (True, False)])
def test_a_sealed_part_takes_b_without_its_mean_and_leaves_the_rest_alone(periodic):
    """Columns 0, 1 and 7 are one part where the sides meet; only columns 3 to 5 are held."""
    active = np.ones((8, 6), bool)
    active[[2, 6]] = False
    links, shift = [np.ones((8, 6)), np.ones((8, 6))], np.zeros((8, 6))
    shift[4, 5] = 1.0
    b = np.random.default_rng(3).normal(size=(8, 6)) + 1
    x, report = LiquidSolver(active, links, shift, periodic, 1e-12, "test").solve(b)
    assert report.converged
    sealed = [[0, 1, 7]] if periodic[0] else [[0, 1], [7]]
    wanted = np.where(active, b, 0.0)
    for part in sealed:
        wanted[part] -= wanted[part].mean()
        assert abs(x[part].mean()) < 1e-12
    image = shift * x
    for axis in range(2):
        joined = active & np.roll(active, -1, axis)
        if not periodic[axis]:
            joined[tuple(-1 if a == axis else slice(None) for a in range(2))] = False
        flow = np.where(joined, x - np.roll(x, -1, axis), 0.0)
        image += flow - np.roll(flow, 1, axis)
    np.testing.assert_allclose(image[active], wanted[active], atol=1e-10)


def test_the_solve_is_symmetric_with_a_sealed_part():
    active = np.ones((8, 6), bool)
    active[2] = False
    shift = np.zeros((8, 6))
    shift[4, 5] = 1.0
    solver = LiquidSolver(active, [np.ones((8, 6))] * 2, shift, (False, False), 1e-13, "test")
    rng = np.random.default_rng(4)
    a, b = rng.normal(size=(2, 8, 6)) * active
    assert np.sum(solver.solve(a)[0] * b) == pytest.approx(np.sum(a * solver.solve(b)[0]), rel=1e-9)
