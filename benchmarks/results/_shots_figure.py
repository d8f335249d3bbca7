"""A man of capsules who throws a punch, as a sequence of OBJ files: one pose per frame.

Joints hang on each other (hips, chest, shoulders, elbows, hands; knees, feet) and are turned in the plane z = const,
except the shoulders, which twist about the spine. Metres, y up, facing +x.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import trimesh
from _particles_assets import Bone, mesh_of


def write_punch(folder: Path, frames: int) -> str:
    """Poses 0 to `frames`; returns the name pattern that a scene's `mesh` takes."""
    folder.mkdir(parents=True, exist_ok=True)
    for frame in range(frames + 1):
        vertices, faces, _, _ = mesh_of(pose(frame / frames))
        trimesh.Trimesh(vertices, faces, process=False).export(folder / f"punch.{frame:04d}.obj")
    return str(folder / "punch.####.obj")


def pose(t: float) -> list[Bone]:
    """The man at t in 0 to 1: a step forward with the left foot, and a straight right."""
    reach = _smooth((t - 0.08) / 0.84)
    lean, twist = 0.06 + 0.20 * reach, 0.9 - 1.5 * reach
    hip = np.array([-0.06 + 0.08 * reach, 0.42, 0.0])
    chest = hip + 0.23 * _direction(np.pi / 2 - lean)
    head = chest + 0.17 * _direction(np.pi / 2 - 0.5 * lean)
    bones = [_bone(hip, chest, 0.095), _bone(head, head + _offset(0.01, 0.02, 0.0), 0.075)]
    for side in (1.0, -1.0):
        right = side < 0
        across = np.array([np.sin(twist), 0.0, np.cos(twist)]) * side
        shoulder = chest + 0.13 * across + _offset(0.0, 0.01, 0.0)
        out = reach if right else 1 - 0.6 * reach
        upper, lower = -1.25 + 1.25 * out, 1.5 * (1 - out) + 0.05 if right else 1.7
        elbow = shoulder + 0.16 * _direction(upper)
        hand = elbow + 0.17 * _direction(upper + lower)
        thigh_hip = hip + _offset(0.0, -0.01, 0.08 * side)
        stride = 0.45 * (1 - 2 * right) * (0.5 + 0.5 * reach)
        knee = thigh_hip + 0.19 * _direction(-np.pi / 2 + stride + 0.15)
        foot = knee + 0.19 * _direction(-np.pi / 2 + stride - (0.15 if not right else 0.25))
        bones += [
            _bone(chest, shoulder, 0.07), _bone(shoulder, elbow, 0.056), _bone(elbow, hand, 0.052),
            _bone(hand, hand + 0.01 * _direction(upper + lower), 0.062),
            _bone(thigh_hip, knee, 0.07), _bone(knee, foot, 0.056),
            _bone(foot, foot + _offset(0.05, -0.005, 0.0), 0.05),
        ]  # fmt: skip
    return bones


def _smooth(x: float) -> float:
    x = min(max(x, 0.0), 1.0)
    return x * x * (3 - 2 * x)


def _offset(x: float, y: float, z: float) -> np.ndarray:
    return np.array([x, y, z])


def _direction(angle: float) -> np.ndarray:
    """Of an angle from +x towards +y."""
    return np.array([np.cos(angle), np.sin(angle), 0.0])


def _bone(start: np.ndarray, end: np.ndarray, radius: float) -> Bone:
    return Bone("", tuple(float(v) for v in start), tuple(float(v) for v in end), radius)  # type: ignore[arg-type]
