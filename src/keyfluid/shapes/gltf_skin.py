"""Animated nodes and linear blend skinning of glTF 2.0 (Khronos specification, sections 3.6, 3.7 and 3.11).

    v' = sum_k weight_k  G(joint_k) B(joint_k)  v

G is the joint node's global transform at the time asked for, B its inverse bind matrix; the transform of the
node that carries a skinned mesh is ignored, as the specification says. Morph targets are not applied, and
sparse or compressed accessors are refused.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.shapes.gltf_accessor import AccessorReader

_TRIANGLES = 4
_DEEPEST = 1000


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
class Part:
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
        after = int(
            np.clip(np.searchsorted(self.times, time, side="right"), 1, max(len(self.times) - 1, 1))
        )
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

    parts: list[Part]
    channels: list[Channel]
    rest: list[dict[str, np.ndarray]]
    order: list[tuple[int, int]]  # (node, parent or -1), parents first

    @property
    def duration(self) -> float:
        return max((float(channel.times[-1]) for channel in self.channels), default=0.0)

    def triangles(self, time: float) -> tuple[np.ndarray, np.ndarray]:
        """World-space vertices and faces of the whole scene at a time in seconds."""
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
        pose = [dict(node) for node in self.rest]
        for channel in self.channels:
            pose[channel.node].pop("matrix", None)
            pose[channel.node][channel.path] = channel.at(time)
        world = np.tile(np.eye(4), (len(pose), 1, 1))
        for node, parent in self.order:
            local = _local_matrix(pose[node])
            world[node] = local if parent < 0 else world[parent] @ local
        return world


def read_skinned_scene(path: Path) -> SkinnedScene:
    """Parse a .gltf or .glb file with pygltflib."""
    try:
        import pygltflib
    except ImportError:
        raise KeyfluidError("animated glTF needs pygltflib: pip install 'keyfluid[mesh]'") from None
    if not path.is_file():
        raise KeyfluidError(f"mesh {path} does not exist")
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            gltf = pygltflib.GLTF2().load(str(path))
        if gltf is None:
            raise ValueError("not a glTF file")
        scene = _parse(gltf, AccessorReader(gltf, path))
        scene.triangles(0.0)
    except KeyfluidError as error:
        raise KeyfluidError(f"mesh {path}: {error}") from None
    except Exception as error:
        raise KeyfluidError(
            f"mesh {path} can't be read as glTF ({type(error).__name__}: {error}); the file is broken"
        ) from None
    return scene


def _parse(gltf: Any, read: AccessorReader) -> SkinnedScene:
    roots = gltf.scenes[gltf.scene or 0].nodes if gltf.scenes else range(len(gltf.nodes))
    order = _parents_first(gltf.nodes, list(roots or []))
    parts = [part for node, _ in order for part in _parts_of_node(gltf, node, read)]
    if not parts:
        raise KeyfluidError("there are no triangles in the file's scene")
    channels = _channels(gltf, read) if gltf.animations else []
    if not channels:
        raise KeyfluidError("the file has no animation; use it as a plain mesh")
    return SkinnedScene(parts, channels, [_rest_pose(node) for node in gltf.nodes], order)


def _parents_first(nodes: list[Any], roots: list[int]) -> list[tuple[int, int]]:
    order: list[tuple[int, int]] = []
    level = [(root, -1) for root in roots]
    for _ in range(_DEEPEST):
        order += level
        if len(order) > len(nodes):
            break
        level = [(child, node) for node, _ in level for child in nodes[node].children or []]
        if not level:
            return order
    raise KeyfluidError("its nodes are not a tree")


def _parts_of_node(gltf: Any, node: int, read: AccessorReader) -> list[Part]:
    if gltf.nodes[node].mesh is None:
        return []
    parts = []
    for primitive in gltf.meshes[gltf.nodes[node].mesh].primitives:
        if primitive.mode not in (None, _TRIANGLES):
            continue
        attributes = primitive.attributes
        vertices = read(attributes.POSITION).reshape(-1, 3)
        index = read(primitive.indices) if primitive.indices is not None else np.arange(len(vertices))
        faces = index.astype(np.int64).reshape(-1, 3)
        if faces.size and (faces.max() >= len(vertices) or faces.min() < 0):
            raise KeyfluidError(f"a face names vertex {faces.max()} of {len(vertices)}")
        skin = gltf.nodes[node].skin
        skinned = skin is not None and attributes.JOINTS_0 is not None
        parts.append(
            Part(node, vertices, faces, _skin(gltf.skins[skin], attributes, read) if skinned else None)
        )
    return parts


def _skin(skin: Any, attributes: Any, read: AccessorReader) -> Skin:
    joints, weights = [read(attributes.JOINTS_0)], [read(attributes.WEIGHTS_0)]
    if getattr(attributes, "JOINTS_1", None) is not None:
        joints.append(read(attributes.JOINTS_1))
        weights.append(read(attributes.WEIGHTS_1))
    weight = np.hstack(weights).astype(float)
    weight /= np.maximum(weight.sum(axis=1, keepdims=True), 1e-12)
    joint = np.hstack(joints).astype(np.int64)
    nodes = np.asarray(skin.joints, dtype=np.int64)
    if joint.max() >= len(nodes):
        raise KeyfluidError(f"a vertex names joint {joint.max()} of {len(nodes)}")
    inverse_bind = np.tile(np.eye(4), (len(nodes), 1, 1))
    if skin.inverseBindMatrices is not None:
        # glTF stores matrices by columns
        inverse_bind = read(skin.inverseBindMatrices).astype(float).reshape(-1, 4, 4).transpose(0, 2, 1)
    return Skin(nodes, inverse_bind, joint, weight)


def _channels(gltf: Any, read: AccessorReader) -> list[Channel]:
    animation = gltf.animations[0]
    channels = []
    for channel in animation.channels:
        if channel.target.node is None or channel.target.path not in ("translation", "rotation", "scale"):
            continue
        sampler = animation.samplers[channel.sampler]
        times = read(sampler.input).reshape(-1).astype(float)
        values = (
            read(sampler.output).astype(float).reshape(-1, 4 if channel.target.path == "rotation" else 3)
        )
        per_key = 3 if sampler.interpolation == "CUBICSPLINE" else 1
        if len(times) == 0 or len(values) < per_key * len(times) or np.any(np.diff(times) < 0):
            raise KeyfluidError("an animation curve has no keys, too few values or times that do not rise")
        if not (np.all(np.isfinite(times)) and np.all(np.isfinite(values))):
            raise KeyfluidError("an animation curve holds values that are not finite")
        interpolation = sampler.interpolation or "LINEAR"
        channels.append(Channel(channel.target.node, channel.target.path, interpolation, times, values))
    return channels


def _rest_pose(node: Any) -> dict[str, np.ndarray]:
    if node.matrix is not None:
        return {"matrix": np.asarray(node.matrix, dtype=float).reshape(4, 4).T}
    given = {"translation": node.translation, "rotation": node.rotation, "scale": node.scale}
    return {key: np.asarray(value, dtype=float) for key, value in given.items() if value is not None}


def _local_matrix(pose: dict[str, np.ndarray]) -> np.ndarray:
    if "matrix" in pose:
        return pose["matrix"]
    matrix = np.eye(4)
    x, y, z, w = pose.get("rotation", np.array([0.0, 0.0, 0.0, 1.0]))
    turn = np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
    matrix[:3, :3] = turn * pose.get("scale", np.ones(3))
    matrix[:3, 3] = pose.get("translation", np.zeros(3))
    return matrix


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
