"""Thousands of damaged meshes of every format: read or refused in one line, in little time and memory."""

from __future__ import annotations

import random
import struct
import time
import tracemalloc
import warnings

import numpy as np
import pytest
import trimesh
from gltf_asset import write_bent_bar

from keyfluid.errors import KeyfluidError
from keyfluid.shapes import Placement, load_mesh, load_skinned_gltf
from keyfluid.shapes.mesh import read_triangles

EXAMPLES = 700
WORDS = [
    b"0", b"-1", b"1e999", b"nan", b"99999999999", b"-9999999999999999999999", b"/", b"//", b"\\\n", b"\n", b" ", b"#",
    b"v ", b"f ", b"1/2/3", b"vertex ", b"endfacet", b"list ", b"element vertex 4000000000\n", b"property ", b"uchar",
    b"float", b"ascii", b"end_header\n", b"null", b"true", b"{", b"}", b"[", b"]", b'"', b",", b":", b'"bufferView"',
    b'"count"', b'"uri"', b'"../x"', b"\xff", b"\0", b"\xe2\x80\xa8",
]  # fmt: skip


def write_seed(path):
    """A small mesh of this name."""
    box = trimesh.creation.box((0.5, 0.3, 0.2))
    if path.stem == "moving":
        write_bent_bar(path)
    elif path.stem == "mixed":
        path.write_text(
            "ply\nformat ascii 1.0\nelement vertex 4\nproperty float x\nproperty float y\nproperty float z\n"
            "element face 3\nproperty list uchar int vertex_indices\nend_header\n"
            "0 0 0\n1 0 0\n0 1 0\n0 0 1\n3 0 1 2\n4 0 1 2 3\n3 0 3 1\n"
        )
    else:
        options = {"ascii.ply": {"encoding": "ascii"}, "ascii.stl": {"file_type": "stl_ascii"}}.get(path.name, {})
        box.export(path, **options)
    return path.read_bytes()


def damaged(content, chance):
    """Bytes and numbers overwritten, words put in, parts cut, doubled or exchanged."""
    data = bytearray(content)
    for _ in range(chance.randint(1, 5)):
        place = chance.randrange(len(data) + 1)
        end = min(place + chance.choice([1, 2, 4, 8, 30]), len(data))
        match chance.randrange(7):
            case 0:
                data[place:end] = chance.randbytes(end - place)
            case 1:
                number = chance.choice([0, 1, 2**31 - 1, 2**31, 2**32 - 1, chance.randrange(2**32)])
                data[place : place + 4] = struct.pack("<I", number)
            case 2:
                data[place:place] = chance.choice(WORDS)
            case 3:
                data[place:end] = chance.choice(WORDS)
            case 4:
                del data[place:end]
            case 5:
                data[place:place] = data[place:end] * chance.randint(1, 20)
            case 6 if chance.random() < 0.3:
                del data[place:]
        data = data or bytearray(b"\0")
    return bytes(data)


SEEDS = ["a.obj", "a.ply", "ascii.ply", "mixed.ply", "a.stl", "ascii.stl", "a.glb", "moving.glb", "moving.gltf"]


@pytest.mark.parametrize("name", SEEDS)
def test_damaged_meshes(tmp_path, name):
    path = tmp_path / name
    content = write_seed(path)
    chance = random.Random(name)
    read = load_skinned_gltf if name.startswith("moving") else read_triangles
    read(path)
    outcomes = {True: 0, False: 0}
    slowest, largest = 0.0, 0
    tracemalloc.start()
    for number in range(EXAMPLES):
        path.write_bytes(damaged(content, chance))
        started = time.process_time()
        tracemalloc.reset_peak()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                result = read(path)
                if number % 8 == 0:
                    body = result.at(0.3) if read is load_skinned_gltf else load_mesh(path)
                    assert np.all(np.isfinite(body.rasterize((8, 8, 8), 0.125, Placement(fit=0.8))))
            outcomes[True] += 1
        except KeyfluidError as fault:
            assert str(path) in str(fault)  # noqa: PT017
            assert "\n" not in str(fault)  # noqa: PT017
            outcomes[False] += 1
        slowest = max(slowest, time.process_time() - started)
        largest = max(largest, tracemalloc.get_traced_memory()[1])
    tracemalloc.stop()
    assert min(outcomes.values()) > 0, "all the same: the damage is too great or too small to test anything"
    assert slowest < 5
    assert largest < 64 << 20
