"""A man of capsules who throws a punch, or runs, as a sequence of OBJ files: one pose per frame.

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
    return _write(folder, "punch", [pose(frame / frames) for frame in range(frames + 1)])


def write_run(folder: Path, frames: int, strides: int = 2) -> str:
    """Poses 0 to `frames`: whole strides on the spot, each with both legs."""
    return _write(folder, "run", [running(strides * frame / frames) for frame in range(frames + 1)])


def _write(folder: Path, name: str, poses: list[list[Bone]]) -> str:
    folder.mkdir(parents=True, exist_ok=True)
    for frame, bones in enumerate(poses):
        vertices, faces, _, _ = mesh_of(bones)
        trimesh.Trimesh(vertices, faces, process=False).export(folder / f"{name}.{frame:04d}.obj")
    return str(folder / f"{name}.####.obj")


def running(t: float) -> list[Bone]:
    """The man after t strides: he leans forward and bobs twice in a stride; a knee bends while its leg comes forward,
    and an arm swings against the leg of its side."""
    phase, lean = 2 * np.pi * t, 0.18
    hip = np.array([-0.03, 0.47 + 0.012 * np.cos(2 * phase), 0.0])
    chest = hip + 0.22 * _direction(np.pi / 2 - lean)
    head = chest + 0.18 * _direction(np.pi / 2 - 0.6 * lean)
    bones = [_bone(hip, chest, 0.1), _bone(head, head + _offset(0.01, 0.02, 0.0), 0.078)]
    for side, own in ((1.0, phase), (-1.0, phase + np.pi)):
        thigh = 0.15 + 0.55 * np.sin(own)
        bent = 0.25 + 0.55 * (1 + np.cos(own))
        swing = -0.1 - 0.6 * np.sin(own)
        shoulder = chest + _offset(0.0, 0.01, 0.14 * side)
        elbow = shoulder + 0.15 * _direction(-np.pi / 2 + swing)
        hand = elbow + 0.15 * _direction(-np.pi / 2 + swing + 1.3)
        socket = hip + _offset(0.0, -0.01, 0.085 * side)
        knee = socket + 0.2 * _direction(-np.pi / 2 + thigh)
        foot = knee + 0.2 * _direction(-np.pi / 2 + thigh - bent)
        toe = foot + 0.05 * _direction(thigh - bent)
        bones += [
            _bone(chest, shoulder, 0.072), _bone(shoulder, elbow, 0.058), _bone(elbow, hand, 0.054),
            _bone(socket, knee, 0.076), _bone(knee, foot, 0.062), _bone(foot, toe, 0.054),
        ]  # fmt: skip
    return bones


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
