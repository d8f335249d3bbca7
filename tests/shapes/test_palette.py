"""Colours of pictures: palettes that are found again, shares at edges, paper and transparency."""

from __future__ import annotations

import numpy as np
import pytest
from PIL import Image, ImageDraw

from keyfluid.errors import KeyfluidError
from keyfluid.shapes import Placement
from keyfluid.shapes.image import load_colours, load_ink
from keyfluid.shapes.palette import colour_names, find_palette, shares_of, srgb_of, to_oklab

RED, BLUE, GREEN = "#d02818", "#2040c0", "#30a050"
FINE = 8


def drawn(path, paper=(255, 255, 255, 255), colours=(RED, BLUE)):
    """Slanted bars, drawn finely and averaged to 60 x 40 pixels; returns each bar's exact share of the picture."""
    large = Image.new("RGBA", (60 * FINE, 40 * FINE), paper)
    pen = ImageDraw.Draw(large)
    for i, colour in enumerate(colours):
        left = 60 + 120 * i
        pen.polygon([(left, 40), (left + 100, 60), (left + 80, 260), (left - 20, 250)], fill=colour)
    large.resize((60, 40), Image.Resampling.BOX).save(path)
    pixels = np.asarray(large)[..., :3].reshape(-1, 3)
    inked = np.asarray(large)[..., 3].reshape(-1) > 0
    return [np.mean(np.all(pixels == np.round(255 * srgb_of(c)), axis=1) & inked) for c in colours]


@pytest.mark.parametrize("paper", [(255, 255, 255, 255), (20, 20, 30, 255), (0, 0, 0, 0)])
def test_palette_and_shares(tmp_path, paper):
    """Edges mix ink with paper in 8 % of the pixels, and no colour of theirs is found."""
    exact = drawn(tmp_path / "a.png", paper, (RED, BLUE, GREEN))
    picture = load_colours(tmp_path / "a.png")
    palette = find_palette([picture])
    wanted = [srgb_of(colour) for colour in sorted([RED, BLUE, GREEN])]
    assert np.stack([srgb_of(colour) for colour in sorted(palette)]) == pytest.approx(np.stack(wanted), abs=2 / 255)
    shares = shares_of(picture, [RED, BLUE, GREEN])
    assert shares.mean(axis=(1, 2)) == pytest.approx(exact, rel=0.02)
    assert shares.min() >= 0
    assert shares.sum(axis=0).max() <= 1 + 1e-6
    assert (picture.paper is None) == (paper[3] == 0)


def test_every_colour_counts_as_the_nearest(tmp_path):
    exact = drawn(tmp_path / "a.png", colours=(RED, "#e04838", BLUE))
    found = shares_of(load_colours(tmp_path / "a.png"), [RED, BLUE]).mean(axis=(1, 2))
    assert found == pytest.approx([exact[0] + exact[1], exact[2]], rel=0.1), "lighter ink is a little thinner"


def test_count_says_how_many(tmp_path):
    drawn(tmp_path / "a.png", colours=(RED, BLUE, GREEN))
    picture = load_colours(tmp_path / "a.png")
    assert len(find_palette([picture], 2)) == 2
    assert find_palette([picture], 2) == find_palette([picture], 2)


def test_colours_share_the_frame_of_the_whole_drawing(tmp_path):
    drawn(tmp_path / "a.png")
    parts = [load_ink(tmp_path / "a.png", [RED, BLUE], colour) for colour in (RED, BLUE)]
    red, blue = (part.rasterize((60, 40), 1 / 60, Placement(fit=0.8)) for part in parts)
    place = [(values.sum(axis=1) * np.arange(60)).sum() / values.sum() for values in (red, blue)]
    assert place[1] - place[0] > 15
    assert np.array_equal(parts[0].ink().points, parts[1].ink().points)
    assert (red + blue).max() <= 1 + 1e-6
    with pytest.raises(KeyfluidError, match="nothing of the colour"):
        load_ink(tmp_path / "a.png", [RED, BLUE, "#00ff00"], "#00ff00")


def test_names():
    assert colour_names(["#ff0000", "#f0852c", "#e01010", [0.1, 0.1, 0.4], "teal"]) == [
        "red", "orange", "red_2", "navy", "teal",
    ]  # fmt: skip


def test_oklab_of_known_colours():
    """Values of Ottosson's page: white, and red."""
    assert to_oklab(np.ones(3)) == pytest.approx([1.0, 0.0, 0.0], abs=1e-4)
    assert to_oklab(np.array([1.0, 0.0, 0.0])) == pytest.approx([0.62796, 0.22486, 0.12585], abs=1e-4)


def test_empty_paper_is_an_error(tmp_path):
    Image.new("RGB", (20, 20), "white").save(tmp_path / "a.png")
    with pytest.raises(KeyfluidError, match="nothing drawn"):
        find_palette([load_colours(tmp_path / "a.png")])
