"""The same files through OpenVDB itself, both ways, where a machine has it.

Debian: `apt-get install python3-openvdb libopenvdb-tools`; its module runs under the system's Python only.
Blender: `pip install bpy` in this environment.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from keyfluid.io.vdb import VdbGrid, cell_transform, read_vdb, write_vdb

# Reads a file into arrays, or makes one; runs in the Python that has the module.
SCRIPT = """
import json, sys
try:
    import bpy
    bpy.utils.expose_bundled_modules()
except ImportError:
    pass
try:
    import openvdb as vdb
except ImportError:
    import pyopenvdb as vdb
import numpy as np

def read(path, arrays_path):
    grids, metadata = vdb.readAll(path)
    arrays, about = {}, {"file": {k: v for k, v in metadata.items() if isinstance(v, (str, int, float))}}
    for grid in grids:
        low, high = grid.evalActiveVoxelBoundingBox()
        shape = [b - a + 1 for a, b in zip(low, high)]
        vector = isinstance(grid, vdb.Vec3SGrid)
        values = np.zeros(shape + [3] * vector, dtype="f4")
        grid.copyToArray(values, ijk=low)
        arrays[grid.name] = values
        about[grid.name] = {
            "first": list(low),
            "active": grid.activeVoxelCount(),
            "class": grid.gridClass,
            "half": grid.saveFloatAsHalf,
            "background": grid.background,
            "world": [list(grid.transform.indexToWorld(p)) for p in ((0, 0, 0), (1, 0, 0), (2, 3, 5))],
            "metadata": {k: grid[k] for k in grid.iterkeys() if not k.startswith("file_delayed")},
        }
    np.savez(arrays_path, **arrays)
    print(json.dumps(about, default=list))

def make(path, arrays_path):
    random = np.random.RandomState(5)
    grids, arrays = [], {}
    for name, half in (("full", False), ("half", True)):
        data = random.standard_normal((23, 9, 14)).astype("f4")
        data[random.random_sample(data.shape) < 0.4] = 0
        data[0, 0, 0] = data[-1, -1, -1] = 1
        grid = vdb.FloatGrid()
        grid.copyFromArray(data, ijk=(-7, 2, 30))
        grid.name, grid.saveFloatAsHalf, grid.gridClass = name, half, vdb.GridClass.FOG_VOLUME
        grids.append(grid)
        arrays[name] = data.astype("f2").astype("f4") if half else data
    tiled = vdb.FloatGrid(0.5)
    tiled.name = "tiled"
    tiled.fill((-8, 0, 8), (30, 20, 40), 3.0)
    tiled.fill((0, 0, 16), (7, 7, 23), -2.0, active=False)
    arrays["tiled"] = np.zeros((39, 21, 33), "f4")
    tiled.copyToArray(arrays["tiled"], ijk=(-8, 0, 8))
    grids.append(tiled)
    vdb.write(path, grids)
    np.savez(arrays_path, **arrays)

{"read": read, "make": make}[sys.argv[1]](*sys.argv[2:])
"""


@pytest.fixture(scope="module", params=["system", "bpy"])
def openvdb_python(request: pytest.FixtureRequest) -> str:
    """A Python that has the module: the system's (Debian) or this one (Blender)."""
    if request.param == "system":
        python, need = "/usr/bin/python3", "Debian's python3-openvdb"
        probe = "try:\n import openvdb\nexcept ImportError:\n import pyopenvdb"
    else:
        python, need = sys.executable, "the bpy wheel"
        probe = "import bpy; bpy.utils.expose_bundled_modules(); import openvdb"
    if shutil.which(python) is None or subprocess.run([python, "-c", probe], capture_output=True).returncode:
        pytest.skip(f"{need} is not installed")
    return python


