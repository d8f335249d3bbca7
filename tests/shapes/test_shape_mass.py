"""Mass and what can't be changed about it."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

from keyfluid.errors import KeyfluidError
from keyfluid.shapes import (
    Ball,
    Extrusion,
    ImageDrawing,
    Mesh,
    Placement,
    Star,
    Text,
    mass_of,
    rearrangement_bound,
    resize_to_mass,
)


def picture():
    pixels = np.zeros((37, 23))
    pixels[3:30, 4:9] = 1.0
    pixels[3:12, 4:20] = 0.6
    return ImageDrawing(pixels, Extrusion())


def mesh():
    torus = trimesh.creation.torus(0.3, 0.1, 32, 16)
    return Mesh.build(torus.vertices, torus.faces)


@pytest.mark.parametrize(
    ("source", "dimension", "mass"),
    [
        (Text("FLOW"), 2, 0.05),
        (Text("F", extrusion=Extrusion(depth=0.1)), 3, 0.02),
        (Star(), 2, 0.08),
        (Ball(0.01), 3, 0.03),
        (picture(), 2, 0.1),
        (picture(), 3, 0.01),
        (mesh(), 3, 0.02),
    ],
)
@pytest.mark.parametrize("rotation", [0.0, 20.0])
def test_resized_shapes_have_the_mass(source, dimension, mass, rotation):
    shape = (64, 56) if dimension == 2 else (36, 32, 32)
    spacing = 1 / max(shape)
    start = Placement(rotation=rotation if dimension == 2 else (rotation, 0.0, 5.0))
    found = resize_to_mass(source, start, shape, spacing, mass)
    assert mass_of(source.rasterize(shape, spacing, found), spacing) == pytest.approx(mass, rel=1e-5)
    assert found.scale != start.scale
    assert (found.center, found.rotation, found.fit) == (start.center, start.rotation, start.fit)


def test_disk_radius_follows_from_its_mass():
    found = resize_to_mass(Ball(0.1), Placement(), (128, 128), 1 / 128, np.pi * 0.3**2)
    assert 0.1 * found.scale == pytest.approx(0.3, rel=1e-4)


def test_start_far_too_large_is_brought_back():
    found = resize_to_mass(Ball(0.1), Placement(scale=50.0), (64, 64), 1 / 64, 0.01)
    assert found.scale == pytest.approx(np.sqrt(0.01 / np.pi) / 0.1, rel=1e-2)


@pytest.mark.parametrize(("mass", "center"), [(0.9, None), (0.2, (0.1, 0.5)), (5.0, None)])
def test_shapes_may_not_leave_the_domain(mass, center):
    with pytest.raises(KeyfluidError, match="touches the walls"):
        resize_to_mass(Ball(0.1), Placement(center=center), (32, 32), 1 / 32, mass)


@pytest.mark.parametrize("mass", [0.0, -1.0, float("nan")])
def test_no_smoke_is_an_error(mass):
    with pytest.raises(KeyfluidError, match="mass"):
        resize_to_mass(Ball(0.1), Placement(), (16, 16), 1 / 16, mass)


def test_centre_outside_the_domain():
    with pytest.raises(KeyfluidError, match="outside the domain"):
        resize_to_mass(Ball(0.1), Placement(center=(1.5, 0.5)), (16, 16), 1 / 16, 0.1)


def test_bound_by_hand():
    """sorted start 0 0 1 3, sorted target 0 1 2 2: differences 0 1 1 -1, |target| = 3."""
    start = np.array([[3.0, 0.0], [0.0, 1.0]])
    target = np.array([[2.0, 1.0], [2.0, 0.0]])
    assert rearrangement_bound(start, target) == pytest.approx(np.sqrt(3) / 3)
    assert rearrangement_bound(np.flip(target), target) == 0


def test_bound_is_below_any_rearrangement():
    rng = np.random.default_rng(5)
    start, target = rng.random((5, 4)), rng.random((5, 4))
    bound = rearrangement_bound(start, target)
    for _ in range(200):
        moved = rng.permutation(start.ravel()).reshape(5, 4)
        assert np.linalg.norm(moved - target) / np.linalg.norm(target) >= bound


def test_bound_errors():
    with pytest.raises(KeyfluidError, match="mass is zero"):
        rearrangement_bound(np.ones((2, 2)), np.zeros((2, 2)))
    with pytest.raises(KeyfluidError, match="different grids"):
        rearrangement_bound(np.ones((2, 2)), np.ones((2, 3)))


def test_mass_of_single_precision_is_summed_in_double():
    assert mass_of(np.full((300, 300), 0.1, dtype=np.float32), 0.5) == pytest.approx(
        90000 * float(np.float32(0.1)) * 0.25, rel=1e-12
    )


class _Jumping(Ball):
    """A ball whose mass jumps by a share once it is larger than a size, as a mesh with surfaces inside does."""

    share = 5e-4

    def rasterize(self, shape, spacing, placement, time=0.0):
        drawn = super().rasterize(shape, spacing, placement, time)
        return drawn * (1 + self.share) if placement.scale > 2.0 else drawn


def test_a_mass_within_a_jump_gets_the_nearest_size():
    at = mass_of(Ball(0.1).rasterize((64, 64), 1 / 64, Placement(scale=2.0)), 1 / 64)
    found = resize_to_mass(_Jumping(0.1), Placement(), (64, 64), 1 / 64, at * (1 + 2e-4))
    assert found.scale == pytest.approx(2.0, rel=1e-6)
    wide = _Jumping(0.1)
    wide.share = 0.1
    with pytest.raises(KeyfluidError, match="no size of the shape"):
        resize_to_mass(wide, Placement(), (64, 64), 1 / 64, at * 1.05)
