"""Makes the bundled creatures of method "particles": `python benchmarks/results/_particles_assets.py` rewrites
particles_horse.obj and particles_beast.glb in the gallery. Both are chains of capsules that overlap at their joints.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pygltflib as g
import trimesh

GALLERY = Path(__file__).resolve().parents[2] / "src" / "keyfluid" / "gallery"
SECONDS, FPS = 6.0, 6.0
Detail = tuple[int, int]
DETAIL: Detail = (5, 8)
"""Divisions of a capsule, along and around."""


@dataclass(frozen=True)
class Bone:
    """A capsule from `start` to `end` (metres, y up, nose along +x); `parent` is the index of the bone it hangs on."""

    name: str
    start: tuple[float, float, float]
    end: tuple[float, float, float]
    radius: float
    parent: int = -1


Point = tuple[float, float, float]


def mirrored(bones: list[Bone], name: str, points: list[Point], radii: list[float], parent: int) -> None:
    """A limb of several bones on both sides of the body."""
    for side in (1.0, -1.0):
        above = parent
        for k, radius in enumerate(radii):
            start, end = (tuple(np.multiply(point, (1, 1, side))) for point in points[k : k + 2])
            bones.append(Bone(f"{name}{k}{'LR'[side < 0]}", start, end, radius, above))
            above = len(bones) - 1


def horse() -> list[Bone]:
    bones = [Bone("barrel", (-0.30, 0.86, 0.0), (0.26, 0.88, 0.0), 0.19)]
    bones.append(Bone("rump", (-0.36, 0.88, 0.0), (-0.24, 0.88, 0.0), 0.20, 0))
    bones.append(Bone("chest", (0.26, 0.86, 0.0), (0.36, 0.92, 0.0), 0.17, 0))
    bones.append(Bone("neck", (0.36, 0.96, 0.0), (0.62, 1.36, 0.0), 0.115, 2))
    bones.append(Bone("head", (0.62, 1.38, 0.0), (0.88, 1.20, 0.0), 0.078, 3))
    bones.append(Bone("tail0", (-0.52, 0.94, 0.0), (-0.72, 0.78, 0.0), 0.06, 1))
    bones.append(Bone("tail1", (-0.72, 0.78, 0.0), (-0.80, 0.44, 0.0), 0.07, 5))
    mirrored(bones, "ear", [(0.62, 1.44, 0.05), (0.60, 1.55, 0.06)], [0.03], 4)
    mirrored(bones, "fore", [(0.30, 0.80, 0.11), (0.33, 0.42, 0.11), (0.30, 0.06, 0.11)], [0.085, 0.058], 2)
    mirrored(bones, "hind", [(-0.36, 0.80, 0.12), (-0.30, 0.48, 0.12), (-0.42, 0.06, 0.12)], [0.11, 0.062], 1)
    return bones


def beast() -> list[Bone]:
    bones = [Bone("spine", (-0.25, 0.62, 0.0), (0.25, 0.64, 0.0), 0.17)]
    bones.append(Bone("neck0", (0.30, 0.68, 0.0), (0.52, 0.88, 0.0), 0.11, 0))
    bones.append(Bone("neck1", (0.52, 0.88, 0.0), (0.64, 1.12, 0.0), 0.09, 1))
    bones.append(Bone("head", (0.64, 1.14, 0.0), (0.86, 1.10, 0.0), 0.10, 2))
    for k in range(3):
        start = (-0.30 - 0.22 * k, 0.62 - 0.04 * k, 0.0)
        end = (-0.52 - 0.22 * k, 0.58 - 0.04 * k, 0.0)
        bones.append(Bone(f"tail{k}", start, end, 0.10 - 0.025 * k, 0 if k == 0 else len(bones) - 1))
    mirrored(bones, "fore", [(0.24, 0.56, 0.15), (0.28, 0.30, 0.20), (0.24, 0.06, 0.20)], [0.085, 0.065], 0)
    mirrored(bones, "hind", [(-0.26, 0.56, 0.15), (-0.20, 0.30, 0.20), (-0.28, 0.06, 0.20)], [0.095, 0.068], 0)
    wings = len(bones)
    mirrored(bones, "wing", [(0.05, 0.74, 0.10), (0.06, 0.98, 0.36), (-0.06, 1.02, 0.68)], [0.07, 0.06], 0)
    feathers = [((0.05, 0.84, 0.20), (-0.26, 0.82, 0.20)), ((0.05, 0.95, 0.36), (-0.32, 0.88, 0.34)),
                ((0.0, 0.99, 0.52), (-0.34, 0.92, 0.48)), ((-0.06, 1.02, 0.68), (-0.32, 0.96, 0.62))]  # fmt: skip
    for start, end in feathers:
        above = (wings, wings + 2) if start[2] < 0.4 else (wings + 1, wings + 3)
        for side, parent in zip((1.0, -1.0), above):
            ends = (tuple(np.multiply(point, (1, 1, side))) for point in (start, end))
            bones.append(Bone(f"feather{'LR'[side < 0]}", *ends, 0.052, parent))
    return bones


def mesh_of(bones: list[Bone], detail: Detail = DETAIL) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Vertices, faces, joints (n, 4) and weights (n, 4): the first third of a bone is shared with its parent."""
    vertices, faces, joints, weights, count = [], [], [], [], 0
    for index, bone in enumerate(bones):
        start, end = np.array(bone.start), np.array(bone.end)
        length = float(np.linalg.norm(end - start))
        capsule = trimesh.creation.capsule(height=length, radius=bone.radius, count=list(detail))
        capsule.apply_transform(trimesh.geometry.align_vectors([0, 0, 1], (end - start) / length))
        capsule.apply_translation(0.5 * (start + end) - capsule.bounds.mean(axis=0))
        along = np.clip((capsule.vertices - start) @ (end - start) / length**2, 0.0, 1.0)
        own = np.clip(0.5 + 1.5 * along, 0.5, 1.0) if bone.parent >= 0 else np.ones(len(along))
        vertices.append(capsule.vertices)
        faces.append(capsule.faces + count)
        joints.append(np.tile([index, max(bone.parent, 0), 0, 0], (len(along), 1)))
        weights.append(np.stack([own, 1 - own, 0 * own, 0 * own], axis=1))
        count += len(along)
    return tuple(np.concatenate(part) for part in (vertices, faces, joints, weights))  # type: ignore[return-value]


