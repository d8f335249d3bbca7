"""[[flow]]: target velocities at a frame, on the grid.

Errors are relative to the speed of the target; for rest, to the longest side over the time until the frame.
"""

from __future__ import annotations

import numpy as np

from keyfluid.errors import SceneError
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.problem import Flow, share_of_faces
from keyfluid.scenes.build.keyframes import region
from keyfluid.scenes.schema.scene import FlowEntry, Scene


def place_flow(entry: FlowEntry, scene: Scene, grid: Grid, path: str, dtype: np.dtype) -> Flow:
    """The velocity and its region; faces on walls do not count."""
    time = entry.frame / scene.time.fps
    share = (
        np.ones(grid.cells) if entry.mask is None else region(entry.mask, scene, grid, path, time, np.dtype(np.float64))
    )
    mask = share_of_faces(grid, share, dtype)
    if not np.any(mask.data):
        raise SceneError(f"{path}.mask", "holds no face of the domain; make it larger")
    velocity = Field.zeros(grid, Kind.FACES, dtype)
    for component, speed in zip(velocity.components(), entry.velocity):
        component[...] = speed
    speed = float(np.linalg.norm(entry.velocity)) / grid.dim**0.5
    return Flow(entry.frame, velocity, mask, speed or max(grid.size) / time, entry.weight)
