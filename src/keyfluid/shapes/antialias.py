"""Cell averages of functions of position: whole cells where that is certain, 4 samples per axis elsewhere."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

SAMPLES_PER_AXIS = 4
_CHUNK = 1 << 20


def average_over_cells(
    shape: tuple[int, ...],
    spacing: float,
    bounds: tuple[np.ndarray, np.ndarray],
    certain: Callable[[np.ndarray], np.ndarray],
    sample: Callable[[np.ndarray], np.ndarray],
    samples_per_axis: int = SAMPLES_PER_AXIS,
) -> np.ndarray:
    """Average a density that is zero outside `bounds` over each cell.

    certain: cell centres (n, d) -> the cell's average, NaN where the centre alone does not decide it.
    sample: points (n, d) -> density averaged over a box of side spacing / samples_per_axis.
    """
    dimension = len(shape)
    coverage = np.zeros(shape)
    first = np.clip(np.floor(bounds[0] / spacing) - 1, 0, shape).astype(np.int64)
    last = np.clip(np.ceil(bounds[1] / spacing) + 1, 0, shape).astype(np.int64)
    if np.any(last <= first):
        return coverage
    offsets = (np.arange(samples_per_axis) + 0.5) / samples_per_axis - 0.5
    offsets_nd = np.stack(np.meshgrid(*[offsets] * dimension, indexing="ij"), axis=-1).reshape(-1, dimension)
    cells_per_row = int(np.prod(last[1:] - first[1:]))
    rows = max(1, _CHUNK // cells_per_row)
    for start in range(first[0], last[0], rows):
        stop = min(start + rows, last[0])
        axes = [np.arange(start, stop)] + [np.arange(a, b) for a, b in zip(first[1:], last[1:])]
        centres = (np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1).reshape(-1, dimension) + 0.5) * spacing
        values = certain(centres)
        open_cells = np.flatnonzero(np.isnan(values))
        per_chunk = max(1, _CHUNK // len(offsets_nd))
        for begin in range(0, len(open_cells), per_chunk):
            chosen = open_cells[begin : begin + per_chunk]
            points = centres[chosen, None, :] + offsets_nd * spacing
            values[chosen] = sample(points.reshape(-1, dimension)).reshape(len(chosen), -1).mean(axis=1)
        window = (slice(start, stop), *(slice(a, b) for a, b in zip(first[1:], last[1:])))
        coverage[window] = values.reshape([len(axis) for axis in axes])
    return coverage


def average_signed_distance(
    shape: tuple[int, ...],
    spacing: float,
    bounds: tuple[np.ndarray, np.ndarray],
    distance: Callable[[np.ndarray], np.ndarray],
) -> np.ndarray:
    """Fraction of each cell where `distance` (metres, negative inside, slope at most 1) is negative.

    A sample stands for a box of side h = spacing / 4 cut by a plane: clamp(1/2 - distance / h, 0, 1).
    """
    reach = 0.5 * np.sqrt(len(shape)) * spacing
    width = spacing / SAMPLES_PER_AXIS

    def certain(points: np.ndarray) -> np.ndarray:
        value = distance(points)
        return np.where(value > reach, 0.0, np.where(value < -reach, 1.0, np.nan))

    def sample(points: np.ndarray) -> np.ndarray:
        return np.clip(0.5 - distance(points) / width, 0.0, 1.0)

    return average_over_cells(shape, spacing, bounds, certain, sample)
