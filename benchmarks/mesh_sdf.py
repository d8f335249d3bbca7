"""Signed distance of five kinds of sphere on 64^3 and 128^3 cells: seconds, sign errors, distance error.

Run time: about 30 s on two cores. Budget: 64^3 in 1 s, 128^3 in 4 s, no sign error further than half a cell
from the surface (the holed sphere, whose cap is missing, at most a cell). Repairing the mesh is timed apart.

    python benchmarks/mesh_sdf.py [--repeats 3]
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import trimesh

from keyfluid.shapes import Mesh, Placement

RADIUS, CENTER = 0.31, np.array([0.52, 0.47, 0.5])


def sphere(center: np.ndarray = CENTER, radius: float = RADIUS) -> tuple[np.ndarray, np.ndarray]:
    mesh = trimesh.creation.icosphere(subdivisions=5, radius=radius)
    return np.asarray(mesh.vertices) + center, np.asarray(mesh.faces)


def variants() -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Name -> vertices, faces, centres of the true balls."""
    vertices, faces = sphere()
    rng = np.random.default_rng(0)
    middle = vertices[faces].mean(axis=1) - CENTER
    some = rng.random(len(faces)) < 0.3
    mixed = np.where(some[:, None], faces[:, ::-1], faces)
    order = rng.permutation(len(faces))
    beside = CENTER + np.array([0.12, 0.05, 0.0])
    more_vertices, more_faces = sphere(beside)
    return {
        "clean": (vertices, faces, CENTER[None]),
        "overlapping": (
            np.concatenate([vertices, more_vertices]),
            np.concatenate([faces, more_faces + len(vertices)]),
            np.stack([CENTER, beside]),
        ),
        "holed": (vertices, faces[middle[:, 1] < 0.985 * RADIUS], CENTER[None]),
        "flipped": (vertices, mixed, CENTER[None]),
        "soup": (
            vertices[faces[order]].reshape(-1, 3),
            np.arange(3 * len(faces)).reshape(-1, 3),
            CENTER[None],
        ),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=3)
    repeats = parser.parse_args().repeats
    print(f"{'mesh':12} {'cells':>6} {'repair s':>9} {'grid s':>7} {'sign errors':>12} {'worst error / dx':>17}")
    for name, (vertices, faces, centers) in variants().items():
        start = time.perf_counter()
        mesh = Mesh.build(vertices, faces, name)
        repair = time.perf_counter() - start
        own = _at_own_place(mesh)
        for cells in (64, 128):
            spacing = 1.0 / cells
            best = np.inf
            for _ in range(repeats):
                start = time.perf_counter()
                found = mesh.signed_distance_grid((cells,) * 3, spacing, own)
                best = min(best, time.perf_counter() - start)
            axis = (np.arange(cells) + 0.5) * spacing
            points = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1)
            exact = np.min([np.linalg.norm(points - c, axis=-1) - RADIUS for c in centers], axis=0)
            far = 1.0 if name == "holed" else 0.5
            wrong = int(np.sum((np.sign(found) != np.sign(exact)) & (np.abs(exact) > far * spacing)))
            worst = np.abs(found - exact)[exact > 0].max() / spacing
            print(f"{name:12} {cells:>5}^3 {repair:9.2f} {best:7.2f} {wrong:12d} {worst:17.2f}")


def _at_own_place(mesh: Mesh) -> Placement:
    box = mesh.vertices
    return Placement(center=tuple(0.5 * (box.min(axis=0) + box.max(axis=0))))


if __name__ == "__main__":
    main()
