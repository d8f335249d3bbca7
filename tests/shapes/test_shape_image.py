"""Images: which channel counts, which way is up, exact areas, and files that are not what they say."""

from __future__ import annotations

import struct
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image

from keyfluid.errors import KeyfluidError
from keyfluid.shapes import Extrusion, ImageDrawing, Placement, load_image, mass_of
from keyfluid.shapes.image import load_brightness


def save(tmp_path, array, name="picture.png"):
    path = tmp_path / name
    Image.fromarray(array).save(path)
    return path


def corner_mark():
    """A grey picture, 40 wide and 30 high: an L at its top left, 20 high and 8 wide, its foot 16 wide."""
    grey = np.zeros((30, 40), dtype=np.uint8)
    grey[2:22, 4:12] = 255
    grey[16:22, 4:20] = 255
    return grey


def test_row_zero_is_the_top_and_x_runs_right(tmp_path):
    coverage = load_image(save(tmp_path, corner_mark())).rasterize((64, 64), 1 / 64, Placement(fit=0.625))
    assert coverage.sum(axis=1).argmax() < 32  # the stem is on the left
    assert coverage[36:, :32].sum() > 0  # the foot points right, at the bottom
    assert coverage[36:, 32:].sum() == 0
    # ink box 16 x 20 pixels, 20 pixels = 0.625 m = 40 cells: a pixel is two cells, sums are exact
    assert coverage.sum() == pytest.approx(4 * (20 * 8 + 6 * 8), abs=1e-9)
    assert set(np.unique(np.round(coverage, 9))) == {0.0, 1.0}


def test_turned_image_matches_numpy(tmp_path):
    picture = load_image(save(tmp_path, corner_mark()))
    upright = picture.rasterize((64, 64), 1 / 64, Placement(fit=0.6))
    for quarter in (1, 2, 3):
        turned = picture.rasterize((64, 64), 1 / 64, Placement(fit=0.6, rotation=90.0 * quarter))
        assert np.abs(turned - np.rot90(upright, quarter)).max() < 1e-9
    nearly = picture.rasterize((64, 64), 1 / 64, Placement(fit=0.6, rotation=1e-7))
    # sampled along a turned lattice the edge is a quarter of a cell softer
    assert np.abs(nearly - upright).max() < 0.15
    assert nearly.sum() == pytest.approx(upright.sum(), rel=1e-6)


def test_area_average_of_grey(tmp_path):
    """Four pixels per cell: each cell holds their mean."""
    pixels = np.random.default_rng(2).integers(60, 256, (32, 48)).astype(np.uint8)
    coverage = load_image(save(tmp_path, pixels)).rasterize((24, 16), 1 / 16, Placement(fit=1.0))
    expected = pixels.T[:, ::-1].reshape(24, 2, 16, 2).mean(axis=(1, 3)) / 255
    assert coverage == pytest.approx(expected, abs=1e-6)


def test_alpha_counts_when_it_says_something(tmp_path):
    rgba = np.zeros((20, 20, 4), dtype=np.uint8)
    rgba[..., 3] = 255
    rgba[5:9, 3:14, :3] = 255
    by_light = load_image(save(tmp_path, rgba, "light.png"))
    assert by_light.pixels.sum() == pytest.approx(44)
    rgba[..., 3] = 0
    rgba[12:14, 3:14, 3] = 51
    by_alpha = load_image(save(tmp_path, rgba, "alpha.png"))
    assert by_alpha.pixels.sum() == pytest.approx(22 * 0.2)


def test_invert_turns_black_on_white_to_ink(tmp_path):
    picture = load_image(save(tmp_path, 255 - corner_mark()), invert=True)
    assert picture.pixels == pytest.approx(load_image(save(tmp_path, corner_mark())).pixels)


def test_sixteen_bits_and_palette(tmp_path):
    deep = corner_mark().astype(np.uint16) * 257
    assert load_image(save(tmp_path, deep, "deep.png")).pixels.max() == pytest.approx(1)
    image = Image.fromarray(corner_mark()).convert("P")
    image.save(tmp_path / "palette.png")
    assert load_image(tmp_path / "palette.png").pixels.sum() == pytest.approx(208)


