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

from keyfluid.solvers.real_transforms import real_transform
from keyfluid.threads import threads

try:
    import ducc0
except ImportError:
    ducc0 = None

BACKEND = "scipy" if ducc0 is None else "ducc0"
"""The library that does the transforms; the two differ in the last bits."""

_PARALLEL_FROM = 1 << 17
"""Values; at 256^2 two threads gain nothing in the median and half as much again in the worst case."""
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
    """inverse(scale * forward(q)): a symmetric operator with the given eigenvalues.

    Along axes that are not periodic `scale` may be shorter than q: eigenvalues beyond its end are 0, and the
    transforms of the other axes skip them.
    """
    real = [(a, axis) for a, axis in enumerate(axes) if axis is not Axis.PERIODIC]
    x = q
    for a, axis in reversed(real):
        x = _real(x, a, axis, inverse=False, overwrite=x is not q)
        x = x[(slice(None),) * a + (slice(scale.shape[a]),)]
    if len(real) == len(axes):
        x *= scale
    elif ducc0 is not None:
        x = _fourier_ducc(x, axes, scale)
    else:
        x = _fourier_scipy(x, axes, scale)
    for a, axis in real:
        if x.shape[a] < q.shape[a]:
            kept = x
            x = np.zeros((*kept.shape[:a], q.shape[a], *kept.shape[a + 1 :]), kept.dtype)
            x[(slice(None),) * a + (slice(kept.shape[a]),)] = kept
        x = _real(x, a, axis, inverse=True, overwrite=True)
    return x


def _workers(x: np.ndarray) -> int:
    return threads() if x.size >= _PARALLEL_FROM else 1


def _real(x: np.ndarray, a: int, axis: Axis, inverse: bool, overwrite: bool) -> np.ndarray:
    """The orthonormal cosine or sine transform of one axis."""
    kind = (3 if inverse else 2) if axis is Axis.MIRROR else 1
    if ducc0 is not None:
        transform = ducc0.fft.dct if axis is Axis.MIRROR else ducc0.fft.dst
        return _chunked(x, a, x.shape[a], partial(transform, type=kind, axes=(a,), inorm=1))
    return real_transform(x, "dct" if axis is Axis.MIRROR else "dst", kind, a, _workers(x), overwrite)


def _fourier_scipy(x: np.ndarray, axes: tuple[Axis, ...], scale: np.ndarray) -> np.ndarray:
    """The part of `diagonal` along periodic axes."""
    fourier = [a for a, axis in enumerate(axes) if axis is Axis.PERIODIC]
    spectrum = scipy.fft.rfftn(x, axes=fourier, workers=_workers(x))
    spectrum *= scale
    shape = [x.shape[a] for a in fourier]
    return scipy.fft.irfftn(spectrum, shape, axes=fourier, workers=_workers(x), overwrite_x=True)


def _fourier_ducc(x: np.ndarray, axes: tuple[Axis, ...], scale: np.ndarray) -> np.ndarray:
    fft = ducc0.fft
    *whole, half = (a for a, axis in enumerate(axes) if axis is Axis.PERIODIC)
    length, real = x.shape[half], x.dtype
    x = _chunked(x, half, length // 2 + 1, partial(fft.r2c, axes=(half,)), np.result_type(real, np.complex64))
    for a in whole:
        x = _chunked(x, a, x.shape[a], partial(fft.c2c, axes=(a,)))
    x *= scale
    for a in whole:
        x = _chunked(x, a, x.shape[a], partial(fft.c2c, axes=(a,), forward=False, inorm=2))
    back = partial(fft.c2r, axes=(half,), lastsize=length, forward=False, inorm=2)
    return _chunked(x, half, length, back, real)


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
        tuple(slice(low, high) if a == across else slice(None) for a in range(x.ndim)) for low, high in pairwise(edges)
    ]
    if threads() == 1:
        for piece in pieces:
            transform(x[piece], out=out[piece], nthreads=1)
    else:
        list(_pool(threads()).map(lambda piece: transform(x[piece], out=out[piece], nthreads=1), pieces))
    return out
