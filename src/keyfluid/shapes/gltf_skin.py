"""Animated nodes and linear blend skinning of glTF 2.0 (Khronos specification, sections 3.6, 3.7 and 3.11).

    v' = sum_k weight_k  G(joint_k) B(joint_k)  v

G is the joint node's global transform at the requested time, B its inverse bind matrix; the transform of the
node that carries a skinned mesh is ignored, as the specification says. Morph targets are not applied, and
sparse or compressed accessors are refused.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.io.budget import Budget, enough_memory
from keyfluid.shapes.gltf_accessor import AccessorReader
from keyfluid.shapes.gltf_file import GltfFile
from keyfluid.shapes.gltf_json import Json, entries, entry, indices, inner, optional, whole, word
from keyfluid.shapes.gltf_nodes import NodeTree, Primitive, read_primitives, read_tree

_PATHS = ("translation", "rotation", "scale")
_INTERPOLATIONS = ("LINEAR", "STEP", "CUBICSPLINE")
_MOST_CHANNELS = 1 << 14
_BYTES_PER_WEIGHT = 8 * (2 + 2)  # joints and weights, each read and then joined
_BYTES_TO_BEND = 8 * (16 + 4 + 4)  # a matrix for each vertex, and what it moves


@dataclass(frozen=True)
class Skin:
    """Which of the joints (`nodes`, with inverse bind matrices) pull each vertex, and how strongly."""

    nodes: np.ndarray
    inverse_bind: np.ndarray
    joints: np.ndarray
    weights: np.ndarray

    def bend(self, homogeneous: np.ndarray, world: np.ndarray) -> np.ndarray:
        bones = world[self.nodes] @ self.inverse_bind
        moved = np.zeros_like(homogeneous)
        for joint, weight in zip(self.joints.T, self.weights.T):
            moved += weight[:, None] * np.einsum("nij,nj->ni", bones[joint], homogeneous)
        return moved


@dataclass(frozen=True)
class GltfPart:
    """One primitive: the node that carries it, its triangles and its skin, if it has one."""

    node: int
    vertices: np.ndarray
    faces: np.ndarray
    skin: Skin | None


@dataclass(frozen=True)
class Channel:
    """A curve for one node's "translation", "rotation" (xyzw) or "scale"."""

    node: int
    path: str
    interpolation: str
    times: np.ndarray
    values: np.ndarray

    def at(self, time: float) -> np.ndarray:
        """The value at a time; the ends hold."""
        cubic = self.interpolation == "CUBICSPLINE"
        time = float(np.clip(time, self.times[0], self.times[-1]))
        after = int(np.clip(np.searchsorted(self.times, time, side="right"), 1, max(len(self.times) - 1, 1)))
        if len(self.times) == 1:
            return self._unit(self.values[1] if cubic else self.values[0])
        before = after - 1
        span = self.times[after] - self.times[before]
        s = (time - self.times[before]) / span if span > 0 else 0.0
        if cubic:
            _, start, leave = self.values[3 * before : 3 * before + 3]
            arrive, end, _ = self.values[3 * after : 3 * after + 3]
            a, b = (1 + 2 * s) * (1 - s) ** 2, s * (1 - s) ** 2
            c, d = s * s * (3 - 2 * s), s * s * (s - 1)
            return self._unit(a * start + b * span * leave + c * end + d * span * arrive)
        start, end = self.values[before], self.values[after]
        if self.interpolation == "STEP":
            return end if s >= 1 else start
        if self.path == "rotation":
            return _slerp(start, end, s)
        return (1 - s) * start + s * end

    def _unit(self, value: np.ndarray) -> np.ndarray:
        return value / np.linalg.norm(value) if self.path == "rotation" else value


