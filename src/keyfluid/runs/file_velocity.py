"""Velocities as files have them: of a liquid also beyond its surface, where renderers and interpolation read them.

A frame's velocity is what a step left: beyond the surface that of the liquid that was near, and at the start zero, as
only bodies were given one. Files have the velocity of the nearest liquid there (operators/extrapolate.py).
"""

from __future__ import annotations

import numpy as np

from keyfluid.fields import Field
from keyfluid.grid import Kind
from keyfluid.operators.extrapolate import ExtrapolateVelocity
from keyfluid.runs.frames import Frame
from keyfluid.runs.pictures import centred
from keyfluid.scenes.build.problem import BuiltScene


def file_velocity(problem: BuiltScene, frame: Frame) -> Field:
    """On faces, m/s, in the scene's axes."""
    if frame.surface is None:
        return frame.velocity
    surface = Field.of(problem.grid, Kind.CENTRES, frame.surface, dtype=frame.velocity.dtype)
    solids = problem.solids(frame.index / problem.fps)
    return ExtrapolateVelocity(problem.grid, solids).forward(frame.velocity, surface)[0]


def velocity_at(problem: BuiltScene, frame: Frame, points: np.ndarray) -> np.ndarray:
    """(n, 3), m/s, at points (n, 3) of the domain in metres: linear between cell centres."""
    from scipy.ndimage import map_coordinates

    where = points.T / problem.grid.spacing - 0.5
    parts = [
        map_coordinates(part.astype(np.float64), where, order=1, mode="nearest")
        for part in centred(file_velocity(problem, frame))
    ]
    return np.stack(parts, axis=-1)
