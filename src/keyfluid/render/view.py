"""How a 3D picture is taken: camera, size, light, up axis and what stands behind."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from keyfluid.errors import KeyfluidError
from keyfluid.render.backdrop import Backdrop
from keyfluid.render.camera import Pinhole
from keyfluid.render.lighting import KeyAndSky


@dataclass(frozen=True)
class View:
    """`size` is (width, height) in pixels."""

    camera: Pinhole
    size: tuple[int, int] = (512, 512)
    light: KeyAndSky = field(default_factory=KeyAndSky)
    backdrop: Backdrop = field(default_factory=Backdrop)
    up: str = "y"

    def __post_init__(self) -> None:
        if min(self.size) < 1:
            raise KeyfluidError(f"a picture of {self.size[0]} x {self.size[1]} pixels is empty; give at least 1 x 1")

    def rays(
        self, columns: NDArray[np.floating], rows: NDArray[np.floating]
    ) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
        """Origins and unit directions (m, 3) through picture points, in pixels from the top left corner."""
        width, height = self.size
        right, top, forward = self.camera.basis(self.up)
        scale = 2 * math.tan(math.radians(self.camera.fov_degrees) / 2) / height
        across = ((columns - width / 2) * scale)[:, None]
        upward = ((height / 2 - rows) * scale)[:, None]
        directions = across * right + upward * top + forward
        directions /= np.linalg.norm(directions, axis=1, keepdims=True)
        return np.broadcast_to(np.asarray(self.camera.position, np.float64), directions.shape), directions
