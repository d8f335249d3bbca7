"""A small skinned glTF made in code: a bar of boxes along y whose upper half bends about a joint at y = 1."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pygltflib as g
import trimesh

QUARTER = float(np.sqrt(0.5))


def bar() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Vertices, faces and the weight of the upper joint: a box 0.4 x 2 x 0.4 cut at y = 0.5, 1 and 1.5."""
    box = trimesh.creation.box((0.4, 0.5, 0.4)).subdivide()
    parts = [box.copy().apply_translation((0.0, 0.25 + 0.5 * k, 0.0)) for k in range(4)]
    mesh = trimesh.util.concatenate(parts)
    vertices = np.asarray(mesh.vertices, dtype=np.float32)
    return vertices, np.asarray(mesh.faces, dtype=np.uint16), (vertices[:, 1] > 1.001).astype(np.float32)


def write_bent_bar(path: Path, interpolation: str = "LINEAR", normalized_weights: bool = False) -> Path:
    """Two joints (root, elbow at y = 1); in one second the elbow turns a quarter about z: +y goes to -x.

    The mesh node has a translation that the specification says a skinned mesh ignores, and the root joint
    hangs in a node that lifts everything by 3.
    """
    vertices, faces, upper = bar()
    weights = np.stack([1 - upper, upper, 0 * upper, 0 * upper], axis=1)
    stored_weights = (weights * 255).astype(np.uint8) if normalized_weights else weights
    joints = np.tile(np.array([0, 1, 0, 0], dtype=np.uint8), (len(vertices), 1))
    bind = np.stack([np.eye(4), np.eye(4)]).astype(np.float32)
    bind[1, 1, 3] = -1.0
    times = np.array([0.0, 1.0], dtype=np.float32)
    turns = np.array([[0, 0, 0, 1], [0, 0, QUARTER, QUARTER]], dtype=np.float32)
    if interpolation == "CUBICSPLINE":
        rest = np.zeros_like(turns[0])
        turns = np.stack([rest, turns[0], rest, rest, turns[1], rest])
    byte, short, real = g.UNSIGNED_BYTE, g.UNSIGNED_SHORT, g.FLOAT
    arrays = [
        (vertices, real, "VEC3", False),
        (faces.reshape(-1, 1), short, "SCALAR", False),
        (joints, byte, "VEC4", False),
        (stored_weights, byte if normalized_weights else real, "VEC4", normalized_weights),
        (bind.transpose(0, 2, 1).reshape(2, 16), real, "MAT4", False),
        (times.reshape(-1, 1), real, "SCALAR", False),
        (turns, real, "VEC4", False),
    ]
    gltf = g.GLTF2(scene=0, scenes=[g.Scene(nodes=[0, 1])])
    gltf.nodes = [
        g.Node(mesh=0, skin=0, translation=[9.0, 9.0, 9.0]),
        g.Node(children=[2], translation=[0.0, 3.0, 0.0]),
        g.Node(children=[3]),
        g.Node(translation=[0.0, 1.0, 0.0]),
    ]
    blob = b""
    for array, component, kind, normalized in arrays:
        data = np.ascontiguousarray(array).tobytes()
        gltf.bufferViews.append(g.BufferView(buffer=0, byteOffset=len(blob), byteLength=len(data)))
        gltf.accessors.append(
            g.Accessor(
                bufferView=len(gltf.bufferViews) - 1,
                componentType=component,
                count=len(array),
                type=kind,
                normalized=normalized,
            )
        )
        blob += data + b"\0" * (-len(data) % 4)
    attributes = g.Attributes(POSITION=0, JOINTS_0=2, WEIGHTS_0=3)
    gltf.meshes = [g.Mesh(primitives=[g.Primitive(attributes=attributes, indices=1)])]
    gltf.skins = [g.Skin(joints=[2, 3], inverseBindMatrices=4)]
    sampler = g.AnimationSampler(input=5, output=6, interpolation=interpolation)
    channel = g.AnimationChannel(sampler=0, target=g.AnimationChannelTarget(node=3, path="rotation"))
    gltf.animations = [g.Animation(samplers=[sampler], channels=[channel])]
    gltf.buffers = [g.Buffer(byteLength=len(blob))]
    gltf.set_binary_blob(blob)
    if path.suffix == ".gltf":
        gltf.convert_buffers(g.BufferFormat.DATAURI)
    gltf.save(str(path))
    return path
