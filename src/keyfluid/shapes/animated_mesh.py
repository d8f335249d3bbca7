"""Meshes that move: a sequence of files, or a glTF with animated nodes and skins. One body per moment."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import OrderedDict
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.io.budget import Budget, enough_memory
from keyfluid.shapes.file_pattern import FilePattern, natural_order
from keyfluid.shapes.gltf_skin import SkinnedScene, read_skinned_scene
from keyfluid.shapes.mesh import LESS, MESH_SUFFIXES, Mesh, read_triangles
from keyfluid.shapes.mesh_repair import checked_triangles
from keyfluid.shapes.placement import Placement
from keyfluid.shapes.source import OWN_SIZE

_KEPT = 2
_BOX_SAMPLES = 32
MOST_FILES = 10_000


class AnimatedMesh(ABC):
    """A mesh at any time; `fit` and `center` refer to one box around the whole animation: no jitter."""

    def __init__(self, name: str) -> None:
        self.name = name
        self._built: OrderedDict[float, Mesh] = OrderedDict()

    @property
    @abstractmethod
    def duration(self) -> float:
        """Seconds from the first pose to the last; the ends hold."""

    @property
    @abstractmethod
    def box(self) -> np.ndarray:
        """Two corners (2, 3) around all poses."""

    @abstractmethod
    def triangles(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        """Vertices and faces at a time in seconds."""

    def at(self, time: float) -> Mesh:
        """The body at a time in seconds, before the first pose or after the last the nearest of these."""
        time = float(np.clip(time, 0.0, self.duration))
        if time not in self._built:
            name = f"{self.name} at {time:.4g} s"
            self._built[time] = Mesh.build(*self.triangles(time), name=name, box=self.box)
            while len(self._built) > _KEPT:
                self._built.popitem(last=False)
        return self._built[time]

    def rasterize(
        self, shape: tuple[int, ...], spacing: float, placement: Placement = OWN_SIZE, time: float = 0.0
    ) -> np.ndarray:
        return self.at(time).rasterize(shape, spacing, placement)

    def bounds(
        self, shape: tuple[int, ...], spacing: float, placement: Placement = OWN_SIZE, time: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray]:
        return self.at(time).bounds(shape, spacing, placement)

    def signed_distance(
        self,
        points: np.ndarray,
        domain: tuple[float, ...],
        placement: Placement = OWN_SIZE,
        time: float = 0.0,
    ) -> np.ndarray:
        return self.at(time).signed_distance(points, domain, placement)

    def signed_distance_grid(
        self, shape: tuple[int, ...], spacing: float, placement: Placement = OWN_SIZE, time: float = 0.0
    ) -> np.ndarray:
        return self.at(time).signed_distance_grid(shape, spacing, placement)


class MeshSequence(AnimatedMesh):
    """One file per frame at `fps`; vertices move straight between two files that have the same faces."""

    def __init__(self, files: list[Path], fps: float, name: str) -> None:
        super().__init__(name)
        if not (np.isfinite(fps) and fps > 0):
            raise KeyfluidError(f"mesh sequence {name}: fps {fps} must be above 0")
        self.files, self.fps = files, fps
        self._poses = self._read(files)
        self._box = _box_around(vertices[faces] for vertices, faces in self._poses)

    def _read(self, files: list[Path]) -> list[tuple[np.ndarray, np.ndarray]]:
        """All poses are kept, so they share one budget."""
        budget = Budget(advice=f"{LESS} or use fewer files")
        poses: list[tuple[np.ndarray, np.ndarray]] = []
        for path in files:
            vertices, faces = checked_triangles(*read_triangles(path, budget), name=str(path))
            try:
                budget.spend(vertices.nbytes + faces.nbytes, f"pose {len(poses) + 1} of {len(files)}")
            except KeyfluidError as fault:
                raise KeyfluidError(f"mesh {path}: {fault}") from None
            poses.append((vertices, faces))
        return poses

    @property
    def duration(self) -> float:
        return (len(self.files) - 1) / self.fps

    @property
    def box(self) -> np.ndarray:
        return self._box

    def triangles(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        # A frame's time comes as frame / fps: rounding must not turn it into a blend with its neighbour.
        position = round(float(np.clip(time * self.fps, 0, len(self.files) - 1)), 6)
        first = int(position)
        vertices, faces = self._poses[first]
        part = position - first
        if part == 0.0:
            return vertices, faces
        next_vertices, next_faces = self._poses[first + 1]
        if vertices.shape == next_vertices.shape and np.array_equal(faces, next_faces):
            return (1 - part) * vertices + part * next_vertices, faces
        return self._poses[first + round(part)]


class SkinnedMesh(AnimatedMesh):
    """The first animation of a glTF file, its skins bent by linear blend skinning."""

    def __init__(self, scene: SkinnedScene, name: str) -> None:
        super().__init__(name)
        self.scene = scene
        times = np.linspace(0.0, scene.duration, _BOX_SAMPLES)
        self._box = _box_around(vertices[faces] for vertices, faces in map(scene.triangles, times))
        if not np.all(np.isfinite(self._box)):
            raise KeyfluidError(f"mesh {name}: its animation holds numbers out of range; the file is broken")

    @property
    def duration(self) -> float:
        return self.scene.duration

    @property
    def box(self) -> np.ndarray:
        return self._box

    def triangles(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        return self.scene.triangles(time)


def load_mesh_sequence(pattern: Path, fps: float) -> MeshSequence:
    """The files of a sequence (`sequence_files`) as one moving body."""
    with enough_memory(f"mesh sequence {pattern}"):
        return MeshSequence(sequence_files(pattern), fps, str(pattern))


def sequence_files(pattern: Path) -> list[Path]:
    """Files of a folder, or with names such as walk.####.obj, walk.%04d.obj or walk.*.obj, by number."""
    folder, matcher = (pattern, "*") if os.path.isdir(pattern) else (pattern.parent, pattern.name)
    if not os.path.isdir(folder):
        raise KeyfluidError(f"mesh sequence {pattern}: the folder {folder} does not exist")
    fits = FilePattern(matcher).matches
    try:
        files = [
            path
            for path in folder.iterdir()
            if path.suffix.lower() in MESH_SUFFIXES and fits(path.name) and path.is_file()
        ]
    except OSError as error:
        raise KeyfluidError(
            f"mesh sequence {pattern}: can't be listed: {error.strerror}; check its permissions"
        ) from None
    if not files:
        raise KeyfluidError(f"mesh sequence {_shown(pattern)}: no mesh file matches; name them like walk.####.obj")
    if len(files) > MOST_FILES:
        raise KeyfluidError(
            f"mesh sequence {pattern}: {len(files)} files match, at most {MOST_FILES} are read; give a narrower pattern"
        )
    return sorted(files, key=lambda path: natural_order(path.name))


def load_skinned_gltf(path: Path) -> SkinnedMesh:
    """An animated .gltf or .glb file."""
    with enough_memory(f"mesh {path}"):
        return SkinnedMesh(read_skinned_scene(path), str(path))


def _box_around(poses: Iterable[np.ndarray]) -> np.ndarray:
    corners = np.array([(pose.min(axis=(0, 1)), pose.max(axis=(0, 1))) for pose in poses])
    return np.stack([corners[:, 0].min(axis=0), corners[:, 1].max(axis=0)])


def _shown(pattern: Path) -> str:
    """On one line, whatever is in it."""
    return " ".join(str(pattern).split())