def run(python: str, *arguments: object) -> str:
    done = subprocess.run([python, "-c", SCRIPT, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip().splitlines()[-1] if done.stdout.strip() else ""


def patchy(shape: tuple[int, ...]) -> np.ndarray:
    random = np.random.default_rng(11)
    data = random.normal(size=shape).astype(np.float32)
    data[random.random(shape[:3]) < 0.5] = 0
    data[0, 0, 0] = data[-1, -1, -1] = 2
    return data


@pytest.mark.parametrize("half", [False, True])
def test_openvdb_reads_ours(openvdb_python: str, half: bool, tmp_path: Path) -> None:
    first = (-9, 4090, 3)
    cells = cell_transform(0.2)
    turned = np.array([[0, -0.1, 0, 1], [0, 0, 0.1, 2], [0.1, 0, 0, 3], [0, 0, 0, 1.0]])
    x, y, z = np.meshgrid(*[np.arange(60) - 28.3] * 3, indexing="ij")
    distance = 0.1 * (np.sqrt(x**2 + y**2 + z**2) - 20)
    grids = [
        VdbGrid("density", patchy((30, 21, 17)), first, cells, "fog volume", metadata={"a": 2.5}),
        VdbGrid("slab", patchy((30, 21, 1)), first, turned),
        VdbGrid("vel", patchy((12, 20, 9, 3)), first, cells, vector_type="contravariant relative"),
        VdbGrid("surface", distance, (0, 0, 0), cell_transform(0.1), "level set", background=0.25),
    ]
    write_vdb(tmp_path / "a.vdb", grids, {"fps": 24.0, "title": "smoke", "frame": 1001}, half)
    about = json.loads(run(openvdb_python, "read", tmp_path / "a.vdb", tmp_path / "a.npz"))
    assert about["file"] == {"fps": 24.0, "title": "smoke", "frame": 1001}
    arrays = np.load(tmp_path / "a.npz")
    for grid in grids:
        told = about[grid.name]
        data = grid.data.astype(np.float32)
        if grid.name == "surface":
            data = np.clip(data, -0.25, 0.25)
        offset = [t - f for t, f in zip(told["first"], grid.first_index)]
        values = arrays[grid.name]
        part = data[tuple(slice(o, o + n) for o, n in zip(offset, values.shape))]
        assert np.array_equal(values, part.astype(np.float16).astype(np.float32) if half else part)
        assert values.size >= np.count_nonzero(grid.data != 0) or grid.name == "surface"
        assert told["class"] == grid.grid_class
        assert told["half"] is half
        assert told["active"] == told["metadata"]["file_voxel_count"]
        assert told["first"] == told["metadata"]["file_bbox_min"]
        points = [(0, 0, 0, 1), (1, 0, 0, 1), (2, 3, 5, 1)]
        assert np.allclose(told["world"], [(grid.transform @ p)[:3] for p in points], rtol=1e-14)
    assert about["density"]["metadata"]["a"] == 2.5
    assert about["vel"]["metadata"]["vector_type"] == "contravariant relative"
    assert about["density"]["active"] == np.count_nonzero(grids[0].data)


def test_we_read_openvdbs(openvdb_python: str, tmp_path: Path) -> None:
    run(openvdb_python, "make", tmp_path / "a.vdb", tmp_path / "a.npz")
    arrays = np.load(tmp_path / "a.npz")
    grids = read_vdb(tmp_path / "a.vdb")
    assert {grid.name for grid in grids} == set(arrays)
    for grid in grids:
        assert np.array_equal(grid.data, arrays[grid.name])
        assert grid.first_index == ((-8, 0, 8) if grid.name == "tiled" else (-7, 2, 30))


BLENDER_SCRIPT = """
import bpy, json, sys
volume = bpy.data.volumes.new("v")
volume.filepath = sys.argv[1]
loaded = volume.grids.load()
grids = {g.name: [g.data_type, g.load(), [list(r) for r in g.matrix_object]] for g in volume.grids}
print(json.dumps([loaded, volume.grids.error_message, grids]))
"""


def test_blender_loads_ours_as_a_volume(tmp_path: Path) -> None:
    pytest.importorskip("bpy", reason="the bpy wheel is not installed")
    grids = [
        VdbGrid("density", patchy((30, 21, 17)), transform=cell_transform(0.2), grid_class="fog volume"),
        VdbGrid("vel", patchy((12, 20, 9, 3)), transform=cell_transform(0.2)),
    ]
    write_vdb(tmp_path / "a.vdb", grids)
    command = [sys.executable, "-c", BLENDER_SCRIPT, str(tmp_path / "a.vdb")]
    loaded, message, told = json.loads(subprocess.check_output(command, text=True).splitlines()[-1])
    assert (loaded, message) == (True, "")
    assert {name: entry[:2] for name, entry in told.items()} == {
        "density": ["FLOAT", True],
        "vel": ["VECTOR_FLOAT", True],
    }
    assert np.allclose(told["density"][2], cell_transform(0.2), rtol=1e-7)


def test_vdb_print_accepts_ours(tmp_path: Path) -> None:
    if shutil.which("vdb_print") is None:
        pytest.skip("vdb_print of Debian's libopenvdb-tools is not installed")
    write_vdb(tmp_path / "a.vdb", [VdbGrid("density", patchy((30, 21, 17)), transform=cell_transform(0.2))])
    told = subprocess.check_output(["vdb_print", "-l", str(tmp_path / "a.vdb")], text=True)
    assert "Name: density" in told
    assert "Dimensions of active voxels:   30 x 21 x 17" in told
    assert "[0.1, 0.1, 0.1, 1]" in told
