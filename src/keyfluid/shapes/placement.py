"""Where a shape stands in the domain: a similarity transform from the source's own coordinates to metres.

    world = center + scale * matrix @ (local - origin)

`origin` is the middle of the source's own bounding box (the ink box of a text or an image), so `center`
always says where that middle goes, and turning or scaling never moves it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keyfluid.errors import KeyfluidError


@dataclass(frozen=True)
class Placement:
    """Centre in metres (None: middle of the domain), size and turn of a source.

    rotation: degrees, counter-clockwise. In 3D three Euler angles, turned about the fixed x axis first, then
        y, then z (Blender's "XYZ"); a single number turns about z.
    fit: the source is sized so that, turned, it takes this fraction of the domain on its tightest axis.
        None keeps the source's own size (metres for shapes and meshes; text, images and arrays say theirs).
    scale: multiplies whatever size that gives.
    """

    center: tuple[float, ...] | None = None
    scale: float = 1.0
    rotation: float | tuple[float, float, float] = 0.0
    fit: float | None = None

    def __post_init__(self) -> None:
        if self.center is not None and not np.all(np.isfinite(self.center)):
            raise KeyfluidError(f"center {list(self.center)} is not finite; give metres")
        if not np.all(np.isfinite(self.rotation)):
            raise KeyfluidError(f"rotation {self.rotation} is not finite; give degrees")
        if not (np.isfinite(self.scale) and self.scale > 0):
            raise KeyfluidError(f"scale {self.scale} must be a number above 0")
        if self.fit is not None and not (np.isfinite(self.fit) and self.fit > 0):
            raise KeyfluidError(f"fit {self.fit} must be above 0, a fraction of the domain such as 0.6")


@dataclass(frozen=True)
class Hull:
    """What a source spans in its own coordinates: the convex hull of `points` (n, d), grown by `radius`."""

    points: np.ndarray
    radius: float = 0.0

    @property
    def middle(self) -> np.ndarray:
        return 0.5 * (self.points.min(axis=0) + self.points.max(axis=0))

    @property
    def largest_extent(self) -> float:
        return float(np.ptp(self.points, axis=0).max() + 2 * self.radius)


@dataclass(frozen=True)
class Transform:
    """world = center + scale * matrix @ (local - origin); `matrix` is orthogonal (a turn, maybe a mirror)."""

    center: np.ndarray
    scale: float
    matrix: np.ndarray
    origin: np.ndarray

    def to_world(self, local: np.ndarray) -> np.ndarray:
        return self.center + self.scale * (local - self.origin) @ self.matrix.T

    def to_local(self, world: np.ndarray) -> np.ndarray:
        return self.origin + (world - self.center) @ self.matrix / self.scale

    def bounds(self, hull: Hull) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner, in metres, of the box around the placed hull."""
        points = self.to_world(hull.points)
        radius = hull.radius * self.scale
        return points.min(axis=0) - radius, points.max(axis=0) + radius


def rotation_matrix(rotation: float | tuple[float, float, float], dimension: int) -> np.ndarray:
    """R(angle) in 2D, R_z R_y R_x in 3D; multiples of 90 degrees give exact zeros and ones."""
    angles = np.atleast_1d(np.asarray(rotation, dtype=float))
    if dimension == 2:
        if angles.size != 1:
            raise KeyfluidError(f"rotation {list(angles)} has {angles.size} angles; in 2D give one")
        return _turn(angles[0])
    if angles.size == 1:
        angles = np.array([0.0, 0.0, angles[0]])
    if angles.size != 3:
        raise KeyfluidError(f"rotation {list(angles)} has {angles.size} angles; in 3D give one or three")
    matrix = np.eye(3)
    for axis, angle in enumerate(angles):
        first, second = (axis + 1) % 3, (axis + 2) % 3
        step = np.eye(3)
        step[np.ix_([first, second], [first, second])] = _turn(angle)
        matrix = step @ matrix
    return matrix


def _turn(degrees: float) -> np.ndarray:
    quarter, rest = divmod(degrees, 90.0)
    cosine, sine = np.cos(np.radians(rest)), np.sin(np.radians(rest))
    for _ in range(int(quarter) % 4):
        cosine, sine = -sine, cosine
    return np.array([[cosine, -sine], [sine, cosine]])


def resolve(placement: Placement, hull: Hull, domain: tuple[float, ...]) -> Transform:
    """The transform that puts `hull` where `placement` says in a domain of these sides (metres)."""
    dimension = len(domain)
    center = np.asarray(placement.center if placement.center is not None else np.asarray(domain) / 2, dtype=float)
    if center.shape != (dimension,):
        raise KeyfluidError(f"center {list(center)} has {center.size} numbers; the domain is {dimension}D")
    matrix = rotation_matrix(placement.rotation, dimension)
    scale = placement.scale
    if placement.fit is not None:
        turned = np.abs((hull.points - hull.middle) @ matrix.T).max(axis=0) + hull.radius
        tiny = 1e-12 * turned.max()
        scale *= placement.fit * float(np.min(np.asarray(domain) / np.maximum(2 * turned, tiny)))
    return Transform(center, scale, matrix, hull.middle)


def domain_of(shape: tuple[int, ...], spacing: float) -> tuple[float, ...]:
    """Sides of the domain in metres."""
    return tuple(cells * spacing for cells in shape)