def test_extruded_image_has_its_depth(tmp_path):
    picture = ImageDrawing(load_image(save(tmp_path, corner_mark())).pixels, Extrusion(depth=0.2))
    flat = picture.rasterize((32, 32), 1 / 32, Placement(fit=0.6))
    body = picture.rasterize((32, 32, 32), 1 / 32, Placement(fit=0.6))
    assert mass_of(body, 1 / 32) == pytest.approx(0.2 * mass_of(flat, 1 / 32))
    turned = picture.rasterize((32, 32, 32), 1 / 32, Placement(fit=0.6, rotation=(12.0, 0.0, 0.0)))
    # tilted, the drawing may be larger before it reaches 0.6 of the height
    assert turned.sum() == pytest.approx(body.sum() / np.cos(np.radians(12.0)) ** 2, rel=0.01)


@pytest.mark.parametrize("value", [0, 255])
def test_blank_images_have_no_content(tmp_path, value):
    with pytest.raises(KeyfluidError, match="no content"):
        load_image(save(tmp_path, np.full((8, 8), value, dtype=np.uint8)))
    with pytest.raises(KeyfluidError, match="no content"):
        load_image(save(tmp_path, np.zeros((8, 8, 4), dtype=np.uint8)))


def test_float_pixels(tmp_path):
    values = np.linspace(0, 1, 64, dtype=np.float32).reshape(8, 8)
    assert load_image(save(tmp_path, values, "ok.tiff")).pixels.max() == 1
    values[2, 3] = np.nan
    with pytest.raises(KeyfluidError, match="NaN"):
        load_image(save(tmp_path, values, "nan.tiff"))
    values[2, 3] = 7.0
    with pytest.raises(KeyfluidError, match="pixels from 0 to 7"):
        load_image(save(tmp_path, values, "bright.tiff"))


def png_header(width, height):
    body = b"IHDR" + struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + struct.pack(">I", 13) + body + struct.pack(">I", zlib.crc32(body))


@pytest.mark.parametrize("size", [(2**31 - 1, 2**31 - 1), (100000, 100000), (12000, 8000), (1, 2**28), (0, 4)])
def test_absurd_dimensions_are_refused_before_reading(tmp_path, size):
    path = tmp_path / "huge.png"
    path.write_bytes(png_header(*size) + struct.pack(">I", 0) + b"IDAT")
    with pytest.raises(KeyfluidError, match=r"huge\.png (is|claims|can't)"):
        load_image(path)


def test_missing_and_foreign_files(tmp_path):
    with pytest.raises(KeyfluidError, match="does not exist"):
        load_image(tmp_path / "none.png")
    (tmp_path / "page.eps").write_text("%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n")
    with pytest.raises(KeyfluidError, match="can't be read"):
        load_image(tmp_path / "page.eps")


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_damaged_files_raise_one_clear_error(tmp_path_factory, data):
    folder = tmp_path_factory.getbasetemp()
    suffix = data.draw(st.sampled_from(["png", "bmp", "gif", "tiff", "jpg", "webp"]))
    path = folder / f"damaged.{suffix}"
    Image.fromarray(corner_mark()).save(path)
    raw = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(0, 4))):
        raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(bytes(raw[: data.draw(st.integers(0, len(raw)))]))
    try:
        picture = load_image(path)
    except KeyfluidError as error:
        assert "\n" not in str(error)  # noqa: PT017
    else:
        assert np.all(np.isfinite(picture.rasterize((8, 8), 0.125)))


def test_a_picture_of_smoke_is_read_by_brightness_and_what_is_transparent_is_black(tmp_path):
    pixels = np.full((4, 6, 4), 255, dtype=np.uint8)
    pixels[..., :3] = 128
    pixels[0, 0, 3] = 0  # erased; to load_image the rest is then opaque, and white
    path = save(tmp_path, pixels)
    lit = load_brightness(path)
    assert lit.shape == (6, 4)
    assert lit[0, 3] == 0
    np.testing.assert_allclose(np.delete(lit.ravel(), 3), 128 / 255, atol=1e-6)
    assert load_image(path).pixels.mean() > 0.9
