"""The staggered grid: how many cells, how large, and where values live (docs/notation.md has a drawing)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from keyfluid.boundary import Boundary, boundaries
from keyfluid.errors import KeyfluidError

Place = tuple[bool, ...]
"""Per axis: True where values sit on the planes between cells, False where they sit midway between planes."""


class Kind(StrEnum):
    """A family of places on the grid; a field of a kind has one component for each of them."""

    CENTRES = "centres"  # density, pressure, temperature
    FACES = "faces"  # velocity, force: component a on the faces across axis a
    EDGES = "edges"  # vector potential: component a on edges along a; in 2D the stream function at corners

    def places(self, dim: int) -> tuple[Place, ...]:
        if self is Kind.CENTRES:
            return ((False,) * dim,)
        if self is Kind.FACES:
            return tuple(tuple(axis == a for axis in range(dim)) for a in range(dim))
        if dim == 2:
            return ((True, True),)
        return tuple(tuple(axis != a for axis in range(3)) for a in range(3))


class Layout(NamedTuple):
    """How the components of a kind lie in one flat buffer."""

    places: tuple[Place, ...]
    shapes: tuple[tuple[int, ...], ...]
    parts: tuple[slice, ...]
    total: int

    def lattice(self, part: int) -> tuple[int, np.ndarray]:
        """Where a component begins in the buffer, and its sizes as kernels take them: 2D is one layer of 3D."""
        return self.parts[part].start, np.array([1, *self.shapes[part]][-3:], np.int64)


@dataclass(frozen=True)
class Grid:
    """A box of cubic cells.

    cells: number of cells per axis, 2 or 3 of them; spacing: side of a cell in metres; boundary: what the
    sides are, one word for all axes or one per axis.
    """

    cells: tuple[int, ...]
    spacing: float
    boundary: tuple[Boundary, ...]

    def __init__(
        self, cells: Sequence[int], spacing: float | None = None, boundary: str | Sequence[str] = "walls"
    ) -> None:
        counts = tuple(int(n) for n in cells)
        if len(counts) not in (2, 3):
            raise KeyfluidError(f"grid: {len(counts)} axes given; a grid has 2 or 3")
        if any(n != raw for n, raw in zip(counts, cells)) or min(counts) < 2:
            raise KeyfluidError(f"grid: sizes {tuple(cells)} must be whole numbers of at least 2 cells per axis")
        step = 1.0 / max(counts) if spacing is None else float(spacing)
        if not (np.isfinite(step) and step > 0):
            raise KeyfluidError(f"grid: spacing {spacing} must be a positive number of metres")
        object.__setattr__(self, "cells", counts)
        object.__setattr__(self, "spacing", step)
        object.__setattr__(self, "boundary", boundaries(boundary, len(counts)))

    @property
    def dim(self) -> int:
        return len(self.cells)

    @property
    def size(self) -> tuple[float, ...]:
        """Side lengths of the box in metres."""
        return tuple(n * self.spacing for n in self.cells)

    @property
    def cell_volume(self) -> float:
        return float(self.spacing**self.dim)

    @cached_property
    def count(self) -> int:
        return int(np.prod(self.cells))

    def is_periodic(self, axis: int) -> bool:
        return self.boundary[axis] is Boundary.PERIODIC

    def shape(self, place: Place) -> tuple[int, ...]:
        """Number of values per axis at a place; a periodic axis has as many planes as cells."""
        return tuple(
            n + 1 if on_plane and not self.is_periodic(axis) else n
            for axis, (n, on_plane) in enumerate(zip(self.cells, place))
        )

    @cached_property
    def _layouts(self) -> dict[Kind, Layout]:
        layouts = {}
        for kind in Kind:
            places = kind.places(self.dim)
            shapes = tuple(self.shape(place) for place in places)
            ends = np.cumsum([0] + [int(np.prod(shape)) for shape in shapes])
            parts = tuple(slice(int(start), int(stop)) for start, stop in pairwise(ends))
            layouts[kind] = Layout(places, shapes, parts, int(ends[-1]))
        return layouts

    def layout(self, kind: Kind) -> Layout:
        """Places, shapes and slices of the components of a kind."""
        return self._layouts[kind]

    def shapes(self, kind: Kind) -> tuple[tuple[int, ...], ...]:
        return self._layouts[kind].shapes

    def value_count(self, kind: Kind) -> int:
        """How many numbers a field of this kind holds."""
        return self._layouts[kind].total

    def coordinates(self, place: Place) -> list[np.ndarray]:
        """Positions in metres of the values at a place: one broadcastable array per axis."""
        axes = []
        for axis, (n, on_plane) in enumerate(zip(self.shape(place), place)):
            line = (np.arange(n) + (0.0 if on_plane else 0.5)) * self.spacing
            axes.append(line.reshape([-1 if a == axis else 1 for a in range(self.dim)]))
        return axes
