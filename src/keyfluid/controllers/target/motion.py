"""How an animated target moves: a velocity that damping leaves alone.

Continuous  the paper's momentum attenuation, u_t = -v_d u [Fattal & Lischinski 2004, equation 4], holds back smoke
            whose target sails away from it. Relative to the target's motion m it is u_t = -v_d (u - m).
Discrete    the surface's own velocity, with vertices x_k at this target and x'_k at the one before, T seconds apart,
            and a_k the area around each, laid into the cell it is in and blurred as the driving force is:
                v = blur(sum_k a_k (x_k - x'_k) / T) / blur(sum_k a_k)
            Pressure would take a third and more of it away again, so m is, of the fields without divergence, the one
            that is nearest to v where the target is:
                P w P m = P w v,   w = min(1, 4 b / max b)
            by conjugate gradients, P the projection and b the blurred target. Bodies in its way are left to the step's
            own projection.
"""

from __future__ import annotations

import numpy as np

from keyfluid.controllers.target.goal import beside
from keyfluid.fields import Field, density
from keyfluid.grid import Grid
from keyfluid.models.pull import DrivenGoal
from keyfluid.operators.blur import Blur
from keyfluid.operators.project import Project
from keyfluid.problem import Keyframe

_LEAST = 1e-6
"""Share of the most surface per cell below which there is none to speak of."""
_FULL = 0.25
"""Share of the blurred target's most from which the air moves with it."""
_ROUNDS = 4
"""Of conjugate gradients."""


def target_motion(
    grid: Grid, goal: DrivenGoal, blur: Blur, before: Keyframe, key: Keyframe, fps: float
) -> Field | None:
    """m between two frames of one animated mesh; None if there is no mesh, it has other vertices than
    before, or the scene is flat."""
    then, now = (key.body.surface(grid, frame / fps) for frame in (before.frame, key.frame))
    if key.body is not before.body or then is None or now is None or then[0].shape != now[0].shape:
        return None
    points, faces = now
    if points.shape[1] != grid.dim:
        return None
    velocity = (points - then[0]) * (fps / (key.frame - before.frame))
    cells = np.floor(points / grid.spacing).astype(int)
    inside = np.all((cells >= 0) & (cells < grid.cells), axis=1)
    places = np.ravel_multi_index(tuple(cells[inside].T), grid.cells)
    area, velocity = _areas(points, faces)[inside], velocity[inside]

    def blurred(amounts: np.ndarray) -> np.ndarray:
        laid = np.bincount(places, amounts, grid.count)
        return blur.forward(density(grid, laid.reshape(grid.cells), goal.target.dtype))[0].array

    surface, near = blurred(area), np.minimum(goal.blurred.array / (_FULL * goal.blurred.peak()), 1)
    share = np.divide(near, surface, out=np.zeros_like(near), where=surface > _LEAST * surface.max())
    moved, weight = goal.slope.zeros_like(), goal.slope.zeros_like()
    for axis in range(grid.dim):
        moved.component(axis)[...] = beside(grid, share * blurred(area * velocity[:, axis]), axis, 0.5, 0.5)
        weight.component(axis)[...] = beside(grid, near, axis, 0.5, 0.5)
    return _without_divergence(Project(grid, None, moved.dtype), weight, moved)


def _without_divergence(project: Project, weight: Field, moved: Field) -> Field:
    """The field m without divergence with P w m = P moved, nearly."""
    (residual,) = project.forward(moved)
    motion, direction, size = residual.zeros_like(), residual, residual.dot(residual)
    for _ in range(_ROUNDS):
        if size == 0:
            break
        (image,) = project.forward(direction.like(weight.data * direction.data))
        step = size / direction.dot(image)
        motion = motion.add_scaled(step, direction)
        residual = residual.add_scaled(-step, image)
        before, size = size, residual.dot(residual)
        direction = residual.add_scaled(size / before, direction)
    return motion


def _areas(points: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """A third of the triangles around each vertex, m^2."""
    a, b, c = (points[faces[:, k]] for k in range(3))
    area = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 6
    return np.bincount(faces.ravel(), np.repeat(area, 3), len(points))
