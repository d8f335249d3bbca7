"""Pictures in two dimensions: smoke over a dark backdrop, and maps of velocities and forces.

Arrays are a[x, y] with y up; an image's row 0 is its top, the largest y. Fields are enlarged by bicubic
interpolation between cell centres, densities by the cubic B-spline, which shows no steps on slanted edges; they are
blended in linear light and encoded as sRGB.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from keyfluid.errors import KeyfluidError
from keyfluid.render.backdrop import Backdrop
from keyfluid.render.colour import Colour, magnitude_map, parse_colour, to_bytes
from keyfluid.render.field import ColouredField, stacked

if TYPE_CHECKING:
    from scipy.sparse import csr_array

DENSITY = 2.6
"""Optical depth of full smoke: it covers 1 - exp(-2.6) = 93 % of the backdrop."""

_SOFT = 0.5


def enlarged(values: NDArray, width: int, height: int, blur: float = 0.0) -> NDArray[np.float32]:
    """a[x, y] as a picture (height, width) with y up, bicubic; where it grows, after a blur in cells."""
    from PIL import Image
    from scipy.ndimage import gaussian_filter

    upright = np.ascontiguousarray(np.asarray(values, np.float32).T[::-1])
    if blur and width > 1.5 * upright.shape[1]:
        upright = gaussian_filter(upright, blur, mode="nearest")
    return np.asarray(Image.fromarray(upright).resize((width, height), Image.Resampling.BICUBIC))


def smoothly_enlarged(values: NDArray, width: int, height: int) -> NDArray[np.float32]:
    """a[x, y] as a picture (height, width) with y up; where it grows, by the cubic B-spline with the values as its
    coefficients, after a blur of `_SOFT` cells: together as wide as a Gaussian of 0.76 cells.

    Interpolation keeps the steps of an edge that is one cell wide; this approximation has none to see.
    """
    if width <= 1.5 * values.shape[0]:
        return enlarged(values, width, height)
    from scipy.ndimage import gaussian_filter

    upright = gaussian_filter(np.asarray(values, np.float32).T[::-1], _SOFT, mode="nearest")
    across = _spline_weights(upright.shape[1], width)
    down = _spline_weights(upright.shape[0], height)
    return np.asarray((across @ (down @ upright).T).T)


def _spline_weights(cells: int, pixels: int) -> csr_array:
    """(pixels, cells): the cubic B-spline around each pixel; edge values are repeated beyond the edges."""
    from scipy.sparse import csr_array

    place = (np.arange(pixels) + 0.5) * cells / pixels - 0.5
    first = np.floor(place).astype(np.int64)
    f = (place - first)[:, None]
    weights = np.hstack([(1 - f) ** 3, 3 * f**3 - 6 * f**2 + 4, -3 * f**3 + 3 * f**2 + 3 * f + 1, f**3]) / 6
    columns = np.clip(first[:, None] + np.arange(-1, 3), 0, cells - 1)
    rows = np.repeat(np.arange(pixels), 4)
    return csr_array((weights.astype(np.float32).ravel(), (rows, columns.ravel())), shape=(pixels, cells))


def picture_size(shape: Sequence[int], size: int) -> tuple[int, int]:
    """Width and height of a picture of a[x, y] whose longer side has `size` pixels."""
    if size < 1:
        raise KeyfluidError(f"a picture of {size} pixels is empty; give at least 1")
    return max(1, round(size * shape[0] / max(shape))), max(1, round(size * shape[1] / max(shape)))


def render_plane(
    fields: Sequence[ColouredField],
    solid: NDArray | None = None,
    target: NDArray | None = None,
    size: int = 512,
    background: Backdrop | None = None,
    solid_colour: Colour = "#b0a89d",
    target_colour: Colour = "#ffb454",
) -> NDArray[np.uint8]:
    """An sRGB picture (height, width, 3) of 2D fields, the longer side `size` pixels.

    Fields cover the backdrop by 1 - exp(-DENSITY sum rho / peak) with the mean of their colours, weighted by
    density; smoke on the far side of a light from the upper left is a little darker, which gives it body.
    `solid` is a mask (or a fraction from 0 to 1); `target` is outlined at half its maximum.
    """
    stack = stacked(fields, 2)
    shape = stack.shape[1:]
    for name, extra in (("solid", solid), ("target", target)):
        if extra is not None and extra.shape != shape:
            raise KeyfluidError(f"the {name} has shape {extra.shape} and the fields {shape}; they must be the same")
    width, height = picture_size(shape, size)
    layers = np.stack([np.maximum(smoothly_enlarged(layer, width, height), 0) for layer in stack])
    total = layers.sum(axis=0)
    colours = np.stack([parse_colour(field.colour) for field in fields])
    mixed = np.tensordot(layers, colours, axes=(0, 0)) / np.maximum(total, 1e-6)[..., None]
    cover = (1 - np.exp(-DENSITY * total))[..., None]
    image = (background or Backdrop()).picture(width, height)
    image = cover * mixed * _body(stack.sum(axis=0), width, height)[..., None] + (1 - cover) * image
    if solid is not None:
        image = _blend(image, _matte(solid, width, height, solid_colour), _inside(solid, width, height))
    if target is not None and np.max(target) > 0:
        pixels = _distance_to_outline(target, width, height)
        thickness = max(1.2, size / 320)
        image = _blend(image, np.zeros(3, np.float32), 0.4 * np.clip(thickness + 0.5 - pixels, 0, 1))
        image = _blend(image, parse_colour(target_colour), np.clip(0.5 * thickness + 0.5 - pixels, 0, 1))
    return to_bytes(image)


def _body(density: NDArray[np.float32], width: int, height: int) -> NDArray[np.float32]:
    """Light inside the smoke, from 0.5 to 1, as if it were as thick as dense, lit from the upper left.

    The optical depth to the light is the density moved along the light and blurred, over an eighth of the
    picture.
    """
    from scipy.ndimage import gaussian_filter, shift

    reach = max(density.shape) / 8
    depth = np.zeros_like(density)
    for step in (0.25, 0.5, 1.0):
        moved = shift(density, (0.6 * step * reach, -0.8 * step * reach), order=1, mode="constant")
        depth += gaussian_filter(moved, 0.35 * step * reach, mode="constant") / 3
    light = 0.5 + 0.5 * np.exp(-1.4 * np.maximum(depth - 0.25 * density, 0))
    return enlarged(light, width, height)


def _inside(solid: NDArray, width: int, height: int) -> NDArray[np.float32]:
    """Coverage of the pixels by a mask: the distance to its edge in pixels, cut to one pixel's width."""
    field = enlarged(solid, width, height, blur=1.0) - np.float32(0.5)
    return np.clip(0.5 + field / _slope(field), 0, 1)


