"""Triangle meshes (OBJ, PLY, STL, glTF) as bodies of density and as signed distances."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.shapes.mesh_distance import distance_on_grid, distance_to_points
from keyfluid.shapes.mesh_repair import repair
from keyfluid.shapes.placement import Hull, Placement, Transform, domain_of, resolve
from keyfluid.shapes.source import OWN_SIZE

MESH_SUFFIXES = (".obj", ".ply", ".stl", ".gltf", ".glb")


@dataclass(frozen=True, eq=False)
class Mesh:
    """A surface with an inside; made by `Mesh.build` or `load_mesh`. Units are metres unless `fit` is given.

    outer: mask of the faces that bound the inside.
    box: two corners that `fit` and `center` refer to instead of the mesh's own (animations share one).
    """

    vertices: np.ndarray
    faces: np.ndarray
    outer: np.ndarray
    box: np.ndarray | None = None

    @classmethod
    def build(
        cls,
        vertices: np.ndarray,
        faces: np.ndarray,
        name: str = "from arrays",
        box: np.ndarray | None = None,
    ) -> Mesh:
        """Weld, orient and check vertices (n, 3) and triangles (m, 3)."""
        require_mesh_extra()
        return cls(*repair(vertices, faces, name), box=box)

    def rasterize(
        self, shape: tuple[int, ...], spacing: float, placement: Placement = OWN_SIZE, time: float = 0.0
    ) -> np.ndarray:
        """clamp(1/2 - distance / spacing, 0, 1): the share of a cell on the inner side of a plane."""
        placed = self._placed(domain_of(shape, spacing), placement)
        distance = distance_on_grid(shape, spacing, placed, self.faces, self.outer, far=False)
        return np.clip(0.5 - distance / spacing, 0.0, 1.0)

    def bounds(
        self, shape: tuple[int, ...], spacing: float, placement: Placement = OWN_SIZE, time: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray]:
        placed = self._placed(domain_of(shape, spacing), placement)
        return placed.min(axis=0), placed.max(axis=0)

    def signed_distance(
        self,
        points: np.ndarray,
        domain: tuple[float, ...],
        placement: Placement = OWN_SIZE,
        time: float = 0.0,
    ) -> np.ndarray:
        """Exact signed distance (metres) from points (..., 3) in a domain of these sides."""
        flat = np.ascontiguousarray(np.reshape(points, (-1, 3)), dtype=float)
        value = distance_to_points(flat, self._placed(domain, placement), self.faces, self.outer)
        return value.reshape(np.shape(points)[:-1])

    def signed_distance_grid(
        self, shape: tuple[int, ...], spacing: float, placement: Placement = OWN_SIZE, time: float = 0.0
    ) -> np.ndarray:
        """Signed distance at all cell centres, exact beside the surface; far faster than point by point."""
        placed = self._placed(domain_of(shape, spacing), placement)
        return distance_on_grid(shape, spacing, placed, self.faces, self.outer)

    def transform(self, domain: tuple[float, ...], placement: Placement = OWN_SIZE) -> Transform:
        """The similarity from file coordinates to the domain."""
        if len(domain) != 3:
            raise KeyfluidError("a mesh needs a 3D domain; in 2D use a shape, text or an image")
        points = self.vertices if self.box is None else _box_corners(self.box)
        return resolve(placement, Hull(points), domain)

    def _placed(self, domain: tuple[float, ...], placement: Placement) -> np.ndarray:
        return np.ascontiguousarray(self.transform(domain, placement).to_world(self.vertices))


def load_mesh(path: Path) -> Mesh:
    """Read one mesh file; a file with several bodies becomes one mesh."""
    return Mesh.build(*read_triangles(path), name=str(path))


def read_triangles(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and triangles as the file has them, all of its nodes in place."""
    trimesh = require_mesh_extra()
    if path.suffix.lower() not in MESH_SUFFIXES:
        raise KeyfluidError(f"mesh {path}: the name must end in {', '.join(MESH_SUFFIXES)}")
    if not path.is_file():
        raise KeyfluidError(f"mesh {path} does not exist")
    options = {"skip_materials": True} if path.suffix.lower() == ".obj" else {}
    try:
        mesh = trimesh.load_mesh(path, process=False, **options)
        return np.array(mesh.vertices, dtype=float), np.array(mesh.faces, dtype=np.int64)
    except Exception as error:
        raise KeyfluidError(
            f"mesh {path} can't be read ({type(error).__name__}: {error}); is it cut short, or does a "
            "face name a vertex that does not exist?"
        ) from None


def require_mesh_extra() -> Any:
    """trimesh, once libigl is there too."""
    try:
        import igl  # noqa: F401
        import trimesh
    except ImportError as error:
        raise KeyfluidError(f"meshes need {error.name}: pip install 'keyfluid[mesh]'") from None
    return trimesh


def _box_corners(box: np.ndarray) -> np.ndarray:
    return np.stack(np.meshgrid(*box.T, indexing="ij"), axis=-1).reshape(-1, 3)
