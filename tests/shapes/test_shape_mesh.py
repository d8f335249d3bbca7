"""Meshes: the sign on five kinds of sphere, distances, volumes, every file format, and broken files."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh
from hypothesis import given, settings
from hypothesis import strategies as st

from keyfluid.errors import KeyfluidError
from keyfluid.shapes import Mesh, Placement, load_mesh, mass_of

CENTER, RADIUS, CELLS = np.array([0.52, 0.47, 0.5]), 0.31, 40


def ball(center=CENTER, radius=RADIUS, detail=4):
    mesh = trimesh.creation.icosphere(subdivisions=detail, radius=radius)
    return np.asarray(mesh.vertices) + center, np.asarray(mesh.faces)


def sphere_variants():
    vertices, faces = ball()
    rng = np.random.default_rng(6)
    apart = CENTER + np.array([0.12, 0.05, 0.0])
    other = ball(apart)
    both = np.concatenate([vertices, other[0]])
    some = rng.random(len(faces)) < 0.4
    holed = faces[vertices[faces].mean(axis=1)[:, 1] - CENTER[1] < 0.98 * RADIUS]
    order = rng.permutation(len(faces))
    inner = ball(CENTER, 0.15, 3)
    soup = vertices[faces[order]].reshape(-1, 3), np.arange(3 * len(faces)).reshape(-1, 3)
    one = CENTER[None]
    two = np.stack([CENTER, apart])
    shift = len(vertices)
    return {
        "clean": (vertices, faces, one, 0.0),
        "overlapping": (both, np.concatenate([faces, other[1] + shift]), two, 0.0),
        "overlapping, one inside out": (both, np.concatenate([faces, other[1][:, ::-1] + shift]), two, 0.0),
        "holed": (vertices, holed, one, 0.0),
        "flipped": (vertices, faces[:, ::-1], one, 0.0),
        "flipped in part": (vertices, np.where(some[:, None], faces[:, ::-1], faces), one, 0.0),
        "soup": (*soup, one, 0.0),
        "soup, flipped in part": (soup[0], np.where(some[:, None], soup[1][:, ::-1], soup[1]), one, 0.0),
        "two-sided": (vertices, np.concatenate([faces, faces[:, ::-1]]), one, 0.0),
        "hollow": (
            np.concatenate([vertices, inner[0]]),
            np.concatenate([faces, inner[1][:, ::-1] + shift]),
            one,
            0.15,
        ),
        "hollow, all inside out": (
            np.concatenate([vertices, inner[0]]),
            np.concatenate([faces[:, ::-1], inner[1] + shift]),
            one,
            0.15,
        ),
    }


def own_place(mesh):
    return Placement(center=tuple(0.5 * (mesh.vertices.min(axis=0) + mesh.vertices.max(axis=0))))


@pytest.mark.parametrize("name", list(sphere_variants()))
def test_sign_of_spheres(name):
    vertices, faces, centers, cavity = sphere_variants()[name]
    mesh = Mesh.build(vertices, faces, name)
    spacing = 1 / CELLS
    found = mesh.signed_distance_grid((CELLS,) * 3, spacing, own_place(mesh))
    axis = (np.arange(CELLS) + 0.5) * spacing
    points = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1)
    exact = np.min([np.linalg.norm(points - c, axis=-1) - RADIUS for c in centers], axis=0)
    if cavity:
        exact = np.maximum(exact, cavity - np.linalg.norm(points - centers[0], axis=-1))
    away = np.abs(exact) > 0.3 * spacing
    assert np.array_equal(found[away] > 0, exact[away] > 0)
    # two balls: inside, the distance to either is only a bound of the distance to the union
    trusted = exact > 0 if len(centers) == 2 else np.full(exact.shape, True)
    assert np.abs(found - exact)[trusted].max() < (1.5 if name == "holed" else 1.0) * spacing
    coverage = mesh.rasterize((CELLS,) * 3, spacing, own_place(mesh))
    assert np.all(coverage[exact < -spacing] == 1)
    assert np.all(coverage[exact > spacing] == 0)
    some = points[::7, ::7, ::7]
    by_point = mesh.signed_distance(some, (1.0,) * 3, own_place(mesh))
    away = away[::7, ::7, ::7]
    assert np.array_equal(by_point[away] > 0, exact[::7, ::7, ::7][away] > 0)


def test_band_is_exact():
    mesh = Mesh.build(*ball())
    grid = mesh.signed_distance_grid((CELLS,) * 3, 1 / CELLS, own_place(mesh))
    cells = np.argwhere(np.abs(grid) < 1.9 / CELLS)
    exact = mesh.signed_distance((cells + 0.5) / CELLS, (1.0,) * 3, own_place(mesh))
    assert grid[tuple(cells.T)] == pytest.approx(exact, abs=1e-12)


def test_volume_of_a_turned_box():
    box = trimesh.creation.box((0.5, 0.3, 0.2))
    mesh = Mesh.build(box.vertices, box.faces)
    coverage = mesh.rasterize((48, 48, 48), 1 / 48, Placement(rotation=(25.0, 40.0, 10.0)))
    assert mass_of(coverage, 1 / 48) == pytest.approx(0.03, rel=0.01)


def test_placement_of_an_asymmetric_mesh():
    """An arrow along +x of the file: a quarter turn about z lets it point up."""
    cone = trimesh.creation.cone(0.1, 0.4)
    points = np.asarray(cone.vertices)[:, [2, 1, 0]]
    mesh = Mesh.build(points, cone.faces)
    flat = mesh.rasterize((32, 32, 32), 1 / 32, Placement(fit=0.8))
    up = mesh.rasterize((32, 32, 32), 1 / 32, Placement(fit=0.8, rotation=90.0))
    assert flat[5].sum() > 5 * flat[26].sum()
    assert up[:, 5].sum() > 5 * up[:, 26].sum()
    lower, upper = mesh.bounds((32, 32, 32), 1 / 32, Placement(fit=0.8))
    assert (lower[0], upper[0]) == pytest.approx((0.1, 0.9))


@pytest.mark.parametrize("suffix", ["obj", "ply", "stl", "glb", "gltf"])
def test_every_format(tmp_path, suffix):
    box = trimesh.creation.box((0.5, 0.3, 0.2))
    path = tmp_path / f"box.{suffix}"
    if suffix == "gltf":
        for name, data in trimesh.exchange.gltf.export_gltf(box.scene()).items():
            (tmp_path / ("box.gltf" if name.endswith(".gltf") else name)).write_bytes(data)
    else:
        box.export(path)
    mesh = load_mesh(path)
    assert np.ptp(mesh.vertices, axis=0) == pytest.approx([0.5, 0.3, 0.2], rel=1e-6)
    assert len(mesh.faces) == 12


def test_quads_and_negative_indices(tmp_path):
    corners = [(x, y, z) for x in (0, 1) for y in (0, 1) for z in (0, 1)]
    quads = [(1, 2, 4, 3), (5, 7, 8, 6), (1, 5, 6, 2), (3, 4, 8, 7), (1, 3, 7, 5), (-7, -3, -1, -5)]
    lines = [f"v {x} {y} {z}" for x, y, z in corners] + [f"f {a} {b} {c} {d}" for a, b, c, d in quads]
    (tmp_path / "cube.obj").write_text("\n".join(lines) + "\n")
    mesh = load_mesh(tmp_path / "cube.obj")
    inside = mesh.signed_distance(np.array([[0.5, 0.5, 0.5]]), (1.0, 1.0, 1.0))
    assert inside == pytest.approx([-0.5])


OBJ_TRIANGLE = "v 0 0 0\nv 1 0 0\nv 0 1 0\n"
PLY_HEAD = (
    "ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\n"
    "element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n0 1 0\n"
)


@pytest.mark.parametrize(
    ("name", "content", "text"),
    [
        ("empty.obj", "", "empty|can't be read"),
        ("points.obj", OBJ_TRIANGLE, "empty|can't be read"),
        ("plane.obj", OBJ_TRIANGLE + "v 1 1 0\nf 1 2 4 3\n", "open and has no inside"),
        ("flat.obj", OBJ_TRIANGLE + "f 1 1 1\n", "empty"),
        ("range.obj", OBJ_TRIANGLE + "f 1 2 9\n", "can't be read"),
        ("negative.obj", OBJ_TRIANGLE + "f 1 2 -9\n", "can't be read"),
        ("nan.obj", OBJ_TRIANGLE.replace("1 0 0", "nan 0 0") + "f 1 2 3\n", "not finite"),
        ("range.ply", PLY_HEAD + "3 0 1 7\n", "vertex 7 but only 3 vertices"),
        ("lies.ply", PLY_HEAD.replace("vertex 3", "vertex 3000000000"), "empty|can't be read"),
        ("lies.stl", "\0" * 80 + "\xff\xff\xff\x7f" + "\0" * 50, "can't be read"),
        ("broken.glb", "glTF" + "\2\0\0\0" * 5, "can't be read"),
        ("broken.gltf", "{}", "can't be read|empty"),
        ("model.fbx", "x", "must end in"),
        ("flat.obj", "v 0 0\nv 1 0\nv 0 1\nf 1 2 3\n", "vertex 'v 0 0' lacks a coordinate; give x, y and z"),
        ("words.obj", OBJ_TRIANGLE + "v one 0 0\nf 1 2 3\n", "a vertex holds something that is not a number"),
        ("zero.obj", OBJ_TRIANGLE + "f 0 1 2\n", "refers to vertex 0; the file has vertices 1 to 3"),
        ("huge.obj", OBJ_TRIANGLE + f"f 1 2 {10**40}\n", "can't be read"),
        ("fraction.obj", OBJ_TRIANGLE + "f 1 2.5 3\n", "not a number"),
    ],
)
def test_bad_files(tmp_path, name, content, text):
    path = tmp_path / name
    path.write_text(content, encoding="latin-1")
    with pytest.raises(KeyfluidError, match=text) as caught:
        load_mesh(path)
    assert "\n" not in str(caught.value)


def test_missing_file_and_flat_domain(tmp_path):
    with pytest.raises(KeyfluidError, match="does not exist"):
        load_mesh(tmp_path / "none.obj")
    with pytest.raises(KeyfluidError, match="3D domain"):
        Mesh.build(*ball(detail=1)).rasterize((8, 8), 0.125)


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.lists(st.integers(-12, 12), min_size=0, max_size=5), min_size=0, max_size=12),
    st.lists(st.floats(width=32), min_size=3, max_size=24),
)
def test_any_faces_and_vertices_in_obj(tmp_path_factory, faces, numbers):
    path = tmp_path_factory.getbasetemp() / "any.obj"
    lines = [f"v {a} {b} {c}" for a, b, c in zip(numbers[::3], numbers[1::3], numbers[2::3])]
    lines += ["f " + " ".join(map(str, face)) for face in faces]
    path.write_text("\n".join(lines))
    try:
        mesh = load_mesh(path)
    except KeyfluidError:
        return
    assert np.all(np.isfinite(mesh.rasterize((8, 8, 8), 0.125, Placement(fit=0.8))))
