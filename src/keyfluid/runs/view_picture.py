"""A frame of a 3D run as a [[picture]] sees it: a grey picture to paint over."""

from __future__ import annotations

import numpy as np

from keyfluid.fields import density
from keyfluid.grid import Grid
from keyfluid.scenes.build.pictures import upright, view_of

VIEWS = ("+x", "-x", "+y", "-y", "+z", "-z")
_LEAST_PIXELS = 256


def view_picture(grid: Grid, smoke: np.ndarray, view: str, extinction: float | None) -> np.ndarray:
    """uint8 pixels [row from the top, column]: whole pixels per cell, at least 256 along the shorter side."""
    pixels = upright(view, view_of(grid, view, extinction).picture(density(grid, smoke)))
    scale = -(-_LEAST_PIXELS // min(pixels.shape))
    grey = np.round(255 * np.clip(pixels, 0, 1)).astype(np.uint8).T[::-1]
    return np.repeat(np.repeat(grey, scale, 0), scale, 1)
