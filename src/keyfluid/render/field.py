"""What a picture is made of: densities with a colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from keyfluid.errors import KeyfluidError
from keyfluid.render.colour import Colour


@dataclass(frozen=True)
class ColouredField:
    """A density a[x, y] or a[x, y, z], the colour of its smoke, and the density that counts as full smoke."""

    values: NDArray[np.floating]
    colour: Colour = "#f4f4f2"
    peak: float = 1.0


def stacked(fields: Sequence[ColouredField], dimension: int) -> NDArray[np.float32]:
    """All densities over their peaks, float32 (field, x, y[, z]); what is negative or not finite is 0."""
    if not fields:
        raise KeyfluidError("a picture needs at least one field")
    shape = np.shape(fields[0].values)
    for field in fields:
        if np.shape(field.values) != shape or len(shape) != dimension or 0 in shape:
            raise KeyfluidError(
                f"a field of shape {np.shape(field.values)} can't be drawn here; "
                f"all fields need one shape of {dimension} axes"
            )
        if not (np.isfinite(field.peak) and field.peak > 0):
            raise KeyfluidError(f"a field's peak is {field.peak}; it must be above 0")
    stack = np.stack([np.asarray(field.values, np.float32) / np.float32(field.peak) for field in fields])
    return np.maximum(np.nan_to_num(stack, copy=False, nan=0.0, posinf=0.0), np.float32(0), out=stack)
