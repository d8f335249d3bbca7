"""Makes the bundled meshes of method "target": `python benchmarks/results/_target_assets.py` rewrites
target_mouse.glb (a mouse that walks) and target_ship.glb (a galleon that sails along x) in the gallery.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pygltflib as g
import trimesh
from _particles_assets import GALLERY, Bone, mirrored, write_glb

VOYAGE = 3.0
"""Seconds that the ship takes from end to end."""
DISTANCE = 0.9
"""Metres that it covers."""


def mouse() -> list[Bone]:
    """A walking mouse, about 1.4 m from nose to tail and 0.7 m high; a scene fits it to its own size."""
    bones = [Bone("belly", (-0.18, 0.36, 0.0), (0.14, 0.36, 0.0), 0.21)]
    bones.append(Bone("neck", (0.18, 0.44, 0.0), (0.34, 0.56, 0.0), 0.13, 0))
    bones.append(Bone("head", (0.36, 0.58, 0.0), (0.56, 0.50, 0.0), 0.12, 1))
    mirrored(bones, "ear", [(0.34, 0.70, 0.09), (0.33, 0.78, 0.14)], [0.09], 2)
    for k in range(3):
        start, end = (-0.32 - 0.2 * k, 0.30 + 0.03 * k, 0.0), (-0.52 - 0.2 * k, 0.33 + 0.03 * k, 0.0)
        bones.append(Bone(f"tail{k}", start, end, 0.065 - 0.01 * k, 0 if k == 0 else len(bones) - 1))
    mirrored(bones, "fore", [(0.12, 0.30, 0.12), (0.15, 0.17, 0.13), (0.15, 0.03, 0.13)], [0.08, 0.065], 0)
    mirrored(bones, "hind", [(-0.18, 0.30, 0.13), (-0.14, 0.17, 0.14), (-0.16, 0.03, 0.14)], [0.10, 0.07], 0)
    return bones


def ship() -> tuple[np.ndarray, np.ndarray]:
    """Vertices and faces of a galleon, bow along +x, 0.42 m long: hull, stern, bowsprit, three masts with sails."""
    hull = trimesh.creation.box((0.42, 0.09, 0.13)).subdivide().subdivide()
    bow = np.clip((hull.vertices[:, 0] - 0.02) / 0.19, 0, 1)
    low = np.clip(0.5 - hull.vertices[:, 1] / 0.09, 0, 1)
    hull.vertices[:, 2] *= (1 - 0.45 * low) * (1 - 0.8 * bow)
    hull.vertices[:, 0] -= 0.07 * low * bow
    hull.vertices[:, 1] += 0.045 + 0.03 * bow
    stern = trimesh.creation.box((0.11, 0.07, 0.12))
    stern.apply_translation([-0.155, 0.11, 0.0])
    parts = [hull, stern, rod((0.17, 0.1, 0.0), (0.3, 0.16, 0.0), 0.014)]
    for x, height, width in ((0.09, 0.34, 0.15), (-0.02, 0.4, 0.18), (-0.14, 0.32, 0.13)):
        parts.append(rod((x, 0.05, 0.0), (x, height, 0.0), 0.014))
        for low, high, share in ((0.42, 0.7, 1.0), (0.74, 0.95, 0.75)):
            sail = trimesh.creation.box((0.035, (high - low) * height, share * width))
            sail = sail.subdivide().subdivide()
            sail.vertices[:, 0] += 0.03 * np.cos(np.pi * sail.vertices[:, 2] / (share * width))
            sail.apply_translation([x, 0.5 * (low + high) * height + 0.02, 0.0])
            parts.append(sail)
    whole = trimesh.util.concatenate(parts)
    return np.asarray(whole.vertices), np.asarray(whole.faces)


def rod(start: tuple[float, ...], end: tuple[float, ...], radius: float) -> trimesh.Trimesh:
    return trimesh.creation.cylinder(radius, segment=[start, end], sections=8)


def write_ship(path: Path) -> None:
    """The galleon as one node that moves, rolls a little and pitches."""
    vertices, faces = ship()
    times = np.linspace(0, VOYAGE, 31)
    place = np.stack([DISTANCE * (times / VOYAGE - 0.5), 0.012 * np.sin(2 * np.pi * times), 0 * times], 1)
    pitch = 0.03 * np.cos(2 * np.pi * times)
    turn = np.stack([0 * pitch, 0 * pitch, np.sin(pitch), np.cos(pitch)], 1)
    arrays = [
        (vertices.astype(np.float32), g.FLOAT, "VEC3"),
        (faces.reshape(-1, 1).astype(np.uint16), g.UNSIGNED_SHORT, "SCALAR"),
        (times.reshape(-1, 1).astype(np.float32), g.FLOAT, "SCALAR"),
        (place.astype(np.float32), g.FLOAT, "VEC3"),
        (turn.astype(np.float32), g.FLOAT, "VEC4"),
    ]
    gltf, blob = g.GLTF2(scene=0, scenes=[g.Scene(nodes=[0])]), b""
    for index, (array, component, kind) in enumerate(arrays):
        data = np.ascontiguousarray(array).tobytes()
        gltf.bufferViews.append(g.BufferView(buffer=0, byteOffset=len(blob), byteLength=len(data)))
        gltf.accessors.append(g.Accessor(bufferView=index, componentType=component, count=len(array), type=kind))
        blob += data + b"\0" * (-len(data) % 4)
    gltf.nodes = [g.Node(mesh=0)]
    gltf.meshes = [g.Mesh(primitives=[g.Primitive(attributes=g.Attributes(POSITION=0), indices=1)])]
    samplers = [g.AnimationSampler(input=2, output=3 + k, interpolation="LINEAR") for k in range(2)]
    channels = [
        g.AnimationChannel(sampler=k, target=g.AnimationChannelTarget(node=0, path=what))
        for k, what in enumerate(("translation", "rotation"))
    ]
    gltf.animations = [g.Animation(samplers=samplers, channels=channels)]
    gltf.buffers = [g.Buffer(byteLength=len(blob))]
    gltf.set_binary_blob(blob)
    gltf.save(str(path))


if __name__ == "__main__":
    write_glb(GALLERY / "target_mouse.glb", mouse(), fps=8.0, detail=(6, 9))
    write_ship(GALLERY / "target_ship.glb")
