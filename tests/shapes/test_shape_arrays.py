"""Arrays from .npy files: kept exactly on the same grid, averaged or interpolated on another."""

from __future__ import annotations

import numpy as np
import pytest

from keyfluid.errors import KeyfluidError
from keyfluid.shapes import DensityArray, Placement, load_array


@pytest.fixture
def values():
    return np.random.default_rng(3).random((12, 8))


def write(tmp_path, array):
    path = tmp_path / "density.npy"
    np.save(path, array)
    return path


def test_same_grid_is_the_same_array(tmp_path, values):
    assert np.array_equal(load_array(write(tmp_path, values)).rasterize((12, 8), 0.1), values)
    solid = np.random.default_rng(4).random((4, 5, 6)).astype(np.float32)
    assert np.array_equal(load_array(write(tmp_path, solid)).rasterize((4, 5, 6), 0.1), solid)


def test_coarser_grids_hold_averages(values):
    coarse = DensityArray.build(values).rasterize((6, 4), 0.2)
    assert coarse == pytest.approx(values.reshape(6, 2, 4, 2).mean(axis=(1, 3)))
    odd = DensityArray.build(values).rasterize((5, 3), 0.2)
    assert odd.mean() == pytest.approx(values.mean())


def test_finer_grids_are_linear(values):
    ramp = np.add.outer(np.arange(12.0), 3 * np.arange(8.0))
    fine = DensityArray.build(ramp).rasterize((24, 16), 0.05)
    x, y = (np.arange(24) + 0.5) / 2 - 0.5, (np.arange(16) + 0.5) / 2 - 0.5
    assert fine[1:-1, 1:-1] == pytest.approx(np.add.outer(x, 3 * y)[1:-1, 1:-1])


def test_placed_arrays_keep_their_mass_and_turn(values):
    source = DensityArray.build(values)
    placed = source.rasterize((48, 48), 1 / 48, Placement(fit=0.5))
    assert placed.sum() == pytest.approx(values.sum() * 4, rel=1e-9)
    turned = source.rasterize((48, 48), 1 / 48, Placement(fit=0.5, rotation=90.0))
    assert np.abs(turned - np.rot90(placed)).max() < 1e-9
    slanted = source.rasterize((48, 48), 1 / 48, Placement(fit=0.5, rotation=30.0, scale=1.1))
    assert slanted.sum() > 0


@pytest.mark.parametrize(
    ("array", "text"),
    [
        (np.array([[1.0, np.nan], [0.0, 1.0]]), r"NaN or infinite values, the first at index \[0, 1\]"),
        (np.array([[1.0, np.inf]]), "infinite"),
        (np.array([[1.0, -0.5]]), "negative"),
        (np.zeros(5), "2D or 3D"),
        (np.zeros((0, 4)), "2D or 3D"),
        (np.array([["a", "b"]]), "real numbers"),
        (np.ones((2, 2), dtype=complex), "real numbers"),
    ],
)
def test_values_that_are_no_density(tmp_path, array, text):
    with pytest.raises(KeyfluidError, match=text):
        load_array(write(tmp_path, array))


def test_wrong_dimension(values):
    with pytest.raises(KeyfluidError, match="2 axes; the domain has 3"):
        DensityArray.build(values).rasterize((4, 4, 4), 0.25)


def test_broken_files(tmp_path, values):
    with pytest.raises(KeyfluidError, match="does not exist"):
        load_array(tmp_path / "none.npy")
    path = write(tmp_path, values)
    raw = path.read_bytes()
    for damaged in (
        raw[:-20],
        raw[:40],
        b"",
        b"junk" * 50,
        raw.replace(b"(12, 8)", b"(9999999999, 99999999)"),
    ):
        path.write_bytes(damaged)
        with pytest.raises(KeyfluidError, match="can't be read"):
            load_array(path)
    np.save(path, np.array([{"a": 1}], dtype=object), allow_pickle=True)
    with pytest.raises(KeyfluidError, match="can't be read"):
        load_array(path)
