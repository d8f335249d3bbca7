"""Named shapes as exact signed distances: negative inside, metres.

Formulas after I. Quilez, "2D distance functions" and "3D distance functions" (iquilezles.org/articles).
Sizes are metres; the placement multiplies them.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.shapes.antialias import average_signed_distance
from keyfluid.shapes.placement import Hull, Placement, domain_of, resolve
from keyfluid.shapes.source import OWN_SIZE

CIRCLE = np.linspace(0.0, 2 * np.pi, 256, endpoint=False)


@dataclass(frozen=True)
class AnalyticShape(ABC):
    """A shape given by `distance` (of local points, exact) and `hull` (for fitting and bounds)."""

    dimensions: ClassVar[tuple[int, ...]] = (2, 3)

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if value is not None and not (np.all(np.isfinite(value)) and np.all(np.asarray(value) > 0)):
                name = type(self).__name__.lower()
                raise KeyfluidError(f"{name}: {field.name} = {value} must be above 0")

    @abstractmethod
    def distance(self, points: np.ndarray) -> np.ndarray:
        """Signed distance of local points (n, d)."""

    @abstractmethod
    def hull(self, dimension: int) -> Hull:
        """The local points that the shape spans."""

    def rasterize(
        self, shape: tuple[int, ...], spacing: float, placement: Placement = OWN_SIZE, time: float = 0.0
    ) -> np.ndarray:
        domain = domain_of(shape, spacing)
        bounds = self.bounds(shape, spacing, placement, time)
        return average_signed_distance(
            shape, spacing, bounds, lambda points: self.signed_distance(points, domain, placement)
        )

    def bounds(
        self, shape: tuple[int, ...], spacing: float, placement: Placement = OWN_SIZE, time: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray]:
        hull = self._checked_hull(len(shape))
        return resolve(placement, hull, domain_of(shape, spacing)).bounds(hull)

    def signed_distance(
        self,
        points: np.ndarray,
        domain: tuple[float, ...],
        placement: Placement = OWN_SIZE,
        time: float = 0.0,
    ) -> np.ndarray:
        """Signed distance (metres) from points (..., d) in a domain of these sides to the placed shape."""
        transform = resolve(placement, self._checked_hull(len(domain)), domain)
        flat = np.asarray(points, dtype=float).reshape(-1, len(domain))
        value = transform.scale * self.distance(transform.to_local(flat))
        return value.reshape(np.shape(points)[:-1])

    def _checked_hull(self, dimension: int) -> Hull:
        if dimension not in self.dimensions:
            name = type(self).__name__.lower()
            raise KeyfluidError(f"shape {name!r} needs {self.dimensions[0]}D; the domain is {dimension}D")
        return self.hull(dimension)


@dataclass(frozen=True)
class Ball(AnalyticShape):
    """A disk in 2D, a sphere in 3D."""

    radius: float = 0.2

    def distance(self, points: np.ndarray) -> np.ndarray:
        return np.linalg.norm(points, axis=1) - self.radius

    def hull(self, dimension: int) -> Hull:
        return Hull(np.zeros((1, dimension)), self.radius)


@dataclass(frozen=True)
class Ring(AnalyticShape):
    """A ring in 2D, a torus about the z axis in 3D; `radius` is that of the centre line."""

    radius: float = 0.2
    thickness: float = 0.1

    def distance(self, points: np.ndarray) -> np.ndarray:
        across = np.hypot(points[:, 0], points[:, 1]) - self.radius
        beside = np.abs(across) if points.shape[1] == 2 else np.hypot(across, points[:, 2])
        return beside - self.thickness / 2

    def hull(self, dimension: int) -> Hull:
        return Hull(_flat_circle(self.radius, dimension), self.thickness / 2)


@dataclass(frozen=True)
class Box(AnalyticShape):
    """A square or cube, or a rectangle or block when `size` has one number per axis."""

    size: float | tuple[float, ...] = 0.4

    def distance(self, points: np.ndarray) -> np.ndarray:
        return _box_distance(points, self._half(points.shape[1]))

    def hull(self, dimension: int) -> Hull:
        return Hull(_corners(self._half(dimension)))

    def _half(self, dimension: int) -> np.ndarray:
        size = np.atleast_1d(np.asarray(self.size, dtype=float))
        if size.size not in (1, dimension):
            raise KeyfluidError(f"box: size {list(size)} needs one number or {dimension}, one per axis")
        return 0.5 * np.broadcast_to(size, (dimension,))


@dataclass(frozen=True)
class Capsule(AnalyticShape):
    """All points within `radius` of a segment of this `length` along x."""

    length: float = 0.3
    radius: float = 0.1

    def distance(self, points: np.ndarray) -> np.ndarray:
        beyond = np.abs(points)
        beyond[:, 0] = np.maximum(beyond[:, 0] - self.length / 2, 0.0)
        return np.linalg.norm(beyond, axis=1) - self.radius

    def hull(self, dimension: int) -> Hull:
        ends = np.zeros((2, dimension))
        ends[:, 0] = (-self.length / 2, self.length / 2)
        return Hull(ends, self.radius)


@dataclass(frozen=True)
class Cylinder(AnalyticShape):
    """A round column that stands along y."""

    radius: float = 0.15
    height: float = 0.4
    dimensions: ClassVar[tuple[int, ...]] = (3,)

    def distance(self, points: np.ndarray) -> np.ndarray:
        profile = np.stack([np.hypot(points[:, 0], points[:, 2]), points[:, 1]], axis=1)
        return _box_distance(profile, np.array([self.radius, self.height / 2]))

    def hull(self, dimension: int) -> Hull:
        base = _upright_circle(self.radius, -self.height / 2)
        return Hull(np.concatenate([base, base * (1, -1, 1)]))


@dataclass(frozen=True)
class Cone(AnalyticShape):
    """A cone that stands along y, its tip up."""

    radius: float = 0.2
    height: float = 0.4
    dimensions: ClassVar[tuple[int, ...]] = (3,)

    def distance(self, points: np.ndarray) -> np.ndarray:
        profile = np.stack([np.hypot(points[:, 0], points[:, 2]), points[:, 1]], axis=1)
        h = self.height / 2
        triangle = np.array([(-self.radius, -h), (self.radius, -h), (0.0, h)])
        return polygon_distance(profile, triangle)

    def hull(self, dimension: int) -> Hull:
        tip = np.array([[0.0, self.height / 2, 0.0]])
        return Hull(np.concatenate([_upright_circle(self.radius, -self.height / 2), tip]))


def _box_distance(points: np.ndarray, half: np.ndarray) -> np.ndarray:
    beyond = np.abs(points) - half
    return np.minimum(beyond.max(axis=1), 0.0) + np.linalg.norm(np.maximum(beyond, 0.0), axis=1)


def polygon_distance(points: np.ndarray, corners: np.ndarray) -> np.ndarray:
    """Distance to the nearest edge, negative where a ray crosses the outline an odd number of times."""
    nearest = np.full(len(points), np.inf)
    inside = np.zeros(len(points), dtype=bool)
    for start, end in zip(corners, np.roll(corners, -1, axis=0)):
        edge = end - start
        offset = points - start
        along = np.clip(offset @ edge / (edge @ edge), 0.0, 1.0)
        nearest = np.minimum(nearest, np.sum((offset - along[:, None] * edge) ** 2, axis=1))
        spans = (start[1] <= points[:, 1]) != (end[1] <= points[:, 1])
        leftward = offset[:, 0] * edge[1] < offset[:, 1] * edge[0]
        inside ^= spans & (leftward == (edge[1] > 0))
    return np.where(inside, -1.0, 1.0) * np.sqrt(nearest)


def _corners(half: np.ndarray) -> np.ndarray:
    signs = np.stack(np.meshgrid(*[(-1.0, 1.0)] * len(half), indexing="ij"), axis=-1)
    return signs.reshape(-1, len(half)) * half


def _flat_circle(radius: float, dimension: int) -> np.ndarray:
    points = np.zeros((len(CIRCLE), dimension))
    points[:, 0], points[:, 1] = radius * np.cos(CIRCLE), radius * np.sin(CIRCLE)
    return points


def _upright_circle(radius: float, height: float) -> np.ndarray:
    return np.stack([radius * np.cos(CIRCLE), np.full(len(CIRCLE), height), radius * np.sin(CIRCLE)], axis=1)
