"""Vorticity confinement: where it pushes, where it must not, and its derivative."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators.confine_vorticity import CALM, ConfineVorticity
from keyfluid.operators.registry import Setting
from keyfluid.threads import set_threads
from keyfluid.verify import dot_defect, random_like, taylor_test

SIDES = ("walls", "periodic", "open")


@pytest.fixture(autouse=True)
def one_thread():
    set_threads(1)


def smooth_velocity(grid, seed=3):
    return Setting(grid, None, np.random.default_rng(seed), np.dtype(np.float64)).field(Kind.FACES)


def force(grid, velocity):
    """The force in m/s^2 for epsilon 1."""
    (after,) = ConfineVorticity(grid, 1.0, 1.0).forward(velocity)
    return after - velocity


@pytest.mark.parametrize(
    ("cells", "sides"),
    [
        *(((9, 7), sides) for sides in itertools.product(SIDES, repeat=2)),
        *(((7, 5, 6), sides) for sides in [*((s,) * 3 for s in SIDES), SIDES, SIDES[1:] + SIDES[:1]]),
    ],
)
def test_derivatives(cells, sides):
    grid = Grid(cells, boundary=sides)
    rng = np.random.default_rng(5)
    operator, inputs = ConfineVorticity(grid, 3.1, 0.3), (smooth_velocity(grid),)
    assert dot_defect(operator, inputs, rng) < 1e-12
    (direction,) = random_like(inputs, rng)
    result = taylor_test(
        lambda h: operator.forward(inputs[0].add_scaled(h, direction))[0].data,
        operator.tangent(inputs, (direction,))[0].data,
        [1e-4 * 2.0**-k for k in range(5)],
    )
    assert result.slope == pytest.approx(2.0, abs=0.1), result.remainders


def test_at_rest_there_is_no_force_and_the_derivative_is_the_identity():
    grid = Grid((6, 5), boundary=("walls", "open"))
    rest = Field.zeros(grid, Kind.FACES, np.float64)
    (direction,) = random_like((rest,), np.random.default_rng(0))
    operator = ConfineVorticity(grid, 2.0, 0.5)
    assert not operator.forward(rest)[0].data.any()
    np.testing.assert_array_equal(operator.tangent((rest,), (direction,))[0].data, direction.data)
    np.testing.assert_array_equal(operator.adjoint((rest,), (direction,))[0].data, direction.data)


def test_a_vortex_is_driven_along_its_own_flow():
    """N points to the centre, where it spins fastest, so N x omega is along the flow, not across it."""
    grid = Grid((64, 64), boundary="walls")

    def vortex(x, y):
        near = np.exp(-((x - 0.5) ** 2 + (y - 0.5) ** 2) / 0.1**2)
        return -(y - 0.5) * near, (x - 0.5) * near

    f = force(grid, Field.from_function(grid, Kind.FACES, vortex))
    x, y = (line - 0.5 for line in grid.coordinates((True, False)))
    radius = np.hypot(x, y)
    ring = (radius > 0.05) & (radius < 0.09)
    fx = f.component(0)
    along = -y / radius
    # |omega| = 2 (1 - r^2 / a^2) exp(-r^2 / a^2); the force is epsilon dx |omega| along the flow.
    omega = 2 * (1 - radius**2 / 0.01) * np.exp(-(radius**2) / 0.01)
    np.testing.assert_allclose(fx[ring], (grid.spacing * omega * along)[ring], atol=0.15 * grid.spacing)
    assert np.abs(fx[ring]).max() > 0.5 * grid.spacing


def test_a_tube_of_vorticity_in_space_is_driven_like_one_in_the_plane():
    """The same vortex in every plane z: in 2D and 3D the same force, and none along the tube."""
    flat = Grid((12, 11), 0.1, "walls")
    deep = Grid((12, 11, 5), 0.1, ("walls", "walls", "periodic"))
    v = smooth_velocity(flat)
    lifted = [np.repeat(c[:, :, None], 5, axis=2) for c in v.components()]
    tube = Field.of(deep, Kind.FACES, *lifted, np.zeros(deep.shape((False, False, True))))
    plane, space = force(flat, v), force(deep, tube)
    for a in range(2):
        for k in range(5):
            np.testing.assert_allclose(space.component(a)[:, :, k], plane.component(a), atol=1e-14)
    assert np.abs(space.component(2)).max() < 1e-14
    assert plane.peak() > 0.01


@pytest.mark.parametrize("dim", [2, 3])
def test_rigid_rotation_is_left_alone_inside(dim):
    """Its vorticity is the same everywhere, so N vanishes; at walls the flow no longer is a rotation."""
    grid = Grid((12, 10, 9)[:dim], boundary="open")

    def turn(x, y, *z):
        return (-(y - 0.3) * 2, (x - 0.4) * 2, *(0 * x for _ in z))

    f = force(grid, Field.from_function(grid, Kind.FACES, turn))
    for component in f.components():
        inside = (slice(3, -3), slice(3, -3))
        assert np.abs(component[inside]).max() < 1e-9
    assert f.peak() > 1e-3  # at the sides


@pytest.mark.parametrize("sides", SIDES)
@pytest.mark.parametrize("cells", [(9, 7), (7, 5, 6)])
def test_a_mirrored_flow_is_driven_in_the_mirror(cells, sides):
    grid = Grid(cells, boundary=sides)
    v = smooth_velocity(grid)
    f = force(grid, v)
    assert f.peak() > 0.01
    for axis in range(grid.dim):
        np.testing.assert_allclose(force(grid, mirror(v, axis)).data, mirror(f, axis).data, atol=1e-12)


def mirror(field, axis):
    images = []
    for a, values in enumerate(field.components()):
        image = np.flip(values, axis)
        if a == axis and field.grid.is_periodic(axis):
            image = np.roll(image, 1, axis)
        images.append(-image if a == axis else image)
    return Field.of(field.grid, field.kind, *images)


def test_walls_feel_no_force_and_open_sides_do():
    grid = Grid((9, 7), boundary=("walls", "open"))
    f = force(grid, smooth_velocity(grid))
    assert not f.component(0)[[0, -1]].any()
    assert np.abs(f.component(1)[:, [0, -1]]).min() > 0


def test_calm_air_is_hardly_driven():
    """Far below CALM the force falls with the cube of the speed, far above it only in proportion."""
    grid = Grid((9, 7))
    v = smooth_velocity(grid)
    slow = [force(grid, v * (factor * CALM)).norm() for factor in (1e-4, 1e-3)]
    fast = [force(grid, v * factor).norm() for factor in (1.0, 10.0)]
    assert slow[1] / slow[0] == pytest.approx(1000.0, rel=1e-2)
    assert fast[1] / fast[0] == pytest.approx(10.0, rel=1e-3)


def test_a_negative_strength_is_refused():
    with pytest.raises(KeyfluidError, match="epsilon"):
        ConfineVorticity(Grid((4, 4)), -1.0, 0.1)
