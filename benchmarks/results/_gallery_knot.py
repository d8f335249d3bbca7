"""Makes the bundled knot.obj: `python benchmarks/results/_gallery_knot.py` rewrites it in the gallery.

A tube around the trefoil curve (sin t + 2 sin 2t, cos t - 2 cos 2t, -sin 3t). The frame of its rings is carried along
the curve without turning about it; what is missing at the end to close the tube is spread evenly over the rings.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

FILE = Path(__file__).resolve().parents[2] / "src" / "keyfluid" / "gallery" / "knot.obj"
RINGS, SIDES = 90, 12
RADIUS = 0.82
"""Of the tube, in units of the curve."""
WIDTH = 0.5
"""Of the whole knot along x, metres."""
HEAD = """\
# A trefoil knot, 0.5 m across: a tube around (sin t + 2 sin 2t, cos t - 2 cos 2t, -sin 3t).
# Made for keyfluid; Apache-2.0 like the rest.
"""


def knot() -> str:
    """The text of knot.obj."""
    t = 2 * np.pi * np.arange(RINGS + 1) / RINGS
    curve = np.stack([np.sin(t) + 2 * np.sin(2 * t), np.cos(t) - 2 * np.cos(2 * t), -np.sin(3 * t)], axis=1)
    tangent = np.stack([np.cos(t) + 4 * np.cos(2 * t), -np.sin(t) + 4 * np.sin(2 * t), -3 * np.cos(3 * t)], axis=1)
    tangent /= np.linalg.norm(tangent, axis=1, keepdims=True)
    first = np.empty_like(tangent)
    first[0] = _unit(np.cross(tangent[0], [0.0, 0.0, 1.0]))
    for ring in range(RINGS):
        first[ring + 1] = _unit(first[ring] - tangent[ring + 1] * (first[ring] @ tangent[ring + 1]))
    second = np.cross(tangent, first)
    turned = np.arctan2(first[-1] @ second[0], first[-1] @ first[0])

    angle = 2 * np.pi * np.arange(SIDES) / SIDES - turned * np.arange(RINGS)[:, None] / RINGS
    around = np.cos(angle)[..., None] * first[:-1, None] + np.sin(angle)[..., None] * second[:-1, None]
    points = (curve[:-1, None] + RADIUS * around).reshape(-1, 3)
    low, high = points.min(axis=0), points.max(axis=0)
    points = (points - (low + high) / 2) * WIDTH / (high - low)[0]

    lines = [f"v {x:.4f} {y:.4f} {z:.4f}\n" for x, y, z in points]
    for ring in range(RINGS):
        here, after = ring * SIDES, (ring + 1) % RINGS * SIDES
        for side in range(SIDES):
            other = (side + 1) % SIDES
            lines.append(f"f {here + side + 1} {here + other + 1} {after + other + 1} {after + side + 1}\n")
    return HEAD + "".join(lines)


def _unit(vector: np.ndarray) -> np.ndarray:
    return vector / np.linalg.norm(vector)


if __name__ == "__main__":
    FILE.write_text(knot(), encoding="utf-8")
