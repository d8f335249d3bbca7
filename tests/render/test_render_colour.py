from __future__ import annotations

import numpy as np
import pytest

from keyfluid.errors import KeyfluidError
from keyfluid.render.colour import magnitude_map, parse_colour, shoulder, to_bytes, to_linear, to_srgb


def test_srgb_round_trip_of_every_byte() -> None:
    levels = np.arange(256) / 255
    assert np.abs(to_srgb(to_linear(levels)) - levels).max() < 1e-6
    gray = np.broadcast_to(to_linear(levels)[:, None, None], (256, 5, 3))
    assert np.array_equal(to_bytes(gray)[:, 2, 1], np.arange(256))


def test_srgb_known_values() -> None:
    # 21.4 % of the light is what a screen shows for the byte-mid 0.5; below 0.04045 the curve is a line.
    assert to_linear(0.5) == pytest.approx(0.214041, abs=1e-6)
    assert to_linear(0.04) == pytest.approx(0.04 / 12.92, rel=1e-6)
    assert to_srgb(0.18) == pytest.approx(0.461356, abs=1e-6)


def test_dither_keeps_the_mean() -> None:
    level = 40.25
    image = to_bytes(np.full((64, 64, 3), to_linear(level / 255)))
    assert set(np.unique(image)) == {40, 41}
    assert image.mean() == pytest.approx(level, abs=0.02)


def test_colours_by_name_code_and_number() -> None:
    assert np.allclose(parse_colour("#ff8000"), [1, to_linear(128 / 255), 0])
    assert np.array_equal(parse_colour("white"), [1, 1, 1])
    assert np.allclose(parse_colour((0.5, 0.0, 1.0)), [0.214041, 0, 1])


@pytest.mark.parametrize("bad", ["no such colour", "#12", (0.1, 0.2), (0.0, 1.5, 0.0), (float("nan"), 0.0, 0.0)])
def test_bad_colours_are_errors(bad: object) -> None:
    with pytest.raises(KeyfluidError, match="is not a colour"):
        parse_colour(bad)  # type: ignore[arg-type]


def test_magnitude_map_grows_lighter() -> None:
    light = magnitude_map(np.linspace(0, 1, 50)) @ np.array([0.2126, 0.7152, 0.0722])
    assert np.all(np.diff(light) > 0)


def test_shoulder_is_smooth_and_below_one() -> None:
    x = np.linspace(0, 50, 100_001, dtype=np.float32)
    y = shoulder(x)
    assert np.array_equal(y[x < 0.7], x[x < 0.7])
    assert np.all(np.diff(y) >= 0)
    assert 0.99 < y[-1] < 1
    slope = np.diff(y) / np.diff(x)
    assert np.abs(np.diff(slope)).max() < 0.01
