"""A liquid's surface as a USD Mesh: points, faces and velocities (m/s) by frame, which renderers blur by.

Few vertices are time samples in the stage itself. Many become a layer for each frame, usd/NAME.1001.usda, and the stage
names them as value clips: a program then reads only the frames that it shows. NAME.clips.usda lists their attributes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from keyfluid.io.usd import Asset, Prim, Samples, encode, layer_text
from keyfluid.runs.frames import Frame, Frames
from keyfluid.runs.mesh_files import moving_mesh, surface_mesh
from keyfluid.scenes.build.problem import BuiltScene

MOST_INLINE = 200_000
"""Vertices of all frames together up to which they are samples of the stage; as many as frame 0 has, each."""

_NAME = "liquid"
_ATTRIBUTES = (
    "int[] faceVertexCounts",
    "int[] faceVertexIndices",
    "point3f[] points",
    "vector3f[] velocities",
    "float3[] extent",
)


class MeshFrames:
    """The surface of some frames; code: time code of a frame."""

    def __init__(self, problem: BuiltScene, frames: Frames, indices: Sequence[int], code: Callable[[int], int]) -> None:
        self.problem, self.frames, self.indices, self.code = problem, frames, indices, code
        first = surface_mesh(problem, frames[indices[0]])[0]
        self.apart = len(first) * len(indices) > MOST_INLINE
        self.files: dict[int, str] = {}
        """Layers by frame, relative to the stage; filled in by whoever writes them, where the frames are `apart`."""
        self.manifest = ""

    def prim(self, material: str) -> Prim:
        """The mesh of the stage, its values inside or in clips."""
        mesh = Prim("Mesh", _NAME).bind(material).set("uniform token subdivisionScheme", "none")
        if self.apart:
            codes = [float(self.code(index)) for index in self.indices]
            mesh.metadata["clips"] = {
                "dictionary default": {
                    "double2[] active": [(code, float(place)) for place, code in enumerate(codes)],
                    "asset[] assetPaths": [Asset(self.files[index]) for index in self.indices],
                    "asset manifestAssetPath": Asset(self.manifest),
                    "string primPath": f"/{_NAME}",
                    "double2[] times": [(code, code) for code in codes],
                }
            }
            return mesh
        values = {self.code(index): mesh_values(self.problem, self.frames[index]) for index in self.indices}
        for name in _ATTRIBUTES:
            mesh.set(name, Samples({code: frame[name] for code, frame in values.items()}))
        return mesh

    def layer(self, index: int) -> str:
        """The layer of one frame."""
        mesh, code = Prim("Mesh", _NAME), self.code(index)
        for name, value in mesh_values(self.problem, self.frames[index]).items():
            mesh.set(name, Samples({code: value}))
        return layer_text({"defaultPrim": _NAME, "startTimeCode": code, "endTimeCode": code, **_UNITS}, [mesh])

    def manifest_layer(self) -> str:
        """The attributes that the clips have."""
        mesh = Prim("Mesh", _NAME)
        for name in _ATTRIBUTES:
            mesh.declare(name)
        return layer_text({"defaultPrim": _NAME, **_UNITS}, [mesh])


_UNITS = {"metersPerUnit": 1, "upAxis": "Y"}
"""Units of layers that are read only through the stage, whose own units and axes count."""


def mesh_values(problem: BuiltScene, frame: Frame) -> dict[str, np.ndarray]:
    """The attributes of a frame's mesh, in the axes of files."""
    points, triangles, velocities = moving_mesh(problem, frame)
    none = np.zeros((1, 3))
    values = (
        np.full(len(triangles), 3),
        triangles.ravel(),
        points,
        velocities,
        np.concatenate([points.min(axis=0)[None], points.max(axis=0)[None]])
        if len(points)
        else np.vstack([none, none]),
    )
    return dict(zip(_ATTRIBUTES, values))


def usd_frame(problem: BuiltScene, frame: Frame) -> int:
    """Bytes that a frame takes in the stage or beside it; of smoke, which the stage only names, a line."""
    if frame.surface is None or problem.grid.dim == 2:
        return 64
    return sum(len(encode(value)) for value in mesh_values(problem, frame).values())
