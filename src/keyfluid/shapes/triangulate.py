"""Polygons of any number of corners as triangles that share the polygon's first corner."""

from __future__ import annotations

import numpy as np

from keyfluid.io.budget import Budget

BYTES_PER_CORNER = 100  # sorted, gathered, cut and joined, in int64


def triangulate(corners: np.ndarray, counts: np.ndarray, budget: Budget) -> tuple[np.ndarray, np.ndarray]:
    """Triangles (m, 3), and for each the number of its polygon; polygons of less than three corners have none.

    corners: those of all polygons, one after the other; counts: how many each polygon has.
    Triangles come first, then quadrilaterals (their first halves, then their second ones), then larger polygons.
    """
    if len(counts) and counts.min() == counts.max() == 3:
        return corners.reshape(-1, 3).astype(np.int64, copy=False), np.arange(len(counts))
    budget.require(BYTES_PER_CORNER * (len(corners) + len(counts)), "the triangles of its polygons")
    starts = np.cumsum(counts) - counts
    by_size = np.argsort(counts, kind="stable")
    sizes, first = np.unique(counts[by_size], return_index=True)
    triangles, owners = [np.zeros((0, 3), np.int64)], [np.zeros(0, np.int64)]
    for size, rows in zip(sizes.tolist(), np.split(by_size, first[1:])):
        if size < 3:
            continue
        polygon = corners[starts[rows][:, None] + np.arange(size)].astype(np.int64, copy=False)
        if size == 4:
            triangles += [polygon[:, [0, 1, 2]], polygon[:, [2, 3, 0]]]
            owners += [rows, rows]
        else:
            fan = np.stack([np.zeros(size - 2, np.int64), np.arange(1, size - 1), np.arange(2, size)], axis=1)
            triangles.append(polygon[:, fan].reshape(-1, 3))
            owners.append(np.repeat(rows, size - 2))
    return np.concatenate(triangles), np.concatenate(owners)