def turns_of(bone: Bone, times: np.ndarray) -> np.ndarray:
    """Quaternions (n, 4) xyzw of a bone over time: a walk, a waving tail, beating wings."""
    side = -1.0 if bone.name.endswith("R") else 1.0
    phase = 2 * np.pi * times / 1.5
    axis, angle = np.array([0.0, 0.0, 1.0]), np.zeros_like(times)
    if bone.name.startswith(("fore", "hind")):
        lag = (0.0 if side > 0 else np.pi) + (np.pi if bone.name.startswith("hind") else 0.0)
        swing = np.sin(phase + lag)
        angle = 0.45 * swing if "0" in bone.name else -0.35 * np.clip(np.cos(phase + lag), 0, 1)
    elif bone.name.startswith("tail"):
        axis, angle = np.array([0.0, 1.0, 0.0]), 0.35 * np.sin(phase / 1.5 - 0.8 * int(bone.name[-1]))
    elif bone.name.startswith("neck"):
        angle = 0.12 * np.sin(phase / 2)
    elif bone.name.startswith("head"):
        axis, angle = np.array([0.0, 1.0, 0.0]), 0.3 * np.sin(phase / 2.2)
    elif bone.name.startswith("wing"):
        axis = np.array([1.0, 0.0, 0.0])
        angle = -side * (0.35 if "0" in bone.name else 0.3) * np.sin(phase / 1.25 - (0.7 if "1" in bone.name else 0.0))
    half = 0.5 * angle
    return np.concatenate([axis[None, :] * np.sin(half)[:, None], np.cos(half)[:, None]], axis=1)


