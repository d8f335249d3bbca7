"""Target particles: exactly N points inside a shape, which go where the shape goes.          [section 4.2]

    sample     one random point in each cell of a grid of about N cells inside (strata), kept where the signed
               distance is negative; then random ones are dropped, or uniform ones added, until there are N
    pose       an animated mesh: the Delaunay tetrahedralisation of its vertices at second 0 gives each point an
               element and barycentric coordinates b, and x(t) = sum_k b_k v_k(t) at any later time. An affine motion
               of the vertices thus moves the points by the same map, exactly

Shapes, text and images do not move. Points of a mesh that lie in no element (on its hull, by rounding) are not used.
"""

from __future__ import annotations

import numpy as np

from keyfluid.controllers.particles.lattice import Lattice
from keyfluid.controllers.particles.streams import Stream, key, uniform
from keyfluid.errors import SceneError
from keyfluid.grid import Grid
from keyfluid.problem import TargetBody

SDF_CELLS = {2: 512, 3: 96}
"""Cells along the longest side of the signed distance that points are tested against, about: the scene's cells are
divided, so that they fill the domain just as well."""

PER_CELL = 2
"""Target particles along the side of a cell of the scene's grid; a shape holds no more."""


class TargetShape:
    """A body that target particles are drawn from; `path` is where the scene names it."""

    def __init__(self, body: TargetBody, grid: Grid, path: str) -> None:
        self.body, self.grid, self.path = body, grid, path
        parts = max(1, round(SDF_CELLS[grid.dim] / max(grid.cells)))
        fine = Grid([n * parts for n in grid.cells], grid.spacing / parts)
        self.lattice = Lattice.of_grid(fine, np.dtype(np.float64))
        self._distance = self.signed_distance(self.lattice, 0.0)
        self._mesh = _Elements.of(body, grid)
        cell = self.lattice.spacing
        share = np.clip(0.5 - self._distance / cell, 0.0, 1.0)
        self.volume = float(share.sum()) * cell**grid.dim
        if self.volume <= 0:
            raise SceneError(path, "has no inside that target particles could fill; check its size and its walls")

    @property
    def moves(self) -> bool:
        return self._mesh is not None

    def signed_distance(self, lattice: Lattice, time: float) -> np.ndarray:
        """Metres, negative inside, flat, at the cells of a lattice that fills the domain."""
        counts = lattice.counts[: self.grid.dim]
        return np.ascontiguousarray(self.body.signed_distance(counts, lattice.spacing, time)).reshape(-1)

    def capacity(self) -> int:
        return int(self.volume / (self.grid.spacing / PER_CELL) ** self.grid.dim)

    def sample(self, count: int, seed: int, part: int) -> np.ndarray:
        """`count` points (3, n), metres, where the body is at second 0."""
        if count > self.capacity():
            raise SceneError(
                "control.control_particles",
                f"{count} target particles don't fit into {self.path}, which holds {self.capacity()} at this "
                "resolution; ask for fewer, enlarge the shape, or raise domain.resolution",
            )
        points = self._strata(count, key(seed, Stream.STRATA, 0, part))
        if points.shape[1] > count:
            order = np.argsort(uniform(key(seed, Stream.THIN, 0, part), 0, points.shape[1]), kind="stable")
            points = points[:, np.sort(order[:count])]
        return self.extend(points, count, seed, part)

    def extend(self, points: np.ndarray, count: int, seed: int, part: int) -> np.ndarray:
        """Uniform random points added until there are `count`."""
        fill = key(seed, Stream.FILL, points.shape[1], part)
        low, high = self._box()
        drawn = 0
        while points.shape[1] < count:
            block = 4 * (count - points.shape[1]) + 256
            random = uniform(fill, 3 * drawn, 3 * block).reshape(block, 3).T
            drawn += block
            tried = low[:, None] + (high - low)[:, None] * random
            points = np.concatenate([points, tried[:, self._inside(tried)]], axis=1)[:, :count]
        return points

    def fixed(self, points: np.ndarray) -> Posed:
        """The points tied to the body, ready to follow it."""
        return Posed(self, points)

    def _strata(self, count: int, word: np.uint64) -> np.ndarray:
        dim = self.grid.dim
        side = (self.volume / count) ** (1.0 / dim)
        low, high = self._box()
        counts = np.maximum(np.ceil((high - low) / side).astype(int), 1)
        places = np.indices(counts).reshape(3, -1)
        random = uniform(word, 0, places.size).reshape(3, -1)
        points = low[:, None] + (places + random) * side
        points[dim:] = 0.0
        return points[:, self._inside(points)]

    def _inside(self, points: np.ndarray) -> np.ndarray:
        near = self.lattice.sample(self._distance, np.ascontiguousarray(points))
        own = points[: self.grid.dim]
        inside = (near < 0) & np.all((own >= 0) & (own <= np.array(self.grid.size)[:, None]), axis=0)
        if self._mesh is not None and inside.any():
            inside[inside] = self._mesh.holds(points[:, inside])
        return inside

    def _box(self) -> tuple[np.ndarray, np.ndarray]:
        """Around the inside, a cell wider, within the domain."""
        inside = np.argwhere((self._distance < 0.5 * self.lattice.spacing).reshape(self.lattice.counts))
        low = np.maximum((inside.min(axis=0) - 1) * self.lattice.spacing, 0.0)
        high = np.minimum((inside.max(axis=0) + 2) * self.lattice.spacing, [*self.grid.size, 0.0][:3])
        if self.grid.dim == 2:
            low[2] = high[2] = 0.0
        return low, high

    def check_motion(self, first: int, last: int, fps: float) -> None:
        """Does the mesh keep its faces and stay in the domain from frame to frame?"""
        if self._mesh is None:
            return
        for frame in range(first, last + 1):
            pose = self.body.surface(self.grid, frame / fps)
            assert pose is not None
            vertices, faces = pose
            if vertices.shape != self._mesh.vertices.shape or not np.array_equal(faces, self._mesh.faces):
                raise SceneError(
                    f"{self.path}.mesh",
                    f"has other vertices or faces at frame {frame} than at the start; target particles follow a mesh "
                    "only if its topology stays the same",
                )
            if np.any((vertices.max(axis=0) <= 0) | (vertices.min(axis=0) >= self.grid.size)):
                raise SceneError(f"{self.path}.mesh", f"has left the domain by frame {frame}; check center and size")


