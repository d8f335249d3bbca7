"""An obstacle that deforms: an animated mesh as a solid, whose surface moves as its vertices do.

The velocity at a point is that of the nearest vertex, by a forward difference over a thousandth of a frame: vertices go
straight from one file of a sequence to the next. Where two files have different faces, nobody knows how one became the
other, and the body counts as being at rest.
"""

from __future__ import annotations

import numpy as np

from keyfluid.grid import Grid
from keyfluid.scenes.schema.scene import Obstacle
from keyfluid.shapes import AnimatedMesh, Placement
from keyfluid.shapes.placement import domain_of

_INSTANT = 1e-3
"""An instant, as a share of a frame."""


class DeformingBody:
    """One obstacle; far: cells from it at which its distance is no longer followed."""

    moves = True

    def __init__(
        self, obstacle: Obstacle, source: AnimatedMesh, placement: Placement, grid: Grid, fps: float, far: int
    ) -> None:
        self.obstacle, self.source, self.placement, self.grid = obstacle, source, placement, grid
        self._fps, self._far = fps, far
        self._kept: tuple[float, np.ndarray] | None = None

    def distance(self, time: float) -> np.ndarray:
        """Signed distance of cells in metres, negative inside, at most `far` cells."""
        if self._kept is None or self._kept[0] != time:
            grid = self.grid
            found = self.source.signed_distance_grid(grid.cells, grid.spacing, self.placement, time)
            self._kept = time, np.minimum(found, self._far * grid.spacing)
        return self._kept[1]

    def surface(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Vertices in metres and faces."""
        time = float(np.clip(time, 0.0, self.source.duration))
        vertices, faces = self.source.triangles(time)
        domain = domain_of(self.grid.cells, self.grid.spacing)
        return self.source.at(time).transform(domain, self.placement).to_world(vertices), faces

    def speed(self, axis: int, points: np.ndarray, time: float) -> np.ndarray:
        """Velocity along an axis at points (n, dim), m/s."""
        from scipy.spatial import cKDTree

        span = _INSTANT / self._fps
        now, faces = self.surface(time)
        then, later = self.surface(time + span)
        if now.shape != then.shape or not np.array_equal(faces, later):
            return np.zeros(len(points))
        used = np.unique(faces)
        _, nearest = cKDTree(now[used]).query(points)
        return (then[used[nearest], axis] - now[used[nearest], axis]) / span
