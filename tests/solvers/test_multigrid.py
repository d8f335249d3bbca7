"""Multigrid-preconditioned CG against a direct solve, its symmetry, its iteration counts and its bits."""

from __future__ import annotations

import itertools

import numba
import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.linalg

from keyfluid.errors import KeyfluidError
from keyfluid.solvers.multigrid import MultigridPCG

KINDS = ("wall", "open", "periodic")


def poisson(active, kinds):
    """Links, shift and `periodic` of the pressure equation; on an open side p = 0 one cell outside."""
    links, shift = [], np.zeros(active.shape)
    for axis, kind in enumerate(kinds):
        weights = (active & np.roll(active, -1, axis)).astype(float)
        ends = np.moveaxis(shift, axis, 0)
        if kind != "periodic":
            np.moveaxis(weights, axis, 0)[-1] = 0
        if kind == "open":
            ends[0] += 1
            ends[-1] += 1
        links.append(weights)
    return active, links, shift * active, tuple(kind == "periodic" for kind in kinds)


def sparse_matrix(active, links, shift, periodic):
    """The definition of A, cell by cell, over all cells; rows of inactive cells are empty."""
    index = np.arange(active.size).reshape(active.shape)
    matrix = scipy.sparse.lil_matrix((active.size, active.size))
    for cell in zip(*np.nonzero(active)):
        here = index[cell]
        matrix[here, here] += shift[cell]
    for axis, weights in enumerate(links):
        for cell in np.ndindex(*active.shape):
            if cell[axis] == active.shape[axis] - 1 and not periodic[axis]:
                continue
            neighbour = list(cell)
            neighbour[axis] = (cell[axis] + 1) % active.shape[axis]
            for a, b in ((cell, tuple(neighbour)), (tuple(neighbour), cell)):
                if active[a]:
                    matrix[index[a], index[a]] += weights[cell]
                    if active[b]:
                        matrix[index[a], index[b]] -= weights[cell]
    return matrix.tocsr()


def sphere(shape):
    """False in a ball of radius 0.2 of the longest side, off centre."""
    points = [(np.arange(n) + 0.5) / max(shape) for n in shape]
    centre = [c * n / max(shape) for c, n in zip((0.4, 0.55, 0.6), shape)]
    mesh = np.meshgrid(*points, indexing="ij")
    return sum((x - c) ** 2 for x, c in zip(mesh, centre)) > 0.2**2


def check_against_direct(system, rng):
    """x solves the consistent system, has mean zero on singular parts, and equals the pseudo-inverse's x."""
    active = system[0]
    matrix = sparse_matrix(*system).toarray()
    values, vectors = np.linalg.eigh(matrix)
    keep = values > 1e-9
    b = rng.normal(size=active.shape) + 0.7
    exact = vectors[:, keep] @ ((vectors[:, keep].T @ b.ravel()) / values[keep])
    solver = MultigridPCG(*system, dtype=np.float64, tolerance=1e-13)
    x, report = solver.solve(b)
    assert report.converged
    assert report.iterations <= 40
    np.testing.assert_allclose(x.ravel(), exact, rtol=0, atol=1e-10 * np.abs(exact).max())
    product = (matrix @ x.ravel()).reshape(x.shape)
    np.testing.assert_allclose(solver.apply(x), product, rtol=0, atol=1e-12 * np.abs(x).max())
    assert not x[~active].any()


@pytest.mark.parametrize("kinds", list(itertools.product(KINDS, repeat=2)))
@pytest.mark.parametrize("shape", [(5, 4), (11, 14)])
def test_every_boundary_in_2d_with_random_solids(shape, kinds):
    rng = np.random.default_rng(5)
    check_against_direct(poisson(rng.random(shape) > 0.25, kinds), rng)


@pytest.mark.parametrize("kinds", list(itertools.combinations_with_replacement(KINDS, 3)))
def test_every_boundary_in_3d_with_random_solids(kinds):
    rng = np.random.default_rng(6)
    check_against_direct(poisson(rng.random((7, 6, 5)) > 0.25, kinds), rng)


@pytest.mark.parametrize("shape", [(1, 9), (9, 1), (2, 3), (3, 1, 5), (1, 1)])
def test_lattices_with_short_axes(shape):
    rng = np.random.default_rng(7)
    for kinds in itertools.product(KINDS, repeat=len(shape)):
        check_against_direct(poisson(np.ones(shape, bool), kinds), rng)


def test_viscosity_with_uneven_links_and_left_out_last_links():
    rng = np.random.default_rng(8)
    shape = (9, 12)
    links = [rng.random((8, 12)) * 30, rng.random((9, 12))]
    system = (rng.random(shape) > 0.2, links, 1 + rng.random(shape), (False, True))
    check_against_direct(system, rng)


def test_links_to_inactive_cells_hold_the_surface_at_zero():
    rng = np.random.default_rng(9)
    shape = (12, 10)
    liquid = np.add.outer(np.arange(12) * 0.3, np.arange(10)) < 6.5
    links = [np.ones((11, 10)), np.ones((12, 9))]
    system = (liquid, links, np.zeros(shape), (False, False))
    check_against_direct(system, rng)


@pytest.mark.parametrize(
    ("shape", "kinds"),
    [
        ((13, 9), ("periodic", "periodic")),
        ((45, 37), ("open", "wall")),
        ((7, 9, 11), ("periodic", "open", "periodic")),
    ],
)
def test_the_preconditioner_is_symmetric_and_positive(shape, kinds):
    rng = np.random.default_rng(10)
    active = sphere(shape)
    solver = MultigridPCG(*poisson(active, kinds), dtype=np.float64)
    a, b = rng.normal(size=(2, *shape)) * active
    left, right = np.vdot(a, solver.precondition(b)), np.vdot(solver.precondition(a), b)
    scale = np.linalg.norm(a) * np.linalg.norm(solver.precondition(b))
    assert abs(left - right) <= 1e-12 * scale
    assert np.vdot(a, solver.precondition(a)) > 0


