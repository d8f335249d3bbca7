"""Pictures of smoke in 3D: a ray march on the CPU, in linear light, encoded as sRGB."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from keyfluid.render.backdrop import Floor
from keyfluid.render.colour import parse_colour, shoulder, to_bytes
from keyfluid.render.field import ColouredField
from keyfluid.render.lighting import LitVolume
from keyfluid.render.view import View


def trace_volume(volume: LitVolume, view: View, step: float = 0.5) -> NDArray[np.float32]:
    """The picture (height, width, 3) in linear light; outlines of solids get four rays a pixel. step: in cells."""
    width, height = view.size
    behind = view.backdrop.picture(width, height).reshape(-1, 3)
    floor = Floor(volume, view.up) if view.backdrop.floor else None
    floor_colour = parse_colour(view.backdrop.bottom) * 3

    def through(columns: NDArray, rows: NDArray, beyond: NDArray) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        origins, directions = view.rays(columns, rows)
        gathered, met = volume.march(origins, directions, step)
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
    view: View,
    solid: NDArray | None = None,
    extinction: float | None = None,
    step: float = 0.5,
) -> NDArray[np.uint8]:
    """An sRGB picture (height, width, 3) of 3D fields.

    `solid` is a mask of cells or a signed distance in metres, negative inside. `extinction` is per metre at
    full density; by default full smoke as deep as the domain's longest side has an optical depth of 32.
    `step` is the length of a ray's steps in cells.
    """
    volume = LitVolume(fields, spacing, view.light, view.camera.position, solid, view.up, extinction)
    return to_bytes(trace_volume(volume, view, step))
