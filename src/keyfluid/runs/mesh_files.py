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


def write_mesh(path: Path, problem: BuiltScene, frame: Frame) -> None:
    """The surface of one frame; an empty mesh where there is no liquid."""
    assert frame.surface is not None
    vertices, triangles = isosurface(frame.surface, problem.grid.spacing)
    vertices = vertices @ turn_of(problem).T
    comments = {"creator": "keyfluid", "frame": frame.index, "time": frame.meta["time"], "fps": problem.fps}
    content = mesh_bytes(vertices.astype(np.float32), triangles.astype(np.int32), comments)
    write_whole(path, lambda file: file.write(content))
