"""Triangle meshes (OBJ, PLY, STL, glTF) as bodies of density and as signed distances."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.io.budget import Budget, enough_memory
from keyfluid.shapes.gltf_nodes import read_still_gltf
from keyfluid.shapes.mesh_coverage import coverage_on_grid
from keyfluid.shapes.mesh_distance import distance_on_grid, distance_to_points
from keyfluid.shapes.mesh_obj import read_obj
from keyfluid.shapes.mesh_ply import read_ply
from keyfluid.shapes.mesh_repair import repair
from keyfluid.shapes.mesh_stl import read_stl
from keyfluid.shapes.placement import Hull, Placement, Transform, domain_of, resolve
from keyfluid.shapes.source import OWN_SIZE

LESS = "reduce the mesh"
_READERS: dict[str, Callable[[Path, Budget], tuple[np.ndarray, np.ndarray]]] = {
    ".obj": read_obj,
    ".ply": read_ply,
    ".stl": read_stl,
    ".gltf": read_still_gltf,
    ".glb": read_still_gltf,
}
MESH_SUFFIXES = tuple(_READERS)


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
        placed = self._placed(domain_of(shape, spacing), placement)
        return coverage_on_grid(shape, spacing, placed, self.faces, self.outer)

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
    with enough_memory(f"mesh {path}"):
        return Mesh.build(*read_triangles(path), name=str(path))


def read_triangles(path: Path, budget: Budget | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and triangles as the file has them, all of its nodes in place; no other file but buffers is opened."""
    reader = _READERS.get(path.suffix.lower())
    if reader is None:
        raise KeyfluidError(f"mesh {path}: the name must end in {', '.join(MESH_SUFFIXES)}")
    if not path.is_file():
        raise KeyfluidError(f"mesh {path} does not exist")
    allowed = Budget(advice=LESS) if budget is None else budget.for_one_of_many()
    with enough_memory(f"mesh {path}"):
        try:
            with np.errstate(all="ignore"):  # numbers that are none are found when the mesh is built
                return reader(path, allowed)
        except KeyfluidError as fault:
            raise KeyfluidError(f"mesh {path} can't be read: {fault}") from None
        except OSError as error:
            raise KeyfluidError(f"mesh {path} can't be read: {error.strerror}; check its permissions") from None


def require_mesh_extra() -> None:
    """Winding numbers and distances need libigl."""
    try:
        import igl  # noqa: F401
    except ImportError:
        raise KeyfluidError("meshes need libigl: pip install 'keyfluid[mesh]'") from None


def _box_corners(box: np.ndarray) -> np.ndarray:
    return np.stack(np.meshgrid(*box.T, indexing="ij"), axis=-1).reshape(-1, 3)