class Posed:
    """Target particles of one shape: `at(time)` says where they are."""

    def __init__(self, shape: TargetShape, points: np.ndarray) -> None:
        self.shape, self.rest = shape, points
        self._ties = shape._mesh.ties(points) if shape._mesh is not None else None

    def at(self, time: float) -> np.ndarray:
        """(3, n), float64."""
        if self._ties is None:
            return self.rest
        pose = self.shape.body.surface(self.shape.grid, time)
        assert pose is not None
        return follow(pose[0], *self._ties)


def follow(vertices: np.ndarray, corners: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """x = sum_k b_k v_k: points (3, n) from the vertices (m, 3), their elements' corners and coordinates (n, 4)."""
    return np.einsum("nk,nkd->dn", weights, vertices[corners])


class _Elements:
    """The Delaunay tetrahedra of a mesh's vertices at second 0."""

    def __init__(self, vertices: np.ndarray, faces: np.ndarray) -> None:
        from scipy.spatial import Delaunay

        self.vertices, self.faces = vertices, faces
        self.delaunay = Delaunay(vertices)

    @classmethod
    def of(cls, body: TargetBody, grid: Grid) -> _Elements | None:
        pose = body.surface(grid, 0.0)
        return cls(*pose) if pose is not None else None

    def holds(self, points: np.ndarray) -> np.ndarray:
        return np.asarray(self.delaunay.find_simplex(points.T) >= 0)

    def ties(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Corners (n, 4) of the element that holds each point, and its coordinates there, which sum to 1."""
        corners = self.delaunay.simplices[self.delaunay.find_simplex(points.T)]
        where = self.vertices[corners]
        edges = np.swapaxes(where[:, 1:] - where[:, :1], 1, 2)
        rest = np.linalg.solve(edges, (points.T - where[:, 0])[..., None])[..., 0]
        return corners, np.concatenate([1.0 - rest.sum(axis=1, keepdims=True), rest], axis=1)
