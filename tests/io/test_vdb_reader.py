"""Files written by libopenvdb 10.0.1 are read to the last bit, with every compression and every tile."""

from __future__ import annotations

import struct
from pathlib import Path

import numpy as np
import pytest
from vdb_fixtures import FOLDER, GRIDS, expected_values, fixture_bytes, fixture_file

from keyfluid.errors import KeyfluidError
from keyfluid.io.vdb import read_vdb
from keyfluid.io.vdb.blosc import decompress
from keyfluid.io.vdb.cursor import Cursor
from keyfluid.io.vdb.maps import decode_map
from keyfluid.io.vdb.metadata import encode_string


@pytest.mark.parametrize("name", sorted(GRIDS))
def test_fixture_is_read_exactly(name: str, tmp_path: Path) -> None:
    grids = sorted(read_vdb(fixture_file(name, tmp_path)), key=lambda grid: grid.name)
    assert len(grids) == len(GRIDS[name])
    for grid, expected in zip(grids, GRIDS[name]):
        values = expected_values(expected["values"])
        assert grid.name == expected["name"]
        assert grid.grid_class == expected["class"]
        assert grid.first_index == tuple(expected["first_index"])
        assert grid.data.dtype == values.dtype
        assert np.array_equal(grid.data, values)
        assert np.array_equal(grid.transform.ravel(), expected["transform"])


def test_compressions_were_really_different() -> None:
    flags = {}
    for name in GRIDS:
        content = fixture_bytes(name)
        (start,) = struct.unpack_from("<q", content, content.index(b"_5_4_3") + _after_type(content))
        flags[name] = struct.unpack_from("<I", content, start)[0]
    assert {flags[f"smoke_{way}.vdb"] for way in ("zip", "blosc", "mask", "plain")} == {3, 6, 2, 0}
    assert flags["vel_only_blosc.vdb"] == 4


def _after_type(content: bytes) -> int:
    """Bytes from "_5_4_3" to the offsets: the rest of the type and an empty parent name."""
    suffix = b"_5_4_3_HalfFloat"
    return (len(suffix) if suffix in content else len(b"_5_4_3")) + 4


def test_smoke_file_in_numbers(tmp_path: Path) -> None:
    """Values of the generator, worked out again here, so that the comparison above cannot be empty."""
    (grid,) = read_vdb(fixture_file("smoke_blosc.vdb", tmp_path))
    assert grid.metadata == {"shot": "a7", "gain": 0.5}
    x, y, z = 3, 5, 12
    wave = 0.25 + np.sin(0.7 * x + 0.3 * y * z + 0.11 * z)
    i, j, k = grid.first_index
    assert grid.data[x - i, y - j, z - k] == np.float32(wave)
    assert grid.data[20 - i, -9 - j, 1 - k] == 3.0
    assert grid.voxel_size == pytest.approx((0.1, 0.2, 0.3))


def test_level_set_keeps_its_inside(tmp_path: Path) -> None:
    (grid,) = read_vdb(fixture_file("surface_blosc.vdb", tmp_path))
    middle = tuple(n // 2 for n in grid.data.shape)
    assert grid.background == np.float32(0.4)
    assert grid.data[middle] == -grid.background
    assert grid.data[0, 0, 0] == grid.background


def test_several_grids(tmp_path: Path) -> None:
    """A mask grid is left out; an instance has its own values; equal names lose their suffix."""
    grids = read_vdb(fixture_file("several.vdb", tmp_path))
    assert [grid.name for grid in grids] == ["density", "again", "fine", "nothing", "density"]
    density, again, fine, nothing, _ = grids
    assert np.array_equal(density.data, again.data)
    assert not np.shares_memory(density.data, again.data)
    assert again.transform[0, 0] == 0.5
    assert fine.background == -0.125
    assert nothing.data.shape == (0, 0, 0)
    assert nothing.background == 0.5


def test_vector_grid(tmp_path: Path) -> None:
    (grid,) = read_vdb(fixture_file("vel_zip.vdb", tmp_path))
    assert grid.vector_type == "contravariant relative"
    assert grid.background == (0.5, -0.25, 1.0)
    assert grid.data[0, 0, 0, 1] == -5.0


def test_stream_without_offsets(tmp_path: Path) -> None:
    grids = read_vdb(fixture_file("stream.vdb", tmp_path))
    assert [grid.name for grid in grids] == ["fine", "vel"]
    (vel,) = read_vdb(fixture_file("vel_zip.vdb", tmp_path))
    assert np.array_equal(grids[1].data, vel.data)


@pytest.mark.parametrize("version", [222, 223])
def test_older_versions_have_the_same_bytes(version: int, tmp_path: Path) -> None:
    content = bytearray(fixture_bytes("smoke_zip.vdb"))
    struct.pack_into("<I", content, 8, version)
    (tmp_path / "old.vdb").write_bytes(content)
    (grid,) = read_vdb(tmp_path / "old.vdb")
    assert np.array_equal(grid.data, expected_values(GRIDS["smoke_zip.vdb"][0]["values"]))


def test_maps_that_no_fixture_has() -> None:
    """A translation is three doubles, a rotation a matrix for row vectors (OpenVDB's math/Maps.h)."""
    raw = encode_string("TranslationMap") + struct.pack("<3d", 1, 2, 3)
    assert np.array_equal(decode_map(Cursor(raw)) @ [10, 20, 30, 1], [11, 22, 33, 1])
    quarter = [0, 1, 0, 0, -1, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]
    raw = encode_string("UnitaryMap") + struct.pack("<16d", *quarter)
    assert np.array_equal(decode_map(Cursor(raw)) @ [1, 0, 5, 1], [0, 1, 5, 1])
    with pytest.raises(KeyfluidError, match="NonlinearFrustumMap"):
        decode_map(Cursor(encode_string("NonlinearFrustumMap") + bytes(300)))


@pytest.mark.parametrize("chunk", ["raw_blocks_of_256", "raw_blocks_of_2048", "raw_no_shuffle",
                                   "flat_one_block", "flat_type_of_12", "flat_hc"])  # fmt: skip
def test_blosc_chunks(chunk: str) -> None:
    """Chunks by c-blosc 1.21.3; blocks of 256 are what OpenVDB 3 wrote."""
    with np.load(FOLDER / "blosc_chunks.npz") as chunks:
        plain = chunks[chunk.split("_")[0]].tobytes()
        assert decompress(memoryview(chunks[chunk].tobytes()), len(plain)) == plain


def test_other_blosc_codec_is_named() -> None:
    with np.load(FOLDER / "blosc_chunks.npz") as chunks, pytest.raises(KeyfluidError, match="LZ4"):
        decompress(memoryview(chunks["flat_zlib"].tobytes()), 4000)
