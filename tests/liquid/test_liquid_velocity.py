"""Velocities in files: on a mesh's vertices, and beyond the surface, where a renderer reads them too."""

from __future__ import annotations

import numpy as np
import pytest
from liquid_cases import SCENE

from keyfluid.io.vdb import read_vdb
from keyfluid.runs.file_velocity import file_velocity, velocity_at
from keyfluid.runs.mesh_files import moving_mesh
from keyfluid.runs.run import run
from keyfluid.runs.usd_mesh import mesh_values
from keyfluid.scenes import load_scene

CHANGES = [
    "domain.size=[1.0,0.75,0.6]",
    "domain.resolution=16",
    "liquid.initial.center=[0.42,0.35,0.3]",
    "liquid.initial.velocity=[0.5,-0.25,0.125]",
    "keyframe[0].center=[0.5,0.35,0.3]",
    "keyframe[0].size=[0.4,0.3,0.3]",
    "output.vdb=true",
    'output.up="z"',
    "time.frames=4",
]


@pytest.fixture(scope="module")
def film(tmp_path_factory):
    text = SCENE.format(control='method = "none"')
    return run(load_scene(text, CHANGES), tmp_path_factory.mktemp("velocity") / "run", threads=1)


def columns(path):
    """The vertices of a mesh file, by name of their properties."""
    content = path.read_bytes()
    header, body = content.split(b"end_header\n", 1)
    lines = header.decode().splitlines()
    names = [line.split()[2] for line in lines if line.startswith("property float")]
    count = next(int(line.split()[2]) for line in lines if line.startswith("element vertex"))
    table = np.frombuffer(body, "<f4", count * len(names)).reshape(count, len(names))
    return dict(zip(names, table.T))


def test_at_the_start_a_moving_body_moves_everywhere_on_its_surface(film):
    found = columns(film.folder / "mesh" / "pond.1001.ply")
    assert list(found) == ["x", "y", "z", "vx", "vy", "vz"]
    assert found["vx"].min() > 0.15  # a start's velocity is less where it covers a part of a face
    assert found["vx"].max() <= 0.5
    assert np.median(found["vy"] / found["vx"]) == pytest.approx(-0.25, rel=0.1)  # turned to z up: (x, -z, y)
    assert np.median(found["vz"] / found["vx"]) == pytest.approx(-0.5, rel=0.1)


@pytest.mark.parametrize("index", [0, 3])
def test_ply_usd_and_vdb_agree(film, index):
    found = columns(film.folder / "mesh" / f"pond.{1001 + index}.ply")
    stage = mesh_values(film.problem, film.frames[index])
    np.testing.assert_array_equal(np.stack([found[n] for n in ("x", "y", "z")], 1), stage["point3f[] points"])
    np.testing.assert_array_equal(np.stack([found[n] for n in ("vx", "vy", "vz")], 1), stage["vector3f[] velocities"])
    grids = {grid.name: grid for grid in read_vdb(film.folder / "vdb" / f"pond.{1001 + index}.vdb")}
    vel = grids["vel"]
    outside = np.argwhere((film.frames[index].surface > 0) & (film.frames[index].surface < 2.5 / 16))
    assert len(outside) > 100
    x, y, z = ((film.frames[index].surface.shape[axis]) for axis in range(3))
    whole = np.zeros((x, y, z, 3))
    whole[tuple(slice(f, f + n) for f, n in zip(vel.first_index, vel.data.shape))] = vel.data
    points = (outside + 0.5) * film.problem.grid.spacing
    wanted = velocity_at(film.problem, film.frames[index], points)
    np.testing.assert_allclose(whole[tuple(outside.T)], wanted[:, [0, 2, 1]] * [1, -1, 1], atol=1e-3)


def test_beyond_the_surface_a_velocity_is_the_nearest_liquids(film):
    """The body is thrown: what is above it, in the band, moves as it does, and was at rest in the frame itself."""
    frame = film.frames[0]
    above = int(np.flatnonzero(frame.surface[6, :, 4] < 0)[-1]) + 2
    assert frame.velocity.component(0)[6, above, 4] == 0
    known = frame.velocity.component(0)[6, above - 2, 4]
    assert known > 0.2
    assert file_velocity(film.problem, frame).component(0)[6, above, 4] == pytest.approx(known, rel=0.2)
    vertices, _, velocities = moving_mesh(film.problem, film.frames[3])
    assert len(vertices) == len(velocities)
    assert velocities[:, 0].min() > 0.2
