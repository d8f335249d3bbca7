"""Density stored on a regular lattice (pixels, voxels), averaged onto the cells of another grid.

Along an axis, cell i of the new grid receives the overlap of its interval with each old sample's interval:
exact averages of piecewise constant data, so mass is kept and nothing aliases. Turned lattices are first
averaged, in their own frame, to samples a quarter of a cell wide and then read linearly at the sub-cells.
"""

from __future__ import annotations

import numpy as np
from scipy.ndimage import map_coordinates

from keyfluid.shapes.antialias import average_over_cells
from keyfluid.shapes.placement import Transform


def overlap_weights(lower: float, pitch: float, samples: int, spacing: float, cells: int) -> np.ndarray:
    """(cells, samples): fraction of cell i covered by sample k, which spans lower + [k, k + 1] pitch."""
    edges = lower + pitch * np.arange(samples + 1)
    cell = spacing * np.arange(cells)[:, None]
    inside = np.minimum(edges[1:], cell + spacing) - np.maximum(edges[:-1], cell)
    return np.maximum(inside, 0.0) / spacing


def resample(values: np.ndarray, shape: tuple[int, ...], spacing: float, transform: Transform) -> np.ndarray:
    """Average `values` (samples of side 1 in local units, first corner at the local zero) over each cell."""
    aligned = _aligned_axes(transform.matrix)
    if aligned is None:
        return _resample_turned(values, shape, spacing, transform)
    result = values
    for local_axis, world_axis in enumerate(aligned):
        if transform.matrix[world_axis, local_axis] < 0:
            result = np.flip(result, local_axis)
    corner = np.stack([np.zeros(values.ndim), np.asarray(values.shape, dtype=float)])
    lower = transform.to_world(corner).min(axis=0)
    result = np.moveaxis(result, range(values.ndim), aligned)
    for axis in range(values.ndim):
        weights = overlap_weights(lower[axis], transform.scale, result.shape[axis], spacing, shape[axis])
        result = np.moveaxis(np.tensordot(weights, result, axes=(1, axis)), 0, axis)
    return np.ascontiguousarray(result, dtype=float)


def _aligned_axes(matrix: np.ndarray) -> list[int] | None:
    """For each local axis the world axis it runs along; None when the lattice is turned off the axes."""
    if np.any(np.abs(matrix).max(axis=0) < 1 - 1e-12):
        return None
    return [int(axis) for axis in np.abs(matrix).argmax(axis=0)]


def _resample_turned(values: np.ndarray, shape: tuple[int, ...], spacing: float, transform: Transform) -> np.ndarray:
    dimension = len(shape)
    # A volume has 64 sub-cells of a quarter per cell and no sharp outline to draw: halves do there.
    per_axis = 4 if dimension == 2 else 2
    fine = spacing / per_axis
    reach = np.maximum(transform.origin, np.asarray(values.shape) - transform.origin) * transform.scale
    farthest = np.linalg.norm(np.maximum(transform.center, np.asarray(shape) * spacing - transform.center))
    cells = tuple(int(n) for n in np.ceil(2 * np.minimum(reach, farthest) / fine) + 2)
    middle = np.asarray(cells) * fine / 2
    frame = Transform(middle, transform.scale, np.eye(dimension), transform.origin)
    texture = resample(values, cells, fine, frame)

    def sample(points: np.ndarray) -> np.ndarray:
        own = (points - transform.center) @ transform.matrix + middle
        return map_coordinates(texture, (own / fine - 0.5).T, order=1, mode="constant")

    def undecided(points: np.ndarray) -> np.ndarray:
        return np.full(len(points), np.nan)

    corners = np.stack(np.meshgrid(*[(0.0, n) for n in values.shape], indexing="ij"), -1).reshape(-1, dimension)
    world = transform.to_world(corners)
    bounds = (world.min(axis=0), world.max(axis=0))
    return average_over_cells(shape, spacing, bounds, undecided, sample, per_axis)