def write_glb(path: Path, bones: list[Bone], fps: float = FPS, detail: Detail = DETAIL) -> None:
    """The mesh, a skin with one joint per bone, and the walk."""
    vertices, faces, joints, weights = mesh_of(bones, detail)
    bind = np.tile(np.eye(4), (len(bones), 1, 1))
    bind[:, :3, 3] = [-np.array(bone.start) for bone in bones]
    times = np.arange(0, SECONDS + 0.5 / fps, 1 / fps)
    arrays = [
        (vertices.astype(np.float32), g.FLOAT, "VEC3"),
        (faces.reshape(-1, 1).astype(np.uint16), g.UNSIGNED_SHORT, "SCALAR"),
        (joints.astype(np.uint8), g.UNSIGNED_BYTE, "VEC4"),
        (weights.astype(np.float32), g.FLOAT, "VEC4"),
        (bind.transpose(0, 2, 1).reshape(-1, 16).astype(np.float32), g.FLOAT, "MAT4"),
        (times.reshape(-1, 1).astype(np.float32), g.FLOAT, "SCALAR"),
        *((turns_of(bone, times).astype(np.float32), g.FLOAT, "VEC4") for bone in bones),
    ]
    gltf, blob = g.GLTF2(scene=0, scenes=[g.Scene(nodes=[0, 1])]), b""
    for array, component, kind in arrays:
        data = np.ascontiguousarray(array).tobytes()
        view = g.BufferView(buffer=0, byteOffset=len(blob), byteLength=len(data))
        gltf.bufferViews.append(view)
        accessor = g.Accessor(
            bufferView=len(gltf.bufferViews) - 1, componentType=component, count=len(array), type=kind
        )
        gltf.accessors.append(accessor)
        blob += data + b"\0" * (-len(data) % 4)
    nodes = [g.Node(mesh=0, skin=0)]
    for index, bone in enumerate(bones):
        base = np.array(bones[bone.parent].start) if bone.parent >= 0 else np.zeros(3)
        children = [k + 1 for k, other in enumerate(bones) if other.parent == index]
        nodes.append(g.Node(translation=list(np.array(bone.start) - base), children=children))
    gltf.nodes = nodes
    attributes = g.Attributes(POSITION=0, JOINTS_0=2, WEIGHTS_0=3)
    gltf.meshes = [g.Mesh(primitives=[g.Primitive(attributes=attributes, indices=1)])]
    gltf.skins = [g.Skin(joints=list(range(1, len(bones) + 1)), inverseBindMatrices=4)]
    samplers, channels = [], []
    for index in range(len(bones)):
        samplers.append(g.AnimationSampler(input=5, output=6 + index, interpolation="LINEAR"))
        channels.append(
            g.AnimationChannel(sampler=index, target=g.AnimationChannelTarget(node=index + 1, path="rotation"))
        )
    gltf.animations = [g.Animation(samplers=samplers, channels=channels)]
    gltf.buffers = [g.Buffer(byteLength=len(blob))]
    gltf.set_binary_blob(blob)
    gltf.save(str(path))


def write_obj(path: Path, bones: list[Bone]) -> None:
    vertices, faces, _, _ = mesh_of(bones)
    lines = ["# A horse of capsules; made by benchmarks/results/_particles_assets.py"]
    lines += [f"v {x:.3f} {y:.3f} {z:.3f}" for x, y, z in vertices]
    lines += [f"f {a} {b} {c}" for a, b, c in faces + 1]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


if __name__ == "__main__":
    write_obj(GALLERY / "particles_horse.obj", horse())
    write_glb(GALLERY / "particles_beast.glb", beast())
