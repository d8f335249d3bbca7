"""Smoke on a grid, moved, twisted or bent: values are read where they came from, linearly between cells.

twist   about the upright axis through the middle of the smoke, counter-clockwise, by an angle that rises evenly
        from 0 at its lower end
bend    its upright middle line becomes an arc that starts upright and leans towards x; lengths along it stay
move    along the axes
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

_FAINT = 1e-3
"""Share of the peak below which smoke is ignored when its ends are found."""


def deformed(
    values: np.ndarray, spacing: float, up: int, move: Sequence[float] | None, twist: float, bend: float
) -> np.ndarray:
    """`values` twisted, then bent (degrees), then moved (metres)."""
    from scipy.ndimage import map_coordinates

    if not values.any():
        return values
    places = list(np.meshgrid(*[np.arange(n, dtype=float) for n in values.shape], indexing="ij"))
    for axis, distance in enumerate(move or ()):
        places[axis] = places[axis] - distance / spacing
    low, high, middle = _extent(values, up)
    if bend:
        places = _unbent(places, up, low, high, middle, math.radians(bend))
    if twist:
        places = _untwisted(places, up, low, high, middle, math.radians(twist))
    found = map_coordinates(values, places, order=1, mode="grid-constant", cval=0.0)
    return np.maximum(found, 0.0)


def _extent(values: np.ndarray, up: int) -> tuple[float, float, np.ndarray]:
    """Lower and upper end along the upright axis, and the centre of mass, in cells."""
    solid = values > _FAINT * values.max()
    heights = np.flatnonzero(solid.any(axis=tuple(axis for axis in range(values.ndim) if axis != up)))
    total = float(values.sum())
    lines = np.meshgrid(*[np.arange(n, dtype=float) for n in values.shape], indexing="ij")
    middle = np.array([float((line * values).sum()) / total for line in lines])
    return float(heights[0]), float(max(heights[-1], heights[0] + 1)), middle


def _untwisted(
    places: list[np.ndarray], up: int, low: float, high: float, middle: np.ndarray, angle: float
) -> list[np.ndarray]:
    turn = -angle * np.clip((places[up] - low) / (high - low), 0.0, 1.0)
    a, b = (up + 1) % 3, (up + 2) % 3
    across, deep = places[a] - middle[a], places[b] - middle[b]
    found = list(places)
    found[a] = middle[a] + np.cos(turn) * across - np.sin(turn) * deep
    found[b] = middle[b] + np.sin(turn) * across + np.cos(turn) * deep
    return found


def _unbent(
    places: list[np.ndarray], up: int, low: float, high: float, middle: np.ndarray, angle: float
) -> list[np.ndarray]:
    """The arc's centre lies a radius (of the bend) to the side of the lower end."""
    radius = (high - low) / angle
    away, rise = middle[0] + radius - places[0], places[up] - low
    sign = math.copysign(1.0, radius)
    turned = np.arctan2(sign * rise, sign * away)
    distance = sign * np.hypot(away, rise)
    found = list(places)
    bent = (rise > 0) & (np.abs(turned) <= abs(angle))
    found[0] = np.where(bent, middle[0] + radius - distance, places[0])
    found[up] = np.where(bent, low + np.abs(turned) * abs(radius), places[up])
    # Beyond the arc's end it continues straight, along the end's tangent.
    beyond = (rise > 0) & ~bent
    ca, sa = math.cos(angle), math.sin(angle)
    dx = places[0] - (middle[0] + radius * (1 - ca))
    dy = places[up] - (low + radius * sa)
    found[0] = np.where(beyond, middle[0] + ca * dx - sa * dy, found[0])
    found[up] = np.where(beyond, high + sa * dx + ca * dy, found[up])
    return found
