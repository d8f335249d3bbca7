"""The mass of a shape, and the least error of a rearrangement of smoke."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.shapes.placement import Placement
from keyfluid.shapes.source import DensitySource

TOLERANCE = 1e-6
_JUMP = 1e-3
"""By how much the mass of a drawn shape may jump as its size changes: a mesh whose parts overlap has surfaces inside,
where a sample changes sides. Within a jump no size is nearer than its two ends."""
_MOST_STEPS = 40


class NoRoom(KeyfluidError):
    """A body that would have to be larger than the domain. Who asked for its size knows what else would do."""


def mass_of(density: np.ndarray, spacing: float) -> float:
    """sum(density) * spacing^d, in double precision."""
    return float(np.sum(density, dtype=np.float64) * spacing**density.ndim)


def rearrangement_bound(start: np.ndarray, target: np.ndarray) -> float:
    """|sort(start) - sort(target)| / |target|: the least relative L2 error of any rearrangement of `start`.

    Incompressible flow moves values and never changes them, and among all ways to pair two lists of values
    the sorted one has the least sum of squared differences (Hardy, Littlewood & Polya, Inequalities, ch. X).
    Only for a rearrangement: blur, sources and cells that smoke fills in part can go below it.
    """
    if start.size != target.size:
        raise KeyfluidError(f"start {start.shape} and target {target.shape} are on different grids")
    sorted_target = np.sort(target, axis=None).astype(np.float64)
    size = float(np.sqrt(np.sum(sorted_target**2)))
    if size == 0:
        raise KeyfluidError("the target is empty: its mass is zero")
    return float(np.sqrt(np.sum((np.sort(start, axis=None) - sorted_target) ** 2))) / size


def resize_to_mass(
    source: DensitySource,
    placement: Placement,
    shape: tuple[int, ...],
    spacing: float,
    mass: float,
    time: float = 0.0,
) -> Placement:
    """The placement, scaled about its centre, whose density (peak 1) has this mass, to a relative 1e-6, or as near
    as one can be where the mass jumps.

    A body well inside the domain has mass ~ scale^d, so the steps are those of a secant in logarithms, kept
    between a scale known to be too small and one known to be too large.
    """
    if not (np.isfinite(mass) and mass > 0):
        raise KeyfluidError(f"can't resize a shape to a mass of {mass}; the smoke must have a mass above 0")
    dimension = len(shape)
    domain = np.asarray(shape) * spacing
    largest = _largest_scale(source, placement, shape, spacing, time)
    scale = min(placement.scale, largest)
    low, high = 0.0, np.inf
    slope = float(dimension)
    previous: tuple[float, float] | None = None
    nearest = (np.inf, scale)
    for _ in range(_MOST_STEPS):
        found = mass_of(source.rasterize(shape, spacing, replace(placement, scale=scale), time), spacing)
        if found > 0 and abs(found / mass - 1) <= TOLERANCE:
            return replace(placement, scale=scale)
        nearest = min(nearest, (abs(found / mass - 1), scale))
        if found < mass:
            low = scale
        else:
            high = scale
        if low >= largest * (1 - 1e-12):
            raise NoRoom(
                f"can't resize to a mass of {mass:.4g}: at {found:.4g} the shape already touches the "
                f"walls of the domain ({' x '.join(f'{side:.3g}' for side in domain)} m)"
            )
        if previous is not None and found > 0 and scale != previous[0] and found != previous[1]:
            slope = np.log(found / previous[1]) / np.log(scale / previous[0])
            slope = float(np.clip(slope, 0.5 * dimension, 2.0 * dimension))
        previous = (scale, found) if found > 0 else None
        guess = scale * (mass / found) ** (1 / slope) if found > 0 else 2 * scale
        if not low < guess < high:
            guess = 0.5 * (low + high) if np.isfinite(high) else 2 * scale
        scale = min(guess, largest)
    if nearest[0] <= _JUMP:
        return replace(placement, scale=nearest[1])
    raise KeyfluidError(f"no size of the shape has a mass of {mass:.4g}; the nearest found was {found:.4g}")


def _largest_scale(
    source: DensitySource, placement: Placement, shape: tuple[int, ...], spacing: float, time: float
) -> float:
    """The scale at which the shape touches the domain's walls."""
    lower, upper = source.bounds(shape, spacing, replace(placement, scale=1.0), time)
    domain = np.asarray(shape) * spacing
    center = np.asarray(placement.center if placement.center is not None else domain / 2)
    room = np.minimum(
        np.divide(center, center - lower, out=np.full(len(domain), np.inf), where=center > lower),
        np.divide(domain - center, upper - center, out=np.full(len(domain), np.inf), where=upper > center),
    )
    largest = float(room.min())
    if largest <= 0:
        raise KeyfluidError(f"center {[round(float(c), 4) for c in center]} lies outside the domain")
    return largest