@dataclass(frozen=True)
class SkinnedScene:
    """All triangle primitives of a file's scene and its first animation."""

    parts: list[GltfPart]
    channels: list[Channel]
    tree: NodeTree

    @property
    def duration(self) -> float:
        return max((float(channel.times[-1]) for channel in self.channels), default=0.0)

    def triangles(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        """World-space vertices and faces of the whole scene at a time in seconds."""
        with np.errstate(all="ignore"):  # what leaves the range of numbers is found when the mesh is built
            return self._triangles(time)

    def _triangles(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        world = self._global_transforms(time)
        vertices, faces, count = [], [], 0
        for part in self.parts:
            homogeneous = np.hstack([part.vertices, np.ones((len(part.vertices), 1))])
            moved = part.skin.bend(homogeneous, world) if part.skin else homogeneous @ world[part.node].T
            vertices.append(moved[:, :3])
            faces.append(part.faces + count)
            count += len(moved)
        return np.concatenate(vertices), np.concatenate(faces)

    def _global_transforms(self, time: float) -> np.ndarray:
        pose = [dict(node) for node in self.tree.rest]
        for channel in self.channels:
            pose[channel.node].pop("matrix", None)
            pose[channel.node][channel.path] = channel.at(time)
        return self.tree.world(pose)


def read_skinned_scene(path: Path) -> SkinnedScene:
    """The scene of a .gltf or .glb file, with its first animation."""
    if not path.is_file():
        raise KeyfluidError(f"mesh {path} does not exist")
    with enough_memory(f"mesh {path}"):
        try:
            with np.errstate(all="ignore"):
                return _read(GltfFile(path, Budget(advice="reduce the mesh")))
        except KeyfluidError as error:
            raise KeyfluidError(f"mesh {path}: {error}") from None
        except OSError as error:
            raise KeyfluidError(f"mesh {path} can't be read: {error.strerror}; check its permissions") from None


def _read(file: GltfFile) -> SkinnedScene:
    tree, read = read_tree(file.document), AccessorReader(file)
    parts = [_part(file, primitive, read) for primitive in read_primitives(file, tree)]
    animations = entries(file.document, "animations")
    channels = list(_channels(animations[0], len(tree.rest), read)) if animations else []
    if not channels:
        raise KeyfluidError("the file has no animation; use it as a plain mesh")
    return SkinnedScene(parts, channels, tree)


def _part(file: GltfFile, primitive: Primitive, read: AccessorReader) -> GltfPart:
    skin = optional(entry(file.document, "nodes", primitive.node), "skin")
    attributes = inner(primitive.described, "attributes")
    bent = None
    if skin is not None and "JOINTS_0" in attributes:
        count = len(primitive.vertices)
        file.budget.require(_BYTES_TO_BEND * count, f"bending {count} vertices")
        bent = _skin(file, entry(file.document, "skins", skin), attributes, read, count)
    return GltfPart(primitive.node, primitive.vertices, primitive.faces, bent)


def _skin(file: GltfFile, skin: Json, attributes: Json, read: AccessorReader, count: int) -> Skin:
    sets = [number for number in (0, 1) if f"JOINTS_{number}" in attributes]
    file.budget.spend(4 * len(sets) * _BYTES_PER_WEIGHT * count, "its weights")
    joints = [read(whole(attributes, f"JOINTS_{number}"), "VEC4") for number in sets]
    weights = [read(whole(attributes, f"WEIGHTS_{number}"), "VEC4") for number in sets]
    if any(len(values) != count for values in joints + weights) or any(j.dtype.kind not in "iu" for j in joints):
        raise KeyfluidError("joints and weights must be given once for every vertex")
    weight = np.hstack(weights).astype(float)
    weight /= np.maximum(weight.sum(axis=1, keepdims=True), 1e-12)
    if not np.all(np.isfinite(weight)):
        raise KeyfluidError("its weights are not finite")
    joint = np.hstack(joints).astype(np.int64)
    nodes = np.asarray(indices(skin, "joints", len(entries(file.document, "nodes"))), dtype=np.int64)
    if joint.max() >= len(nodes) or joint.min() < 0:
        raise KeyfluidError(f"a vertex refers to joint {joint.max()} of {len(nodes)}")
    inverse_bind = np.tile(np.eye(4), (len(nodes), 1, 1))
    given = optional(skin, "inverseBindMatrices")
    if given is not None:
        # glTF stores matrices by columns
        inverse_bind = read(given, "MAT4").astype(float).reshape(-1, 4, 4).transpose(0, 2, 1)
        if len(inverse_bind) < len(nodes):
            raise KeyfluidError(f"{len(inverse_bind)} inverse bind matrices are too few for {len(nodes)} joints")
        inverse_bind = inverse_bind[: len(nodes)]
    return Skin(nodes, inverse_bind, joint, weight)


def _channels(animation: Json, nodes: int, read: AccessorReader) -> Iterator[Channel]:
    described = entries(animation, "channels")
    if len(described) > _MOST_CHANNELS:
        raise KeyfluidError(f"its animation has {len(described)} curves, at most {_MOST_CHANNELS} fit; remove some")
    for channel in described:
        target = inner(channel, "target")
        node, path = optional(target, "node"), word(target, "path")
        if node is None or path not in _PATHS:
            continue
        if node >= nodes:
            raise KeyfluidError(f"an animation moves node {node} of {nodes}")
        sampler = entry(animation, "samplers", whole(channel, "sampler"))
        interpolation = word(sampler, "interpolation", "LINEAR")
        if interpolation not in _INTERPOLATIONS:
            raise KeyfluidError(f"interpolation must be one of {', '.join(_INTERPOLATIONS)}")
        times = read(whole(sampler, "input"), "SCALAR").reshape(-1).astype(float)
        values = read(whole(sampler, "output"), "VEC4" if path == "rotation" else "VEC3").astype(float)
        per_key = 3 if interpolation == "CUBICSPLINE" else 1
        if len(times) == 0 or len(values) < per_key * len(times) or np.any(np.diff(times) < 0):
            raise KeyfluidError("an animation curve has no keys, too few values or times that do not increase")
        if not (np.all(np.isfinite(times)) and np.all(np.isfinite(values))):
            raise KeyfluidError("an animation curve holds values that are not finite")
        yield Channel(node, path, interpolation, times, values)


def _slerp(start: np.ndarray, end: np.ndarray, s: float) -> np.ndarray:
    cosine = float(start @ end)
    if cosine < 0:
        end, cosine = -end, -cosine
    if cosine > 0.9995:
        mixed = (1 - s) * start + s * end
    else:
        angle = np.arccos(cosine)
        mixed = (np.sin((1 - s) * angle) * start + np.sin(s * angle) * end) / np.sin(angle)
    return mixed / np.linalg.norm(mixed)
