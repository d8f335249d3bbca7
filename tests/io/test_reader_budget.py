"""Small files stay small: what a file's own numbers imply is refused before it is allocated, at the real limit.

Each hostile file is read in a process of its own that measures its time and by how much its memory grew.
"""

from __future__ import annotations

import ast
import json
import struct
import subprocess
import sys
import zlib
from pathlib import Path

import numpy as np
import pytest

import keyfluid
from keyfluid.errors import KeyfluidError
from keyfluid.io import budget
from keyfluid.io.budget import Budget, enough_memory, reader_budget
from keyfluid.io.vdb import VdbGrid, write_vdb, writer
from keyfluid.io.vdb.tree_writer import Blocks
from keyfluid.scenes.build.vdb_body import load_vdb
from keyfluid.shapes import DensityArray, Text, load_array, load_image, load_mesh

MEASURE = """
import json, sys, time
from pathlib import Path
from keyfluid.errors import KeyfluidError
from keyfluid.scenes.build.vdb_body import load_vdb
from keyfluid.shapes import load_array, load_image, load_mesh, load_skinned_gltf
from keyfluid.shapes.mesh import require_mesh_extra
import PIL.Image, numba
require_mesh_extra()

def peak_kb():  # of this program alone; ru_maxrss also has the parent's size before exec
    return int(next(line for line in open("/proc/self/status") if line.startswith("VmHWM")).split()[1])

path, before, started = Path(sys.argv[2]), peak_kb(), time.perf_counter()
reader = {"vdb": lambda p: load_vdb(p, None, 3), "npy": load_array, "image": load_image, "mesh": load_mesh,
          "moving": load_skinned_gltf}[sys.argv[1]]
try:
    reader(path)
    message = None
except KeyfluidError as fault:
    message = str(fault)
seconds = time.perf_counter() - started
print(json.dumps({"seconds": seconds, "megabytes": (peak_kb() - before) / 1024, "message": message}))
"""


def measure(reader, path):
    source = str(Path(keyfluid.__file__).parents[1])
    done = subprocess.run(
        [sys.executable, "-c", MEASURE, reader, str(path)], capture_output=True, text=True, timeout=300, check=True,
        env={"PYTHONPATH": source, "PATH": "/usr/bin:/bin", "HOME": str(path.parent)},
    )  # fmt: skip
    assert done.stderr == ""
    return json.loads(done.stdout)


def thin_voxels(path, scale=(1e-3, 1.0, 1.0)):
    """8^3 voxels, a thousand times thinner on one axis: as cubes they would be 8 x 8000 x 8000."""
    data = np.random.default_rng(1).random((8, 8, 8)).astype(np.float32)
    write_vdb(path, [VdbGrid("density", data, transform=np.diag([*scale, 1.0]), grid_class="fog volume")])


def voxels_apart(path, monkeypatch):
    """Two voxels 800 apart on each axis, in two leaves; a dense array between them would have 801^3 values."""
    values = np.zeros((2, 512, 1), dtype=np.float32)
    values[:, 0] = 1.0
    active = values[..., 0] > 0
    corners = np.array([[0, 0, 0], [100, 100, 100]])
    apart = Blocks(corners, values, active, np.zeros_like(active), np.array([True, True]))
    with monkeypatch.context() as patch:
        patch.setattr(writer, "cut_into_blocks", lambda *arguments: apart)
        write_vdb(path, [VdbGrid("density", np.ones((2, 2, 2), np.float32), grid_class="fog volume")])


def gltf_without_content(path):
    """A triangle of a billion corners, none of which is in the file."""
    accessors = [{"componentType": 5126, "type": "VEC3", "count": 10**9}]
    mesh = {"primitives": [{"attributes": {"POSITION": 0}}]}
    document = {"asset": {"version": "2.0"}, "scenes": [{"nodes": [0]}], "nodes": [{"mesh": 0}], "meshes": [mesh]}
    path.write_text(json.dumps({**document, "accessors": accessors, "bufferViews": [], "buffers": []}))


def gltf_of_many_copies(path):
    """A thousand nodes that show one mesh of 40,000 corners: 40 million corners in a megabyte."""
    data = np.zeros((40_000, 3), dtype="<f4").tobytes()
    view = {"buffer": 0, "byteLength": len(data)}
    accessor = {"bufferView": 0, "componentType": 5126, "type": "VEC3", "count": 39_999}
    document = {
        "asset": {"version": "2.0"}, "nodes": [{"mesh": 0}] * 1000, "scenes": [{"nodes": list(range(1000))}],
        "meshes": [{"primitives": [{"attributes": {"POSITION": 0}}]}], "accessors": [accessor], "bufferViews": [view],
        "buffers": [{"byteLength": len(data), "uri": "data.bin"}],
    }  # fmt: skip
    path.write_text(json.dumps(document))
    (path.parent / "data.bin").write_bytes(data)


