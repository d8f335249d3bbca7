"""Fast marching: exact distances, order of convergence, its derivative, and what may not change."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.ndimage import binary_dilation

from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators.redistance import Redistance
from keyfluid.verify import dot_defect, random_like, taylor_test


def circle(*x):
    return np.sqrt(sum((a - c) ** 2 for a, c in zip(x, (0.47, 0.52, 0.49)))) - 0.27


def box(*x):
    sides = [abs(a - c) - h for a, c, h in zip(x, (0.48, 0.53, 0.51), (0.21, 0.17, 0.19))]
    outside = np.sqrt(sum(np.maximum(q, 0) ** 2 for q in sides))
    return outside + np.minimum(np.maximum.reduce(np.broadcast_arrays(*sides)), 0)


def stretched(shape):
    """The same zero level, other slopes: what a level set looks like before it is redistanced."""
    return lambda *x: shape(*x) * (1.3 + 0.5 * np.sin(3 * x[0] + 2 * x[1]))


@pytest.mark.parametrize("shape", [circle, box])
@pytest.mark.parametrize(("dim", "sizes"), [(2, (32, 64, 128, 256)), (3, (16, 32, 64))])
def test_the_distance_converges_everywhere(shape, dim, sizes):
    """A box's corners are point sources: differences of first order have an error of h log h there (0.80)."""
    errors = []
    for n in sizes:
        grid = Grid((n,) * dim)
        phi = Field.from_function(grid, Kind.CENTRES, stretched(shape))
        exact = Field.from_function(grid, Kind.CENTRES, shape)
        (found,) = Redistance(grid).forward(phi)
        errors.append(float(np.mean(np.abs(found.data - exact.data))))
    order = -np.polyfit(np.log(sizes), np.log(errors), 1)[0]
    assert order > (1.7 if shape is circle else 0.9), errors
    assert errors[-1] < 0.3 / sizes[-1]


def test_a_slanted_plane_is_exact_beside_the_surface():
    grid = Grid((12, 9, 10))
    normal = np.array([0.48, -0.6, 0.64])
    exact = Field.from_function(grid, Kind.CENTRES, lambda *x: sum(n * a for n, a in zip(normal, x)) - 0.2)
    (found,) = Redistance(grid).forward(3.7 * exact)
    marched = Redistance(grid).work(exact)
    beside = marched.order[: marched.at_interface]
    assert marched.at_interface > 50
    np.testing.assert_allclose(found.data[beside], exact.data[beside], rtol=1e-12, atol=1e-14)


def test_by_hand_on_three_by_three():
    """One wet cell in the middle, 0.5 deep against 1.5 around it; corners from two neighbours."""
    grid = Grid((3, 3), spacing=2.0)
    phi = np.full((3, 3), 1.5)
    phi[1, 1] = -0.5
    (found,) = Redistance(grid).forward(Field.of(grid, Kind.CENTRES, phi))
    middle, side = -0.5 * 2 / np.sqrt(2 * 2.0**2), 1.5 * 2 / 2.0
    corner = 0.5 * (2 * side + np.sqrt(2 * 2.0**2))
    expected = np.array([[corner, side, corner], [side, middle, side], [corner, side, corner]])
    np.testing.assert_allclose(found.array, expected, rtol=1e-14)


def test_periodic_sides_are_crossed():
    grid = Grid((16, 12), boundary=["periodic", "walls"])
    phi = Field.from_function(grid, Kind.CENTRES, lambda x, y: np.abs(x - 0.06 + 0 * y) - 0.11)
    (found,) = Redistance(grid).forward(phi)
    shift = Field.of(grid, Kind.CENTRES, np.roll(phi.array, 5, 0))
    (moved,) = Redistance(grid).forward(shift)
    np.testing.assert_array_equal(np.roll(found.array, 5, 0), moved.array)


