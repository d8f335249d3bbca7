from __future__ import annotations

import numpy as np
import pytest

from keyfluid.errors import KeyfluidError
from keyfluid.render import Backdrop, ColouredField, render_plane, render_vectors
from keyfluid.render.colour import parse_colour, to_bytes
from keyfluid.render.plane import DENSITY, enlarged, smoothly_enlarged
from keyfluid.shapes import Box, Placement

BLACK = Backdrop("#000000", "#000000")


def corner(shape: tuple[int, int], x: slice, y: slice) -> np.ndarray:
    values = np.zeros(shape)
    values[x, y] = 1.0
    return values


def test_y_is_up_and_x_to_the_right() -> None:
    smoke = corner((30, 20), slice(22, 30), slice(15, 20))  # large x, large y: the top right
    image = render_plane([ColouredField(smoke)], size=90, background=BLACK)
    assert image.shape == (60, 90, 3)
    quarters = [image[:30, :45], image[:30, 45:], image[30:, :45], image[30:, 45:]]
    means = [quarter.mean() for quarter in quarters]
    assert means[1] > 50
    assert means[0] == means[2] == means[3] == 0


def test_empty_is_the_background_exactly() -> None:
    backdrop = Backdrop("#203040", "#0a0b0c")
    image = render_plane([ColouredField(np.zeros((16, 8)))], size=64, background=backdrop)
    assert np.array_equal(image, to_bytes(backdrop.picture(64, 32)))


def test_smoke_covers_by_beer_lambert_in_linear_light() -> None:
    """Thin even smoke has no shade: 1 - exp(-D rho) of its colour over the rest of the backdrop."""
    backdrop = Backdrop("#804020", "#804020")
    smoke = ColouredField(np.full((8, 8), 0.004), "#40a0ff", peak=0.02)
    image = render_plane([smoke], size=64, background=backdrop)[24:40, 24:40].reshape(-1, 3).mean(axis=0)
    cover = 1 - np.exp(-DENSITY * 0.2)
    unlit = cover * parse_colour("#40a0ff") * 0.85 + (1 - cover) * parse_colour("#804020")
    lit = cover * parse_colour("#40a0ff") + (1 - cover) * parse_colour("#804020")
    low, high = to_bytes(np.stack([unlit, lit])[None])[0].astype(float)
    assert np.all((image >= low - 1) & (image <= high + 1))


def test_fields_mix_by_density() -> None:
    red, blue = np.zeros((16, 16)), np.zeros((16, 16))
    red[:10], blue[6:] = 1.0, 1.0
    image = render_plane([ColouredField(red, "#ff0000"), ColouredField(blue, "#0000ff")], size=160, background=BLACK)
    left, middle, right = image[80, 20], image[80, 80], image[80, 140]
    assert left[0] > 150
    assert left[2] == 0
    assert middle[0] == pytest.approx(middle[2], abs=6)
    assert right[2] > 150
    assert right[0] == 0


def test_solid_and_target_are_drawn_where_they_are() -> None:
    empty = [ColouredField(np.zeros((32, 32)))]
    solid = corner((32, 32), slice(2, 10), slice(2, 10)) > 0
    drawn = render_plane(empty, solid=solid, size=128, background=BLACK)
    assert drawn[128 - 24, 24].min() > 60
    assert drawn[:64].max() == 0
    target = corner((32, 32), slice(8, 24), slice(8, 24))
    line = render_plane(empty, target=target, size=128, background=BLACK, target_colour="#00ff00")
    assert line[64, 64].max() == 0
    edge = line[64, 28:36, 1]  # x = 8 cells = 32 pixels
    assert edge.max() > 150
    assert line[64, :26].max() == 0


def test_vectors_point_and_grow() -> None:
    x, y = (np.indices((40, 40)) + 0.5) / 40
    image = render_vectors(np.zeros((40, 40)), y, size=200).astype(float)
    assert image.shape == (200, 200, 3)
    assert image[:40].mean() > 2 * image[-40:].mean()
    assert np.array_equal(render_vectors(0 * x, 0 * x, size=50), render_vectors(0 * x, 0 * x, 50, maximum=3.0))
    with pytest.raises(KeyfluidError, match="two 2D arrays"):
        render_vectors(x, y[:20])


def test_arrows_follow_the_field() -> None:
    """One arrow: its head (the widest part) lies on the side the vector points to."""
    right = render_vectors(np.ones((9, 9)), np.zeros((9, 9)), size=90, maximum=1.0, spread=1).astype(int)
    light = (right - right[0, 0]).sum(axis=2) > 60
    widths = light.sum(axis=0)
    assert np.argmax(widths) > 45
    up = render_vectors(np.zeros((9, 9)), np.ones((9, 9)), size=90, maximum=1.0, spread=1).astype(int)
    heights = ((up - up[0, 0]).sum(axis=2) > 60).sum(axis=1)
    assert np.argmax(heights) < 45


def test_shapes_must_agree() -> None:
    field = ColouredField(np.zeros((8, 8)))
    with pytest.raises(KeyfluidError, match="the target has shape"):
        render_plane([field], target=np.zeros((4, 8)))
    with pytest.raises(KeyfluidError, match="one shape"):
        render_plane([field, ColouredField(np.zeros((8, 9)))])
    with pytest.raises(KeyfluidError, match="peak"):
        render_plane([ColouredField(np.zeros((8, 8)), peak=0.0)])


def test_values_that_are_not_numbers_do_not_spread() -> None:
    values = np.zeros((16, 16))
    values[3, 3] = np.nan
    values[4, 12] = np.inf
    assert render_plane([ColouredField(values)], size=32, background=BLACK).max() == 0


def test_a_slanted_edge_has_no_steps() -> None:
    """Where its level 0.2 lies in each column of pixels, ten a cell: a straight line (1.4 pixels off by bicubics)."""
    edge = Box((2.0, 0.4)).rasterize((48, 48), 1 / 48, Placement(rotation=9.0))
    picture = smoothly_enlarged(edge, 480, 480)[:240, 60:420] - 0.2
    columns = np.arange(picture.shape[1])
    rows = np.argmax((picture[:-1] < 0) & (picture[1:] >= 0), axis=0)
    above, below = picture[rows, columns], picture[rows + 1, columns]
    place = rows + above / (above - below)
    assert np.abs(place - np.polyval(np.polyfit(columns, place, 1), columns)).max() < 0.9
    assert smoothly_enlarged(np.full((8, 6), 0.3), 64, 48) == pytest.approx(0.3, abs=1e-6)


def test_columns_and_rows_stay_where_they_are() -> None:
    """Enlarged either way, a patch keeps its middle and its mass."""
    values = corner((30, 20), slice(20, 26), slice(13, 17))
    smooth, plain = smoothly_enlarged(values, 300, 200), enlarged(values, 300, 200)
    rows, columns = np.indices(smooth.shape)
    for picture in (smooth, plain):
        assert picture.sum() == pytest.approx(2400, rel=1e-3)
        assert (picture * rows).sum() / picture.sum() == pytest.approx(49.5, abs=0.1)
        assert (picture * columns).sum() / picture.sum() == pytest.approx(229.5, abs=0.1)