@pytest.mark.parametrize(
    ("shape", "kind", "most"),
    [
        ((64, 64), "wall", 8),
        ((256, 256), "wall", 8),
        ((32, 32, 32), "wall", 9),
        ((64, 64), "open", 10),
        ((32, 32, 32), "open", 12),
        ((256, 256), "periodic", 8),
        ((45, 37), "periodic", 10),
        ((45, 37), "wall", 10),
        ((23, 18, 31), "periodic", 9),
        ((23, 18, 31), "wall", 10),
    ],
)
def test_iteration_counts(shape, kind, most):
    b = np.random.default_rng(11).normal(size=shape)
    solver = MultigridPCG(*poisson(sphere(shape), (kind,) * len(shape)))
    x, report = solver.solve(b)
    assert x.dtype == np.float32
    assert report.converged
    assert report.residual <= 1e-6
    assert 3 <= report.iterations <= most


@pytest.mark.parametrize("shape", [(64, 64), (32, 32, 32)])
def test_thin_wall_with_a_slit(shape):
    active = np.ones(shape, bool)
    active[shape[0] // 3, : shape[1] * 4 // 5] = False
    _, report = MultigridPCG(*poisson(active, ("wall",) * len(shape))).solve(
        np.random.default_rng(12).normal(size=shape)
    )
    assert report.converged
    assert report.iterations <= 20


def test_disconnected_chambers_each_lose_their_mean():
    """Two closed chambers, one divided by links of weight 0 only, and an open one that must keep its mean."""
    rng = np.random.default_rng(13)
    shape = (24, 17)
    active, links, shift, periodic = poisson(np.ones(shape, bool), ("wall", "wall"))
    active[7] = False
    links = [w * active * np.roll(active, -1, a) for a, w in enumerate(links)]
    links[0][15] = 0
    shift[-1, 3] = 1
    b = rng.normal(size=shape) + 2
    solver = MultigridPCG(active, links, shift, periodic, dtype=np.float64, tolerance=1e-12)
    x, report = solver.solve(b)
    assert report.converged
    expected = np.where(active, b, 0)
    for part in (slice(0, 7), slice(8, 16)):
        expected[part] -= b[part].mean()
        assert abs(x[part].mean()) <= 1e-13 * np.abs(x[part]).max()
    np.testing.assert_allclose(solver.apply(x), expected, rtol=0, atol=1e-9)
    assert abs(x[16:].mean()) > 1


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_same_bits_for_one_and_two_threads(dtype):
    if numba.config.NUMBA_NUM_THREADS < 2:
        pytest.skip("needs two threads")
    before = numba.get_num_threads()
    results = []
    for shape, kind in itertools.product(((145, 137), (23, 18, 31)), ("periodic", "open")):
        b = np.random.default_rng(14).normal(size=shape)
        system = poisson(sphere(shape), (kind,) * len(shape))
        for threads in (1, 2):
            numba.set_num_threads(threads)
            results.append(MultigridPCG(*system, dtype=dtype).solve(b)[0])
    numba.set_num_threads(before)
    for one, two in zip(results[::2], results[1::2]):
        assert one.tobytes() == two.tobytes()


def test_a_start_at_the_solution_costs_nothing_and_a_near_one_little():
    shape = (45, 37)
    b = np.random.default_rng(15).normal(size=shape)
    solver = MultigridPCG(*poisson(sphere(shape), ("open", "wall")), dtype=np.float64, tolerance=1e-8)
    x, cold = solver.solve(b, tolerance=1e-10)
    assert solver.solve(b, x0=x)[1].iterations == 0
    near, warm = solver.solve(b, x0=x * (1 + 1e-5))
    assert 0 < warm.iterations < cold.iterations / 2
    np.testing.assert_allclose(near, x, rtol=0, atol=1e-6 * np.abs(x).max())


def test_too_few_iterations_are_reported():
    shape = (64, 64)
    solver = MultigridPCG(*poisson(sphere(shape), ("wall", "wall")), max_iterations=2)
    _, report = solver.solve(np.random.default_rng(16).normal(size=shape))
    assert not report.converged
    assert report.iterations == 2
    assert 1e-6 < report.residual < 1


def test_zero_and_constant_right_hand_sides_give_zero():
    solver = MultigridPCG(*poisson(sphere((16, 16)), ("wall", "wall")), dtype=np.float64)
    for b in (np.zeros((16, 16)), np.ones((16, 16))):
        x, report = solver.solve(b)
        assert report.converged
        assert not x.any()


def test_bad_input_is_refused_in_words():
    active, links, shift, periodic = poisson(sphere((16, 12)), ("wall", "periodic"))
    solver = MultigridPCG(active, links, shift, periodic)
    b = np.ones((16, 12))
    b[~active] = np.nan
    assert solver.solve(b)[1].converged
    b[0, 0] = np.nan
    with pytest.raises(KeyfluidError, match="right-hand side contains NaN"):
        solver.solve(b)
    with pytest.raises(KeyfluidError, match="shape"):
        solver.solve(np.ones((12, 16)))
    with pytest.raises(KeyfluidError, match="not negative"):
        MultigridPCG(active, links, shift - 1, periodic)
    with pytest.raises(KeyfluidError, match="axis 1"):
        MultigridPCG(active, [links[0], links[1][:, :-1]], shift, periodic)
