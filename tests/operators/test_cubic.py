"""Monotone cubic interpolation in advection: exact cases, limits, order, smearing, derivative, threads."""

from __future__ import annotations

import numpy as np
import pytest

from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators.advect import Advect
from keyfluid.operators.backtrace import tables
from keyfluid.operators.kernels import cubic
from keyfluid.operators.registry import REGISTER, Setting
from keyfluid.threads import set_threads
from keyfluid.verify import dot_defect, observed_order, random_like, taylor_test

CUBIC = [name for name in REGISTER if "cubic" in name]


@pytest.fixture(autouse=True)
def one_thread():
    set_threads(1)
    yield
    set_threads(1)


def read(grid, values, feet):
    """`values` at cell centres, interpolated at displacements `feet` (dim arrays, in cells)."""
    table = tables(grid, (False,) * grid.dim, False, np.dtype(np.float64))
    out = np.empty(grid.count)
    shifts = np.concatenate([np.broadcast_to(f, grid.cells).ravel() for f in feet])
    cubic.interpolate(table.lattices, table.bases, table.sizes, values.ravel(), shifts, out, 3)
    return out.reshape(grid.cells)


def by_hand(q0, q1, q2, q3, t):
    """The formula of the appendix, with the clamp that makes it monotone."""
    rise = q2 - q1
    slopes = [0.5 * (q2 - q0), 0.5 * (q3 - q1)]
    d1, d2 = (0.0 if d * rise <= 0 else np.sign(d) * min(abs(d), 3 * abs(rise)) for d in slopes)
    return q1 + d1 * t + (3 * rise - 2 * d1 - d2) * t**2 + (d1 + d2 - 2 * rise) * t**3


@pytest.mark.parametrize("sides", ["walls", "periodic"])
def test_values_are_those_of_the_formula_axis_by_axis(sides):
    """Last axis first, then the middle one, then the first; indices beyond a side clamp or wrap."""
    grid = Grid((5, 4, 6), boundary=sides)
    rng = np.random.default_rng(2)
    q = rng.standard_normal(grid.cells)
    feet = rng.uniform(-3, 3, (3, *grid.cells))
    got = read(grid, q, feet)

    def line(values, x, n):
        x = x if sides == "periodic" else min(max(x, 0.0), n - 1.0)
        left = int(np.floor(x))
        at = [(left + c) % n if sides == "periodic" else min(max(left + c, 0), n - 1) for c in (-1, 0, 1, 2)]
        return by_hand(*(values(i) for i in at), x - left)

    for i, j, k in np.ndindex(*grid.cells):
        x, y, z = np.array([i, j, k]) + feet[:, i, j, k]
        expected = line(lambda a: line(lambda b: line(lambda c: q[a, b, c], z, 6), y, 4), x, 5)  # noqa: B023
        assert got[i, j, k] == pytest.approx(expected, abs=1e-13)


@pytest.mark.parametrize("dim", [2, 3])
def test_constants_and_linear_data_are_exact(dim):
    grid = Grid((9, 8, 7)[:dim])
    rng = np.random.default_rng(4)
    feet = rng.uniform(-0.99, 0.99, (dim, *grid.cells))
    assert (read(grid, np.full(grid.cells, 0.3), feet) == 0.3).all()
    index = np.indices(grid.cells).astype(float)
    plane = 0.7 + sum(c * x for c, x in zip((0.3, -1.1, 0.6), index))
    shifted = 0.7 + sum(c * (x + f) for c, x, f in zip((0.3, -1.1, 0.6), index, feet))
    inside = (slice(2, -2),) * dim
    np.testing.assert_allclose(read(grid, plane, feet)[inside], shifted[inside], rtol=0, atol=1e-13)


@pytest.mark.parametrize("cells", [(40, 37), (14, 13, 12)])
def test_no_value_leaves_the_range_of_its_cell(cells):
    """To the bit, in rough data, so that densities never become negative."""
    grid = Grid(cells, boundary="periodic")
    rng = np.random.default_rng(6)
    q = rng.choice([0.0, 0.1, 1.0], cells) * rng.random(cells)
    t = rng.random((grid.dim, *cells)) ** 3
    corners = [np.roll(q, [-int(b) for b in np.binary_repr(n, grid.dim)], range(grid.dim)) for n in range(2**grid.dim)]
    got = read(grid, q, t)
    assert (got >= np.min(corners, axis=0)).all()
    assert (got <= np.max(corners, axis=0)).all()
    assert got.std() > 0.05


def test_third_order_on_smooth_monotone_data():
    errors, steps = [], []
    for n in (16, 32, 64, 128):
        grid = Grid((n, n))
        x, y = grid.coordinates((False, False))

        def smooth(x, y):
            return np.exp(0.8 * x + 0.5 * y) + np.sin(0.7 * x - 0.4 * y)

        got = read(grid, smooth(x, y), (0.3, 0.4))
        expected = smooth(x + 0.3 * grid.spacing, y + 0.4 * grid.spacing)
        errors.append(np.abs(got - expected)[2:-2, 2:-2].max())
        steps.append(grid.spacing)
    assert observed_order(steps, errors) == pytest.approx(3.0, abs=0.15), errors


