"""Obstacles and targets of a run as USD meshes.

A rigid obstacle is one mesh and, where it moves, a matrix for each frame; one that deforms has points for each frame.
A target is the surface at half its peak density, a guide that is visible at its keyframe only.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from keyfluid.io.usd import Prim, Samples
from keyfluid.models.liquid import SURFACE
from keyfluid.runs.vdb_files import turn_of
from keyfluid.scenes.build.deforming import DeformingBody
from keyfluid.scenes.build.obstacles import MovingBody
from keyfluid.scenes.build.problem import BuiltScene
from keyfluid.shapes import AnalyticShape
from keyfluid.shapes.isosurface import isosurface
from keyfluid.shapes.placement import domain_of

_CELLS = 24
"""Along the longest side of a named shape, when its surface is found."""

Code = Callable[[int], int]


def obstacle_prims(problem: BuiltScene, indices: Sequence[int], code: Code, material: str) -> list[Prim]:
    """One mesh per obstacle, named by its number in the scene."""
    turn, found = turn_of(problem), []
    for number, body in enumerate(problem.solids.bodies):
        if isinstance(body, DeformingBody):
            found.append(_deforming(f"obstacle_{number}", problem, body, indices, code).bind(material))
            continue
        vertices, triangles = _rest_mesh(problem, body)
        prim = _mesh(f"obstacle_{number}", vertices @ turn.T, triangles).bind(material)
        if body.moves:
            matrices = {code(index): _matrix(body, index / problem.fps, turn) for index in indices}
            prim.set("matrix4d xformOp:transform", Samples(matrices))
            prim.set("uniform token[] xformOpOrder", ["xformOp:transform"])
        found.append(prim)
    return found


def target_prims(problem: BuiltScene, indices: Sequence[int], code: Code) -> list[Prim]:
    """One mesh per keyframe that the frames hold."""
    turn, found = turn_of(problem), []
    for number, key in enumerate(problem.keyframes):
        if key.frame not in indices:
            continue
        values = problem.fluid.wanted(problem, key)
        phi = values if problem.fluid.drawn_as == SURFACE else 0.5 * float(values.max()) - values
        vertices, triangles = isosurface(phi if phi.ndim == 3 else phi[:, :, None], problem.grid.spacing)
        prim = _mesh(f"target_{number}", vertices @ turn.T, triangles).set("uniform token purpose", "guide")
        seen = {code(0): "invisible", code(key.frame): "inherited", code(key.frame) + 1: "invisible"}
        found.append(prim.set("token visibility", Samples(seen)))
    return found


def _mesh(name: str, vertices: np.ndarray, triangles: np.ndarray) -> Prim:
    prim = Prim("Mesh", name).set("uniform token subdivisionScheme", "none")
    prim.set("int[] faceVertexCounts", np.full(len(triangles), 3)).set("int[] faceVertexIndices", triangles.ravel())
    prim.set("point3f[] points", vertices)
    ends = np.array([vertices.min(axis=0), vertices.max(axis=0)]) if len(vertices) else np.zeros((2, 3))
    return prim.set("float3[] extent", ends)


def _deforming(name: str, problem: BuiltScene, body: DeformingBody, indices: Sequence[int], code: Code) -> Prim:
    """The surface of every frame."""
    turn = turn_of(problem)
    poses = {code(index): body.surface(index / problem.fps) for index in indices}
    points = {time: vertices @ turn.T for time, (vertices, _) in poses.items()}
    prim = Prim("Mesh", name).set("uniform token subdivisionScheme", "none")
    prim.set("int[] faceVertexCounts", Samples({time: np.full(len(faces), 3) for time, (_, faces) in poses.items()}))
    prim.set("int[] faceVertexIndices", Samples({time: faces.ravel() for time, (_, faces) in poses.items()}))
    prim.set("point3f[] points", Samples(points))
    ends = {time: np.array([each.min(axis=0), each.max(axis=0)]) for time, each in points.items()}
    return prim.set("float3[] extent", Samples(ends))


def _rest_mesh(problem: BuiltScene, body: MovingBody) -> tuple[np.ndarray, np.ndarray]:
    """The surface at the body's first pose, in metres."""
    grid, source = problem.grid, body.source
    domain = domain_of(grid.cells, grid.spacing)
    if not isinstance(source, AnalyticShape):
        return source.transform(domain, body.placement).to_world(source.vertices), source.faces
    lower, upper = source.bounds(grid.cells, grid.spacing, body.placement)
    step = float(np.max(upper - lower)) / _CELLS
    cells = np.ceil((upper - lower) / step).astype(int) + 2
    axes = [low - step + (np.arange(n) + 0.5) * step for low, n in zip(lower, cells)]
    phi = source.signed_distance(np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1), domain, body.placement)
    if grid.dim == 3:
        vertices, triangles = isosurface(phi, step)
        return vertices + lower - step, triangles
    vertices, triangles = isosurface(phi[:, :, None], step)
    slab = np.array([1.0, 1.0, grid.spacing / step])
    return vertices * slab + [*(lower - step), 0.0], triangles


def _matrix(body: MovingBody, time: float, turn: np.ndarray) -> tuple[tuple[float, ...], ...]:
    """From the first pose to that of a time, in the axes of files: x -> c(t) + R(t) (x - c(0))."""
    now = body.pose(time)
    rotation, middle, place = np.eye(3), np.zeros(3), np.zeros(3)
    dim = len(now.center)
    rotation[:dim, :dim] = now.turn
    middle[:dim], place[:dim] = body.rest_center, now.center
    move = place - rotation @ middle
    rows = np.eye(4)
    rows[:3, :3], rows[3, :3] = turn @ rotation.T @ turn.T, turn @ move
    return tuple(tuple(row) for row in rows.tolist())
