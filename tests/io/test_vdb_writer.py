"""What is written is read again exactly, sits where it should, and appears whole or not at all."""

from __future__ import annotations

import resource
import signal
from pathlib import Path

import numpy as np
import pytest

from keyfluid.errors import KeyfluidError
from keyfluid.io.vdb import VdbGrid, cell_transform, read_vdb, write_vdb


def crop(data: np.ndarray, first: tuple[int, int, int], read: VdbGrid) -> np.ndarray:
    """The part of `data`, whose corner is `first`, that the grid that was read covers."""
    return data[tuple(slice(r - f, r - f + n) for r, f, n in zip(read.first_index, first, read.data.shape))]


def patchy(shape: tuple[int, ...], seed: int = 3) -> np.ndarray:
    random = np.random.default_rng(seed)
    data = random.normal(size=shape).astype(np.float32)
    data[random.random(shape[:3]) < 0.6] = 0
    return data


@pytest.mark.parametrize("first", [(0, 0, 0), (-5, 3, 7), (4090, -4099, 125)])
@pytest.mark.parametrize("shape", [(13, 21, 10), (40, 1, 3), (1, 1, 1), (9, 30, 1), (20, 11, 9, 3)])
def test_round_trip(shape: tuple[int, ...], first: tuple[int, int, int], tmp_path: Path) -> None:
    data = patchy(shape)
    data[0, 0, 0] = 0.5
    grid = VdbGrid("density", data, first, cell_transform(0.25, (1, 2, 3)), "fog volume", metadata={"a": 1})
    write_vdb(tmp_path / "a.vdb", [grid])
    (read,) = read_vdb(tmp_path / "a.vdb")
    assert np.array_equal(read.data, crop(data, first, read))
    assert np.count_nonzero(read.data) == np.count_nonzero(data)
    assert read.data.dtype == np.float32
    assert (read.name, read.grid_class, read.metadata) == ("density", "fog volume", {"a": 1})
    assert np.array_equal(read.transform, grid.transform)


def test_cell_centres() -> None:
    """The centre of cell i lies at (i + 1/2) dx."""
    assert np.allclose(cell_transform(0.2) @ [3, 0, 1, 1], [0.7, 0.1, 0.3, 1])
    assert VdbGrid("a", np.zeros((1, 1, 1)), transform=cell_transform(0.2)).voxel_size == (0.2, 0.2, 0.2)


def test_half_rounds_to_half(tmp_path: Path) -> None:
    data = patchy((20, 9, 12))
    first = (-3, -3, -3)
    write_vdb(tmp_path / "a.vdb", [VdbGrid("density", data, first, half=True)])
    (read,) = read_vdb(tmp_path / "a.vdb")
    assert np.array_equal(read.data, crop(data.astype(np.float16).astype(np.float32), first, read))


@pytest.mark.parametrize("half", [False, True])
def test_values_equal_to_background_take_no_space(half: bool, tmp_path: Path) -> None:
    """0.1 is no half: the comparison must come before the rounding."""
    data = np.full((30, 20, 10), 0.1)
    data[17:20, 5, 5] = 7
    write_vdb(tmp_path / "a.vdb", [VdbGrid("temperature", data, background=0.1, half=half)])
    (read,) = read_vdb(tmp_path / "a.vdb")
    assert read.data.shape == (3, 1, 1)
    assert read.first_index == (17, 5, 5)
    assert read.background == (np.float16(0.1) if half else np.float32(0.1))


def sphere(size: int, radius: float, spacing: float) -> np.ndarray:
    x, y, z = np.meshgrid(*[np.arange(size) - 0.47 * size] * 3, indexing="ij")
    return spacing * (np.sqrt(x**2 + y**2 + z**2) - radius)


@pytest.mark.parametrize("half", [False, True])
def test_level_set(half: bool, tmp_path: Path) -> None:
    distance = sphere(70, 25, 0.1)
    grid = VdbGrid("surface", distance, (-20, 5, 0), cell_transform(0.1), "level set", background=0.3, half=half)
    write_vdb(tmp_path / "a.vdb", [grid])
    (read,) = read_vdb(tmp_path / "a.vdb")
    width = np.float32(0.3)
    clamped = np.clip(crop(distance, grid.first_index, read).astype(np.float32), -width, width)
    if half:
        clamped = clamped.astype(np.float16).astype(np.float32)
    assert np.array_equal(read.data, clamped)
    assert read.grid_class == "level set"
    assert read.data.shape == (56, 56, 56)
    assert (tmp_path / "a.vdb").stat().st_size < 0.5 * read.data.nbytes


