"""What stands behind the smoke: a dark graded wall and, in 3D, a lit floor that takes the shadow."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keyfluid.render.camera import up_vector
from keyfluid.render.colour import Colour, parse_colour
from keyfluid.render.lighting import LitVolume


@dataclass(frozen=True)
class Backdrop:
    """Colours at the top and the bottom of the picture, and whether there is a floor at the domain's bottom."""

    top: Colour = "#0d1420"
    bottom: Colour = "#2a3647"
    floor: bool = False

    def picture(self, width: int, height: int) -> NDArray[np.float32]:
        """The gradient in linear light (height, width, 3)."""
        rows = (np.arange(height, dtype=np.float32) + np.float32(0.5)) / np.float32(height)
        blend = (rows * rows * (3 - 2 * rows))[:, None, None]
        column = (1 - blend) * parse_colour(self.top) + blend * parse_colour(self.bottom)
        return np.ascontiguousarray(np.broadcast_to(column, (height, width, 3)), np.float32)


def floor_light(
    volume: LitVolume, origins: NDArray[np.float64], directions: NDArray[np.float64], up: str
) -> NDArray[np.float32]:
    """Light (m,) on the floor where rays meet it: a round pool about the domain, darkened by the smoke's shadow.

    The shadow is marched to the light on a grid three times the domain's width with cells two of the smoke's,
    and blurred by one of them.
    """
    from scipy.ndimage import gaussian_filter, map_coordinates

    top = up_vector(up)
    axes = [axis for axis in range(3) if top[axis] == 0.0]
    extent = np.asarray(volume.size)[axes]
    texel = 2 * volume.spacing
    counts = [int(np.ceil(3 * side / texel)) for side in extent]
    grid = np.zeros((counts[0], counts[1], 3))
    grid[..., axes[0]] = ((np.arange(counts[0]) + 0.5) * texel - extent[0])[:, None]
    grid[..., axes[1]] = ((np.arange(counts[1]) + 0.5) * texel - extent[1])[None, :]
    points = grid.reshape(-1, 3)
    to_light = np.broadcast_to(volume.to_light, points.shape)
    passed = volume.march(points, to_light, step=1.0)[0][:, 3].reshape(counts)
    shadow = gaussian_filter(passed, 1.0, mode="nearest")

    descent = -(directions @ top)
    light = np.zeros(len(directions), np.float32)
    meets = descent > 1e-4
    along = (origins[meets] @ top) / descent[meets]
    where = origins[meets] + along[:, None] * directions[meets]
    flat = where[:, axes]
    lookup = ((flat + extent) / texel - 0.5).T
    reached = map_coordinates(shadow, lookup, order=1, mode="constant", cval=1.0)
    radius = np.linalg.norm((flat - extent / 2) / extent.max(), axis=1)
    pool = np.exp(-((radius / 0.95) ** 2)) * (along > 0)
    light[meets] = pool * (0.15 + 0.85 * reached)
    return light
