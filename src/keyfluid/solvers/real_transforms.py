"""The orthonormal cosine and sine transforms of one axis, by scipy's pocketfft.

On small grids scipy's own functions take longer to look at their arguments (60 to 100 us) than to transform. So
pocketfft is called as they call it, where it is where it used to be; the bits are the same (tests/solvers).
"""

from __future__ import annotations

from typing import Literal

import numpy as np
import scipy.fft

try:
    from scipy.fft._pocketfft import pypocketfft
except ImportError:
    pypocketfft = None

_ORTHONORMAL = 1


def real_transform(
    x: np.ndarray, name: Literal["dct", "dst"], kind: int, axis: int, workers: int = 1, overwrite: bool = False
) -> np.ndarray:
    """The cosine or sine transform of a kind, 1 to 3, along an axis; its inverse is that of the inverse kind."""
    if pypocketfft is None:
        return scipy_transform(x, name, kind, axis, workers, overwrite)
    out = x if overwrite else None
    found: np.ndarray = getattr(pypocketfft, name)(x, kind, (axis,), _ORTHONORMAL, out, workers)
    return found


def scipy_transform(
    x: np.ndarray, name: Literal["dct", "dst"], kind: int, axis: int, workers: int, overwrite: bool
) -> np.ndarray:
    """The same by scipy's public functions."""
    function = getattr(scipy.fft, name)
    found: np.ndarray = function(x, kind, axis=axis, norm="ortho", workers=workers, overwrite_x=overwrite)
    return found
