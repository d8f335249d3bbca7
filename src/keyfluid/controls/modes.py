"""Real, orthonormal bases of waves on an axis, and functions made of them.

    sine      sin(pi (i + 1) x / L)   values on planes between walls, the walls' own left out (they are zero)
    cosine    cos(pi i x / L)         values at the middles between planes
    free      cos(pi i x / L)         values on planes, those of both (open) sides included
    around    cas(2 pi i x / L)       periodic: cas = cos + sin (Hartley), one real number per wave

Each transform is orthonormal, so that analysis is both the inverse and the transpose of synthesis.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

import numpy as np
import scipy.fft

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


def synthesise(coefficients: np.ndarray, waves: Sequence[Wave]) -> np.ndarray:
    """Values of a sum of waves. May reuse the memory of `coefficients`."""
    return _apply(coefficients, waves, inverse=True)


def analyse(values: np.ndarray, waves: Sequence[Wave]) -> np.ndarray:
    """Coefficients of the waves. May reuse the memory of `values`."""
    return _apply(values, waves, inverse=False)


def _apply(x: np.ndarray, waves: Sequence[Wave], inverse: bool) -> np.ndarray:
    workers = threads() if x.size >= _PARALLEL_FROM else 1
    for wave in Wave:
        axes = [axis for axis, here in enumerate(waves) if here is wave]
        if not axes:
            continue
        if wave is Wave.SINE:
            x = scipy.fft.dstn(x, 1, axes=axes, norm="ortho", workers=workers, overwrite_x=True)
        elif wave is Wave.FREE:
            x = scipy.fft.dctn(x, 1, axes=axes, norm="ortho", workers=workers, overwrite_x=True)
        elif wave is Wave.COSINE:
            cosine = scipy.fft.idctn if inverse else scipy.fft.dctn
            x = cosine(x, 2, axes=axes, norm="ortho", workers=workers, overwrite_x=True)
        else:
            for axis in axes:
                spectrum = scipy.fft.fft(x, axis=axis, norm="ortho", workers=workers)
                x = spectrum.real - spectrum.imag
    return x
