"""The parts of target-driven smoke: limited sweeps against a plain reference, gathering, goals, turns."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from keyfluid.boundary import Boundary
from keyfluid.controllers.target.far_blur import far_blur
from keyfluid.controllers.target.goal import make_goal
from keyfluid.controllers.target.settings import TargetNumbers
from keyfluid.controllers.turns import acting, turns
from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field, density
from keyfluid.grid import Grid, Kind
from keyfluid.operators.advect_limited import AdvectLimited
from keyfluid.operators.blur import gaussian_blur
from keyfluid.operators.gather import Gather
from keyfluid.operators.registry import FORWARD_ONLY, Setting
from keyfluid.threads import set_threads

GRIDS = [
    ((9, 7), ("walls", "open")),
    ((6, 8), ("open", "periodic")),
    ((7, 5), ("periodic", "walls")),
    ((7, 5, 6), ("open", "walls", "periodic")),
    ((5, 6, 7), ("walls", "periodic", "open")),
    ((6, 7, 5), ("periodic", "open", "walls")),
    ((2, 3), ("walls", "periodic")),
]


def setting(cells, sides):
    return Setting(Grid(cells, boundary=sides), None, np.random.default_rng(3), np.dtype(np.float64))


def reference(grid, q, place, v, dt, ghost, axes):
    """Appendix A, axis by axis, with ghost values written out."""
    for axis in axes:
        side = grid.boundary[axis]
        wraps = side is Boundary.PERIODIC
        u = np.moveaxis(v.component(axis), axis, 0)
        across = [a for a, on_plane in enumerate(place) if on_plane]
        q = np.moveaxis(q, axis, 0)
        n = len(q)
        if across == [axis]:
            index = np.arange(n + 1)
            low, high = (index - 1, index % n) if wraps else (np.clip(index - 1, 0, n - 1), np.clip(index, 0, n - 1))
            speed = 0.5 * (u[low] + u[high])
        else:
            speed = np.concatenate([u, u[:1]]) if wraps else u
            if across:
                b = across[0]
                line = np.moveaxis(np.moveaxis(speed, 0, axis), b, 0)
                if grid.is_periodic(b):
                    line = 0.5 * (np.roll(line, 1, 0) + line)
                else:
                    line = 0.5 * (np.concatenate([line[:1], line]) + np.concatenate([line, line[-1:]]))
                speed = np.moveaxis(np.moveaxis(line, 0, b), axis, 0)
        speed = speed.copy()
        if side is Boundary.WALLS:
            speed[[0, -1]] = 0
        c = dt / grid.spacing * speed
        mode = {"mode": "wrap"} if wraps else {"mode": "edge"}
        padded = np.pad(q, [(2, 2)] + [(0, 0)] * (q.ndim - 1), **mode)
        d = np.diff(padded, axis=0)
        three = np.stack([d[:-2], d[1:-1], d[2:]])
        agree = np.abs(np.sign(three).sum(0)) == 3
        mml = np.where(agree, np.sign(three[0]) * np.abs(three).min(0), 0)
        below, above = padded[1 : n + 2].copy(), padded[2 : n + 3].copy()
        if side is Boundary.OPEN:
            below[0] *= ghost
            above[-1] *= ghost
        flux = np.where(c > 0, c * below, c * above) + 0.5 * np.abs(c) * (1 - np.abs(c)) * mml
        q = np.moveaxis(q - np.diff(flux, axis=0), 0, axis)
    return q


@pytest.mark.parametrize(("cells", "sides"), GRIDS)
@pytest.mark.parametrize("reverse", [False, True])
def test_sweeps_are_those_of_the_appendix(cells, sides, reverse):
    at = setting(cells, sides)
    grid, v = at.grid, at.field(Kind.FACES)
    rho, u = at.field(Kind.CENTRES), at.field(Kind.FACES)
    dt = 0.4 * grid.spacing / v.peak()
    axes = range(grid.dim)[::-1] if reverse else range(grid.dim)
    carried = AdvectLimited(grid, dt, reverse).forward(rho, u, v)
    for before, after, ghost in ((rho, carried[0], 0.0), (u, carried[1], 1.0)):
        for q, place, got in zip(before.components(), before.kind.places(grid.dim), after.components()):
            np.testing.assert_allclose(got, reference(grid, q, place, v, dt, ghost, axes), rtol=0, atol=1e-13)


def test_smoke_is_carried_where_the_wind_blows_and_keeps_its_edge():
    grid = Grid((64, 8), boundary="periodic")
    rho = Field.from_function(grid, Kind.CENTRES, lambda x, y: np.abs(x - 0.3) + 0 * y < 0.15)
    wind = Field.from_function(grid, Kind.FACES, lambda x, y: (0.5 + 0 * x * y, 0 * x * y))
    sharp = blunt = rho
    for _ in range(80):
        (sharp,) = AdvectLimited(grid, 0.4 / 32).forward(sharp, wind)
        (blunt,) = AdvectLimited(grid, 0.4 / 32, correction=0.0).forward(blunt, wind)
    wanted = np.roll(rho.array, 32, 0)
    error = [np.linalg.norm(q.array - wanted) / np.linalg.norm(wanted) for q in (sharp, blunt)]
    assert error[0] < 0.27
    assert error[1] > 1.25 * error[0]


def test_gathering_moves_smoke_to_the_target_and_not_through_walls():
    grid = Grid((24, 20))
    target = Field.from_function(grid, Kind.CENTRES, lambda x, y: (x - 0.4) ** 2 + (y - 0.4) ** 2 < 0.04)
    rho = density(grid, 0.2 + 0 * target.array)
    goal = make_goal(grid, target.array, 0.2, dtype=np.float64)
    for index in range(40):
        gather = Gather(grid, goal.target, goal.weight, 0.5, 0.05, bool(index % 2))
        (rho,) = gather.forward(rho)
    inside, beside = target.array > 0, (goal.blurred.array > 0.2) & (target.array == 0)
    assert rho.array[inside].mean() > 0.5
    assert rho.array[beside].mean() < 0.1
    assert rho.data.sum() == pytest.approx(0.2 * grid.count, rel=1e-13)
    assert rho.data.min() >= 0
    assert np.array_equal(gather.forward(target)[0].data, target.data)


@pytest.mark.parametrize("name", FORWARD_ONLY)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_threads_change_no_bit(name, dtype):
    grid = Grid((40, 13, 14), boundary=("periodic", "walls", "open"))
    operator, inputs = FORWARD_ONLY[name](Setting(grid, None, np.random.default_rng(5), np.dtype(dtype)))
    results = []
    for count in (1, 2):
        set_threads(count)
        results.append([out.data.tobytes() for out in operator.forward(*inputs)])
    assert results[0] == results[1]


@pytest.mark.parametrize("name", FORWARD_ONLY)
def test_operators_without_a_derivative_say_so(name):
    operator, inputs = FORWARD_ONLY[name](setting((9, 7), ("walls", "open")))
    assert not operator.differentiable
    with pytest.raises(KeyfluidError, match="has no derivative"):
        operator.adjoint(inputs, inputs[:1])


@pytest.mark.parametrize("sides", [("walls", "periodic"), ("open", "walls")])
def test_the_far_blur_is_the_blur_and_right_where_transforms_are_noise(sides):
    grid = Grid((60, 40), boundary=sides)
    spot = np.zeros(grid.cells)
    spot[9, 11] = 2.0
    far = far_blur(grid, spot, 0.05)
    near = gaussian_blur(grid, 0.05).forward(density(grid, spot))[0].array
    np.testing.assert_allclose(far, near, rtol=0, atol=1e-15)
    assert far.min() > 0
    profile = np.log(far[9:, 11])
    assert np.all(np.diff(profile[:-3], 2) < 0)
    assert far[55, 11] < 1e-30


@pytest.mark.parametrize("sigma", [0.05, 0.008])
def test_slopes_point_to_the_target_from_everywhere(sigma):
    """With the narrow blur most of the box lies where no float64 can hold it."""
    grid = Grid((96, 48))
    target = Field.from_function(grid, Kind.CENTRES, lambda x, y: (x - 0.2) ** 2 + (y - 0.2) ** 2 < 0.01).array
    slope = make_goal(grid, target, sigma, dtype=np.float64).slope
    assert np.all(slope.component(0)[36:-1] < 0)
    assert np.all(slope.component(1)[:, 36:-1] < 0)
    assert np.all(slope.component(0)[[0, -1]] == 0)


def test_falloff_leaves_the_target_alone():
    grid = Grid((64, 64))
    target = Field.from_function(grid, Kind.CENTRES, lambda x, y: (x - 0.2) ** 2 + (y - 0.2) ** 2 < 0.01).array
    whole, faded = (make_goal(grid, target, 0.05, falloff=f, dtype=np.float64).slope for f in (None, 0.1))
    ratio = faded.component(0)[1:-1] / whole.component(0)[1:-1]
    b = far_blur(grid, target, 0.05 / np.sqrt(2))
    inside = (b[1:] > 1e-3 * b.max()) & (b[:-1] > 1e-3 * b.max())
    assert np.all(ratio[inside] == 1)
    assert ratio.min() < 1e-4


def test_a_hard_target_has_two_values_and_the_same_mass():
    grid = Grid((32, 32))
    soft = Field.from_function(grid, Kind.CENTRES, lambda x, y: np.exp(-((x - 0.5) ** 2 + (y - 0.4) ** 2) / 0.02)).array
    goal = make_goal(grid, soft, 0.05, hard=True, dtype=np.float64)
    assert len(np.unique(goal.target.data)) == 2
    assert goal.target.data.sum() == pytest.approx(soft.sum(), rel=1e-12)


def key(frame, hold=0, weight=1.0):
    return SimpleNamespace(frame=frame, hold=hold, weight=weight)


def test_targets_act_in_turn():
    first, second = key(10, hold=3), key(20, weight=3.0)
    plan = turns([second, first], 30, release=False)
    assert [acting(plan, frame).key is first for frame in (1, 10, 13, 14)] == [True, True, True, False]
    assert acting(plan, 30).key is second
    assert [turn.frames for turn in plan] == [10, 7]
    assert plan[1].blend == 1.0
    assert acting(turns([first, second], 30, release=True), 21) is None


def test_coefficients_have_the_defaults_of_the_documentation():
    made = TargetNumbers(strength=2.0, side=3.0).coefficients(2.0, 0.5, 1.0, 0.15)
    assert (made.force, made.damping, made.gathering) == pytest.approx((2 * 8 * 9 / (4 * 0.5), 12.0, 0.024 * 9 / 0.5))
    usual = TargetNumbers()
    dense, second = usual.coefficients(1 / 24, 1.0, 1.0, 0.05), usual.coefficients(1.0, 1.0, 1.0, 0.05)
    assert dense == second
    assert TargetNumbers(v_d=3.0, damping=2.0).coefficients(1.0, 1.0, 0.5, 0.05).damping == 3.0
    coarse = TargetNumbers().coefficients(1.0, 1.0, 1.0, 0.1)
    assert (coarse.force, coarse.gathering) == pytest.approx((4 * second.force, second.gathering / 16))


def test_the_blur_narrows_in_the_first_half_of_a_turn():
    widths = [TargetNumbers(side=2.0).width_at(share, 1.0) for share in (0.0, 0.12, 0.13, 0.26, 0.4, 0.5, 2.0)]
    assert widths == pytest.approx([0.4, 0.4, 0.4 / 2**0.5, 0.2, 0.2 / 2**0.5, 0.1, 0.1])
    assert TargetNumbers().width_at(0.0, 1 / 24) == 0.05
    assert TargetNumbers(reach=0.0).width_at(0.0, 1.0) == 0.05
    assert TargetNumbers(sigma=0.3).width_at(0.0, 1.0) == 0.3


def test_a_target_without_smoke_is_refused():
    with pytest.raises(KeyfluidError, match="no smoke"):
        make_goal(Grid((8, 8)), np.zeros((8, 8)), 0.05)
