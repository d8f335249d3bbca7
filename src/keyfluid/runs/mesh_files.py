"""A liquid's surface as a mesh sequence: mesh/NAME.1001.ply, metres, turned to `output.up`."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from keyfluid.io.atomic import write_whole
from keyfluid.io.ply import mesh_bytes
from keyfluid.runs.frames import Frame
from keyfluid.runs.vdb_files import turn_of
from keyfluid.scenes.build.problem import BuiltScene
from keyfluid.shapes.isosurface import isosurface


def surface_mesh(problem: BuiltScene, frame: Frame) -> tuple[np.ndarray, np.ndarray]:
    """Vertices in metres, in the scene's axes, and triangles of a liquid's surface; empty where there is none."""
    assert frame.surface is not None
    return isosurface(frame.surface, problem.grid.spacing)


def write_mesh(path: Path, problem: BuiltScene, frame: Frame) -> None:
    """The surface of one frame; an empty mesh where there is no liquid."""
    vertices, triangles = surface_mesh(problem, frame)
    vertices = vertices @ turn_of(problem).T
    comments = {"creator": "keyfluid", "frame": frame.index, "time": frame.meta["time"], "fps": problem.fps}
    content = mesh_bytes(vertices.astype(np.float32), triangles.astype(np.int32), comments)
    write_whole(path, lambda file: file.write(content))
