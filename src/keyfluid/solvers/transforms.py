"""Real transforms that diagonalise second differences on a lattice, axis by axis.

    side of the axis                       values    transform      eigenvalue of  q[i+1] - 2 q[i] + q[i-1]
    periodic                               n         Fourier        2 cos(2 pi k / n) - 2
    mirrored (walls, centred values)       n         cosine II      2 cos(pi k / n) - 2
    zero in the ghosts at -1 and n         n         sine I         2 cos(pi (k + 1) / (n + 1)) - 2

All are orthonormal or scaled so that `inverse(forward(q))` is q; a diagonal scaling between the two is a
symmetric operator. scipy does the work, or ducc0 where it is installed (about twice as fast). Threads never
change a bit: scipy's do not, and ducc0 is run single-threaded on chunks whose number depends on size alone.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from enum import StrEnum
from functools import lru_cache, partial
from itertools import pairwise

import numpy as np
import scipy.fft

from keyfluid.threads import threads

try:
    import ducc0
except ImportError:
    ducc0 = None

_PARALLEL_FROM = 1 << 16
_CHUNKS = 8


class Axis(StrEnum):
    """What lies beyond the ends of a lattice axis."""

    PERIODIC = "periodic"
    MIRROR = "mirror"
    ZERO = "zero"


@lru_cache(maxsize=64)
def eigenvalues(shape: tuple[int, ...], axes: tuple[Axis, ...]) -> np.ndarray:
    """Eigenvalues of the unit-spaced Laplacian, in the layout of `forward`'s result; float64, all <= 0."""
    total = np.zeros((1,) * len(shape))
    half = _half_axis(axes)
    for a, (n, axis) in enumerate(zip(shape, axes)):
        if axis is Axis.PERIODIC:
            k = np.arange(n // 2 + 1) if a == half else np.arange(n)
            # -4 sin^2 keeps full relative accuracy where 2 cos - 2 cancels.
            line = -4.0 * np.sin(np.pi * k / n) ** 2
        elif axis is Axis.MIRROR:
            line = -4.0 * np.sin(np.pi * np.arange(n) / (2 * n)) ** 2
        else:
            line = -4.0 * np.sin(np.pi * (np.arange(n) + 1) / (2 * (n + 1))) ** 2
        total = total + line.reshape([-1 if b == a else 1 for b in range(len(shape))])
    return total


def _half_axis(axes: tuple[Axis, ...]) -> int | None:
    """The last periodic axis: its real transform keeps half the coefficients."""
    periodic = [a for a, axis in enumerate(axes) if axis is Axis.PERIODIC]
    return periodic[-1] if periodic else None


def diagonal(q: np.ndarray, axes: tuple[Axis, ...], scale: np.ndarray) -> np.ndarray:
    """inverse(scale * forward(q)): a symmetric operator with the given eigenvalues."""
    if ducc0 is not None:
        return _diagonal_ducc(q, axes, scale)
    cosine = [a for a, axis in enumerate(axes) if axis is Axis.MIRROR]
    sine = [a for a, axis in enumerate(axes) if axis is Axis.ZERO]
    fourier = [a for a, axis in enumerate(axes) if axis is Axis.PERIODIC]
    workers = threads() if q.size >= _PARALLEL_FROM else 1
    x = q
    if cosine:
        x = scipy.fft.dctn(x, 2, axes=cosine, norm="ortho", workers=workers, overwrite_x=x is not q)
    if sine:
        x = scipy.fft.dstn(x, 1, axes=sine, norm="ortho", workers=workers, overwrite_x=x is not q)
    if fourier:
        shape = [x.shape[a] for a in fourier]
        spectrum = scipy.fft.rfftn(x, axes=fourier, workers=workers)
        spectrum *= scale
        x = scipy.fft.irfftn(spectrum, shape, axes=fourier, workers=workers, overwrite_x=True)
    else:
        x *= scale
    if sine:
        x = scipy.fft.dstn(x, 1, axes=sine, norm="ortho", workers=workers, overwrite_x=True)
    if cosine:
        x = scipy.fft.idctn(x, 2, axes=cosine, norm="ortho", workers=workers, overwrite_x=True)
    return x


def _diagonal_ducc(q: np.ndarray, axes: tuple[Axis, ...], scale: np.ndarray) -> np.ndarray:
    fft = ducc0.fft
    half = _half_axis(axes)
    real = [(a, axis) for a, axis in enumerate(axes) if axis is not Axis.PERIODIC]
    whole = [a for a, axis in enumerate(axes) if axis is Axis.PERIODIC and a != half]
    x = q
    for a, axis in real:
        transform, kind = (fft.dct, 2) if axis is Axis.MIRROR else (fft.dst, 1)
        x = _chunked(x, a, x.shape[a], partial(transform, type=kind, axes=(a,), inorm=1))
    if half is None:
        x *= scale
    else:
        length = x.shape[half]
        spectral = np.result_type(q.dtype, np.complex64)
        x = _chunked(x, half, length // 2 + 1, partial(fft.r2c, axes=(half,)), spectral)
        for a in whole:
            x = _chunked(x, a, x.shape[a], partial(fft.c2c, axes=(a,)))
        x *= scale
        for a in whole:
            x = _chunked(x, a, x.shape[a], partial(fft.c2c, axes=(a,), forward=False, inorm=2))
        back = partial(fft.c2r, axes=(half,), lastsize=length, forward=False, inorm=2)
        x = _chunked(x, half, length, back, q.dtype)
    for a, axis in real:
        transform, kind = (fft.dct, 3) if axis is Axis.MIRROR else (fft.dst, 1)
        x = _chunked(x, a, x.shape[a], partial(transform, type=kind, axes=(a,), inorm=1))
    return x


@lru_cache(maxsize=8)
def _pool(workers: int) -> ThreadPoolExecutor:
    return ThreadPoolExecutor(workers)


def _chunked(
    x: np.ndarray,
    axis: int,
    length: int,
    transform: Callable[..., object],
    dtype: np.typing.DTypeLike | None = None,
) -> np.ndarray:
    """Apply a transform along `axis`, in chunks across another axis; the chunks depend on the shape alone."""
    shape = [length if a == axis else n for a, n in enumerate(x.shape)]
    out = np.empty(shape, dtype or x.dtype)
    if x.size < _PARALLEL_FROM:
        transform(x, out=out, nthreads=1)
        return out
    across = 0 if axis != 0 else 1
    edges = np.linspace(0, x.shape[across], min(_CHUNKS, x.shape[across]) + 1).astype(int)
    pieces = [
        tuple(slice(low, high) if a == across else slice(None) for a in range(x.ndim))
        for low, high in pairwise(edges)
    ]
    if threads() == 1:
        for piece in pieces:
            transform(x[piece], out=out[piece], nthreads=1)
    else:
        list(_pool(threads()).map(lambda piece: transform(x[piece], out=out[piece], nthreads=1), pieces))
    return out
