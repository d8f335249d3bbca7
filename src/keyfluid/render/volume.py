"""Pictures of smoke in 3D: a ray march on the CPU, in linear light, encoded as sRGB."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from keyfluid.errors import KeyfluidError
from keyfluid.render.backdrop import Backdrop, Floor
from keyfluid.render.camera import Pinhole
from keyfluid.render.colour import Colour, parse_colour, shoulder, to_bytes
from keyfluid.render.field import ColouredField
from keyfluid.render.lighting import KeyAndSky, LitVolume


def camera_rays(
    camera: Pinhole,
    up: str,
    width: int,
    height: int,
    columns: NDArray[np.floating],
    rows: NDArray[np.floating],
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Origins and unit directions (m, 3) through picture points, in pixels from the top left corner."""
    right, top, forward = camera.basis(up)
    scale = 2 * math.tan(math.radians(camera.fov_degrees) / 2) / height
    across = ((columns - width / 2) * scale)[:, None]
    upward = ((height / 2 - rows) * scale)[:, None]
    directions = across * right + upward * top + forward
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return np.broadcast_to(np.asarray(camera.position, np.float64), directions.shape), directions


def trace_volume(
    volume: LitVolume, camera: Pinhole, size: tuple[int, int], background: Backdrop, up: str = "y"
) -> NDArray[np.float32]:
    """The picture (height, width, 3) in linear light; outlines of solids get four rays a pixel."""
    width, height = size
    behind = background.picture(width, height).reshape(-1, 3)
    floor = Floor(volume, up) if background.floor else None
    floor_colour = parse_colour(background.bottom) * 3

    def through(columns: NDArray, rows: NDArray, beyond: NDArray) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        origins, directions = camera_rays(camera, up, width, height, columns, rows)
        gathered, met = volume.march(origins, directions)
        if floor is not None:
            beyond = beyond + floor.light(origins, directions)[:, None] * floor_colour
        return shoulder(gathered[:, :3]) + gathered[:, 3:] * beyond, met

    rows, columns = (axis.ravel() + 0.5 for axis in np.mgrid[:height, :width])
    image, met = through(columns, rows, behind)
    edge = np.flatnonzero(_outlines(met.reshape(height, width)))
    if len(edge):
        finer = [
            through(columns[edge] + dx, rows[edge] + dy, behind[edge])[0]
            for dx, dy in ((-0.125, -0.375), (0.375, -0.125), (0.125, 0.375), (-0.375, 0.125))
        ]
        image[edge] = np.mean(finer, axis=0)
    return image.reshape(height, width, 3)


def _outlines(met: NDArray[np.float32]) -> NDArray[np.bool_]:
    """Pixels whose solid begins two cells or more nearer or farther than a neighbour's, or stops there."""
    edge = np.zeros(met.shape, bool)
    for axis in (0, 1):
        jump = np.abs(np.diff(met, axis=axis)) > 2.0
        first = (slice(None, -1), slice(None)) if axis == 0 else (slice(None), slice(None, -1))
        last = (slice(1, None), slice(None)) if axis == 0 else (slice(None), slice(1, None))
        edge[first] |= jump
        edge[last] |= jump
    return edge


def render_volume(
    fields: Sequence[ColouredField],
    spacing: float,
    camera: Pinhole,
    light: KeyAndSky | None = None,
    size: tuple[int, int] = (512, 512),
    solid: NDArray | None = None,
    background: Backdrop | None = None,
    up: str = "y",
    extinction: float | None = None,
    solid_colour: Colour = "#b0a89d",
) -> NDArray[np.uint8]:
    """An sRGB picture (height, width, 3) of 3D fields; `size` is (width, height) in pixels.

    `solid` is a mask of cells or a signed distance in metres, negative inside. `extinction` is per metre at
    full density; by default full smoke as deep as the domain's longest side has an optical depth of 32.
    """
    if min(size) < 1:
        raise KeyfluidError(f"a picture of {size[0]} x {size[1]} pixels is empty; give at least 1 x 1")
    volume = LitVolume(fields, spacing, light or KeyAndSky(), camera.position, solid, up, extinction, solid_colour)
    return to_bytes(trace_volume(volume, camera, size, background or Backdrop(), up))
