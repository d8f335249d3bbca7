"""Shapes of our own for the spacetime results: signed distances in a box whose longest side is 1, made to one mass."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

Distance = Callable[..., np.ndarray]


def ellipse(center: Sequence[float], radii: Sequence[float], turn: float = 0.0) -> Distance:
    """Close to the distance near its border, which is all that counts."""
    c, s = np.cos(turn), np.sin(turn)

    def distance(x: np.ndarray, y: np.ndarray) -> np.ndarray:
        dx, dy = x - center[0], y - center[1]
        a, b = (c * dx + s * dy) / radii[0], (c * dy - s * dx) / radii[1]
        return (np.hypot(a, b) - 1.0) * min(radii)

    return distance


def capsule(start: Sequence[float], end: Sequence[float], radius: float) -> Distance:
    def distance(*x: np.ndarray) -> np.ndarray:
        way = [e - s for s, e in zip(start, end)]
        length = sum(w * w for w in way) + 1e-12
        t = np.clip(sum(w * (q - s) for w, q, s in zip(way, x, start)) / length, 0.0, 1.0)
        return np.sqrt(sum((q - s - t * w) ** 2 for w, q, s in zip(way, x, start))) - radius

    return distance


def ring(center: Sequence[float], radius: float, thickness: float) -> Distance:
    """A torus in the xy plane."""

    def distance(x: np.ndarray, y: np.ndarray, z: np.ndarray) -> np.ndarray:
        around = np.hypot(x - center[0], y - center[1]) - radius
        return np.hypot(around, z - center[2]) - thickness

    return distance


def ball(center: Sequence[float], radius: float) -> Distance:
    return lambda *x: np.sqrt(sum((q - c) ** 2 for q, c in zip(x, center))) - radius


def union(*parts: Distance) -> Distance:
    return lambda *x: np.minimum.reduce([part(*x) for part in parts])


DISK = ball((0.5, 0.5), 0.2)
TWO_DISKS = union(ball((0.3, 0.5), 0.14), ball((0.7, 0.5), 0.14))
BUNNY = union(
    ellipse((0.5, 0.38), (0.17, 0.14)),
    ellipse((0.66, 0.55), (0.10, 0.085)),
    ellipse((0.60, 0.73), (0.035, 0.13), 0.25),
    ellipse((0.68, 0.73), (0.035, 0.13), -0.1),
    ellipse((0.32, 0.36), (0.05, 0.05)),
    ellipse((0.60, 0.25), (0.09, 0.04)),
)
BIRD = union(
    ellipse((0.5, 0.47), (0.2, 0.08), 0.15),
    ellipse((0.70, 0.56), (0.07, 0.06)),
    capsule((0.76, 0.56), (0.83, 0.55), 0.015),
    ellipse((0.43, 0.62), (0.06, 0.17), 0.5),
    capsule((0.32, 0.44), (0.20, 0.40), 0.035),
)


def torus(z: float) -> Distance:
    return ring((0.5, 0.5, z), 0.22, 0.07)


def eight(z: float) -> Distance:
    return union(ring((0.5, 0.34, z), 0.14, 0.055), ring((0.5, 0.66, z), 0.14, 0.055))


def puncher(t: float) -> Distance:
    """A figure that steps forward and punches, t from 0 to 1: own motion, in the manner of the paper's figure 11."""
    lean, reach = 0.06 * t, 0.24 * np.sin(0.5 * np.pi * t)
    hip, chest, head = (0.45 + lean, 0.42, 0.5), (0.47 + 1.5 * lean, 0.62, 0.5), (0.48 + 1.8 * lean, 0.77, 0.5)
    fist = (chest[0] + 0.10 + reach, 0.62, 0.42)
    elbow = ((chest[0] + fist[0]) / 2, 0.56 + 0.05 * t, 0.42)
    back = (chest[0] - 0.02, 0.50, 0.60)
    return union(
        capsule(hip, chest, 0.075),
        ball(head, 0.075),
        capsule((chest[0], 0.64, 0.43), elbow, 0.04),
        capsule(elbow, fist, 0.045),
        capsule((chest[0], 0.64, 0.57), back, 0.04),
        capsule((hip[0], hip[1], 0.46), (0.52 + 2 * lean, 0.16, 0.45), 0.05),
        capsule((hip[0], hip[1], 0.54), (0.36, 0.16, 0.55), 0.05),
    )


def drawn(shape: Distance, cells: Sequence[int], mass: float | None = None) -> np.ndarray:
    """Coverage on a grid; grown or shrunk along its normals until it has the mass (in cells) asked for."""
    longest = max(cells)
    distance = longest * shape(*np.meshgrid(*((np.arange(n) + 0.5) / longest for n in cells), indexing="ij"))
    low, high = -0.3 * longest, 0.3 * longest
    if mass is None:
        return np.clip(0.5 - distance, 0, 1).astype(np.float32)
    for _ in range(60):
        middle = 0.5 * (low + high)
        if np.clip(0.5 - (distance - middle), 0, 1).sum() > mass:
            high = middle
        else:
            low = middle
    return np.clip(0.5 - (distance - low), 0, 1).astype(np.float32)