def test_a_turned_disk_is_smeared_less():
    """One turn in 100 steps; the relative error in L2, against linear interpolation."""
    grid = Grid((48, 48))
    x, y = grid.coordinates((False, False))
    start = 1 / (1 + np.exp((np.hypot(x - 0.5, y - 0.72) - 0.13) / 0.01))
    turning = Field.from_function(grid, Kind.FACES, lambda x, y: (0.5 - y + 0 * x, x - 0.5 + 0 * y))
    errors = {}
    for interpolation in ("linear", "cubic"):
        step = Advect(grid, 2 * np.pi / 100, interpolation=interpolation)
        q = Field.of(grid, Kind.CENTRES, start)
        for _ in range(100):
            (q,) = step.forward(q, turning)
        errors[interpolation] = np.linalg.norm(q.array - start) / np.linalg.norm(start)
        assert q.data.min() >= 0
        assert q.data.max() <= start.max()
    assert errors["linear"] == pytest.approx(0.5206, rel=0.01)
    assert errors["cubic"] == pytest.approx(0.1745, rel=0.01)


@pytest.mark.parametrize("name", CUBIC)
@pytest.mark.parametrize(
    ("cells", "sides"),
    [
        ((9, 7), ("walls", "walls")),
        ((9, 7), ("periodic", "open")),
        ((9, 7), ("open", "periodic")),
        ((7, 5, 6), ("walls", "periodic", "open")),
        ((7, 5, 6), ("open", "walls", "periodic")),
        ((7, 5, 6), ("periodic", "open", "walls")),
    ],
)
def test_derivatives(name, cells, sides):
    """With steps of 1e-6: the limiter has many switches nearby."""
    rng = np.random.default_rng(1)
    operator, inputs = REGISTER[name](Setting(Grid(cells, boundary=sides), None, rng, np.dtype(np.float64)))
    assert dot_defect(operator, inputs, rng) < 1e-12
    direction = random_like(inputs, rng)

    def outputs(h):
        moved = operator.forward(*(f.add_scaled(h, d) for f, d in zip(inputs, direction)))
        return np.concatenate([f.data for f in moved])

    derivative = np.concatenate([f.data for f in operator.tangent(inputs, direction)])
    result = taylor_test(outputs, derivative, [1e-6 * 2.0**-k for k in range(5)])
    assert result.slope == pytest.approx(2.0, abs=0.1), result.remainders


@pytest.mark.parametrize("steps", [(0.0, 0.0), (1.0, -2.0), (-10.0, 30.0)])
@pytest.mark.parametrize("sides", ["walls", "periodic", "open"])
def test_feet_on_nodes_have_the_mean_of_the_one_sided_derivatives(sides, steps):
    """At rest, on clamps and beyond them, and displaced by more than a period."""
    grid = Grid((9, 7), 0.125, sides)
    rng = np.random.default_rng(8)
    q = Field(grid, Kind.CENTRES, rng.random(grid.count))
    wind = Field.zeros(grid, Kind.FACES, np.float64)
    for component, speed in zip(wind.components(), steps):
        component[...] = -speed
    (d_wind,) = random_like((wind,), rng)
    operator = Advect(grid, 0.125, order=1, interpolation="cubic")
    (tangent,) = operator.tangent((q, wind), (q.zeros_like(), d_wind))
    start, ahead, behind = (operator.forward(q, wind.add_scaled(h, d_wind))[0].data for h in (0.0, 1e-7, -1e-7))
    mean = 0.5 * ((ahead - start) + (start - behind)) / 1e-7
    np.testing.assert_allclose(tangent.data, mean, rtol=0, atol=1e-6)
    if sides == "periodic" and abs(steps[0]) < 9:
        assert np.abs(ahead - 2 * start + behind).max() > 1e-8  # there are kinks


@pytest.mark.parametrize(("cells", "sides"), [((70, 33), ("periodic", "open")), ((50, 5, 6), "walls")])
def test_threads_change_no_bit(cells, sides):
    """Grids of several slabs in the adjoint, whose scatter must not collide."""
    at = Setting(Grid(cells, boundary=sides), None, np.random.default_rng(3), np.dtype(np.float64))
    operator = Advect(at.grid, 0.9 * at.grid.spacing, interpolation="cubic")
    inputs = (at.field(Kind.CENTRES), at.field(Kind.FACES), at.field(Kind.FACES))
    results = []
    for count in (1, 2):
        set_threads(count)
        outputs = operator.forward(*inputs)
        results.append((*outputs, *operator.adjoint(inputs, outputs)))
    for one, two in zip(*results):
        assert one.data.tobytes() == two.data.tobytes()


def test_an_unknown_interpolation_is_refused():
    with pytest.raises(KeyfluidError, match="interpolation 'quintic'"):
        Advect(Grid((4, 4)), 0.1, interpolation="quintic")
