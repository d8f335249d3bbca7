"""Forces made of waves below a cutoff, without a potential: Tang's "ours w/o Psi" [Tang 2021, figures 8 and 9].

Component a of the force is a sum of waves on its own faces: across its own axis sines between walls (nothing pushes
on a wall), cosines along the others; Fourier around periodic axes. Divergence is left to the projection.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

from keyfluid.controls.basis import Basis
from keyfluid.controls.spectral import Component, carry_waves, highest_wave
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind


class FilteredForces:
    """The basis; cutoff in cycles per longest side. A coefficient 1 is a force of root mean square 1."""

    def __init__(self, grid: Grid, dtype: np.typing.DTypeLike, cutoff: float | None = None) -> None:
        self.grid = grid
        self.dtype: np.dtype = np.dtype(dtype)
        self.cutoff = highest_wave(grid) if cutoff is None else float(cutoff)
        layout = grid.layout(Kind.FACES)
        self.parts = [Component(grid, place, shape, self.cutoff) for place, shape in zip(layout.places, layout.shapes)]
        self._root = self.dtype.type(np.sqrt(grid.count))

    @cached_property
    def count(self) -> int:
        return sum(part.count for part in self.parts)

    def force(self, coefficients: np.ndarray) -> Field:
        field = Field.zeros(self.grid, Kind.FACES, self.dtype)
        start = 0
        for part, values in zip(self.parts, field.components()):
            chosen = coefficients[start : start + part.count].reshape(part.counts)
            part.spread(self._root * chosen, values)
            start += part.count
        return field

    def pull(self, force_bar: Field) -> np.ndarray:
        parts = [part.gather(values).ravel() for part, values in zip(self.parts, force_bar.components())]
        return self._root * np.concatenate(parts)

    def scales(self) -> np.ndarray | None:
        return None

    def carry(self, coefficients: np.ndarray, before: Basis) -> np.ndarray:
        assert isinstance(before, FilteredForces)
        return carry_waves(coefficients, before.parts, self.parts, self.dtype)