def test_level_set_inside_of_whole_nodes(tmp_path: Path) -> None:
    """A slab so thick that a 128^3 node and many 8^3 nodes are all inside."""
    data = np.full((160, 136, 136), -9.0, dtype=np.float32)
    data[140:] = 9.0
    data[140, 3, 4] = 0.25
    data[0, 0, 0] = -0.25
    data[150, 135, 135] = 0.5
    write_vdb(tmp_path / "a.vdb", [VdbGrid("surface", data, grid_class="level set", background=1.0)])
    (read,) = read_vdb(tmp_path / "a.vdb")
    assert read.data.shape == (151, 136, 136)
    assert np.array_equal(read.data, np.clip(data[:151], -1, 1))
    assert (tmp_path / "a.vdb").stat().st_size < 120_000


def test_empty_grid(tmp_path: Path) -> None:
    for half in (False, True):
        write_vdb(tmp_path / "a.vdb", [VdbGrid("density", np.zeros((5, 6, 7)), half=half)])
        (read,) = read_vdb(tmp_path / "a.vdb")
        assert read.data.shape == (0, 0, 0)
    write_vdb(tmp_path / "a.vdb", [])
    assert read_vdb(tmp_path / "a.vdb") == []


def test_transforms(tmp_path: Path) -> None:
    turned = np.array([[0, -0.1, 0, 1], [0, 0, 0.1, 2], [0.1, 0, 0, 3], [0, 0, 0, 1.0]])
    for transform in (np.diag([0.1, 0.2, 0.4, 1]), turned, np.diag([-1.0, 1, 1, 1]), np.eye(4)):
        write_vdb(tmp_path / "a.vdb", [VdbGrid("a", np.ones((2, 2, 2)), transform=transform)])
        assert np.array_equal(read_vdb(tmp_path / "a.vdb")[0].transform, transform)


def test_same_input_same_bytes(tmp_path: Path) -> None:
    contents = []
    for seed in (3, 3, 4):
        write_vdb(tmp_path / "a.vdb", [VdbGrid("a", patchy((9, 9, 9), seed))], {"fps": 24.0})
        contents.append((tmp_path / "a.vdb").read_bytes())
    assert contents[0] == contents[1] != contents[2]
    assert contents[0][21:57] != contents[2][21:57]  # the uuid


@pytest.mark.parametrize(
    ("grid", "message"),
    [
        (VdbGrid("a", np.full((2, 2, 2), np.nan)), "are NaN"),
        (VdbGrid("a", np.full((2, 2, 2), 1e300)), "beyond"),
        (VdbGrid("a", np.ones((2, 2))), "three axes"),
        (VdbGrid("a", np.ones((2, 2, 2, 2))), "three axes"),
        (VdbGrid("a", np.ones((2, 2, 2), dtype=complex)), "three axes"),
        (VdbGrid("a", np.ones((2, 2, 2)), first_index=(2**31 - 1, 0, 0)), "outside the range of VDB"),
        (VdbGrid("a", np.ones((2, 2, 2)), grid_class="level set"), "positive background"),
        (VdbGrid("a", np.ones((2, 2, 2)), transform=np.zeros((4, 4))), "transform"),
        (VdbGrid("a", np.ones((2, 2, 2)), transform=np.diag([1.0, 0, 1, 1])), "invertible"),
        (VdbGrid("a", np.ones((2, 2, 2)), metadata={"k": None}), "metadata"),  # type: ignore[dict-item]
        (VdbGrid("", np.ones((2, 2, 2))), "names"),
    ],
)
def test_wrong_input_leaves_nothing(grid: VdbGrid, message: str, tmp_path: Path) -> None:
    with pytest.raises(KeyfluidError, match=message) as caught:
        write_vdb(tmp_path / "a.vdb", [grid])
    assert "a.vdb" in str(caught.value)
    assert list(tmp_path.iterdir()) == []


def test_half_overflow_and_equal_names(tmp_path: Path) -> None:
    with pytest.raises(KeyfluidError, match="65504"):
        write_vdb(tmp_path / "a.vdb", [VdbGrid("a", np.full((2, 2, 2), 7e4), half=True)])
    with pytest.raises(KeyfluidError, match="different names"):
        write_vdb(tmp_path / "a.vdb", [VdbGrid("a", np.ones((1, 1, 1)))] * 2)


def test_full_disk_keeps_the_old_file(tmp_path: Path) -> None:
    """A limit on the size of files stands in for the disk: the write fails in the middle, as it would."""
    path = tmp_path / "a.vdb"
    write_vdb(path, [VdbGrid("a", np.ones((2, 2, 2)))])
    before = path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (20_000, hard))
    try:
        with pytest.raises(KeyfluidError, match=r"a\.vdb: can't be written"):
            write_vdb(path, [VdbGrid("a", patchy((50, 50, 50)))])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, handler)
    assert [entry.name for entry in tmp_path.iterdir()] == ["a.vdb"]
    assert path.read_bytes() == before


def test_a_file_in_the_place_of_a_folder(tmp_path: Path) -> None:
    (tmp_path / "no").write_text("a file")
    with pytest.raises(KeyfluidError, match="can't be written"):
        write_vdb(tmp_path / "no" / "a.vdb", [VdbGrid("a", np.ones((2, 2, 2)))])
