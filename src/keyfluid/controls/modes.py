"""Real, orthonormal bases of waves on an axis, and functions made of them.

    sine      sin(pi (i + 1) x / L)   values on planes between walls, the walls' own left out (they are zero)
    cosine    cos(pi i x / L)         values at the middles between planes
    free      cos(pi i x / L)         values on planes, those of both (open) sides included
    around    cas(2 pi i x / L)       periodic: cas = cos + sin (Hartley), one real number per wave

Each transform is orthonormal, so that analysis is both the inverse and the transpose of synthesis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
import scipy.fft

from keyfluid.solvers.real_transforms import real_transform
from keyfluid.threads import threads

_PARALLEL_FROM = 1 << 16


class Wave(StrEnum):
    """Which waves an axis has."""

    SINE = "sine"
    COSINE = "cosine"
    FREE = "free"
    AROUND = "around"


def wavenumbers(wave: Wave, count: int, length: float) -> np.ndarray:
    """Angular wave numbers, rad/m, of the `count` waves on an axis of `length` metres, in their order."""
    i = np.arange(count)
    if wave is Wave.SINE:
        return np.pi * (i + 1) / length
    if wave is Wave.AROUND:
        return 2 * np.pi * np.minimum(i, count - i) / length
    return np.pi * i / length


@dataclass(frozen=True, eq=False)
class ChosenWaves:
    """Some of the `count` waves of an axis: their places in its order."""

    count: int
    places: np.ndarray

    @cached_property
    def where(self) -> slice | np.ndarray:
        """The places as an index; a slice where they are the first ones."""
        first = np.array_equal(self.places, np.arange(len(self.places)))
        return slice(len(self.places)) if first else self.places

    @property
    def whole(self) -> bool:
        return len(self.places) == self.count


def synthesise(
    coefficients: np.ndarray, waves: Sequence[Wave], bands: Sequence[ChosenWaves] | None = None
) -> np.ndarray:
    """Values of a sum of waves; bands: which of each axis's waves the coefficients are of, default all. Axis by axis,
    so that the transform of one skips what others have no waves for. May reuse the memory of `coefficients`."""
    x = coefficients
    for axis, wave in enumerate(waves):
        if bands is not None and not bands[axis].whole:
            chosen, band = x, bands[axis]
            x = np.zeros((*x.shape[:axis], band.count, *x.shape[axis + 1 :]), x.dtype)
            x[(slice(None),) * axis + (band.where,)] = chosen
        x = _transform(x, axis, wave, inverse=True)
    return x


def analyse(values: np.ndarray, waves: Sequence[Wave], bands: Sequence[ChosenWaves] | None = None) -> np.ndarray:
    """Coefficients of the waves: the transpose of `synthesise`. May reuse the memory of `values`."""
    x = values
    for axis, wave in reversed(list(enumerate(waves))):
        x = _transform(x, axis, wave, inverse=False)
        if bands is not None and not bands[axis].whole:
            x = x[(slice(None),) * axis + (bands[axis].where,)]
    return x


def _transform(x: np.ndarray, axis: int, wave: Wave, inverse: bool) -> np.ndarray:
    workers = threads() if x.size >= _PARALLEL_FROM else 1
    if wave is Wave.AROUND:
        spectrum = scipy.fft.fft(x, axis=axis, norm="ortho", workers=workers)
        return np.subtract(spectrum.real, spectrum.imag)
    if wave is Wave.COSINE:
        return real_transform(x, "dct", 3 if inverse else 2, axis, workers, overwrite=True)
    return real_transform(x, "dst" if wave is Wave.SINE else "dct", 1, axis, workers, overwrite=True)
