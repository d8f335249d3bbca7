"""Markers as a PLY sequence: ply/NAME.1001.ply, metres, with velocity (m/s) and colour per point."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from keyfluid.io.atomic import write_whole
from keyfluid.io.ply import ply_bytes
from keyfluid.render.colour import to_srgb
from keyfluid.runs.frames import Frame
from keyfluid.runs.marker_pictures import MarkerPainter
from keyfluid.scenes.build.problem import BuiltScene


def write_points(path: Path, problem: BuiltScene, frame: Frame) -> None:
    """The markers of one frame, all kinds of smoke one after the other."""
    names = list(problem.densities)
    position = np.concatenate([frame.particles[f"{name}.markers"] for name in names], axis=1)
    velocity = np.concatenate([frame.particles[f"{name}.markers_before"] for name in names], axis=1)
    colour = np.round(to_srgb(MarkerPainter(problem).cloud(frame).colour) * 255).astype(np.uint8)
    columns = dict(zip(("x", "y", "z", "vx", "vy", "vz"), (*position, *velocity)))
    columns |= dict(zip(("red", "green", "blue"), colour.T))
    comments = {"creator": "keyfluid", "frame": frame.index, "time": frame.meta["time"], "fps": problem.fps}
    content = ply_bytes(columns, comments)
    write_whole(path, lambda file: file.write(content))
