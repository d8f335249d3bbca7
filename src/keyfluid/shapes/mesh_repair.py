"""Repair: from the contents of a mesh file to a surface with an inside.

The inside is where the winding number w (Jacobson et al. 2013, "Robust inside-outside segmentation using
generalized winding numbers"; fast form Barill et al. 2018) exceeds 1/2. It forgives holes, overlaps and soup,
but not faces that point the wrong way, so these are turned first.
"""

from __future__ import annotations

import numpy as np

from keyfluid.errors import KeyfluidError

_WELD = 1e-7
_STEP_OFF_SURFACE = 1e-5
_ENCLOSED = 0.5


def repair(vertices: np.ndarray, faces: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Welded vertices, faces turned outwards, and a mask of the faces that bound the inside.

    Faces buried in another body do not bound anything and would disturb distances. Raises for a mesh that is
    empty, broken or so open that it has no inside.
    """
    vertices, faces = checked_triangles(vertices, faces, name)
    vertices, faces = _weld(vertices, faces)
    if len(faces) == 0:
        raise KeyfluidError(f"mesh {name} has no faces with an area; it is empty")
    faces = turn_outwards(vertices, faces)
    front, back, area = _winding_beside_faces(vertices, faces)
    enclosed = np.sum(area * np.minimum(np.abs(front + back), 1.0)) / np.sum(area)
    if enclosed < _ENCLOSED:
        raise KeyfluidError(
            f"mesh {name} is open and has no inside (its faces enclose {100 * enclosed:.0f} % of what "
            "a closed surface would); close it"
        )
    buried = (np.abs(front) > 0.5) & (np.abs(back) > 0.5)
    return vertices, faces, ~buried


def checked_triangles(vertices: np.ndarray, faces: np.ndarray, name: str) -> tuple[np.ndarray, np.ndarray]:
    """The arrays with their shapes, after checking that faces name vertices that exist and are finite."""
    vertices = np.asarray(vertices, dtype=float).reshape(-1, 3)
    faces = np.asarray(faces, dtype=np.int64).reshape(-1, 3)
    if len(vertices) == 0 or len(faces) == 0:
        raise KeyfluidError(f"mesh {name} is empty: {len(vertices)} vertices, {len(faces)} faces")
    if faces.min() < 0 or faces.max() >= len(vertices):
        raise KeyfluidError(
            f"mesh {name} has a face with vertex {faces.min() if faces.min() < 0 else faces.max()} "
            f"but only {len(vertices)} vertices; the file is broken"
        )
    used = vertices[faces]
    if not np.all(np.isfinite(used)) or np.abs(used).max() > 1e30:
        raise KeyfluidError(f"mesh {name} has vertices that are not finite; the file is broken")
    return vertices, faces


def _weld(vertices: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Merge equal vertices, then drop faces without area and second copies of a face."""
    used, faces = np.unique(faces, return_inverse=True)
    vertices, faces = vertices[used], faces.reshape(-1, 3)
    lower, extent = vertices.min(axis=0), float(np.ptp(vertices, axis=0).max())
    rounded = np.round((vertices - lower) / max(_WELD * extent, 1e-300)).astype(np.int64)
    _, first, group = np.unique(rounded, axis=0, return_index=True, return_inverse=True)
    vertices, faces = vertices[first], group.reshape(-1)[faces]
    edge_a, edge_b = (
        vertices[faces[:, 1]] - vertices[faces[:, 0]],
        vertices[faces[:, 2]] - vertices[faces[:, 0]],
    )
    faces = faces[np.linalg.norm(np.cross(edge_a, edge_b), axis=1) > 0]
    _, kept = np.unique(np.sort(faces, axis=1), axis=0, return_index=True)
    return vertices, faces[np.sort(kept)]


def turn_outwards(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    """Make neighbours agree, as most of each patch's area did; then turn out what is inside out.

    A closed patch of negative volume is turned unless it lies inside another one: then it is a cavity.
    """
    import igl

    agreed, patch = igl.bfs_orient(faces)
    patch = patch.reshape(-1)
    flipped = np.sum(_area_vectors(vertices, agreed) * _area_vectors(vertices, faces), axis=1) < 0
    size = np.linalg.norm(_area_vectors(vertices, faces), axis=1)
    against = np.bincount(patch, np.where(flipped, size, -size)) > 0
    faces = np.where(against[patch][:, None], agreed[:, ::-1], agreed)

    corners = vertices[faces] - vertices.mean(axis=0)
    volume = np.linalg.det(corners) / 6
    if volume.sum() < 0:
        faces, volume = faces[:, ::-1], -volume
    inverted = (np.bincount(patch, volume) < 0) & _closed_patches(faces, patch)
    suspects, others = faces[inverted[patch]], faces[~inverted[patch]]
    if len(suspects) and len(others):
        around = igl.fast_winding_number(vertices, np.ascontiguousarray(others), vertices[suspects[:, 0]])
        outside = np.bincount(patch[inverted[patch]], around < 0.5, minlength=len(inverted)) > 0
        inverted &= outside
    return np.ascontiguousarray(np.where(inverted[patch][:, None], faces[:, ::-1], faces))


def _closed_patches(faces: np.ndarray, patch: np.ndarray) -> np.ndarray:
    edges = np.sort(np.stack([faces, np.roll(faces, -1, axis=1)], axis=-1).reshape(-1, 2), axis=1)
    keyed = np.column_stack([np.repeat(patch, 3), edges])
    found, count = np.unique(keyed, axis=0, return_counts=True)
    return np.bincount(found[:, 0], count != 2, minlength=int(patch.max()) + 1) == 0


def _winding_beside_faces(vertices: np.ndarray, faces: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Winding number just in front of and just behind every face, and the faces' areas."""
    import igl

    vector = _area_vectors(vertices, faces)
    area = np.linalg.norm(vector, axis=1)
    step = _STEP_OFF_SURFACE * float(np.ptp(vertices, axis=0).max()) * vector / area[:, None]
    centre = vertices[faces].mean(axis=1)
    winding = igl.fast_winding_number(vertices, faces, np.concatenate([centre + step, centre - step]))
    return winding[: len(faces)], winding[len(faces) :], area


def _area_vectors(vertices: np.ndarray, faces: np.ndarray) -> np.ndarray:
    corners = vertices[faces]
    return 0.5 * np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0])
