"""Exact area of polygons in each cell of a grid, by accumulating signed areas along the outline.

An edge that runs up by dy inside cell (i, j) covers, to its right, the area dy (i + 1 - x_mid) of that cell
and dy of every cell (i' > i, j); summed over a closed outline this is the winding number averaged over the
cell (the scan conversion of FreeType's smooth rasteriser and of R. Levien's font-rs). Overlapping outlines
are clamped to 1, holes run the other way round.
"""

from __future__ import annotations

import numpy as np

_ROUNDING = 1e-10


def polygon_coverage(outlines: list[np.ndarray], shape: tuple[int, int], spacing: float) -> np.ndarray:
    """Fraction of each cell inside closed outlines (lists of (n, 2) points in metres), float64 in [0, 1]."""
    starts = np.concatenate(outlines) / spacing
    ends = np.concatenate([np.roll(outline, -1, axis=0) for outline in outlines]) / spacing
    area = 0.5 * np.sum(starts[:, 0] * ends[:, 1] - ends[:, 0] * starts[:, 1])
    x, y, rise = _split_at_grid_lines(starts, ends, shape)
    column, row = np.floor(x).astype(np.int64), np.floor(y).astype(np.int64)
    kept = (row >= 0) & (row < shape[1]) & (column < shape[0])
    x, rise, row = x[kept], rise[kept], row[kept]
    column = np.maximum(column[kept], -1)
    part = np.where(column >= 0, rise * (column + 1 - x), 0.0)
    cells = (shape[0] + 1, shape[1])
    partial = np.bincount((column + 1) * shape[1] + row, part, minlength=cells[0] * cells[1]).reshape(cells)
    step = np.bincount((column + 1) * shape[1] + row, rise, minlength=cells[0] * cells[1]).reshape(cells)
    winding = partial[1:] + np.cumsum(step, axis=0)[:-1]
    # dy counted to the right of the edge makes counter-clockwise outlines negative
    coverage = np.clip(-np.sign(area) * winding, 0.0, 1.0)
    # sums along a row cancel to rounding only: empty cells must stay empty, full ones full
    coverage[coverage < _ROUNDING] = 0.0
    coverage[coverage > 1 - _ROUNDING] = 1.0
    return coverage


def _split_at_grid_lines(
    starts: np.ndarray, ends: np.ndarray, shape: tuple[int, int]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cut edges at the grid's lines; midpoints (x, y) of the pieces in cells, and how far each rises in y."""
    edges = [np.arange(len(starts)), np.arange(len(starts))]
    cuts = [np.zeros(len(starts)), np.ones(len(starts))]
    for axis in range(2):
        low, high = np.minimum(starts[:, axis], ends[:, axis]), np.maximum(starts[:, axis], ends[:, axis])
        first = np.clip(np.ceil(low), 0, shape[axis] + 1).astype(np.int64)
        count = np.maximum(np.clip(np.floor(high), -1, shape[axis]).astype(np.int64) - first + 1, 0)
        count[high == low] = 0
        edge = np.repeat(np.arange(len(starts)), count)
        line = np.arange(count.sum()) - np.repeat(np.cumsum(count) - count, count) + first[edge]
        edges.append(edge)
        cuts.append((line - starts[edge, axis]) / (ends[edge, axis] - starts[edge, axis]))
    edge, cut = np.concatenate(edges), np.clip(np.concatenate(cuts), 0.0, 1.0)
    order = np.lexsort((cut, edge))
    edge, cut = edge[order], cut[order]
    same = edge[1:] == edge[:-1]
    edge, before, after = edge[1:][same], cut[:-1][same], cut[1:][same]
    middle = 0.5 * (before + after)
    run = ends[edge] - starts[edge]
    point = starts[edge] + middle[:, None] * run
    return point[:, 0], point[:, 1], (after - before) * run[:, 1]
