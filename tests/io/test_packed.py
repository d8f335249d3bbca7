"""Packed arrays come back bit for bit, take less space where they are smooth, and damage is noticed."""

from __future__ import annotations

import json
import zipfile

import numpy as np
import pytest

from keyfluid.errors import KeyfluidError
from keyfluid.io import container
from keyfluid.io.container import is_packed, load_arrays, save_arrays
from keyfluid.io.packed import Packing, pack, unpack

STRANGE = [0.0, -0.0, 1.0, -1.0, np.inf, -np.inf, np.nan, 1e-42, -3e38, 3e38, 1.1754944e-38, 7.0]


def smooth(cells: int, dtype: type = np.float32) -> np.ndarray:
    x, y, z = np.meshgrid(*[np.linspace(0, 1, cells)] * 3, indexing="ij")
    return (np.sin(3 * x + y) * np.cos(2 * z) + 0.2 * y).astype(dtype).ravel()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("parts", [((12,),), ((3, 4),), ((2, 3), (6,)), ((3, 2, 2),)])
@pytest.mark.parametrize("after", [(), ("a",), ("a", "b"), ("a", "b", "a")])
def test_every_bit_comes_back(dtype, parts, after):
    array = np.array(STRANGE, dtype)
    random = np.random.default_rng(1)
    others = {name: random.normal(size=12).astype(dtype) for name in "ab"}
    found = unpack(pack(array, Packing(parts, after), others.__getitem__), others.__getitem__)
    assert found.dtype == array.dtype
    assert found.tobytes() == array.tobytes()


def test_smooth_fields_and_rows_of_them_take_less_space():
    values = smooth(20)
    shape = ((20, 20, 20),)
    alone = pack(values, Packing(shape), {}.__getitem__)
    assert len(alone) < 0.75 * values.nbytes
    row = {name: values * np.float32(1 + 0.01 * k) for k, name in enumerate("cba")}
    assert len(pack(values * np.float32(1.03), Packing(shape, ("a", "b")), row.__getitem__)) < 0.7 * len(alone)
    noise = np.random.default_rng(0).integers(0, 2**32, 8000, np.uint32).view(np.float32)
    assert len(pack(noise, Packing(shape), {}.__getitem__)) < 1.02 * noise.nbytes, "noise is stored as it is"


def saved(path, cells=12):
    arrays = {"v": smooth(cells), "w": 1.1 * smooth(cells), "n": np.arange(5)}
    packing = {"v": Packing(((cells,) * 3,)), "w": Packing(((cells,) * 3,), ("v",))}
    save_arrays(path, arrays, {"a": 1}, packing=packing)
    return arrays


def test_files_with_packed_arrays(tmp_path):
    arrays = saved(tmp_path / "a.npz")
    assert is_packed(tmp_path / "a.npz")
    found, meta = load_arrays(tmp_path / "a.npz")
    assert meta == {"a": 1}
    assert {name: array.tobytes() for name, array in found.items()} == {n: a.tobytes() for n, a in arrays.items()}
    saved(tmp_path / "b.npz")
    assert (tmp_path / "a.npz").read_bytes() == (tmp_path / "b.npz").read_bytes()


def rewritten(path, name, change):
    """The file with one entry changed, checksums right."""
    with zipfile.ZipFile(path) as archive:
        entries = {entry.filename: archive.read(entry) for entry in archive.infolist()}
    entries[name] = change(entries[name])
    with zipfile.ZipFile(path, "w") as archive:
        for inner, content in entries.items():
            archive.writestr(inner, content)


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data[:-1],
        lambda data: data + b"\0",
        lambda data: data[:40],
        lambda data: data.replace(b"(1728,)", b"(1729,)"),
        lambda data: data.replace(b"<f4", b"<i4"),
        lambda data: data.replace(b'["v"]', b'["q"]'),
        lambda data: data.replace(b"[12, 12, 12]", b"[12, 12, -2]"),
        lambda data: data.replace(b'"sizes"', b'"shape"'),
    ],
)
def test_what_was_not_packed_so_is_damaged(change, tmp_path):
    path = tmp_path / "a.npz"
    saved(path)
    rewritten(path, "w.packed", change)
    with pytest.raises(KeyfluidError, match="is damaged"):
        load_arrays(path)


def test_a_small_file_does_not_take_much_memory(tmp_path, monkeypatch):
    """Zeros pack a thousand times; what would be refused is written plainly."""
    zeros = {"v": np.zeros(1 << 18, np.float32)}
    packing = {"v": Packing(((1 << 18,),))}
    save_arrays(tmp_path / "a.npz", zeros, {}, packing=packing)
    assert (tmp_path / "a.npz").stat().st_size < 10_000
    monkeypatch.setattr(container, "_SMALL", 1 << 16)
    with pytest.raises(KeyfluidError, match="is damaged"):
        load_arrays(tmp_path / "a.npz")
    save_arrays(tmp_path / "b.npz", zeros, {}, packing=packing)
    assert not is_packed(tmp_path / "b.npz")
    assert not load_arrays(tmp_path / "b.npz")[0]["v"].any()


def test_an_array_can_not_come_after_one_that_follows_it(tmp_path):
    path = tmp_path / "a.npz"
    saved(path)

    def circular(data: bytes) -> bytes:
        start = data.index(b'{"parts"')
        end = data.index(b"}", start) + 1
        about = json.dumps({**json.loads(data[start:end]), "after": ["w"]}).encode()
        return data[: start - 4] + len(about).to_bytes(4, "little") + about + data[end:]

    rewritten(path, "v.packed", circular)
    with pytest.raises(KeyfluidError, match="is damaged"):
        load_arrays(path)
