"""Meshes that move: file sequences and skinned glTF, against positions worked out by hand."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh
from gltf_asset import bar, write_bent_bar

from keyfluid.errors import KeyfluidError
from keyfluid.shapes import Placement, load_mesh_sequence, load_skinned_gltf


def write_sequence(folder, names, step=0.5):
    for number, name in enumerate(names):
        trimesh.creation.box((1.0, 0.5, 0.5)).apply_translation((step * number, 0.0, 0.0)).export(folder / name)


def test_files_come_in_the_order_of_their_numbers(tmp_path):
    write_sequence(tmp_path, ["walk.9.obj", "walk.10.obj", "walk.11.obj"])
    (tmp_path / "notes.txt").write_text("not a mesh")
    for pattern in (tmp_path, tmp_path / "walk.#.obj", tmp_path / "walk.%04d.obj", tmp_path / "walk.*.obj"):
        sequence = load_mesh_sequence(pattern, fps=10.0)
        assert [path.name for path in sequence.files] == ["walk.9.obj", "walk.10.obj", "walk.11.obj"]
    assert sequence.duration == pytest.approx(0.2)


def test_time_picks_and_blends_frames(tmp_path):
    write_sequence(tmp_path, [f"walk.{k:04d}.obj" for k in range(4)])
    sequence = load_mesh_sequence(tmp_path / "walk.####.obj", fps=24.0)
    for time, left in ((0.0, 0.0), (1 / 24, 0.5), (2.5 / 24, 1.25), (3 / 24, 1.5), (9.0, 1.5), (-1.0, 0.0)):
        assert sequence.at(time).vertices[:, 0].min() == pytest.approx(left - 0.5)


def test_other_topology_takes_the_nearer_file(tmp_path):
    write_sequence(tmp_path, ["a.0.obj"])
    trimesh.creation.icosphere(subdivisions=2, radius=2.0).export(tmp_path / "a.1.obj")
    sequence = load_mesh_sequence(tmp_path, fps=1.0)
    assert len(sequence.at(0.4).faces) == 12
    assert len(sequence.at(0.6).faces) == 320


def test_one_box_for_all_frames(tmp_path):
    """The box goes from x = -0.5 to 2: fitted to 0.8 m, the first frame is 0.32 m wide and starts at 0.1."""
    write_sequence(tmp_path, [f"w{k}.obj" for k in range(4)])
    sequence = load_mesh_sequence(tmp_path, fps=1.0)
    shape, placement = (25, 25, 25), Placement(fit=0.8)
    for time, left in ((0.0, 0.1), (3.0, 0.58)):
        lower, upper = sequence.bounds(shape, 0.04, placement, time)
        assert (lower[0], upper[0]) == pytest.approx((left, left + 0.32))
        drawn = np.flatnonzero(sequence.rasterize(shape, 0.04, placement, time).any(axis=(1, 2)))
        assert drawn[0] * 0.04 == pytest.approx(left, abs=0.05)
    value = sequence.signed_distance(np.array([[0.26, 0.5, 0.5]]), (1.0,) * 3, placement, 0.0)
    assert value == pytest.approx([-0.08])


def test_sequence_errors(tmp_path):
    with pytest.raises(KeyfluidError, match="does not exist"):
        load_mesh_sequence(tmp_path / "none" / "a.#.obj", 24.0)
    with pytest.raises(KeyfluidError, match="no mesh file"):
        load_mesh_sequence(tmp_path / "a.#.obj", 24.0)
    (tmp_path / "a.1.obj").write_text("v 0 0 0\n")
    with pytest.raises(KeyfluidError, match=r"a\.1\.obj"):
        load_mesh_sequence(tmp_path / "a.#.obj", 24.0)
    with pytest.raises(KeyfluidError, match="fps"):
        load_mesh_sequence(tmp_path / "a.#.obj", 0.0)


@pytest.mark.parametrize("suffix", ["glb", "gltf"])
@pytest.mark.parametrize("interpolation", ["LINEAR", "STEP", "CUBICSPLINE"])
def test_skinned_bar_bends_at_its_elbow(tmp_path, suffix, interpolation):
    rest, faces, upper = bar()
    moving = load_skinned_gltf(write_bent_bar(tmp_path / f"bar.{suffix}", interpolation))
    assert moving.duration == 1.0
    # the smooth step of a cubic without tangents is 1/2 at half time, and its quaternion is normalised
    for time, degrees in (
        (0.0, 0.0),
        (0.5, 0.0 if interpolation == "STEP" else 45.0),
        (1.0, 90.0),
        (2.0, 90.0),
    ):
        vertices, found_faces = moving.triangles(min(time, moving.duration))
        angle = np.radians(degrees)
        turn = np.array([[np.cos(angle), -np.sin(angle), 0], [np.sin(angle), np.cos(angle), 0], [0, 0, 1]])
        bent = (rest - (0, 1, 0)) @ turn.T + (0, 1, 0)
        expected = np.where(upper[:, None] > 0, bent, rest) + np.array([0, 3, 0])
        assert vertices == pytest.approx(expected, abs=1e-5)
        assert np.array_equal(found_faces, faces)


def test_weights_as_bytes(tmp_path):
    plain = load_skinned_gltf(write_bent_bar(tmp_path / "a.glb")).triangles(0.7)[0]
    packed = load_skinned_gltf(write_bent_bar(tmp_path / "b.glb", normalized_weights=True)).triangles(0.7)[0]
    assert packed == pytest.approx(plain, abs=1e-6)


def test_bent_bar_is_drawn(tmp_path):
    moving = load_skinned_gltf(write_bent_bar(tmp_path / "bar.glb"))
    straight = moving.rasterize((24, 24, 24), 1 / 24, Placement(fit=0.8), 0.0)
    bent = moving.rasterize((24, 24, 24), 1 / 24, Placement(fit=0.8), 1.0)
    assert np.flatnonzero(straight.any(axis=(0, 2)))[-1] > np.flatnonzero(bent.any(axis=(0, 2)))[-1] + 5
    assert np.flatnonzero(bent.any(axis=(1, 2)))[0] < np.flatnonzero(straight.any(axis=(1, 2)))[0] - 5


def test_still_gltf_is_no_animation(tmp_path):
    trimesh.creation.box().export(tmp_path / "box.glb")
    with pytest.raises(KeyfluidError, match="no animation"):
        load_skinned_gltf(tmp_path / "box.glb")
