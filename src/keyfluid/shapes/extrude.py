"""Drawings (text, images): flat in 2D, given a depth in 3D."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace

import numpy as np
from scipy.ndimage import map_coordinates, maximum_filter, minimum_filter

from keyfluid.errors import KeyfluidError
from keyfluid.shapes.antialias import SAMPLES_PER_AXIS, average_over_cells
from keyfluid.shapes.placement import Hull, Placement, Transform, domain_of, resolve
from keyfluid.shapes.resample import overlap_weights
from keyfluid.shapes.source import OWN_SIZE

_AXES = {
    "x": (1, 0, 0),
    "y": (0, 1, 0),
    "z": (0, 0, 1),
    "-x": (-1, 0, 0),
    "-y": (0, -1, 0),
    "-z": (0, 0, -1),
}


@dataclass(frozen=True)
class Extrusion:
    """How a drawing becomes a body: `depth` metres thick along `axis`, which points at the reader.

    depth: metres before `Placement.scale`; None takes 0.15 of the drawing's largest extent.
    axis: "x", "y", "z" or with a minus sign. The drawing's top points along `up`, its right along up x axis;
        a drawing that lies flat (axis along up) has its right along x.
    """

    depth: float | None = None
    axis: str = "z"
    up: str = "y"

    def __post_init__(self) -> None:
        if self.axis not in _AXES or self.up not in _AXES:
            raise KeyfluidError(f"axis {self.axis!r}, up {self.up!r}: each must be one of {', '.join(_AXES)}")
        if self.depth is not None and not (np.isfinite(self.depth) and self.depth > 0):
            raise KeyfluidError(f"depth {self.depth} must be above 0, in metres")

    def frame(self) -> np.ndarray:
        """Columns: where the drawing's right, top and the way to the reader point in the domain."""
        axis, up = np.array(_AXES[self.axis], dtype=float), np.array(_AXES[self.up], dtype=float)
        right = np.cross(up, axis)
        if not np.any(right):
            right = np.array([0.0, 1.0, 0.0] if abs(axis[0]) else [1.0, 0.0, 0.0])
        return np.stack([right, np.cross(axis, right), axis], axis=1)


class Drawing(ABC):
    """A density source that is drawn in a plane; `default_fit` sizes it when the placement does not."""

    extrusion: Extrusion
    default_fit: float | None = 0.6

    @abstractmethod
    def ink(self) -> Hull:
        """What the drawing spans, local points (n, 2)."""

    @abstractmethod
    def draw(self, shape: tuple[int, int], spacing: float, transform: Transform) -> np.ndarray:
        """Mean density of the placed drawing over each cell of a 2D grid."""

    def rasterize(
        self, shape: tuple[int, ...], spacing: float, placement: Placement = OWN_SIZE, time: float = 0.0
    ) -> np.ndarray:
        transform = self._resolve(shape, spacing, placement)
        if len(shape) == 2:
            return self.draw((shape[0], shape[1]), spacing, transform)
        depth = self._depth(placement, transform)
        toward = transform.matrix[:, 2]
        across = int(np.abs(toward).argmax())
        if abs(toward[across]) > 1 - 1e-12:
            return self._extrude_along_axis(shape, spacing, transform, depth, across)
        return self._extrude_turned(shape, spacing, transform, depth)

    def bounds(
        self, shape: tuple[int, ...], spacing: float, placement: Placement = OWN_SIZE, time: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray]:
        transform = self._resolve(shape, spacing, placement)
        ink = self.ink().points
        if len(shape) == 2:
            return transform.bounds(Hull(ink))
        half = np.full((len(ink), 1), self._depth(placement, transform) / transform.scale / 2)
        return transform.bounds(Hull(np.concatenate([np.hstack([ink, half]), np.hstack([ink, -half])])))

    def _resolve(self, shape: tuple[int, ...], spacing: float, placement: Placement) -> Transform:
        """Placement of the drawing; in 3D local axis 2 is the depth and the frame is part of the matrix."""
        if placement.fit is None:
            placement = replace(placement, fit=self.default_fit)
        ink = self.ink()
        if len(shape) == 2:
            return resolve(placement, ink, domain_of(shape, spacing))
        frame = self.extrusion.frame()
        flat = resolve(placement, Hull(ink.points @ frame[:, :2].T), domain_of(shape, spacing))
        return Transform(flat.center, flat.scale, flat.matrix @ frame, np.append(ink.middle, 0.0))

    def _depth(self, placement: Placement, transform: Transform) -> float:
        if self.extrusion.depth is not None:
            return self.extrusion.depth * placement.scale
        return 0.15 * self.ink().largest_extent * transform.scale

    def _extrude_along_axis(
        self, shape: tuple[int, ...], spacing: float, transform: Transform, depth: float, across: int
    ) -> np.ndarray:
        """The depth runs along a grid axis: the product of a drawing and an interval, both exact."""
        plane = [axis for axis in range(3) if axis != across]
        flat = Transform(transform.center[plane], transform.scale, transform.matrix[plane, :2], transform.origin[:2])
        drawn = self.draw((shape[plane[0]], shape[plane[1]]), spacing, flat)
        lower = transform.center[across] - depth / 2
        thick = overlap_weights(lower, depth, 1, spacing, shape[across])[:, 0]
        return np.ascontiguousarray(np.moveaxis(drawn[:, :, None] * thick, 2, across))

    def _extrude_turned(self, shape: tuple[int, ...], spacing: float, transform: Transform, depth: float) -> np.ndarray:
        """Any turn: the drawing as a texture of quarter cells, read linearly at 4 x 4 x 4 points a cell."""
        fine = spacing / SAMPLES_PER_AXIS
        ink = self.ink()
        farthest = np.linalg.norm(np.maximum(transform.center, np.asarray(shape) * spacing - transform.center))
        extent = np.minimum(np.ptp(ink.points, axis=0) * transform.scale, 2 * farthest)
        cells = tuple(int(n) for n in np.ceil(extent / fine) + 2 * SAMPLES_PER_AXIS + 4)
        middle = np.asarray(cells) * fine / 2
        flat = Transform(middle, transform.scale, np.eye(2), transform.origin[:2])
        texture = self.draw((cells[0], cells[1]), fine, flat)
        reach = 0.5 * np.sqrt(3) * spacing
        window = 2 * int(np.ceil(reach / fine) + 1) + 1
        highest, lowest = maximum_filter(texture, window), minimum_filter(texture, window)

        def own(points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            local = (points - transform.center) @ transform.matrix
            return (local[:, :2] + middle).T / fine - 0.5, depth / 2 - np.abs(local[:, 2])

        def certain(points: np.ndarray) -> np.ndarray:
            where, below = own(points)
            top = map_coordinates(highest, where, order=0, mode="constant")
            bottom = map_coordinates(lowest, where, order=0, mode="constant")
            empty = (top <= 0) | (below < -reach - fine)
            full = (bottom >= 1 - 1e-12) & (below > reach + fine)
            return np.where(empty, 0.0, np.where(full, 1.0, np.nan))

        def sample(points: np.ndarray) -> np.ndarray:
            where, below = own(points)
            drawn = map_coordinates(texture, where, order=1, mode="constant")
            return drawn * np.clip(0.5 + below / fine, 0.0, 1.0)

        half = np.full((len(ink.points), 1), depth / transform.scale / 2)
        body = np.concatenate([np.hstack([ink.points, half]), np.hstack([ink.points, -half])])
        return average_over_cells(shape, spacing, transform.bounds(Hull(body)), certain, sample)
