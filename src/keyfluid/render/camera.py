"""Camera: where the picture is taken from, an orbit, and a default that frames the domain.

World axes are right-handed and in metres. With forward f = look_at - position and the up axis U, the image's
right is f x U and its top is (f x U) x f: with y up, x runs to the right and z towards the viewer.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from keyfluid.errors import KeyfluidError

Vector = tuple[float, float, float]


@dataclass(frozen=True)
class Pinhole:
    """A pinhole at `position` looking at `look_at` (metres); `fov_degrees` spans the picture's height."""

    position: Vector
    look_at: Vector
    fov_degrees: float = 30.0

    def basis(self, up: str) -> NDArray[np.float64]:
        """Rows: the image's right, its top and the viewing direction, each of length 1."""
        forward = np.subtract(self.look_at, self.position).astype(np.float64)
        distance = np.linalg.norm(forward)
        if not np.isfinite(distance) or distance == 0.0:
            raise KeyfluidError("camera: position and look_at are the same point; move one of them")
        if not 0.0 < self.fov_degrees < 170.0:
            raise KeyfluidError(f"camera.fov: is {self.fov_degrees} degrees; give an angle between 0 and 170")
        forward /= distance
        right = np.cross(forward, up_vector(up))
        if np.linalg.norm(right) < 1e-6:
            # Straight up or down has no horizon: x stays to the right.
            right = np.array([1.0, 0.0, 0.0])
        right /= np.linalg.norm(right)
        return np.stack([right, np.cross(right, forward), forward])


def up_vector(up: str) -> NDArray[np.float64]:
    """The unit vector of the up axis, 'y' or 'z'."""
    if up not in ("y", "z"):
        raise KeyfluidError(f"domain.up: {up!r} is not an axis; use 'y' or 'z'")
    return np.array([0.0, 1.0, 0.0] if up == "y" else [0.0, 0.0, 1.0])


def turn_about_up(vector: Sequence[float] | NDArray[np.float64], degrees: float, up: str) -> NDArray[np.float64]:
    """The vector turned about the up axis, counter-clockwise as seen from above (Rodrigues' formula)."""
    v, axis, angle = np.asarray(vector, np.float64), up_vector(up), math.radians(degrees)
    return v * math.cos(angle) + np.cross(axis, v) * math.sin(angle) + axis * (axis @ v) * (1 - math.cos(angle))


def orbit(camera: Pinhole, degrees: float, up: str = "y") -> Pinhole:
    """The camera carried around its look_at point, counter-clockwise as seen from above."""
    arm = turn_about_up(np.subtract(camera.position, camera.look_at), degrees, up)
    x, y, z = np.add(camera.look_at, arm).tolist()
    return replace(camera, position=(x, y, z))


def default_camera(
    size: Sequence[float],
    up: str = "y",
    fov_degrees: float = 28.0,
    aspect: float = 1.0,
    azimuth: float = 30.0,
) -> Pinhole:
    """A three-quarter view from slightly above that holds the whole domain, `size` in metres.

    The distance is the smallest at which the corners of the domain, drawn in by a sixth, lie inside the
    picture: smoke rarely fills a corner.
    """
    extent = np.asarray(size, np.float64)
    if extent.shape != (3,) or not np.all(np.isfinite(extent) & (extent > 0)):
        raise KeyfluidError(f"domain.size: is {size}; a camera needs three lengths above 0")
    centre = extent / 2
    front = np.array([0.0, 0.0, 1.0] if up == "y" else [0.0, -1.0, 0.0])
    elevation = math.radians(14.0)
    arm = turn_about_up(front * math.cos(elevation) + up_vector(up) * math.sin(elevation), azimuth, up)
    look_at = (float(centre[0]), float(centre[1]), float(centre[2]))
    basis = Pinhole(tuple((centre + arm).tolist()), look_at).basis(up)
    corners = (np.array(np.meshgrid([0, 1], [0, 1], [0, 1])).reshape(3, 8).T - 0.5) * extent
    right, top, depth = (corners @ basis.T).T
    slope = math.tan(math.radians(fov_degrees) / 2) * 1.2
    distance = float(np.max(np.maximum(np.abs(top), np.abs(right) / aspect) / slope - depth))
    x, y, z = (centre + arm * distance).tolist()
    return Pinhole((x, y, z), look_at, fov_degrees)
