# SPDX-License-Identifier: GPL-3.0-or-later
"""How an object moves, from samples of it: at rest, rigid along a path, or deforming."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class Sample:
    """An object at a frame; matrix: 4 x 4, from its own coordinates to those of the domain."""

    frame: int
    vertices: np.ndarray
    triangles: np.ndarray
    matrix: np.ndarray

    @property
    def placed(self) -> np.ndarray:
        """Vertices in the domain's coordinates, metres."""
        return self.vertices @ self.matrix[:3, :3].T + self.matrix[:3, 3]


@dataclass(frozen=True, eq=False)
class Rigid:
    """One body in its own axes, metres, and its poses: (frame, 4 x 4 matrix without scale)."""

    vertices: np.ndarray
    triangles: np.ndarray
    poses: list[tuple[int, np.ndarray]]


def at_rest(samples: Sequence[Sample], tolerance: float = 1e-6) -> bool:
    first = samples[0]
    return all(_same(sample, first) and _near(sample.placed, first.placed, tolerance) for sample in samples)


def rigid(samples: Sequence[Sample], tolerance: float = 1e-5) -> Rigid | None:
    """None where it deforms, or changes its size."""
    first = samples[0]
    if not all(_same(sample, first) and _near(sample.vertices, first.vertices, tolerance) for sample in samples):
        return None
    turns = [_polar(sample.matrix[:3, :3]) for sample in samples]
    stretch = turns[0][1]
    if not all(_near(other, stretch, tolerance) for _, other in turns):
        return None
    poses = []
    for sample, (turn, _) in zip(samples, turns):
        pose = np.eye(4)
        pose[:3, :3], pose[:3, 3] = turn, sample.matrix[:3, 3]
        poses.append((sample.frame, pose))
    return Rigid(first.vertices @ stretch.T, first.triangles, poses)


def euler_path(turns: Sequence[np.ndarray]) -> list[list[float]]:
    """Degrees about the fixed x, then y, then z axis, each set nearest to the one before: no jumps on the way."""
    found: list[list[float]] = []
    for turn in turns:
        y = np.arcsin(np.clip(-turn[2, 0], -1, 1))
        if abs(turn[2, 0]) < 0.999999:
            x, z = np.arctan2(turn[2, 1], turn[2, 2]), np.arctan2(turn[1, 0], turn[0, 0])
        else:
            x, z = np.arctan2(-turn[1, 2], turn[1, 1]), 0.0
        angles = np.degrees([x, y, z])
        other = np.array([angles[0] + 180, 180 - angles[1], angles[2] + 180])
        if found:
            before = np.array(found[-1])
            angles, other = (each + 360 * np.round((before - each) / 360) for each in (angles, other))
            if np.abs(other - before).sum() < np.abs(angles - before).sum():
                angles = other
        found.append([float(angle) for angle in angles])
    return found


def _same(one: Sample, other: Sample) -> bool:
    return np.array_equal(one.triangles, other.triangles) and one.vertices.shape == other.vertices.shape


def _near(one: np.ndarray, other: np.ndarray, tolerance: float) -> bool:
    size = max(float(np.abs(other).max(initial=0.0)), 1e-9)
    return bool(np.abs(one - other).max(initial=0.0) <= tolerance * size)


def _polar(matrix: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """matrix = turn @ stretch, turn without mirroring."""
    left, scale, right = np.linalg.svd(matrix)
    turn = left @ right
    stretch = right.T @ np.diag(scale) @ right
    if np.linalg.det(turn) < 0:
        turn, stretch = -turn, -stretch
    return turn, stretch
