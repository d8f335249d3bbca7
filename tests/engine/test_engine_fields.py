"""Grid, fields and the basic differences, with values small enough to work out by hand."""

from __future__ import annotations

import numpy as np
import pytest
from engine_cases import MIXTURES, SIZES, label

from keyfluid.boundary import Boundary
from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field, density, velocity
from keyfluid.grid import Grid, Kind
from keyfluid.operators.curl import Curl
from keyfluid.operators.heat import Heat
from keyfluid.operators.project import divergence, subtract_gradient
from keyfluid.solids import Solids


def test_shapes_between_walls_and_around_a_period():
    grid = Grid((3, 4, 5), 0.5, ("walls", "periodic", "open"))
    assert grid.shapes(Kind.CENTRES) == ((3, 4, 5),)
    assert grid.shapes(Kind.FACES) == ((4, 4, 5), (3, 4, 5), (3, 4, 6))
    assert grid.shapes(Kind.EDGES) == ((3, 4, 6), (4, 4, 6), (4, 4, 5))
    assert grid.value_count(Kind.FACES) == 80 + 60 + 72
    assert grid.size == (1.5, 2.0, 2.5)
    assert grid.cell_volume == 0.125
    assert Grid((3, 4)).shapes(Kind.EDGES) == ((4, 5),)


def test_coordinates_of_centres_faces_and_corners():
    grid = Grid((3, 2), 0.5)
    x, y = grid.coordinates((False, False))
    assert x.ravel().tolist() == [0.25, 0.75, 1.25]
    assert y.ravel().tolist() == [0.25, 0.75]
    x, y = grid.coordinates((True, False))
    assert x.ravel().tolist() == [0.0, 0.5, 1.0, 1.5]
    assert y.shape == (1, 2)
    assert Grid((3, 2)).spacing == pytest.approx(1 / 3)


def test_components_are_views_of_one_buffer_in_order():
    grid = Grid((2, 3))
    field = Field(grid, Kind.FACES, np.arange(17.0))
    u, v = field.components()
    assert u.shape == (3, 3)
    assert v.shape == (2, 4)
    assert u[1, 2] == 5
    assert v[1, 0] == 13
    v[0, 1] = 100
    assert field.data[10] == 100


def test_fields_from_functions_and_arrays():
    grid = Grid((2, 3), 1.0)
    field = Field.from_function(grid, Kind.FACES, lambda x, y: (10 * x + y, x - y))
    assert field.component(0)[2, 1] == 21.5
    assert field.component(1)[1, 2] == -0.5
    assert density(grid, np.arange(6).reshape(2, 3)).dtype == np.float64
    assert velocity(grid, np.zeros((3, 3), np.float32), np.zeros((2, 4), np.float32)).dtype == np.float32


def test_arithmetic_norms_and_peak():
    grid = Grid((2, 2))
    a, b = (density(grid, np.array(v, float)) for v in ([[1, -2], [3, 4]], [[5, 6], [7, -8]]))
    assert (a + b).data.tolist() == [6, 4, 10, -4]
    assert (a - b).data.tolist() == [-4, -8, -4, 12]
    assert (2 * a).data.tolist() == (a * 2).data.tolist() == [2, -4, 6, 8]
    assert (-a).data.tolist() == [-1, 2, -3, -4]
    assert a.add_scaled(0.5, b).data.tolist() == [3.5, 1, 6.5, 0]
    assert a.dot(b) == 5 - 12 + 21 - 32
    assert b.norm() == pytest.approx(np.sqrt(25 + 36 + 49 + 64))
    assert (a.peak(), b.peak()) == (4, 8)
    assert (a.astype(np.float32) * 0.1).dtype == np.float32


def test_fields_of_different_places_or_grids_do_not_mix():
    grid, other = Grid((3, 3)), Grid((3, 3), boundary="periodic")
    centred, faces = (Field.zeros(grid, kind) for kind in (Kind.CENTRES, Kind.FACES))
    for mix in (
        lambda: centred + faces,
        lambda: centred - Field.zeros(other, Kind.CENTRES),
        lambda: faces.dot(Field.zeros(Grid((3, 3), 0.1), Kind.FACES)),
        lambda: faces.add_scaled(1.0, Field.zeros(Grid((4, 3)), Kind.FACES)),
    ):
        with pytest.raises(KeyfluidError, match="different places"):
            mix()
    with pytest.raises(KeyfluidError, match="several components"):
        _ = faces.array
    with pytest.raises(KeyfluidError, match=r"thing: expected faces of a \(3, 3\) grid, got centres"):
        centred.require(grid, Kind.FACES, "thing")
    with pytest.raises(KeyfluidError, match="other sides or spacing"):
        centred.require(other, Kind.CENTRES, "thing")


def test_divergence_of_three_by_three_cells_by_hand():
    u = np.array([[9, 9, 9], [1, 2, 3], [-1, 0, 4], [9, 9, 9]], float)
    v = np.array([[9, 1, 0, 9], [9, 5, -2, 9], [9, 0, 7, 9]], float)
    walls = velocity(Grid((3, 3)), u, v)  # the nines lie on walls and count as zero
    assert divergence(walls).tolist() == [
        [1 + 1, 2 - 1, 3 - 0],
        [-2 + 5, -2 - 7, 1 + 2],
        [1 + 0, 0 + 7, -4 - 7],
    ]
    opened = velocity(Grid((3, 3), boundary="open"), u, v)
    assert divergence(opened).tolist() == [
        [-8 - 8, -7 - 1, -6 + 9],
        [-2 - 4, -2 - 7, 1 + 11],
        [10 - 9, 9 + 7, 5 + 2],
    ]
    wrapped = velocity(Grid((3, 3), boundary="periodic"), u[:3], v[:, :3])
    assert divergence(wrapped).tolist() == [
        [-8 - 8, -7 - 1, -6 + 9],
        [-2 - 4, -2 - 7, 1 + 11],
        [10 - 9, 9 + 7, 5 + 2],
    ]


