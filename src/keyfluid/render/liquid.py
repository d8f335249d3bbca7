"""Pictures of a liquid's surface, from its signed distance: in 2D as if it bulged, in 3D by tracing rays to it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from keyfluid.render.backdrop import Backdrop
from keyfluid.render.camera import up_vector
from keyfluid.render.colour import Colour, parse_colour, shoulder, to_bytes
from keyfluid.render.plane import enlarged, picture_size
from keyfluid.render.view import View

_BULGE = 5.0
"""Cells from the edge over which a 2D liquid seems to rise."""

_SOLID = "#b0a89d"
_BAND = 16
"""Rows of a picture that are traced together: all at once would take hundreds of megabytes."""
Points = NDArray[np.float64]


def render_liquid_plane(
    phi: NDArray, spacing: float, colour: Colour, solid: NDArray | None = None, size: int = 512
) -> NDArray[np.uint8]:
    """An sRGB picture (height, width, 3) of a 2D liquid; phi in metres."""
    width, height = picture_size(phi.shape, size)
    scale = width / phi.shape[0]
    depth = -enlarged(phi / spacing, width, height)
    image = Backdrop().picture(width, height)
    inner = np.clip(depth / _BULGE, 0.0, 1.0)
    bulge = _BULGE * scale * np.sqrt(np.maximum(1 - (1 - inner) ** 2, 0.0)) * 0.6
    down, right = np.gradient(bulge)
    normal = np.stack([-right, down, np.ones_like(bulge)], axis=-1)
    normal /= np.linalg.norm(normal, axis=-1, keepdims=True)
    light = np.array([-0.5, 0.65, 0.57])
    shade = np.clip(normal @ light, 0.0, 1.0)[..., None]
    gloss = np.clip(normal @ _unit(light + np.array([0.0, 0.0, 1.0])), 0.0, 1.0)[..., None] ** 40
    lit = parse_colour(colour) * (0.25 + 0.95 * shade) + 0.35 * gloss
    cover = np.clip(0.5 + depth * scale, 0.0, 1.0)[..., None]
    image = cover * lit + (1 - cover) * image
    if solid is not None:
        share = np.clip(0.5 + scale * (enlarged(solid.astype(np.float32), width, height, blur=1.0) - 0.5) * 2, 0, 1)
        image = share[..., None] * parse_colour(_SOLID) + (1 - share[..., None]) * image
    return to_bytes(np.asarray(image, np.float32))


def render_liquid_volume(
    phi: NDArray,
    spacing: float,
    colour: Colour,
    view: View,
    solid: NDArray | None = None,
    rays: int = 2,
) -> NDArray[np.uint8]:
    """An sRGB picture (height, width, 3) of a 3D liquid: key light with shadows, sky, a gloss; rays^2 rays a pixel."""
    from keyfluid.render.kernels.surface import light_rays

    (columns, rows), light = view.size, view.light
    width = rays * columns
    finer = replace(view, size=(width, rays * rows))
    level, smooth, solid_level = _levels(phi, spacing, solid)
    behind = view.backdrop.picture(*finer.size)
    key, sky = light.strength * parse_colour(light.colour), parse_colour(light.sky_colour)
    colours = np.array([parse_colour(colour), parse_colour(_SOLID), key, sky, 3 * parse_colour(view.backdrop.bottom)])
    eye = np.asarray(view.camera.position, np.float64) / spacing
    picture = np.empty((rows, columns, 3), np.float32)
    for top in range(0, rows, _BAND):
        here = slice(rays * top, rays * min(top + _BAND, rows))
        down, across = (axis.ravel() + 0.5 for axis in np.mgrid[here, :width])
        directions = np.ascontiguousarray(finer.rays(across, down)[1])
        image = behind[here].reshape(-1, 3).astype(np.float64)
        light_rays(
            image, level, smooth, solid_level, eye, directions, light.towards(view.up), up_vector(view.up), colours,
            float(light.sky_strength), view.backdrop.floor,
        )  # fmt: skip
        samples = shoulder(image.astype(np.float32)).reshape(-1, rays, columns, rays, 3)
        picture[top : top + _BAND] = samples.mean(axis=(1, 3))
    return to_bytes(picture)


def _levels(phi: NDArray, spacing: float, solid: NDArray | None) -> tuple[Points, Points, Points]:
    """For the kernel: the padded signed distance of liquid and solids in cells, its spline, and the solids' own."""
    from scipy.ndimage import distance_transform_edt, gaussian_filter, spline_filter

    level = np.asarray(phi, np.float64) / spacing
    solid_level = np.empty((0, 0, 0))
    if solid is not None and solid.any():
        solid_level = gaussian_filter(distance_transform_edt(~solid) - distance_transform_edt(solid), 0.7)
        level = np.minimum(level, solid_level)
    level = np.pad(level, 1, mode="edge")
    return level, spline_filter(gaussian_filter(level, 0.6), order=2), solid_level


def _unit(vectors: Points | Sequence[float]) -> Points:
    values = np.asarray(vectors, np.float64)
    return values / np.maximum(np.linalg.norm(values, axis=-1, keepdims=True), 1e-12)
