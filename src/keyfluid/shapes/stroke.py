"""Stroke width of a drawing, to warn if a grid is too coarse for it."""

from __future__ import annotations

import numpy as np
from scipy.ndimage import distance_transform_edt, maximum_filter

from keyfluid.shapes.extrude import Drawing
from keyfluid.shapes.placement import Placement
from keyfluid.shapes.source import OWN_SIZE

_FINE = 768


def stroke_width_cells(
    drawing: Drawing, shape: tuple[int, int], spacing: float, placement: Placement = OWN_SIZE
) -> float:
    """Typical stroke width in cells: twice the median distance to the outline along the strokes' middle.

    Measured on a grid fine enough for thin strokes; the middle is where the distance has a ridge.
    For a body in 3D give the two axes of the plane it is drawn in.
    """
    refine = max(1, round(_FINE / max(shape)))
    fine = (shape[0] * refine, shape[1] * refine)
    inked = drawing.rasterize(fine, spacing / refine, placement) > 0.5
    distance = distance_transform_edt(np.pad(inked, 1))
    ridge = (distance > 0) & (distance >= maximum_filter(distance, 3))
    if not ridge.any():
        return 0.0
    return float((2 * np.median(distance[ridge]) - 0.5) / refine)
