"""Shares of cells: within 0.02 of many samples a cell, and volumes within 0.1 % of the exact ones, turned or not."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh

from keyfluid.shapes import Ball, Box, Mesh, Placement, Text
from keyfluid.shapes.mesh_coverage import share_behind_plane

TURN = (17.0, 23.0, 31.0)
CELLS = 32


def averaged(values, count):
    """Means over blocks of count cells an axis."""
    for axis in range(values.ndim):
        parts = [*values.shape[:axis], values.shape[axis] // count, count, *values.shape[axis + 1 :]]
        values = values.reshape(parts).mean(axis=axis + 1)
    return values


def reference(shape, cells, placement, count=12):
    """(found there, shares) of cells at the surface, by count^d points in each, inside or not."""
    domain, size = (1.0,) * len(cells), 1 / cells[0]
    middles = np.stack(np.meshgrid(*[(np.arange(n) + 0.5) * size for n in cells], indexing="ij"), axis=-1)
    crossed = np.argwhere(np.abs(shape.signed_distance(middles, domain, placement)) < 0.87 * size)
    chosen = crossed[np.random.default_rng(7).permutation(len(crossed))[:400]]
    steps = (np.arange(count) + 0.5) / count - 0.5
    offsets = np.stack(np.meshgrid(*[steps] * len(cells), indexing="ij"), axis=-1).reshape(-1, len(cells))
    points = (chosen[:, None, :] + 0.5 + offsets) * size
    inside = np.clip(0.5 - shape.signed_distance(points, domain, placement) * count / size, 0.0, 1.0)
    return tuple(chosen.T), inside.mean(axis=1)


FLAT = {
    "disk": (Ball(0.2), 0.0, np.pi * 0.04),
    "turned box": (Box((0.4, 0.2)), 17.0, 0.08),
    "slanted stroke": (Box((0.7, 0.05)), 9.0, 0.035),
}
DEEP = {
    "ball": (Ball(0.3), 0.0, 4 / 3 * np.pi * 0.027),
    "turned box": (Box((0.5, 0.3, 0.4)), TURN, 0.06),
}


@pytest.mark.parametrize("name", FLAT)
def test_shares_of_flat_shapes(name):
    shape, turn, area = FLAT[name]
    found = shape.rasterize((48, 48), 1 / 48, Placement(rotation=turn))
    where, share = reference(shape, (48, 48), Placement(rotation=turn))
    assert np.abs(found[where] - share).max() < 0.02
    assert found.sum() / 48**2 == pytest.approx(area, rel=1e-3)


@pytest.mark.parametrize("name", DEEP)
def test_shares_of_deep_shapes(name):
    shape, turn, volume = DEEP[name]
    found = shape.rasterize((CELLS,) * 3, 1 / CELLS, Placement(rotation=turn))
    where, share = reference(shape, (CELLS,) * 3, Placement(rotation=turn))
    assert np.abs(found[where] - share).max() < 0.02
    assert found.sum() / CELLS**3 == pytest.approx(volume, rel=1e-3)


def test_shares_of_a_turned_box_of_triangles():
    """The distance at a cell's middle alone is off by 0.23 at its edges, and makes its volume 0.5 % too large."""
    box = trimesh.creation.box((0.5, 0.3, 0.4))
    placement = Placement(rotation=TURN)
    found = Mesh.build(box.vertices, box.faces).rasterize((CELLS,) * 3, 1 / CELLS, placement)
    where, share = reference(Box((0.5, 0.3, 0.4)), (CELLS,) * 3, placement)
    assert np.abs(found[where] - share).max() < 0.02
    assert found.sum() / CELLS**3 == pytest.approx(0.06, rel=1e-3)


def test_shares_of_a_ball_of_triangles():
    ball = trimesh.creation.icosphere(subdivisions=4, radius=0.3)
    mesh = Mesh.build(ball.vertices, ball.faces)
    found = mesh.rasterize((CELLS,) * 3, 1 / CELLS)
    assert np.abs(found - averaged(mesh.rasterize((3 * CELLS,) * 3, 1 / (3 * CELLS)), 3)).max() < 0.02
    assert found.sum() / CELLS**3 == pytest.approx(ball.volume, rel=1e-3)


def test_shares_where_bodies_of_triangles_overlap():
    """Two boxes that share a third: no void where the faces of one lie inside the other."""
    first, second = trimesh.creation.box((0.4, 0.3, 0.3)), trimesh.creation.box((0.4, 0.3, 0.3))
    second.apply_translation((0.2, 0.07, 0.0))
    both = trimesh.util.concatenate([first, second])
    mesh = Mesh.build(both.vertices, both.faces)
    found = mesh.rasterize((CELLS,) * 3, 1 / CELLS, Placement(rotation=(0.0, 0.0, 20.0)))
    volume = 2 * 0.4 * 0.3 * 0.3 - 0.2 * 0.23 * 0.3
    assert found.sum() / CELLS**3 == pytest.approx(volume, rel=5e-3)


def test_shares_of_turned_letters():
    letter = Text("A")
    found = letter.rasterize((CELLS,) * 3, 1 / CELLS, Placement(rotation=TURN))
    finer = letter.rasterize((3 * CELLS,) * 3, 1 / (3 * CELLS), Placement(rotation=TURN))
    assert np.abs(found - averaged(finer, 3)).max() < 0.03
    assert found.sum() == pytest.approx(finer.sum() / 27, rel=1e-3)


def test_a_plane_cuts_a_cube():
    """Against points in the cube, for planes of all kinds."""
    axis = (np.arange(64) + 0.5) / 64 - 0.5
    points = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape(-1, 3)
    normals = np.array([[1, 0, 0], [1, 1, 0], [1, 1, 1], [3, -1, 2], [0.2, 5, -1]], float)
    normals /= np.linalg.norm(normals, axis=1)[:, None]
    for distance in (-0.6, -0.21, 0.0, 0.35, 0.9):
        found = share_behind_plane(np.full(len(normals), distance), normals)
        counted = [np.mean(points @ normal < -distance) for normal in normals]
        assert found == pytest.approx(counted, abs=0.01)
