"""Obstacles at rest, drifting, spinning, on a path; shapes and meshes."""

from __future__ import annotations

import numpy as np
import pytest
import trimesh
from scene_texts import VOLUME, letter, volume, write_scene

from keyfluid.errors import KeyfluidError
from keyfluid.scenes import load_scene
from keyfluid.scenes.build.problem import build


def middle_of(problem, solid):
    axes = problem.grid.coordinates((False,) * problem.grid.dim)
    return np.array([float((solid * x).sum() / solid.sum()) for x in axes])


def test_no_obstacles_no_solids():
    problem = build(letter())
    assert problem.solids(0.3) is None
    assert not problem.solids.move


def test_resting_bodies_are_one_object():
    problem = build(letter("obstacle=[{shape='disk',radius=0.15,center=[0.8,0.3]},{shape='box',size=0.125}]"))
    first = problem.solids(0.0)
    assert problem.solids(1.7) is first
    assert first.solid.sum() / 48**2 == pytest.approx(np.pi * 0.15**2 + 0.125**2, rel=0.03)
    assert not problem.solids.move
    assert np.all(first.motion.data == 0)


def test_the_distance_has_the_sign_of_the_solids():
    text = "obstacle=[{shape='disk',radius=0.15,center=[0.8,0.3]},{shape='box',size=0.125,spin=90,velocity=[0.2,0]}]"
    problem = build(letter(text))
    for time in (0.0, 0.4):
        distance = problem.solids.distance(time)
        np.testing.assert_array_equal(distance < 0, problem.solids(time).solid)
        x, y = problem.grid.coordinates((False, False))
        ball = np.hypot(x - 0.8, y - 0.3) - 0.15
        near = (np.abs(ball) < 2 / 48) & (x > 0.8)
        np.testing.assert_allclose(distance[near], ball[near], atol=1e-6)
    assert build(letter()).solids.distance(0.0) is None


def test_drift():
    problem = build(letter("obstacle=[{shape='disk',radius=0.1,center=[0.3,0.4],velocity=[0.5,-0.1]}]"))
    assert problem.solids.move
    for time in (0.0, 0.5, 0.9):
        solids = problem.solids(time)
        np.testing.assert_allclose(middle_of(problem, solids.solid), [0.3 + 0.5 * time, 0.4 - 0.1 * time], atol=0.012)
        u, v = solids.motion.components()
        assert sorted(set(np.round(u.ravel(), 5).tolist())) == pytest.approx([0.0, 0.5])
        assert sorted(set(np.round(v.ravel(), 5).tolist())) == pytest.approx([-0.1, 0.0])
    assert not problem.solids(9.0).solid.any()


def test_spin_turns_the_body_and_moves_its_faces():
    problem = build(letter("obstacle=[{shape='box',size=[0.4,0.1],center=[0.5,0.375],spin=90}]"))
    start, turned = problem.solids(0.0).solid, problem.solids(1.0).solid
    np.testing.assert_array_equal(turned[14:34, 8:28], np.rot90(start[14:34, 8:28]))
    motion = problem.solids(0.0).motion
    u, v = motion.components()
    omega = np.pi / 2
    assert v[33, 18] == pytest.approx(omega * (33.5 / 48 - 0.5), rel=1e-2)
    assert u[24, 19] == pytest.approx(-omega * (19.5 / 48 - 0.375), rel=1e-2)
    assert v[14, 18] == pytest.approx(omega * (14.5 / 48 - 0.5), rel=1e-2)


def test_path_is_straight_and_even_and_rests_at_its_ends():
    problem = build(
        letter(
            "obstacle=[{shape='disk',radius=0.1,path=[{frame=6,center=[0.2,0.3]},{frame=18,center=[0.6,0.3]},"
            "{frame=30,center=[0.6,0.5]}]}]"
        )
    )
    for frame, center, speed in (
        (0, (0.2, 0.3), (0, 0)),
        (6, (0.2, 0.3), (0.8, 0)),
        (12, (0.4, 0.3), (0.8, 0)),
        (18, (0.6, 0.3), (0, 0.4)),
        (24, (0.6, 0.4), (0, 0.4)),
        (40, (0.6, 0.5), (0, 0)),
    ):
        solids = problem.solids(frame / 24)
        np.testing.assert_allclose(middle_of(problem, solids.solid), center, atol=0.012)
        peaks = [component.max() for component in solids.motion.components()]
        assert peaks == pytest.approx(speed, abs=1e-6)


def test_path_turns():
    problem = build(
        letter(
            "obstacle=[{shape='box',size=[0.4,0.1],rotation=10,path=[{frame=0,center=[0.5,0.375],rotation=0},"
            "{frame=24,center=[0.5,0.375],rotation=90},{frame=40,center=[0.5,0.375]}]}]"
        )
    )
    start, turned = problem.solids(0.0).solid, problem.solids(1.0).solid
    np.testing.assert_array_equal(turned[14:34, 8:28], np.rot90(start[14:34, 8:28]))
    assert problem.solids(0.5).motion.component(1)[30, 24] > 0
    assert np.all(problem.solids(1.2).motion.data == 0)