def test_divergence_of_three_cubed_cells_by_hand():
    grid = Grid((3, 3, 3), boundary=("walls", "open", "periodic"))
    field = Field.zeros(grid, Kind.FACES, np.float64)
    u, v, w = field.components()
    u[1, 1, 1], v[0, 0, 2], v[2, 3, 0], w[1, 2, 0] = 2.0, 3.0, 5.0, 7.0
    expected = np.zeros((3, 3, 3))
    expected[0, 1, 1], expected[1, 1, 1] = 2, -2
    expected[0, 0, 2] = -3
    expected[2, 2, 0] = 5
    expected[1, 2, 2], expected[1, 2, 0] = 7, -7
    np.testing.assert_array_equal(divergence(field), expected)


def test_gradient_of_three_by_three_cells_by_hand():
    p = np.array([[1, 4, 2], [0, 3, 8], [5, 6, 7]], float)
    for sides, first, last in (
        ("walls", 0, 0),
        ("open", [-1, -4, -2], [5, 6, 7]),
        ("periodic", [4, 2, 5], None),
    ):
        gradient = -1.0 * subtract_gradient(Field.zeros(Grid((3, 3), boundary=sides), Kind.FACES, np.float64), p)
        u = gradient.component(0)
        assert u[1].tolist() == [-1, -1, 6]
        assert u[2].tolist() == [5, 3, -1]
        np.testing.assert_array_equal(-u[0], first)
        if last is not None:
            np.testing.assert_array_equal(-u[3], last)
        assert gradient.component(1)[1, 1:3].tolist() == [3, 5]


@pytest.mark.parametrize("dim", [2, 3])
@pytest.mark.parametrize("index", range(6))
def test_divergence_is_minus_the_transposed_gradient(dim, index):
    grid = Grid(SIZES[dim], boundary=MIXTURES[dim][index])
    rng = np.random.default_rng(3)
    v = Field(grid, Kind.FACES, rng.standard_normal(grid.value_count(Kind.FACES)))
    p = rng.standard_normal(grid.cells)
    gradient = v.zeros_like() - subtract_gradient(v.zeros_like(), p)
    assert np.sum(divergence(v) * p) == pytest.approx(-v.dot(gradient), rel=1e-13), label(grid.boundary, False)


def test_curl_by_hand_in_two_dimensions():
    grid = Grid((2, 2), 0.5)
    psi = np.array([[0, 1, 4], [2, 3, 1], [5, 0, 6]], float)
    (v,) = Curl(grid).forward(Field.of(grid, Kind.EDGES, psi))
    assert v.component(0).tolist() == [[2, 6], [2, -4], [-10, 12]]
    assert v.component(1).tolist() == [[-4, -4, 6], [-6, 6, -10]]
    np.testing.assert_array_equal(divergence_without_walls(v), 0)


def test_curl_in_three_dimensions_has_the_right_hand():
    grid = Grid((2, 3, 4), 1.0)
    potential = Field.from_function(grid, Kind.EDGES, lambda x, y, z: (3 * y + 5 * z, 7 * z + 2 * x, 4 * x - 6 * y))
    (v,) = Curl(grid).forward(potential)
    for a, value in enumerate((-6 - 7, 5 - 4, 2 - 3)):
        np.testing.assert_allclose(v.component(a), value, rtol=0, atol=1e-13)


def divergence_without_walls(v):
    return sum(np.diff(component, axis=a) for a, component in enumerate(v.components()))


def test_heat_averages_the_density_below_and_above():
    rho = np.array([[1, 3, 8], [2, 0, 4]], float)
    for sides, expected in (
        ("walls", [[0, 2, 5.5, 0], [0, 1, 2, 0]]),
        ("open", [[0.5, 2, 5.5, 4], [1, 1, 2, 2]]),
        ("periodic", [[4.5, 2, 5.5], [3, 1, 2]]),
    ):
        grid = Grid((2, 3), boundary=sides)
        (v,) = Heat(grid, lift=4.0, dt=0.25).forward(density(grid, rho), Field.zeros(grid, Kind.FACES, np.float64))
        assert v.component(1).tolist() == expected
        assert not v.component(0).any()


def test_bodies_mark_cells_and_faces():
    grid = Grid((4, 3), 1.0, ("walls", "open"))
    signed = np.ones((4, 3))
    signed[1, 2] = -1
    solids = Solids.from_distance(grid, signed, velocity=(2.0, -3.0), dtype=np.float64)
    free = Field(grid, Kind.FACES, solids.free.astype(float))
    assert free.component(0)[:, 0].tolist() == [0, 1, 1, 1, 0]  # walls
    assert free.component(0)[:, 2].tolist() == [0, 0, 0, 1, 0]
    assert free.component(1)[1].tolist() == [1, 1, 0, 0]
    assert free.component(1)[0].tolist() == [1, 1, 1, 1]  # open
    assert solids.motion.component(0)[:, 2].tolist() == [0, 2, 2, 0, 0]
    assert solids.motion.component(1)[1].tolist() == [0, 0, -3, -3]
    assert solids.fluid.sum() == 11


def test_one_word_or_one_per_axis():
    assert Grid((3, 3), boundary="open").boundary == (Boundary.OPEN, Boundary.OPEN)
    assert Grid((3, 3), boundary=["walls", "periodic"]).is_periodic(1)