def _distance_to_outline(values: NDArray, width: int, height: int) -> NDArray[np.float32]:
    """Distance in pixels to where the values pass half their maximum, to first order."""
    field = smoothly_enlarged(values, width, height) / np.float32(np.max(values)) - np.float32(0.5)
    return np.abs(field) / _slope(field)


def _slope(field: NDArray[np.float32]) -> NDArray[np.float32]:
    """|grad| per pixel, kept above 0."""
    parts = [np.gradient(field, axis=axis) for axis in (0, 1) if field.shape[axis] > 1]
    return np.maximum(np.sqrt(sum(part * part for part in parts)), np.float32(1e-4))


def _matte(solid: NDArray, width: int, height: int, colour: Colour) -> NDArray[np.float32]:
    """The solids' surface: one colour, lighter along edges that face up."""
    from scipy.ndimage import gaussian_filter

    soft = enlarged(gaussian_filter(np.asarray(solid, np.float32), max(solid.shape) / 100), width, height)
    facing = np.diff(soft, axis=0, append=soft[-1:]) * (max(width, height) / 25)
    return parse_colour(colour) * (0.42 + 0.5 * np.clip(facing, -0.5, 1.0))[..., None]


def _blend(below: NDArray[np.float32], above: NDArray[np.float32], cover: NDArray[np.float32]) -> NDArray[np.float32]:
    return below + cover[..., None] * (above - below)


def render_vectors(
    x_part: NDArray, y_part: NDArray, size: int = 512, maximum: float | None = None, spread: int = 22
) -> NDArray[np.uint8]:
    """A map of a vector field given at cell centres: colour is its size, arrows its direction.

    `maximum` is the size that has the brightest colour and the longest arrow (default: the field's own);
    `spread` is the number of arrows along the longer side.
    """
    if x_part.shape != y_part.shape or x_part.ndim != 2:
        raise KeyfluidError(
            f"the parts have shapes {x_part.shape} and {y_part.shape}; a map needs two 2D arrays of one shape"
        )
    from PIL import Image, ImageDraw

    width, height = picture_size(x_part.shape, size)
    x_size, y_size = enlarged(x_part, width, height), enlarged(y_part, width, height)
    length = np.hypot(x_size, y_size)
    top = float(np.hypot(x_part, y_part).max()) if maximum is None else maximum
    scale = 1.0 / top if top > 0 else 0.0
    image = magnitude_map(0.03 + 0.85 * np.clip(length * scale, 0, 1))

    fine = 3
    layer = Image.new("L", (width * fine, height * fine), 0)
    draw = ImageDraw.Draw(layer)
    gap = max(width, height) / spread
    for row in np.arange(gap / 2 + (height % gap) / 2, height, gap):
        for column in np.arange(gap / 2 + (width % gap) / 2, width, gap):
            u, v = x_size[int(row), int(column)] * scale, y_size[int(row), int(column)] * scale
            reach = min(math.hypot(u, v), 1.0)
            if reach > 0.04:
                _arrow(draw, column * fine, row * fine, u, -v, 0.95 * gap * fine * math.sqrt(reach), fine)
    arrows = np.asarray(layer.resize((width, height), Image.Resampling.LANCZOS)).astype(np.float32)
    return to_bytes(_blend(image, np.ones(3, np.float32), arrows * np.float32(0.8 / 255)))


def _arrow(draw: object, x: float, y: float, u: float, v: float, length: float, fine: int) -> None:
    """An arrow of the given length centred at (x, y) along (u, v), in image coordinates."""
    size = math.hypot(u, v)
    u, v = u / size, v / size
    head = 0.36 * length
    tip = (x + u * length / 2, y + v * length / 2)
    neck = (tip[0] - u * head, tip[1] - v * head)
    tail = (x - u * length / 2, y - v * length / 2)
    draw.line([tail, neck], fill=255, width=max(1, round(0.45 * fine + 0.04 * length)))  # type: ignore[attr-defined]
    side = 0.42 * head
    draw.polygon(  # type: ignore[attr-defined]
        [tip, (neck[0] - v * side, neck[1] + u * side), (neck[0] + v * side, neck[1] - u * side)], fill=255
    )
