"""A liquid's surface as a mesh sequence: mesh/NAME.1001.ply, metres, turned to `output.up`.

Vertices have velocities, vx, vy, vz in m/s, as the meshes of the USD stage have (usd_mesh.py).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

from keyfluid.io.atomic import write_whole
from keyfluid.io.ply import mesh_bytes
from keyfluid.runs.file_velocity import velocity_at
from keyfluid.runs.frames import Frame
from keyfluid.runs.vdb_files import turn_of
from keyfluid.scenes.build.problem import BuiltScene
from keyfluid.shapes.isosurface import isosurface


def surface_mesh(problem: BuiltScene, frame: Frame) -> tuple[np.ndarray, np.ndarray]:
    """Vertices in metres, in the scene's axes, and triangles of a liquid's surface; empty where there is none."""
    assert frame.surface is not None
    return isosurface(frame.surface, problem.grid.spacing)


def moving_mesh(problem: BuiltScene, frame: Frame) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vertices in metres and triangles of a liquid's surface, and the velocity of each vertex in m/s, in the axes of
    files; float32."""
    vertices, triangles = surface_mesh(problem, frame)
    turn = turn_of(problem)
    velocities = velocity_at(problem, frame, vertices) @ turn.T
    return (vertices @ turn.T).astype(np.float32), triangles.astype(np.int32), velocities.astype(np.float32)


def write_mesh(path: Path, problem: BuiltScene, frame: Frame) -> None:
    """The surface of one frame; an empty mesh where there is no liquid."""
    vertices, triangles, velocities = moving_mesh(problem, frame)
    comments = {"creator": "keyfluid", "frame": frame.index, "time": frame.meta["time"], "fps": problem.fps}
    content = mesh_bytes(vertices, triangles, comments, velocities)
    write_whole(path, lambda file: file.write(content))
