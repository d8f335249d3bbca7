"""Named shapes: areas, volumes and distances against their exact values."""

from __future__ import annotations

import numpy as np
import pytest

from keyfluid.errors import KeyfluidError
from keyfluid.shapes import (
    SHAPES,
    Ball,
    Box,
    Capsule,
    Cone,
    Cross,
    Cylinder,
    Heart,
    Placement,
    Ring,
    Star,
    mass_of,
)

STAR_AREA = 5 * 0.3**2 * 0.5 * np.sin(np.pi / 5)  # ten triangles of sides r, r/2 and angle 36 degrees
HEART_UNIT = 0.5 + np.sqrt(0.5)
HEART_AREA = (0.5 + np.pi / 8) * (0.5 / HEART_UNIT) ** 2  # a square of side sqrt(1/2), two half disks on it


@pytest.mark.parametrize(
    ("source", "area"),
    [
        (Ball(0.3), np.pi * 0.09),
        (Ring(0.3, 0.1), 2 * np.pi * 0.3 * 0.1),
        (Box((0.5, 0.2)), 0.1),
        (Capsule(0.3, 0.1), 0.3 * 0.2 + np.pi * 0.01),
        (Star(points=5, radius=0.3, inner=0.5), STAR_AREA),
        (Cross(size=0.5, thickness=0.2), 2 * 0.1 - 0.04),
        (Heart(size=0.5), HEART_AREA),
    ],
)
def test_areas(source, area):
    placement = Placement(center=(0.51, 0.47), rotation=17.0)
    coverage = source.rasterize((64, 64), 1 / 64, placement)
    assert coverage.dtype == np.float64
    assert coverage.min() >= 0
    assert coverage.max() == 1
    assert mass_of(coverage, 1 / 64) == pytest.approx(area, rel=1e-3)


@pytest.mark.parametrize(
    ("source", "volume"),
    [
        (Ball(0.3), 4 / 3 * np.pi * 0.027),
        (Ring(0.3, 0.16), 2 * np.pi**2 * 0.3 * 0.08**2),
        (Box((0.5, 0.2, 0.3)), 0.03),
        (Capsule(0.3, 0.12), np.pi * 0.0144 * 0.3 + 4 / 3 * np.pi * 0.12**3),
        (Cylinder(0.2, 0.4), np.pi * 0.04 * 0.4),
        (Cone(0.25, 0.5), np.pi * 0.0625 * 0.5 / 3),
        (Star(points=5, radius=0.3, inner=0.5, depth=0.2), STAR_AREA * 0.2),
    ],
)
def test_volumes(source, volume):
    placement = Placement(center=(0.51, 0.47, 0.5), rotation=(20.0, -35.0, 10.0))
    coverage = source.rasterize((48, 48, 48), 1 / 48, placement)
    assert mass_of(coverage, 1 / 48) == pytest.approx(volume, rel=2e-3)


def test_disk_edge_cells_hold_their_area():
    """A cell cut by the disk's flank, against 200 x 200 points in it."""
    coverage = Ball(0.3).rasterize((16, 16), 1 / 16, Placement(center=(0.5, 0.5)))
    fine = (np.arange(200) + 0.5) / 200
    for i, j in ((12, 9), (3, 6), (4, 4)):
        x, y = np.meshgrid((i + fine) / 16 - 0.5, (j + fine) / 16 - 0.5, indexing="ij")
        assert coverage[i, j] == pytest.approx(np.mean(np.hypot(x, y) < 0.3), abs=0.01)


@pytest.mark.parametrize("name", sorted(SHAPES))
def test_distances_are_distances(name):
    """|grad d| = 1 almost everywhere, zero level on the edge of the drawn coverage, sign negative inside."""
    source = SHAPES[name]()
    dimension = source.dimensions[0]
    domain = (1.0,) * dimension
    placement = Placement(rotation=25.0, scale=1.3)
    points = np.random.default_rng(1).random((4000, dimension))
    value = source.signed_distance(points, domain, placement)
    step = 1e-6
    slope = [
        (source.signed_distance(points + step * axis, domain, placement) - value) / step for axis in np.eye(dimension)
    ]
    size = np.linalg.norm(slope, axis=0)
    assert np.mean(np.abs(size - 1) < 1e-3) > 0.98
    coverage = source.rasterize((24,) * dimension, 1 / 24, placement)
    cell = tuple(np.minimum((points * 24).astype(int), 23).T)
    assert np.all(coverage[cell][value < -2 / 24] == 1)
    assert np.all(coverage[cell][value > 2 / 24] == 0)


def test_star_stands_on_two_feet_and_heart_on_its_tip():
    star = Star(radius=0.4).rasterize((64, 64), 1 / 64)
    heart = Heart(size=0.6).rasterize((64, 64), 1 / 64)
    assert star[32, 48] == 1
    assert star[32, :14].max() == 0
    assert star[18, 11] > 0.5
    assert star[45, 11] > 0.5
    assert np.flatnonzero(heart[32])[0] < 16
    assert heart[32, 48:].max() == 0
    assert heart[20, 46] == 1


def test_only_three_dimensional_shapes_say_so():
    with pytest.raises(KeyfluidError, match=r"'cone' needs 3D; the domain is 2D"):
        Cone().rasterize((16, 16), 1 / 16)


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: Ball(-0.1), "radius"),
        (lambda: Ball(float("nan")), "radius"),
        (lambda: Star(points=2), "points"),
        (lambda: Cross(size=0.1, thickness=0.2), "thickness"),
        (lambda: Box((0.1, 0.2, 0.3)).rasterize((8, 8), 0.1), "size"),
    ],
)
def test_sizes_that_make_no_sense(make, text):
    with pytest.raises(KeyfluidError, match=text):
        make()
