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
    """Colours at the top and the bottom of the picture, and whether the domain stands on a floor."""

    top: Colour = "#0b1018"
    bottom: Colour = "#212a37"
    floor: bool = False

    def picture(self, width: int, height: int) -> NDArray[np.float32]:
        """The gradient in linear light (height, width, 3)."""
        rows = (np.arange(height, dtype=np.float32) + np.float32(0.5)) / np.float32(height)
        blend = (rows * rows * (3 - 2 * rows))[:, None, None]
        column = (1 - blend) * parse_colour(self.top) + blend * parse_colour(self.bottom)
        return np.ascontiguousarray(np.broadcast_to(column, (height, width, 3)), np.float32)


class Floor:
    """A matte floor at the domain's bottom, lit in a round pool, with the shadow of smoke and solids.

    The shadow is marched towards the key light on a grid three times as wide as the domain, with cells twice
    as large as the smoke's, and blurred by one of them.
    """

    def __init__(self, volume: LitVolume, up: str) -> None:
        from scipy.ndimage import gaussian_filter

        self._top = up_vector(up)
        self._axes = [axis for axis in range(3) if self._top[axis] == 0.0]
        self._extent = np.asarray(volume.size)[self._axes]
        self._texel = 2 * volume.spacing
        first, second = (
            (np.arange(int(np.ceil(3 * side / self._texel))) + 0.5) * self._texel - side for side in self._extent
        )
        points = np.zeros((len(first), len(second), 3))
        points[..., self._axes[0]] = first[:, None]
        points[..., self._axes[1]] = second[None, :]
        towards = np.broadcast_to(volume.to_light, (first.size * second.size, 3))
        light = volume.march(points.reshape(-1, 3), towards, step=1.0)[0][:, 3]
        self._lit = gaussian_filter(light.reshape(len(first), len(second)), 1.0, mode="nearest")

    def light(self, origins: NDArray[np.float64], directions: NDArray[np.float64]) -> NDArray[np.float32]:
        """Light (m,) where rays meet the floor, in [0, 1]; 0 where they don't."""
        from scipy.ndimage import map_coordinates

        descent = -(directions @ self._top)
        meets = np.flatnonzero((descent > 1e-4) & (origins @ self._top > 0))
        along = (origins[meets] @ self._top) / descent[meets]
        flat = (origins[meets] + along[:, None] * directions[meets])[:, self._axes]
        lookup = ((flat + self._extent) / self._texel - 0.5).T
        lit = map_coordinates(self._lit, lookup, order=1, mode="constant", cval=1.0)
        radius = np.linalg.norm(flat - self._extent / 2, axis=1) / self._extent.max()
        result = np.zeros(len(directions), np.float32)
        result[meets] = np.exp(-((radius / 0.95) ** 2)) * (0.15 + 0.85 * lit)
        return result
