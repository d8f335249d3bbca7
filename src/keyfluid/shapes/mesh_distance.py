"""Signed distance to a triangle mesh on a grid: negative inside, metres.

Sign: |winding number| above 1/2, by libigl. Distance: exact in a band beside the surface; beyond it, to the
surface point of the nearest cell that the surface passes through (an upper bound, off by less than a cell).

Blocks of 4^3 cells are tested first, to save work. The winding number is harmonic off the surface: where
it is within `_SETTLED` of a whole number at the middle of a block that far from the surface, Harnack's
inequality keeps it on the same side of 1/2 in all of the block.
"""

from __future__ import annotations

import numpy as np
from scipy.ndimage import distance_transform_edt

_BLOCK = 4
_BAND = 2.0
_SETTLED = 0.05
_CHUNK = 1 << 21


def inside(points: np.ndarray, vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """True where |winding number| > 1/2."""
    return np.abs(_winding(points, vertices, faces)) > 0.5


def distance_to_points(points: np.ndarray, vertices: np.ndarray, faces: np.ndarray, outer: np.ndarray) -> np.ndarray:
    """Exact signed distance from any points (n, 3); `outer` masks the faces that bound the inside."""
    import igl

    squared, _, _ = igl.point_mesh_squared_distance(points, vertices, faces[outer])
    return np.where(inside(points, vertices, faces), -1.0, 1.0) * np.sqrt(squared)


def distance_on_grid(
    shape: tuple[int, ...],
    spacing: float,
    vertices: np.ndarray,
    faces: np.ndarray,
    outer: np.ndarray,
    far: bool = True,
) -> np.ndarray:
    """Signed distance at the cell centres; without `far`, two cells with the right sign off the band."""
    import igl

    outer_faces = np.ascontiguousarray(faces[outer])
    near = _blocks_near_surface(shape, spacing, vertices, outer_faces)
    sign = np.where(_inside_cells(shape, spacing, vertices, faces, near), -1.0, 1.0)
    band = np.flatnonzero(_to_cells(near, shape))
    distance = np.full(shape, _BAND * spacing)
    if len(band):
        centres = _centres(band, shape, spacing)
        squared, _, nearest = igl.point_mesh_squared_distance(centres, vertices, outer_faces)
        distance.flat[band] = np.sqrt(squared)
        if far:
            _extend(distance, band, nearest, spacing)
    elif far:
        every = _centres(np.arange(distance.size), shape, spacing)
        distance = np.sqrt(igl.point_mesh_squared_distance(every, vertices, outer_faces)[0]).reshape(shape)
    _bound_by_sign(distance, sign, spacing, overlapping=not np.all(outer))
    return sign * distance


def _extend(distance: np.ndarray, band: np.ndarray, nearest: np.ndarray, spacing: float) -> None:
    """Fill the cells off the band, in place: distance to the nearest crossed cell's surface point."""
    shape = distance.shape
    crossed = distance.flat[band] <= max(np.sqrt(3) / 2 * spacing, distance.flat[band].min())
    seed, point = band[crossed], nearest[crossed]
    empty = np.ones(shape, dtype=bool)
    empty.flat[seed] = False
    index = distance_transform_edt(empty, return_distances=False, return_indices=True)
    slot = np.empty(distance.size, dtype=np.int32)
    slot[seed] = np.arange(len(seed))
    rest = np.ones(distance.size, dtype=bool)
    rest[band] = False
    where = np.flatnonzero(rest)
    for start in range(0, len(where), _CHUNK):
        part = where[start : start + _CHUNK]
        found = np.ravel_multi_index([axis.ravel()[part] for axis in index], shape)
        gap = _centres(part, shape, spacing) - point[slot[found]]
        distance.flat[part] = np.sqrt(np.einsum("ij,ij->i", gap, gap))


def _blocks_near_surface(shape: tuple[int, ...], spacing: float, vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Blocks of 4^3 cells that together hold every cell closer than two cells to the surface."""
    import igl

    near = np.zeros([-(-cells // _BLOCK) for cells in shape], dtype=bool)
    reach = (_BAND + np.sqrt(3) / 2 * (_BLOCK - 1)) * spacing
    asked = _blocks_in_box(near.shape, spacing, vertices, reach)
    if len(asked):
        centres = _centres(asked, near.shape, _BLOCK * spacing)
        squared, _, _ = igl.point_mesh_squared_distance(centres, vertices, faces)
        near.flat[asked] = squared <= reach**2
    return near


def _inside_cells(
    shape: tuple[int, ...], spacing: float, vertices: np.ndarray, faces: np.ndarray, near: np.ndarray
) -> np.ndarray:
    """Cells with their centre inside; outside the mesh's bounding box there are none."""
    whole = np.zeros(near.shape, dtype=bool)
    asked = _blocks_in_box(near.shape, spacing, vertices, 0.0)
    asked = asked[~near.flat[asked]]
    winding = _winding(_centres(asked, near.shape, _BLOCK * spacing), vertices, faces)
    whole.flat[asked] = np.abs(winding) > 0.5
    unsettled = near.copy()
    unsettled.flat[asked] = np.abs(winding - np.round(winding)) > _SETTLED
    result = _to_cells(whole, shape)
    cells = np.flatnonzero(_to_cells(unsettled, shape))
    result.flat[cells] = inside(_centres(cells, shape, spacing), vertices, faces)
    return result


def _bound_by_sign(distance: np.ndarray, sign: np.ndarray, spacing: float, overlapping: bool) -> None:
    """Correct, in place, distances that contradict the sign: across holes, and near faces that cut into a body.

    A sign change in a hole has no face near it: no distance may much exceed the one to the other sign. A face
    that is half buried lies near cells that are deep inside, whose distance can't be much below that either.
    """
    leak = False
    for axis in range(3):
        this, following = np.moveaxis(sign, axis, 0)[:-1], np.moveaxis(sign, axis, 0)[1:]
        leak |= bool(np.any(np.moveaxis(distance, axis, 0)[:-1][this != following] > 1.5 * spacing))
    if leak or overlapping:
        within = spacing * distance_transform_edt(sign < 0)
        if overlapping:
            np.maximum(distance, within - np.sqrt(3) * spacing, out=distance, where=sign < 0)
        if leak:
            other = np.where(sign < 0, within, spacing * distance_transform_edt(sign > 0))
            np.minimum(distance, other, out=distance, where=distance > other + spacing)


def _winding(points: np.ndarray, vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    import igl

    parts = [points[start : start + _CHUNK] for start in range(0, len(points), _CHUNK)]
    return np.concatenate([np.zeros(0)] + [igl.fast_winding_number(vertices, faces, part) for part in parts])


def _blocks_in_box(blocks: tuple[int, ...], spacing: float, vertices: np.ndarray, margin: float) -> np.ndarray:
    """Flat indices of the blocks that meet the mesh's bounding box, grown by a margin."""
    side = _BLOCK * spacing
    first = np.clip(np.floor((vertices.min(axis=0) - margin) / side).astype(np.int64), 0, blocks)
    last = np.clip(np.floor((vertices.max(axis=0) + margin) / side).astype(np.int64) + 1, 0, blocks)
    chosen = np.zeros(blocks, dtype=bool)
    chosen[tuple(slice(a, b) for a, b in zip(first, last))] = True
    return np.flatnonzero(chosen)


def _to_cells(blocks: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    for axis in range(3):
        blocks = np.repeat(blocks, _BLOCK, axis=axis)
    return np.ascontiguousarray(blocks[tuple(slice(0, cells) for cells in shape)])


def _centres(index: np.ndarray, shape: tuple[int, ...], spacing: float) -> np.ndarray:
    return (np.stack(np.unravel_index(index, shape), axis=-1) + 0.5) * spacing
