"""[wind] on the grid, and the temperature at the start."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from keyfluid.boundary import Boundary
from keyfluid.fields import Field, density
from keyfluid.grid import Grid
from keyfluid.models.wind import Gusts, Wind, whole_air
from keyfluid.problem import share_of_faces
from keyfluid.scenes.build.keyframes import region
from keyfluid.scenes.schema.check_air import open_sides, walls_along
from keyfluid.scenes.schema.scene import Scene, WindEntry

_EDDIES = 1 / 6
"""Size of gusts' eddies, over the longest side."""


def place_wind(index: int, scene: Scene, grid: Grid, dtype: np.dtype) -> Wind:
    """Entry number `index`, whose gusts are its own."""
    entry, fps = scene.wind[index], scene.time.fps
    gusts = None
    if entry.gust > 0:
        size = entry.gust_size if entry.gust_size is not None else _EDDIES * max(grid.size)
        gusts = Gusts(entry.gust, entry.gust_frequency, size, scene.seed + index)
    return Wind(
        velocity=tuple(entry.velocity),
        region=_faces(entry, scene, grid, f"wind[{index}]", dtype),
        rate=entry.rate,
        start=entry.start / fps,
        stop=math.inf if entry.stop is None else entry.stop / fps,
        ramp=entry.ramp / fps,
        gusts=gusts,
    )


def _faces(entry: WindEntry, scene: Scene, grid: Grid, path: str, dtype: np.dtype) -> Field:
    """The share of every face that it blows on; a face on an open side has that of its cell."""
    if entry.mask is None:
        return whole_air(grid, dtype)
    share = region(entry.mask, scene, grid, path, 0.0, np.dtype(np.float64))
    faces = share_of_faces(grid, share, dtype)
    for axis, component in enumerate(faces.components()):
        if grid.boundary[axis] is Boundary.OPEN:
            face, line = np.moveaxis(component, axis, 0), np.moveaxis(share, axis, 0)
            face[0], face[-1] = line[0], line[-1]
    return faces


def wind_warnings(scene: Scene) -> list[str]:
    """A line for every wind that walls hold back in part."""
    lines = []
    for i, entry in enumerate(scene.wind):
        walls, free = walls_along(scene, entry)
        if walls and free and entry.mask is None:
            across = " and ".join(walls)
            lines.append(
                f"wind[{i}].velocity: its component along {across} does nothing between walls; "
                f"set {open_sides(scene, walls)}, or make it 0"
            )
    return lines


def start_temperature(
    grid: Grid, starts: Sequence[tuple[np.ndarray, float]], solid: np.ndarray, dtype: np.dtype
) -> Field:
    """That of the starts, (share of each cell, temperature); the later over the earlier ones."""
    heat = np.zeros(grid.cells)
    for share, warmth in starts:
        heat += share * (warmth - heat)
    return density(grid, np.where(solid, 0.0, heat), dtype)
