"""Colour: sRGB to linear light and back, colour names, one colour map, and the last step to bytes.

sRGB transfer curve: IEC 61966-2-1. With c in [0, 1] encoded and l in [0, 1] linear,
    l = c / 12.92                        where c <= 0.04045
    l = ((c + 0.055) / 1.055) ** 2.4     elsewhere
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from keyfluid.errors import KeyfluidError

Colour = str | tuple[float, float, float]
"""A CSS name or ``#rrggbb``, or sRGB components in [0, 1]."""

# Every 32nd colour of matplotlib's magma (CC0), which is even in lightness from black to cream.
_MAGMA = ("#000004", "#1d1147", "#51127c", "#832681", "#b73779", "#e75263", "#fc8961", "#fec488", "#fcfdbf")

# 8x8 Bayer matrix: each threshold (k + 1/2) / 64 occurs once.
_BAYER = np.array([[0]])
for _ in range(3):
    _BAYER = np.block([[4 * _BAYER, 4 * _BAYER + 2], [4 * _BAYER + 3, 4 * _BAYER + 1]])


def to_linear(encoded: ArrayLike) -> NDArray[np.float32]:
    """Linear light of sRGB components in [0, 1]."""
    c = np.clip(np.asarray(encoded, np.float64), 0.0, 1.0)
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4).astype(np.float32)


def to_srgb(linear: ArrayLike) -> NDArray[np.float32]:
    """sRGB components of linear light, clipped to [0, 1]."""
    light = np.clip(np.asarray(linear, np.float32), 0.0, 1.0)
    return np.where(
        light <= 0.0031308,
        light * np.float32(12.92),
        np.float32(1.055) * light ** np.float32(1 / 2.4) - np.float32(0.055),
    ).astype(np.float32)


def bayer(height: int, width: int) -> NDArray[np.float32]:
    """Ordered-dither thresholds in (0, 1), tiled over an image; they depend on the pixel alone."""
    tiled = np.tile(_BAYER, (-(-height // 8), -(-width // 8)))[:height, :width]
    return ((tiled + 0.5) / 64).astype(np.float32)


def to_bytes(linear: NDArray[np.float32]) -> NDArray[np.uint8]:
    """Linear light (h, w, 3) as an sRGB image.

    Dark gradients show steps at 8 bits, so values are rounded by an ordered dither: a still pixel stays still
    from frame to frame, and a level that is exactly a byte keeps its value.
    """
    levels = to_srgb(linear) * np.float32(255)
    whole = np.floor(levels + np.float32(1e-3))
    up = (levels - whole) > bayer(*linear.shape[:2])[..., None]
    return np.clip(whole + up, 0, 255).astype(np.uint8)


def parse_colour(colour: Colour) -> NDArray[np.float32]:
    """Linear light (3,) of a colour given by name, by ``#rrggbb`` or by sRGB components in [0, 1]."""
    if isinstance(colour, str):
        from PIL import ImageColor

        try:
            red, green, blue = ImageColor.getrgb(colour)[:3]
        except ValueError as error:
            raise KeyfluidError(f"{colour!r} is not a colour; give a name such as 'orange' or '#rrggbb'") from error
        return to_linear(np.array([red, green, blue]) / 255)
    components = np.asarray(colour, np.float64)
    if components.shape != (3,) or not np.all((components >= 0) & (components <= 1)):
        raise KeyfluidError(f"{colour!r} is not a colour; give three numbers from 0 to 1, a name or '#rrggbb'")
    return to_linear(components)


def magnitude_map(values: NDArray[np.floating]) -> NDArray[np.float32]:
    """Colours in linear light (..., 3) of values in [0, 1]: black, purple, orange, cream."""
    anchors = to_srgb(np.stack([parse_colour(name) for name in _MAGMA]))
    places = np.linspace(0.0, 1.0, len(anchors))
    return to_linear(np.stack([np.interp(values, places, anchors[:, c]) for c in range(3)], axis=-1))


def shoulder(light: NDArray[np.float32], knee: float = 0.7) -> NDArray[np.float32]:
    """Highlights rolled off: the identity up to the knee, then 1 - (1 - knee)^2 / (light + 1 - 2 knee).

    Value and slope are continuous at the knee, and 1 is reached only at infinity.
    """
    k = np.float32(knee)
    above = np.maximum(light, k)
    return np.where(light <= k, light, 1 - (1 - k) ** 2 / (above + 1 - 2 * k)).astype(np.float32)