def solved_again(grid, phi, marched, place):
    """The distance of the cell at a place of the order, from cells before it, by the rules of fast_marching.py."""
    rank = np.empty(marched.order.size, int)
    rank[marched.order] = np.arange(rank.size)
    shape, periodic = grid.cells, [grid.is_periodic(a) for a in range(grid.dim)]
    rank, value = rank.reshape(shape), marched.value.reshape(shape)
    cell = np.unravel_index(marched.order[place], shape)

    def beside(at, axis, step):
        moved = at[axis] + step
        if not 0 <= moved < shape[axis] and not periodic[axis]:
            return None
        return (*at[:axis], moved % shape[axis], *at[axis + 1 :])

    terms = []
    for axis in range(grid.dim):
        known = [(value[m], step, m) for step in (-1, 1) if (m := beside(cell, axis, step)) and rank[m] < place]
        if known:
            x, step, m = min(known)
            behind = beside(m, axis, step)
            terms.append((x, 1.0))
            if behind and rank[behind] < max(rank[m], marched.at_interface):
                y = value[behind] * (1 if (phi[behind] < 0) == (phi[cell] < 0) else -1)
                if y < x:
                    terms[-1] = ((4 * x - y) / 3, 2.25)
    terms.sort()
    for used in range(1, len(terms) + 1):
        t, q = np.array(terms[:used]).T
        root = np.roots([q.sum(), -2 * (q * t).sum(), (q * t * t).sum() - 1]).real.max()
        if used == len(terms) or root <= terms[used][0]:
            return root
    raise AssertionError("a cell with no neighbour before it")


@pytest.mark.parametrize(
    ("cells", "sides"), [((14, 11), "walls"), ((12, 9), ["periodic", "walls"]), ((7, 6, 8), ["walls", "periodic"] * 2)]
)
def test_every_cell_solves_the_equation_from_the_nearest_before_it(cells, sides):
    """What is kept between two visits of a cell is the same as looking at all its neighbours when it is accepted."""
    grid = Grid(cells, boundary=sides[: len(cells)] if isinstance(sides, list) else sides)
    rng = np.random.default_rng(7)
    phi = Field.from_function(grid, Kind.CENTRES, stretched(box))
    phi = phi.like(phi.data + 0.3 * grid.spacing * rng.normal(size=phi.data.size))
    marched = Redistance(grid).work(phi)
    assert sorted(marched.order) == list(range(phi.data.size))
    beyond = range(marched.at_interface, phi.data.size)
    assert len(beyond) > 0.2 * phi.data.size
    distances = marched.value[marched.order[marched.at_interface :]]
    assert np.all(np.diff(distances) >= 0)
    np.testing.assert_allclose(distances, [solved_again(grid, phi.array, marched, p) for p in beyond], rtol=1e-10)


def test_the_derivative_of_a_whole_march():
    grid = Grid((24, 20))
    rng = np.random.default_rng(3)
    phi = Field.from_function(grid, Kind.CENTRES, stretched(circle))
    operator = Redistance(grid)
    (direction,) = random_like((phi,), rng)
    assert dot_defect(operator, (phi,), rng) < 1e-12
    result = taylor_test(
        lambda h: operator.forward(phi.add_scaled(h, direction))[0].data,
        operator.tangent((phi,), (direction,))[0].data,
        [1e-6 * 2.0**-k for k in range(5)],
    )
    assert result.slope == pytest.approx(2.0, abs=0.05), result.remainders


def test_the_adjoint_ends_beside_the_surface():
    """McNamara: all but the cells at the interface have derivative zero; our gradient there reads their neighbours."""
    grid = Grid((24, 20))
    phi = Field.from_function(grid, Kind.CENTRES, stretched(circle))
    operator = Redistance(grid)
    (bar,) = operator.adjoint((phi,), (phi.like(np.ones_like(phi.data)),))
    marched = operator.work(phi)
    beside = np.zeros(phi.data.size, bool)
    beside[marched.order[: marched.at_interface]] = True
    reached = binary_dilation(beside.reshape(grid.cells)).ravel()
    assert np.all(bar.data[~reached] == 0)
    assert np.count_nonzero(bar.data[beside]) > 0.9 * np.count_nonzero(beside)


def test_the_papers_misprint_is_no_derivative():
    """2 a + b in the denominator instead of 2 a rho' + b: off by a factor that is not 1."""
    low, middle = 0.4, 0.9
    x = 0.5 * (low + middle + np.sqrt(2 - (middle - low) ** 2))
    a, b = 2.0, -2 * (low + middle)
    ours = (x - low) / (2 * x - low - middle)
    b_m, c_m = -2.0, 2 * low
    assert -(b_m * x + c_m) / (2 * a * x + b) == pytest.approx(ours)
    assert (b_m * x + c_m) / (2 * a + b) != pytest.approx(ours, rel=0.1)


def test_a_surface_of_one_sign_stays():
    grid = Grid((6, 5))
    phi = Field.of(grid, Kind.CENTRES, np.full((6, 5), 0.3))
    assert np.array_equal(Redistance(grid).forward(phi)[0].data, phi.data)


def test_nan_is_refused():
    grid = Grid((6, 5))
    phi = Field.of(grid, Kind.CENTRES, np.full((6, 5), np.nan))
    with pytest.raises(KeyfluidError, match="NaN"):
        Redistance(grid).forward(phi)
