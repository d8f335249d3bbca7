"""The node tree of a glTF scene and the triangles that hang in it (specification 3.5, 3.7)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.io.budget import Budget
from keyfluid.shapes.gltf_accessor import AccessorReader
from keyfluid.shapes.gltf_file import GltfFile
from keyfluid.shapes.gltf_json import Json, entries, entry, indices, inner, numbers, optional, whole

Pose = dict[str, np.ndarray]
_TRIANGLES, _STRIP, _FAN = 4, 5, 6
_DEEPEST = 1000
_MOST_NODES = _MOST_PRIMITIVES = 1 << 14
_BYTES_PER_VERTEX = 8 * (4 + 4 + 3)  # with a one behind it, moved, and joined to those of other parts
_BYTES_PER_FACE = 8 * (3 + 3)  # counted on from other parts, and joined to theirs


@dataclass(frozen=True)
class NodeTree:
    """Transforms of all nodes at rest, and the nodes of the scene as (node, parent or -1), parents first."""

    rest: list[Pose]
    order: list[tuple[int, int]]

    def world(self, pose: list[Pose]) -> np.ndarray:
        """From each node's own frame to the scene's."""
        world = np.tile(np.eye(4), (len(pose), 1, 1))
        for node, parent in self.order:
            local = _local_matrix(pose[node])
            world[node] = local if parent < 0 else world[parent] @ local
        return world


@dataclass(frozen=True)
class Primitive:
    """Triangles in the frame of a node; `described`: the primitive in the JSON."""

    node: int
    vertices: np.ndarray
    faces: np.ndarray
    described: Json


def read_still_gltf(path: Path, budget: Budget) -> tuple[np.ndarray, np.ndarray]:
    """Vertices and triangles of the file's scene, all nodes in place; animations and skins are not applied."""
    file = GltfFile(path, budget)
    tree = read_tree(file.document)
    vertices, faces, count = [], [], 0
    world = tree.world(tree.rest)
    for part in read_primitives(file, tree):
        homogeneous = np.hstack([part.vertices, np.ones((len(part.vertices), 1))])
        vertices.append((homogeneous @ world[part.node].T)[:, :3])
        faces.append(part.faces + count)
        count += len(homogeneous)
    return np.concatenate(vertices), np.concatenate(faces)


def read_tree(document: Json) -> NodeTree:
    nodes = entries(document, "nodes")
    if len(nodes) > _MOST_NODES:
        raise KeyfluidError(f"it has {len(nodes)} nodes, at most {_MOST_NODES} are allowed; join its meshes")
    children = [indices(node, "children", len(nodes)) for node in nodes]
    if "scenes" in document:
        roots = indices(entry(document, "scenes", whole(document, "scene", 0)), "nodes", len(nodes))
    else:
        inside = {child for each in children for child in each}
        roots = [node for node in range(len(nodes)) if node not in inside]
    return NodeTree([_rest_pose(node) for node in nodes], _parents_first(children, roots))


def read_primitives(file: GltfFile, tree: NodeTree) -> list[Primitive]:
    """The primitives of all nodes, in their order; at least one. Nodes that show the same mesh share its arrays."""
    read = AccessorReader(file)
    meshes: dict[int, list[tuple[np.ndarray, np.ndarray, Json]]] = {}
    found: list[Primitive] = []
    for node, _ in tree.order:
        mesh = optional(entry(file.document, "nodes", node), "mesh")
        if mesh is None:
            continue
        if mesh not in meshes:
            meshes[mesh] = list(_mesh(file, mesh, read))
        for vertices, faces, primitive in meshes[mesh]:
            file.budget.spend(_BYTES_PER_VERTEX * len(vertices) + _BYTES_PER_FACE * len(faces), "its triangles")
            found.append(Primitive(node, vertices, faces, primitive))
        if len(found) > _MOST_PRIMITIVES:
            raise KeyfluidError(f"it has more than {_MOST_PRIMITIVES} parts; join its meshes")
    if not found:
        raise KeyfluidError("there are no triangles in the file's scene")
    return found


def _mesh(file: GltfFile, mesh: int, read: AccessorReader) -> Iterator[tuple[np.ndarray, np.ndarray, Json]]:
    """Vertices, triangles and JSON of each primitive of a mesh."""
    primitives = entries(entry(file.document, "meshes", mesh), "primitives")
    if len(primitives) > _MOST_PRIMITIVES:
        raise KeyfluidError(f"it has more than {_MOST_PRIMITIVES} parts; join its meshes")
    for primitive in primitives:
        mode = whole(primitive, "mode", _TRIANGLES)
        if mode not in (_TRIANGLES, _STRIP, _FAN):
            continue
        vertices = read(whole(inner(primitive, "attributes"), "POSITION"), "VEC3")
        given = optional(primitive, "indices")
        corners = read(given, "SCALAR").reshape(-1) if given is not None else np.arange(len(vertices))
        file.budget.spend(8 * len(corners) * (2 if mode == _TRIANGLES else 5), "its triangles")
        faces = _triangles(corners, mode)
        if faces.size and (faces.max() >= len(vertices) or faces.min() < 0):
            raise KeyfluidError(f"a face refers to vertex {faces.max()} of {len(vertices)}")
        yield vertices, faces, primitive


def _triangles(corners: np.ndarray, mode: int) -> np.ndarray:
    if corners.dtype.kind not in "iu":
        raise KeyfluidError("indices must be whole numbers")
    if mode == _TRIANGLES:
        if len(corners) % 3:
            raise KeyfluidError(f"{len(corners)} indices do not make triangles")
        return corners.astype(np.int64).reshape(-1, 3)
    index = corners.astype(np.int64)
    if len(index) < 3:
        raise KeyfluidError("a strip or fan of triangles needs three corners")
    if mode == _FAN:
        return np.stack([np.full(len(index) - 2, index[0]), index[1:-1], index[2:]], axis=1)
    strip = np.stack([index[:-2], index[1:-1], index[2:]], axis=1)
    strip[1::2] = strip[1::2, [1, 0, 2]]  # every other triangle of a strip runs the other way round
    return strip


def _parents_first(children: list[list[int]], roots: list[int]) -> list[tuple[int, int]]:
    order: list[tuple[int, int]] = []
    level = [(root, -1) for root in roots]
    for _ in range(_DEEPEST):
        order += level
        if len(order) > len(children):
            break
        level = [(child, node) for node, _ in level for child in children[node]]
        if not level:
            if len({node for node, _ in order}) < len(order):
                break
            return order
    raise KeyfluidError("its nodes are not a tree")


def _rest_pose(node: Json) -> Pose:
    matrix = numbers(node, "matrix", 16)
    if matrix is not None:
        return {"matrix": matrix.reshape(4, 4).T}
    given = {key: numbers(node, key, count) for key, count in (("translation", 3), ("rotation", 4), ("scale", 3))}
    return {key: value for key, value in given.items() if value is not None}


def _local_matrix(pose: Pose) -> np.ndarray:
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