def ply_that_lies(path):
    head = "ply\nformat binary_little_endian 1.0\nelement vertex 2000000000\nproperty float x\nproperty float y\n"
    path.write_bytes((head + "property float z\nend_header\n").encode() + bytes(1000))


def ply_of_long_lists(path):
    """Faces of 255 corners in bytes: each corner becomes a triangle of 24 bytes and more."""
    head = "ply\nformat binary_little_endian 1.0\nelement vertex 3\n"
    head += "property uchar x\nproperty uchar y\nproperty uchar z\n"
    head += "element face 150000\nproperty list uchar uchar vertex_indices\nend_header\n"
    path.write_bytes(head.encode() + bytes(9) + (b"\xff" + bytes(255)) * 150_000)


def npy_header(path, shape, kind, content):
    text = f"{{'descr': '{kind}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text.encode())
    if content:  # sparse on the disk
        with path.open("ab") as file:
            file.truncate(len(text) + 10 + content)


def png_of(path, width, height):
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = struct.pack(">IIBBBBB", width, height, 8, 6, 0, 0, 0)
    data = zlib.compress(bytes(1 << 16))
    path.write_bytes(b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + chunk(b"IDAT", data) + chunk(b"IEND", b""))


HOSTILE = {
    "thin.vdb": ("vdb", thin_voxels, "cutting its voxels into 8e+03 layers would raise memory use to"),
    "thinnest.vdb": ("vdb", lambda path: thin_voxels(path, (1e-100, 1.0, 1.0)), "voxels with equal sides"),
    "apart.vdb": ("vdb", voxels_apart, "801 x 801 x 801 voxels would raise memory use to"),
    "empty.gltf": ("mesh", gltf_without_content, "sparse or compressed accessors"),
    "moving.gltf": ("moving", gltf_without_content, "sparse or compressed accessors"),
    "copies.gltf": ("mesh", gltf_of_many_copies, "above the limit of 2048 MiB; reduce the mesh"),
    "lies.ply": ("mesh", ply_that_lies, "the file is too short"),
    "long.ply": ("mesh", ply_of_long_lists, "above the limit of 2048 MiB; reduce the mesh"),
    "lies.npy": ("npy", lambda path: npy_header(path, (10**5, 10**5), "<f4", 0), "the file is too short"),
    "bytes.npy": ("npy", lambda path: npy_header(path, (2**14, 2**14), "|b1", 2**28), "crop or coarsen the array"),
    "huge.png": ("image", lambda path: png_of(path, 2**15, 2**11), "make it smaller, at most 33554432 pixels"),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused_in_little_time_and_memory(tmp_path, monkeypatch, name):
    reader, write, text = HOSTILE[name]
    path = tmp_path / name
    write(path, monkeypatch) if write is voxels_apart else write(path)
    if path.suffix == ".vdb":
        assert path.stat().st_size < 20_000
    found = measure(reader, path)
    assert found["message"] is not None, "it was read"
    assert text in found["message"]
    assert str(path) in found["message"]
    assert "\n" not in found["message"]
    assert found["seconds"] < 2
    assert found["megabytes"] < 300


def test_the_limit_is_two_gibibytes_or_half_of_the_machine(monkeypatch):
    for machine, limit in ((None, 2 << 30), (64 << 30, 2 << 30), (1 << 30, 1 << 29)):
        monkeypatch.setattr(budget, "memory_of_machine", lambda machine=machine: machine)
        assert reader_budget() == limit
        assert Budget().limit == limit


def test_a_budget_counts_before_it_is_spent():
    counted = Budget(1000, "use less")
    counted.spend(600, "a")
    counted.require(400, "b")
    for count in (401, 1e30, float("inf"), float("nan")):
        with pytest.raises(KeyfluidError, match=r"^c would raise memory use .* MiB; use less$"):
            counted.require(count, "c")
    part = counted.for_one_of_many()
    part.spend(400, "d")
    with pytest.raises(KeyfluidError, match="e would"):
        part.require(1, "e")
    counted.spend(400, "f")
    assert counted.used == 1000


def test_what_fits_is_read_at_the_limit(tmp_path, monkeypatch):
    """float32 voxels and their float64 copy, 12 bytes each, beside the file itself: not a byte less will do."""
    path = tmp_path / "fog.vdb"
    data = np.random.default_rng(2).random((30, 20, 10)).astype(np.float32)
    write_vdb(path, [VdbGrid("density", data, grid_class="fog volume"), VdbGrid("vel", np.stack([data] * 3, axis=3))])
    tree = 10 * 24 + 1 * 24  # origins of leaves and of their node
    need = path.stat().st_size + 12 * data.size + tree
    for limit, fits in ((need + 4000, True), (need - 4000, False)):
        monkeypatch.setattr(budget, "MOST_BYTES", limit)
        if fits:
            assert np.array_equal(load_vdb(path, None, 3).values, data)
        else:
            with pytest.raises(KeyfluidError, match="30 x 20 x 10 voxels would raise memory use"):
                load_vdb(path, None, 3)


def test_arrays_at_the_limit(tmp_path, monkeypatch):
    np.save(tmp_path / "a.npy", np.ones((40, 50), dtype=np.int8))
    monkeypatch.setattr(budget, "MOST_BYTES", 9 * 2000)
    assert load_array(tmp_path / "a.npy").values.sum() == 2000
    monkeypatch.setattr(budget, "MOST_BYTES", 9 * 2000 - 1)
    with pytest.raises(KeyfluidError, match=r"a\.npy: an array of 2000 values would raise memory use"):
        load_array(tmp_path / "a.npy")


@pytest.mark.parametrize("kind", ["vdb", "npy", "image", "mesh", "font"])
def test_a_memory_error_is_one_line(tmp_path, monkeypatch, kind):
    """In the middle of a file that the budget allows."""
    import PIL.Image
    import trimesh
    from matplotlib import font_manager

    def fail(*arguments, **options):
        raise MemoryError

    write_vdb(tmp_path / "a.vdb", [VdbGrid("density", np.ones((3, 3, 3), np.float32))])
    np.save(tmp_path / "a.npy", np.ones((3, 3)))
    PIL.Image.fromarray(np.eye(8, dtype=np.uint8) * 255).save(tmp_path / "a.png")
    trimesh.creation.box().export(tmp_path / "a.ply")
    font = Path(font_manager.findfont("DejaVu Sans"))
    place, read = {
        "vdb": ("keyfluid.scenes.build.vdb_body._density", lambda: load_vdb(tmp_path / "a.vdb", None, 3)),
        "npy": ("numpy.lib.format.read_array", lambda: load_array(tmp_path / "a.npy")),
        "image": ("keyfluid.shapes.image._channels", lambda: load_image(tmp_path / "a.png")),
        "mesh": ("keyfluid.shapes.mesh_ply.triangulate", lambda: load_mesh(tmp_path / "a.ply")),
        "font": ("matplotlib.textpath.text_to_path.get_text_path", lambda: Text("A", font)),
    }[kind]
    read()
    monkeypatch.setattr(place, fail)
    with pytest.raises(KeyfluidError, match="not enough free memory") as caught:
        read()
    assert str(font if kind == "font" else tmp_path / "a") in str(caught.value)
    assert "\n" not in str(caught.value)


def test_enough_memory_lets_other_faults_pass():
    for fault in (KeyboardInterrupt, KeyfluidError("x"), OSError("y")):
        with pytest.raises(type(fault) if isinstance(fault, Exception) else fault), enough_memory("a.vdb"):
            raise fault


@pytest.mark.parametrize("folder", ["shapes", "io", "scenes"])
def test_no_blanket_except_swallows_a_memory_error(folder):
    """A handler for Exception or everything comes after one that lets MemoryError pass, or raises again itself."""
    for path in (Path(keyfluid.__file__).parent / folder).rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if not isinstance(node, ast.Try):
                continue
            passed = False
            for handler in node.handlers:
                named = "" if handler.type is None else ast.unparse(handler.type)
                bare = len(handler.body) == 1 and isinstance(handler.body[0], ast.Raise) and handler.body[0].exc is None
                passed |= "MemoryError" in named and bare
                again = isinstance(handler.body[-1], ast.Raise) and handler.body[-1].exc is None
                if named in ("", "Exception", "BaseException"):
                    assert passed or again, f"{path}, line {handler.lineno}"


def test_density_beyond_float32_is_refused(tmp_path):
    for values in (np.full((2, 2), 1e13), np.full((2, 2), 1e38, dtype=np.float32)):
        with pytest.raises(KeyfluidError, match=r"holds density up to 1e\+.*; scale it to at most 1e\+12"):
            DensityArray.build(values)
    write_vdb(tmp_path / "a.vdb", [VdbGrid("density", np.full((2, 2, 2), 1e38, np.float32), grid_class="fog volume")])
    with pytest.raises(KeyfluidError, match=r"a\.vdb: grid 'density' holds density up to 1e\+38; scale it"):
        load_vdb(tmp_path / "a.vdb", None, 3)
