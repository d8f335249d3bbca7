"""Named shapes drawn in the xy plane as exact signed distances; in 3D they have a depth along z."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.shapes.analytic import CIRCLE, AnalyticShape, polygon_distance
from keyfluid.shapes.placement import Hull


@dataclass(frozen=True)
class FlatShape(AnalyticShape):
    """A shape drawn in the xy plane; in 3D it is `depth` metres thick along z (None: 0.15 of its extent)."""

    depth: float | None = None

    @abstractmethod
    def flat_distance(self, points: np.ndarray) -> np.ndarray:
        """Signed distance of local points (n, 2)."""

    @abstractmethod
    def outline(self) -> Hull:
        """The local points (n, 2) that the drawing spans."""

    def distance(self, points: np.ndarray) -> np.ndarray:
        inside = self.flat_distance(points[:, :2])
        if points.shape[1] == 2:
            return inside
        beyond = np.stack([inside, np.abs(points[:, 2]) - self._half_depth()], axis=1)
        return np.minimum(beyond.max(axis=1), 0.0) + np.linalg.norm(np.maximum(beyond, 0.0), axis=1)

    def hull(self, dimension: int) -> Hull:
        outline = self.outline().points
        if dimension == 2:
            return Hull(outline)
        half = np.full((len(outline), 1), self._half_depth())
        return Hull(np.concatenate([np.hstack([outline, half]), np.hstack([outline, -half])]))

    def _half_depth(self) -> float:
        return 0.5 * (self.depth if self.depth is not None else 0.15 * self.outline().largest_extent)


@dataclass(frozen=True)
class Star(FlatShape):
    """A star with `points` tips at `radius`, one of them up, and notches at `inner` times that radius."""

    points: int = 5
    radius: float = 0.25
    inner: float = 0.45

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.points < 3 or self.points != int(self.points) or self.inner >= 1:
            raise KeyfluidError(f"star: needs points >= 3 and inner < 1, not {self.points} and {self.inner}")

    def flat_distance(self, points: np.ndarray) -> np.ndarray:
        return polygon_distance(points, self.outline().points)

    def outline(self) -> Hull:
        count = 2 * int(self.points)
        angle = np.pi / 2 + np.pi * np.arange(count) / int(self.points)
        radius = np.where(np.arange(count) % 2 == 0, self.radius, self.radius * self.inner)
        return Hull(np.stack([radius * np.cos(angle), radius * np.sin(angle)], axis=1))


@dataclass(frozen=True)
class Cross(FlatShape):
    """A plus sign: two bars of length `size` and width `thickness`."""

    size: float = 0.4
    thickness: float = 0.14

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.thickness > self.size:
            raise KeyfluidError(f"cross: thickness {self.thickness} is larger than size {self.size}")

    def flat_distance(self, points: np.ndarray) -> np.ndarray:
        return polygon_distance(points, self.outline().points)

    def outline(self) -> Hull:
        a, b = self.size / 2, self.thickness / 2
        quarter = np.array([(a, -b), (a, b), (b, b)])
        turn = np.array([(0.0, -1.0), (1.0, 0.0)])
        return Hull(np.concatenate([quarter @ np.linalg.matrix_power(turn, k).T for k in range(4)]))


@dataclass(frozen=True)
class Heart(FlatShape):
    """A square on its corner with a half disk on each upper side; `size` is the width."""

    size: float = 0.4

    _UNIT_WIDTH: ClassVar[float] = 0.5 + np.sqrt(0.5)
    _UNIT_HEIGHT: ClassVar[float] = 0.75 + np.sqrt(2) / 4

    def flat_distance(self, points: np.ndarray) -> np.ndarray:
        unit = self.size / self._UNIT_WIDTH
        x = np.abs(points[:, 0]) / unit
        y = points[:, 1] / unit + self._UNIT_HEIGHT / 2
        lobe = np.hypot(x - 0.25, y - 0.75) - np.sqrt(2) / 4
        along = 0.5 * np.maximum(x + y, 0.0)
        body = np.minimum(np.hypot(x, y - 1.0), np.hypot(x - along, y - along)) * np.sign(x - y)
        return unit * np.where(x + y > 1.0, lobe, body)

    def outline(self) -> Hull:
        unit = self.size / self._UNIT_WIDTH
        x = np.concatenate([[0.0], 0.25 + np.sqrt(2) / 4 * np.cos(CIRCLE)])
        y = np.concatenate([[0.0], 0.75 + np.sqrt(2) / 4 * np.sin(CIRCLE)]) - self._UNIT_HEIGHT / 2
        return Hull(unit * np.concatenate([np.stack([x, y], axis=1), np.stack([-x, y], axis=1)]))