def test_two_bodies_keep_their_own_motion():
    problem = build(
        letter(
            "obstacle=[{shape='disk',radius=0.1,center=[0.2,0.4],velocity=[0.3,0]},"
            "{shape='disk',radius=0.1,center=[0.8,0.4]},{shape='disk',radius=0.1,center=[0.5,0.4],velocity=[-0.2,0]}]"
        )
    )
    u = problem.solids(0.0).motion.component(0)
    assert u[8:11, 19].tolist() == pytest.approx([0.3] * 3)
    assert u[23:26, 19].tolist() == pytest.approx([-0.2] * 3)
    assert u[37:40, 19].tolist() == [0.0] * 3


def test_spin_about_an_axis_in_3d():
    problem = build(volume("obstacle=[{shape='box',size=[0.4,0.2,0.1],center=[0.5,0.5,0.5],spin=[0,0,40]}]"))
    u, v, w = problem.solids(0.0).motion.components()
    omega = np.radians(40)
    assert v[15, 12, 12] == pytest.approx(omega * (15.5 / 24 - 0.5), rel=1e-3)
    assert u[12, 13, 12] == pytest.approx(-omega * (13.5 / 24 - 0.5), rel=1e-3)
    assert np.all(w == 0)


def test_a_mesh_drifts_like_the_shape_it_is(tmp_path):
    trimesh.creation.icosphere(4, 0.2).export(tmp_path / "ball.ply")
    motion = "center = [0.4, 0.5, 0.5]\nvelocity = [0.3, 0.2, 0.0]\nspin = 30\n"
    mesh = build(load_scene(write_scene(tmp_path, VOLUME + '[[obstacle]]\nmesh = "ball.ply"\n' + motion)))
    ball = build(load_scene(write_scene(tmp_path, VOLUME + '[[obstacle]]\nshape = "sphere"\nradius = 0.2\n' + motion)))
    for time in (0.0, 0.37, 1.1):
        ours, theirs = mesh.solids(time).solid, ball.solids(time).solid
        assert (ours != theirs).sum() <= 0.03 * theirs.sum()
        np.testing.assert_allclose(middle_of(mesh, ours), middle_of(ball, theirs), atol=4e-3)
    both = mesh.solids(0.0).solid & ball.solids(0.0).solid
    inner = mesh.solids(0.0).motion.component(0)[:-1][both], ball.solids(0.0).motion.component(0)[:-1][both]
    np.testing.assert_allclose(*inner, atol=1e-6)


def test_a_keyframe_inside_an_obstacle():
    """Part of it: a warning. All of it: a fault."""
    text = """
[domain]
resolution = 16
[smoke]
initial = { shape = "disk", center = [0.2, 0.2], radius = 0.1 }
[[obstacle]]
shape = "box"
center = [0.7, 0.6]
size = [0.4, 0.4]
[[keyframe]]
frame = 9
shape = "disk"
center = [%s, 0.6]
radius = 0.1
"""
    (warning,) = build(load_scene(text % 0.5, ["control.method=target"])).warnings
    assert "keyframe[0]: " in warning
    assert "inside an obstacle at its frame" in warning
    with pytest.raises(KeyfluidError, match=r"keyframe\[0\]\.shape: lies inside an obstacle"):
        build(load_scene(text % 0.7))


def test_a_mesh_sequence_deforms_and_pushes(tmp_path):
    """A box that grows along x: its faces move outwards as their vertices do, its inside is what the files say."""
    for frame in range(3):
        box = trimesh.creation.box((0.3 + 0.1 * frame, 0.4, 0.4))
        box.export(tmp_path / f"box.{frame:04d}.ply")
    pattern = (tmp_path / "box.####.ply").as_posix()
    problem = build(volume(f"obstacle=[{{mesh='{pattern}',center=[0.5,0.5,0.5]}}]", "domain.resolution=20"))
    assert problem.solids.move
    fps, dx = problem.fps, problem.grid.spacing
    for frame, width in ((0, 0.3), (1, 0.4), (1.5, 0.45), (2, 0.5), (9, 0.5)):
        solid = problem.solids(frame / fps).solid
        filled = np.flatnonzero(solid.any(axis=(1, 2)))
        assert len(filled) * dx == pytest.approx(width, abs=dx), f"frame {frame}"
        np.testing.assert_array_equal(solid, problem.solids.distance(frame / fps) < 0)
    u, v, w = problem.solids(0.5 / fps).motion.components()
    assert (u.min(), u.max()) == pytest.approx((-0.05 * fps, 0.05 * fps), rel=1e-3), "half of it on either side"
    assert not v.any()
    assert not w.any()
    assert not problem.solids(5 / fps).motion.data.any(), "at rest after the last file"


def test_a_deforming_obstacle_moves_by_itself(tmp_path):
    for frame in range(2):
        trimesh.creation.box((0.3, 0.4, 0.4)).export(tmp_path / f"box.{frame}.ply")
    pattern = (tmp_path / "box.#.ply").as_posix()
    for key in ("velocity=[1,0,0]", "spin=3", "path=[{frame=0,center=[0,0,0]}]"):
        with pytest.raises(KeyfluidError, match=r"obstacle\[0\]\..*stands beside an animated mesh"):
            build(volume(f"obstacle=[{{mesh='{pattern}',{key}}}]"))
    with pytest.raises(KeyfluidError, match=r"source\[0\]\.mesh: an animated mesh can't be a source"):
        build(volume(f"source=[{{mesh='{pattern}'}}]"))
