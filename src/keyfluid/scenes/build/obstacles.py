"""Obstacles over time: rigid bodies that rest, drift, spin or follow a path, and deforming ones, as Solids.

A body's motion is x(t) = c(t) + R(t) (x - c(0)); its velocity at x is c'(t) + w(t) x (x - c(t)) with
[w] = R' R^T, by a forward difference over a thousandth of a frame: exact for straight even motion, and at a
corner of a path the motion that follows.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from keyfluid.errors import KeyfluidError, SceneError
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.scenes.build.deforming import DeformingBody
from keyfluid.scenes.build.report import Told, say_nothing
from keyfluid.scenes.build.sources import Reader, place, place_solid, read_source, upright_rotation
from keyfluid.scenes.schema.check_bodies import is_animated
from keyfluid.scenes.schema.faults import raise_any
from keyfluid.scenes.schema.scene import Obstacle, Scene
from keyfluid.shapes import AnalyticShape, AnimatedMesh, Mesh, Placement
from keyfluid.shapes.placement import domain_of, rotation_matrix
from keyfluid.solids import Solids

_INSTANT = 1e-3
_FAR = 3
"""Cells from a body at which its distance is no longer followed."""


@dataclass(frozen=True)
class Pose:
    """Where the middle of a body is, and how it is turned from its rest."""

    center: np.ndarray
    turn: np.ndarray


class MovingBody:
    """One obstacle: its pose and its inside at any time (seconds); source, placement: at its first pose."""

    def __init__(self, obstacle: Obstacle, scene: Scene, grid: Grid, read: Reader = read_source) -> None:
        self.obstacle, self.grid = obstacle, grid
        self.fps = scene.time.fps
        source, placement = place_solid(obstacle, scene, read)
        if obstacle.path is not None:
            first = obstacle.path[0]
            rotation = first.rotation if first.rotation is not None else obstacle.rotation
            placement = Placement(
                tuple(first.center),
                placement.scale,
                upright_rotation(rotation, obstacle, scene),
                placement.fit,
            )
        self.source, self.placement = source, placement
        self._rest = _Rest(source, placement, grid)
        self._angles = self._path_angles(scene)

    @property
    def moves(self) -> bool:
        path = self.obstacle.path
        return bool(np.any(self.obstacle.velocity or 0) or np.any(self.obstacle.spin) or (path and len(path) > 1))

    @property
    def rest_center(self) -> np.ndarray:
        """Where its middle is at its first pose."""
        return self._rest.center

    def pose(self, time: float) -> Pose:
        center = self._rest.center
        turn = np.eye(self.grid.dim)
        path = self.obstacle.path
        if path is not None:
            frames = [point.frame / self.fps for point in path]
            center = np.array([np.interp(time, frames, axis) for axis in np.transpose([p.center for p in path])])
            angles = tuple(float(np.interp(time, frames, angle)) for angle in self._angles)
            now = rotation_matrix(angles if self.grid.dim == 3 else angles[0], self.grid.dim)  # type: ignore[arg-type]
            turn = now @ self._rest.matrix.T
        elif self.obstacle.velocity is not None:
            center = center + time * np.asarray(self.obstacle.velocity)
        return Pose(center, _spun(self.obstacle.spin, time, self.grid.dim) @ turn)

    def distance(self, time: float) -> np.ndarray:
        """Signed distance of cells in metres, negative inside, at most _FAR cells."""
        return self._rest.distance(self.pose(time))

    def velocity(self, time: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Velocity of the middle, the matrix [w] of the turning, and the middle."""
        now, then = self.pose(time), self.pose(time + _INSTANT / self.fps)
        span = _INSTANT / self.fps
        swing = (then.turn @ now.turn.T - np.eye(self.grid.dim)) / span
        return (then.center - now.center) / span, 0.5 * (swing - swing.T), now.center

    def speed(self, axis: int, points: np.ndarray, time: float) -> np.ndarray:
        """Velocity along an axis at points (n, dim), m/s."""
        drift, swing, middle = self.velocity(time)
        return drift[axis] + sum(swing[axis, a] * (points[:, a] - middle[a]) for a in range(self.grid.dim))

    def _path_angles(self, scene: Scene) -> np.ndarray:
        """Per axis of rotation its angle at each place of the path."""
        if self.obstacle.path is None:
            return np.zeros((1, 1))
        rows, given = [], self.obstacle.rotation
        for point in self.obstacle.path:
            given = point.rotation if point.rotation is not None else given
            angles = np.atleast_1d(upright_rotation(given, self.obstacle, scene)).astype(float)
            rows.append(np.array([0.0, 0.0, angles[0]]) if self.grid.dim == 3 and angles.size == 1 else angles)
        return np.transpose(rows)


