"""The one interface behind keyframes, start shapes, region masks and emitters: something that has density."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np

from keyfluid.shapes.placement import Placement

OWN_SIZE = Placement()


@runtime_checkable
class DensitySource(Protocol):
    """Fills a grid of cubic cells (C order, a[x, y, z], centre of cell i at (i + 1/2) spacing)."""

    def rasterize(
        self, shape: tuple[int, ...], spacing: float, placement: Placement = OWN_SIZE, time: float = 0.0
    ) -> np.ndarray:
        """Mean over each cell of the source's density, float64 in [0, 1]; `time` in seconds."""
        ...

    def bounds(
        self, shape: tuple[int, ...], spacing: float, placement: Placement = OWN_SIZE, time: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Lower and upper corner in metres of the box around what `rasterize` draws; may leave the domain."""
        ...
