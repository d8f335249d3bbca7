# SPDX-License-Identifier: GPL-3.0-or-later
"""Triangle meshes as vertices (n, 3) and triangles (m, 3): PLY files, volume, and thickness for flat drawings."""

from __future__ import annotations

from pathlib import Path

import numpy as np


def ply_bytes(vertices: np.ndarray, triangles: np.ndarray) -> bytes:
    """A binary PLY file."""
    faces = np.empty(len(triangles), [("count", "u1"), ("corners", "<i4", 3)])
    faces["count"], faces["corners"] = 3, triangles
    header = (
        "ply\nformat binary_little_endian 1.0\ncomment made by the keyfluid extension\n"
        f"element vertex {len(vertices)}\nproperty float x\nproperty float y\nproperty float z\n"
        f"element face {len(triangles)}\nproperty list uchar int vertex_indices\nend_header\n"
    )
    return header.encode("ascii") + np.asarray(vertices, "<f4").tobytes() + faces.tobytes()


def write_ply(path: Path, vertices: np.ndarray, triangles: np.ndarray) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(ply_bytes(vertices, triangles))


def welded(vertices: np.ndarray, triangles: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Vertices at one place made one, as those of text and curves are not; triangles without area left out."""
    unique, numbers = np.unique(np.round(np.asarray(vertices, np.float64), 6), axis=0, return_inverse=True)
    faces = numbers.reshape(-1)[triangles].reshape(-1, 3)
    a, b, c = faces.T
    return unique, faces[(a != b) & (b != c) & (a != c)]


def volume(vertices: np.ndarray, triangles: np.ndarray) -> float:
    """Signed volume of a closed mesh."""
    a, b, c = (np.asarray(vertices, np.float64)[triangles[:, corner]] for corner in range(3))
    return float(np.einsum("ij,ij->i", a, np.cross(b, c)).sum() / 6)


def open_edges(triangles: np.ndarray) -> np.ndarray:
    """Edges (n, 2) that belong to one triangle only, in its direction."""
    edges = np.concatenate([triangles[:, [0, 1]], triangles[:, [1, 2]], triangles[:, [2, 0]]])
    _, first, counts = np.unique(np.sort(edges, axis=1), axis=0, return_index=True, return_counts=True)
    return edges[first[counts == 1]]


def is_solid(vertices: np.ndarray, triangles: np.ndarray) -> bool:
    """Whether it has an inside: hardly any open edges, and volume."""
    if len(triangles) < 4:
        return False
    extent = np.ptp(vertices, axis=0)
    if extent.min() <= 1e-6 * extent.max():
        return False
    holes = len(open_edges(triangles)) / (1.5 * len(triangles))
    return holes < 0.02 and abs(volume(vertices - vertices.mean(axis=0), triangles)) > 1e-9 * float(extent.prod())


def is_flat(vertices: np.ndarray) -> bool:
    """Whether all vertices lie in the plane z = const of the object."""
    extent = np.ptp(vertices, axis=0)
    return bool(extent.max() > 0 and extent[2] <= 1e-5 * extent.max())


def thickened(vertices: np.ndarray, triangles: np.ndarray, depth: float) -> tuple[np.ndarray, np.ndarray]:
    """A flat drawing in a plane z = const as a solid of this depth about the plane."""
    vertices, triangles = welded(vertices, triangles)
    a, b, c = (vertices[triangles[:, corner]] for corner in range(3))
    flip = np.cross(b - a, c - a)[:, 2] < 0
    triangles = np.where(flip[:, None], triangles[:, ::-1], triangles)
    count, half = len(vertices), np.array([0.0, 0.0, depth / 2])
    edges = open_edges(triangles)
    p, q = edges.T
    sides = np.concatenate([np.stack([q, p, p + count], axis=1), np.stack([q, p + count, q + count], axis=1)])
    faces = np.concatenate([triangles, triangles[:, ::-1] + count, sides])
    return np.concatenate([vertices + half, vertices - half]), faces


def middle(vertices: np.ndarray, triangles: np.ndarray) -> np.ndarray:
    """Of the box around the vertices that triangles use, as keyfluid reads them from a file."""
    used = np.asarray(vertices, np.float32).astype(np.float64)[np.unique(triangles)]
    return 0.5 * (used.min(axis=0) + used.max(axis=0))