class _Rest:
    """The body at its first pose. A mesh's distance is sampled once; turned bodies are read from that."""

    def __init__(self, source: AnalyticShape | Mesh, placement: Placement, grid: Grid) -> None:
        self.source, self.grid = source, grid
        middle = np.asarray(grid.size) / 2
        self.center = np.asarray(placement.center, dtype=float) if placement.center is not None else middle
        self.matrix = rotation_matrix(placement.rotation, grid.dim)
        lower, upper = source.bounds(grid.cells, grid.spacing, placement)
        self.radius = float(np.linalg.norm(np.maximum(upper - self.center, self.center - lower)))
        self.placement = placement
        if isinstance(source, Mesh):
            self._sample(source, placement, lower, upper)

    def distance(self, pose: Pose) -> np.ndarray:
        grid = self.grid
        far = _FAR * grid.spacing
        found = np.full(grid.cells, far)
        first = np.clip((pose.center - self.radius) // grid.spacing - _FAR, 0, grid.cells).astype(int)
        last = np.clip((pose.center + self.radius) // grid.spacing + _FAR + 1, 0, grid.cells).astype(int)
        if np.any(last <= first):
            return found
        axes = [(np.arange(a, b) + 0.5) * grid.spacing for a, b in zip(first, last)]
        points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
        back = (points - pose.center) @ pose.turn + self.center
        window = tuple(slice(a, b) for a, b in zip(first, last))
        found[window] = np.minimum(self._distance(back), far)
        return found

    def _distance(self, points: np.ndarray) -> np.ndarray:
        if isinstance(self.source, AnalyticShape):
            return self.source.signed_distance(points, domain_of(self.grid.cells, self.grid.spacing), self.placement)
        from scipy.ndimage import map_coordinates

        where = (points - self._corner) / self.grid.spacing - 0.5
        far = _FAR * self.grid.spacing
        flat = map_coordinates(self._samples, where.reshape(-1, 3).T, order=1, mode="constant", cval=far)
        return flat.reshape(points.shape[:-1])

    def _sample(self, mesh: Mesh, placement: Placement, lower: np.ndarray, upper: np.ndarray) -> None:
        """The distance on a box of cells around the mesh, aligned with the grid."""
        spacing = self.grid.spacing
        first = np.floor(lower / spacing).astype(int) - 2
        cells = np.ceil(upper / spacing).astype(int) + 2 - first
        budget = 8 * self.grid.count + 1_000_000
        if np.prod(cells.astype(float)) > budget:
            raise KeyfluidError("is far larger than the domain; scale it down or use fit")
        self._corner = first * spacing
        # The box is a domain of its own: the same size, moved by its corner.
        transform = mesh.transform(domain_of(self.grid.cells, spacing), placement)
        local = Mesh(transform.to_world(mesh.vertices) - self._corner, mesh.faces, mesh.outer)
        middle = 0.5 * (local.vertices.min(axis=0) + local.vertices.max(axis=0))
        own = Placement(tuple(float(c) for c in middle))
        self._samples = local.signed_distance_grid(tuple(int(n) for n in cells), spacing, own)


class Obstacles:
    """All obstacles of a scene; call with a time in seconds."""

    def __init__(
        self, scene: Scene, grid: Grid, dtype: np.dtype, told: Told = say_nothing, read: Reader = read_source
    ) -> None:
        self.grid, self.dtype = grid, dtype
        self.bodies: list[MovingBody | DeformingBody] = []
        faults = []
        for i, obstacle in enumerate(scene.obstacle):
            told("reading obstacle", i + 1, len(scene.obstacle))
            try:
                self.bodies.append(_body(obstacle, scene, grid, read))
            except KeyfluidError as error:
                faults.append(SceneError(f"obstacle[{i}].{'mesh' if obstacle.mesh else 'shape'}", str(error)))
        raise_any(faults)
        self.move = any(body.moves for body in self.bodies)
        self._still: Solids | None = None

    def __call__(self, time: float) -> Solids | None:
        """The solids at a time; None without obstacles, one object for all times if they all rest."""
        if not self.bodies:
            return None
        if self.move:
            return self._at(time)
        if self._still is None:
            self._still = self._at(0.0)
        return self._still

    def distance(self, time: float) -> np.ndarray | None:
        """Signed distance of cells to the nearest body in metres, at most _FAR cells; None without obstacles."""
        return np.min([body.distance(time) for body in self.bodies], axis=0) if self.bodies else None

    def _at(self, time: float) -> Solids:
        owner = np.full(self.grid.cells, -1, dtype=np.int16)
        for index, body in enumerate(self.bodies):
            owner[body.distance(time) < 0] = index
        distance = np.where(owner >= 0, -1.0, 1.0)
        return Solids.from_distance(self.grid, distance, self._motion(owner, time), self.dtype)

    def _motion(self, owner: np.ndarray, time: float) -> Field:
        """Velocity of the body behind each face; where two meet, of the later one in the scene."""
        motion = Field.zeros(self.grid, Kind.FACES, np.float64)
        for axis, location in enumerate(Kind.FACES.places(self.grid.dim)):
            behind = self._owner_of_faces(owner, axis)
            component = motion.component(axis)
            for index, body in enumerate(self.bodies):
                chosen = behind == index
                if not body.moves or not chosen.any():
                    continue
                coordinates = np.broadcast_arrays(*self.grid.coordinates(location))
                points = np.stack([x[chosen] for x in coordinates], axis=-1)
                component[chosen] = body.speed(axis, points, time)
        return motion

    def _owner_of_faces(self, owner: np.ndarray, axis: int) -> np.ndarray:
        if self.grid.is_periodic(axis):
            return np.maximum(owner, np.roll(owner, 1, axis))
        padded = np.pad(owner, [(1, 1) if a == axis else (0, 0) for a in range(owner.ndim)], constant_values=-1)
        low = padded.take(range(padded.shape[axis] - 1), axis)
        high = padded.take(range(1, padded.shape[axis]), axis)
        return np.maximum(low, high)


def _body(obstacle: Obstacle, scene: Scene, grid: Grid, read: Reader) -> MovingBody | DeformingBody:
    if not is_animated(obstacle):
        return MovingBody(obstacle, scene, grid, read)
    placed = place(obstacle, scene, read)
    assert isinstance(placed.source, AnimatedMesh)
    return DeformingBody(obstacle, placed.source, placed.placement, grid, scene.time.fps, _FAR)


def _spun(spin: float | list[float], time: float, dimension: int) -> np.ndarray:
    """The turn after a time at `spin` degrees per second, by Rodrigues' formula in 3D."""
    if dimension == 2:
        assert not isinstance(spin, list)
        return rotation_matrix(spin * time, 2)
    axis = np.asarray(spin if isinstance(spin, list) else [0.0, 0.0, spin], dtype=float)
    speed = float(np.linalg.norm(axis))
    if speed == 0:
        return np.eye(3)
    x, y, z = axis / speed
    k = np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
    angle = np.radians(speed * time)
    return np.eye(3) + np.sin(angle) * k + (1 - np.cos(angle)) * k @ k
