"""[[picture]]: how the smoke should look from one side, on the grid.

A picture stands upright before the viewer. What is right and up in it, by where the viewer stands:

    view   right  up          view   right  up
    +z      x      y          -z      -x     y
    +x     -z      y          -x       z     y
    +y      x     -z          -y       x     z
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.grid import Grid
from keyfluid.operators.glow import Glow
from keyfluid.problem import Picture
from keyfluid.scenes.schema.scene import PictureEntry, Scene
from keyfluid.shapes.image import load_brightness
from keyfluid.shapes.resample import overlap_weights

EXTINCTION = 6.0
"""Extinction of smoke of density 1 over the longest side. The pictures of a run have 32: there smoke a third of the
domain deep is all white, so paint on it has no effect and no gradient; here such smoke has 0.86."""

_AXES = {"z": ((0, 1), (1, 1)), "x": ((2, -1), (1, 1)), "y": ((0, 1), (2, -1))}
_ASPECT = 0.03
_GREY_LEVEL = 1 / 255


def view_of(grid: Grid, view: str, extinction: float | None) -> Glow:
    """The rays of a view such as "+z" (the viewer stands beyond the upper end of z)."""
    kappa = EXTINCTION / max(grid.size) if extinction is None else extinction
    return Glow(grid, "xyz".index(view[1]), view[0] == "+", kappa)


def _turned(view: str) -> tuple[tuple[int, int], tuple[int, int]]:
    """(axis, sign) of right and of up."""
    (right, sign), up = _AXES[view[1]]
    if view == "-y":
        return (0, 1), (2, 1)
    return (right, sign if view[0] == "+" else -sign), up


def upright(view: str, brightness: np.ndarray) -> np.ndarray:
    """A picture in the order of the grid as pixels[right, up] for the viewer."""
    (right, right_sign), (up, up_sign) = _turned(view)
    pixels = brightness if right < up else brightness.T
    return pixels[::right_sign, ::up_sign]


def averaged(path: Path, cells: Sequence[int], size: Sequence[float], what: str) -> np.ndarray:
    """The brightness of a picture of `what`, which is `size` metres, averaged over its cells."""
    pixels = load_brightness(path)
    aspect, wanted = pixels.shape[0] / pixels.shape[1], size[0] / size[1]
    if abs(aspect / wanted - 1) > _ASPECT:
        raise KeyfluidError(
            f"{path} is {pixels.shape[0]} x {pixels.shape[1]} pixels; {what} is {size[0]:g} x {size[1]:g} m: crop or "
            "pad it to that shape"
        )
    return averaged_over(pixels, cells)


def averaged_over(values: np.ndarray, cells: Sequence[int]) -> np.ndarray:
    """Means of an array over cells that fill the same box."""
    for axis, count in enumerate(cells):
        weights = overlap_weights(0.0, count / values.shape[axis], values.shape[axis], 1.0, count)
        values = np.moveaxis(np.tensordot(weights, values, (1, axis)), 0, axis)
    return np.ascontiguousarray(values)


def place_picture(entry: PictureEntry, scene: Scene, grid: Grid) -> Picture:
    """Read a picture and average it over the cells it is compared with."""
    if grid.dim == 2:
        raise KeyfluidError("pictures are of 3D scenes; in 2D give the image as a [[keyframe]]")
    (right, right_sign), (up, up_sign) = _turned(entry.view)
    cells, size = (grid.cells[right], grid.cells[up]), (grid.size[right], grid.size[up])
    pixels = averaged(Path(entry.image), cells, size, f"seen from {entry.view} the domain")
    pixels = pixels[::right_sign, ::up_sign]
    view = view_of(grid, entry.view, entry.extinction)
    full = 1.0 - float(np.exp(-view.extinction * grid.size[view.axis]))
    if pixels.max() > full + _GREY_LEVEL:
        raise KeyfluidError(
            f"is as bright as {pixels.max():.3g}; smoke of density 1 all through the domain reaches {full:.3g}: darken "
            "it or raise extinction"
        )
    ordered = pixels if right < up else pixels.T
    return Picture(entry.frame, scene.field_of(entry), view, np.ascontiguousarray(ordered), entry.weight)
