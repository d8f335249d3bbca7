# SPDX-License-Identifier: GPL-3.0-or-later
"""An ordinary scene folder: scene.toml, meshes/ and arrays/, which runs without Blender too.

Coordinates are those of the domain: metres from its lowest corner, z up. Files are named by their objects. A body at
rest is one mesh; an obstacle that moves without deforming is one mesh and a path; a keyframe that moves is a sequence
from its frame to its last; a source that moves is one source for each frame. Files that a scene no longer names are
removed.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from .frames import FrameRange
from .geometry import middle, write_ply
from .messages import Fault, outside
from .motion import Sample, at_rest, euler_path, rigid
from .toml_text import toml_text

MESHES, ARRAYS, SCENE = "meshes", "arrays", "scene.toml"
MOST_SOURCES = 400
COMMENT = "Made by the keyfluid extension for Blender; runs with: keyfluid run scene.toml -o run"


@dataclass
class Body:
    """An object with a role; keys: those of its table. density: an image as an array over the domain."""

    name: str
    role: str
    samples: Sequence[Sample] = ()
    keys: dict[str, Any] = field(default_factory=dict)
    density: np.ndarray | None = None


@dataclass
class Film:
    """The rest of a scene. fluid: "smoke" or "liquid"; fluid_keys, control: keys of these tables."""

    name: str
    size: tuple[float, float, float]
    frames: FrameRange
    fps: float
    resolution: int = 48
    fluid: str = "smoke"
    boundary: str = "walls"
    steps: int | str = 1
    fluid_keys: dict[str, Any] = field(default_factory=dict)
    control: dict[str, Any] = field(default_factory=lambda: {"method": "none"})
    video: bool = False


class SceneFolder:
    """Writes a film and its bodies to a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._written: set[Path] = set()

    @property
    def scene_file(self) -> Path:
        return self.path / SCENE

    def write(self, film: Film, bodies: Sequence[Body]) -> Path:
        """The scene file, once everything that it names is there."""
        self._written = set()
        scene = self.scene(film, bodies)
        self.scene_file.write_text(toml_text(scene, COMMENT), encoding="utf-8")
        for folder, pattern in ((MESHES, "*.ply"), (ARRAYS, "*.npy")):
            for path in (self.path / folder).glob(f"**/{pattern}"):
                if path not in self._written:
                    path.unlink()
        return self.scene_file

    def scene(self, film: Film, bodies: Sequence[Body]) -> dict[str, Any]:
        """The tables of the scene; meshes and arrays are written on the way."""
        self.path.mkdir(parents=True, exist_ok=True)
        tables: dict[str, list[dict[str, Any]]] = {"start": [], "source": [], "obstacle": [], "keyframe": []}
        for body in bodies:
            tables[body.role] += self._entries(film, body)
        fluid: dict[str, Any] = dict(film.fluid_keys)
        if tables["start"]:
            fluid["initial"] = tables["start"]
        scene: dict[str, Any] = {
            "name": file_name(film.name),
            "domain": {
                "size": [float(side) for side in film.size],
                "resolution": film.resolution,
                "boundary": film.boundary,
                "up": "z",
            },
            "time": {
                "fps": float(film.fps),
                "frames": max(film.frames.count - 1, 1),
                "steps_per_frame": film.steps,
            },
            film.fluid: fluid,
        }
        scene |= {key: tables[key] for key in ("source", "obstacle", "keyframe") if tables[key]}
        scene["control"] = dict(film.control)
        scene["output"] = {
            "names": "blender",
            "start_frame": film.frames.first,
            "live": True,
            "usd": True,
            "video": film.video,
        }
        return scene

    def _entries(self, film: Film, body: Body) -> list[dict[str, Any]]:
        """The tables of a body."""
        if body.density is not None:
            path = self._file(ARRAYS, body.name, ".npy")
            np.save(path, body.density.astype(np.float32))
            return [{"npy": self._named(path), **body.keys}]
        samples = list(body.samples)
        self._require_inside(film, body.name, samples)
        if at_rest(samples):
            return [{**self._mesh(body.name, samples[0]), **body.keys}]
        if body.role == "obstacle":
            return [{**self._moving(film, body, samples), **body.keys}]
        if body.role == "source":
            return self._each_frame(film, body, samples)
        if body.role == "keyframe" and "until" in body.keys:
            return [{**self._sequence(film, body.name, samples), **body.keys}]
        wanted = film.frames.from_run(int(body.keys.get("frame", 0)))
        sample = min(samples, key=lambda each: abs(each.frame - wanted))
        return [{**self._mesh(body.name, sample), **body.keys}]

    def _mesh(self, name: str, sample: Sample, suffix: str = "") -> dict[str, Any]:
        """A mesh where it is at its frame."""
        path = self._file(MESHES, f"{file_name(name)}{suffix}", ".ply")
        write_ply(path, sample.placed, sample.triangles)
        return {"mesh": self._named(path), "center": _floats(middle(sample.placed, sample.triangles))}

    def _moving(self, film: Film, body: Body, samples: list[Sample]) -> dict[str, Any]:
        found = rigid(samples)
        if found is None:
            return self._sequence(film, body.name, samples)
        path = self._file(MESHES, body.name, ".ply")
        write_ply(path, found.vertices, found.triangles)
        centre = middle(found.vertices, found.triangles)
        angles = euler_path([pose[:3, :3] for _, pose in found.poses])
        places = [
            {
                "frame": film.frames.to_run(frame),
                "center": _floats(pose[:3, :3] @ centre + pose[:3, 3]),
                "rotation": _floats(turn),
            }
            for (frame, pose), turn in zip(found.poses, angles)
        ]
        return {"mesh": self._named(path), "path": _without_repeats(places)}

    def _sequence(self, film: Film, name: str, samples: list[Sample]) -> dict[str, Any]:
        """One file per frame of the film, from frame 0 of the run on."""
        folder = self.path / MESHES / file_name(name)
        low, high = np.full(3, np.inf), np.full(3, -np.inf)
        for sample in samples:
            path = folder / f"{film.frames.to_run(sample.frame):04d}.ply"
            write_ply(path, sample.placed, sample.triangles)
            self._written.add(path)
            used = sample.placed.astype(np.float32).astype(np.float64)[np.unique(sample.triangles)]
            low, high = np.minimum(low, used.min(axis=0)), np.maximum(high, used.max(axis=0))
        return {"mesh": f"{MESHES}/{file_name(name)}/####.ply", "center": _floats(0.5 * (low + high))}

    def _each_frame(self, film: Film, body: Body, samples: list[Sample]) -> list[dict[str, Any]]:
        """A source for each frame, or for every few of a long film."""
        first, last = int(body.keys.get("start", 0)), int(body.keys.get("stop", film.frames.count - 1))
        acting = [sample for sample in samples if first <= film.frames.to_run(sample.frame) < last]
        stride = -(-len(acting) // MOST_SOURCES)
        found = []
        for sample in acting[::stride]:
            frame = film.frames.to_run(sample.frame)
            times = {"start": frame, "stop": min(frame + stride, last)}
            found.append({**self._mesh(body.name, sample, f".{frame:04d}"), **body.keys, **times})
        return found

    def _file(self, folder: str, name: str, ending: str) -> Path:
        """A path that no other object of this scene has."""
        base = file_name(name.removesuffix(ending))
        path, number = self.path / folder / f"{base}{ending}", 2
        while path in self._written:
            path, number = self.path / folder / f"{base}_{number}{ending}", number + 1
        path.parent.mkdir(parents=True, exist_ok=True)
        self._written.add(path)
        return path

    def _named(self, path: Path) -> str:
        return path.relative_to(self.path).as_posix()

    @staticmethod
    def _require_inside(film: Film, name: str, samples: Sequence[Sample]) -> None:
        for sample in samples:
            low, high = sample.placed.min(axis=0), sample.placed.max(axis=0)
            if np.all(high > 0) and np.all(low < film.size):
                return
        raise Fault(outside(name))


def file_name(name: str) -> str:
    """A name of letters, digits, '-', '_' and '.', a letter or digit first, at most 60 characters."""
    plain = re.sub(r"[^A-Za-z0-9._-]+", "_", name)[:60].strip("._-")
    return plain or "object"


def run_name(run: Path) -> str:
    """The name that the files of a run carry; "" while there is no run."""
    try:
        return str(tomllib.loads((run / SCENE).read_text(encoding="utf-8")).get("name", ""))
    except (OSError, ValueError):
        return ""


def image_density(
    picture: np.ndarray, matrix: np.ndarray, size: Sequence[float], depth: float, cells: int = 96
) -> np.ndarray:
    """A picture (height, width) of density, first row at the bottom, as an array over the domain.

    matrix: from the picture's own coordinates, in which it fills 0..1 in x and y and lies in z = 0, to the domain's.
    depth: its thickness, metres.
    """
    spacing = max(size) / cells
    shape = [max(4, round(side / spacing)) for side in size]
    axes = [(np.arange(n) + 0.5) * side / n for n, side in zip(shape, size)]
    points = np.stack(np.meshgrid(*axes, indexing="ij"), axis=-1)
    inverse = np.linalg.inv(matrix)
    local = points @ inverse[:3, :3].T + inverse[:3, 3]
    height, width = picture.shape
    column = np.clip((local[..., 0] * width).astype(int), 0, width - 1)
    row = np.clip((local[..., 1] * height).astype(int), 0, height - 1)
    across = np.linalg.norm(matrix[:3, 2])
    inside = np.all((local[..., :2] >= 0) & (local[..., :2] < 1), axis=-1) & (
        np.abs(local[..., 2]) * across <= max(depth, spacing) / 2
    )
    return np.where(inside, picture[row, column], 0.0).astype(np.float32)


def _floats(values: Sequence[float]) -> list[float]:
    return [round(float(value), 7) + 0.0 for value in values]


def _without_repeats(places: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Places between two that are alike say nothing."""
    kept = []
    for number, place in enumerate(places):
        beside = [places[n] for n in (number - 1, number + 1) if 0 <= n < len(places)]
        if len(beside) < 2 or not all(_pose(other) == _pose(place) for other in beside):
            kept.append(place)
    return kept


def _pose(place: dict[str, Any]) -> tuple[Any, Any]:
    return place["center"], place["rotation"]
