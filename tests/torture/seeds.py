"""Small whole files of every kind that keyfluid reads; what is fuzzed begins as one of them."""

from __future__ import annotations

import base64
import gzip
import io
import json
import struct
from functools import cache
from pathlib import Path

import numpy as np

VDB = Path(__file__).resolve().parent.parent / "data" / "vdb"
_CORNERS = np.array([[x, y, z] for x in (0, 1) for y in (0, 1) for z in (0, 1)], np.float32)
_FACES = np.array(
    [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6], [0, 6, 4],
     [1, 5, 7], [1, 7, 3]], np.uint16,
)  # fmt: skip


def obj() -> bytes:
    lines = ["o box", *(f"v {x:g} {y:g} {z:g}" for x, y, z in _CORNERS), "vn 0 0 1", "vt 0.5 0.5", "usemtl x"]
    return "\n".join([*lines, *(f"f {a + 1}/1/1 {b + 1}/1/1 {c + 1}/1/1" for a, b, c in _FACES), ""]).encode()


def obj_quads() -> bytes:
    faces = ("1 2 4 3", "5 7 8 6", "1 5 6 2", "-5 -1 -2 -6", "1 3 7 5", "2 6 8 4")
    lines = ["mtllib box.mtl", *(f"v {x:g} {y:g} {z:g} 1 0 0" for x, y, z in _CORNERS), "s off", "g side"]
    return "\r\n".join([*lines, *(f"f {face}" for face in faces), ""]).encode()


def ply_text() -> bytes:
    header = "ply\nformat ascii 1.0\ncomment box\nelement vertex 8\n"
    header += "property float x\nproperty float y\nproperty float z\n"
    header += "element face 12\nproperty list uchar int vertex_indices\nend_header\n"
    points = "".join(f"{x:g} {y:g} {z:g}\n" for x, y, z in _CORNERS)
    return (header + points + "".join(f"3 {a} {b} {c}\n" for a, b, c in _FACES)).encode()


def ply_mesh() -> bytes:
    from keyfluid.io.ply import mesh_bytes

    return mesh_bytes(_CORNERS, _FACES)


def ply_points() -> bytes:
    from keyfluid.io.ply import ply_bytes

    columns = {axis: _CORNERS[:, place] for place, axis in enumerate("xyz")}
    return ply_bytes({**columns, "red": np.arange(8, dtype=np.uint8), "vx": _CORNERS[:, 0]}, {"frame": 3})


def stl() -> bytes:
    table = np.zeros(12, [("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("attribute", "<u2")])
    table["corners"] = _CORNERS[_FACES]
    table["normal"] = np.cross(
        table["corners"][:, 1] - table["corners"][:, 0], table["corners"][:, 2] - table["corners"][:, 0]
    )
    return bytes(80) + struct.pack("<I", 12) + table.tobytes()


def stl_text() -> bytes:
    lines = ["solid box"]
    for face in _FACES:
        lines += ["facet normal 0 0 1", "outer loop", *("vertex {:g} {:g} {:g}".format(*_CORNERS[i]) for i in face)]
        lines += ["endloop", "endfacet"]
    return "\n".join([*lines, "endsolid box", ""]).encode()


def gltf_parts(animated: bool) -> tuple[dict[str, object], bytes]:
    """A box; if animated, skinned to a joint that turns within a second."""
    arrays: list[tuple[np.ndarray, int, str]] = [(_CORNERS, 5126, "VEC3"), (_FACES.reshape(-1, 1), 5123, "SCALAR")]
    attributes = {"POSITION": 0}
    tree: dict[str, object] = {"asset": {"version": "2.0"}, "scene": 0, "scenes": [{"nodes": [0]}]}
    nodes: list[dict[str, object]] = [{"mesh": 0}]
    if animated:
        joints, weights = np.zeros((8, 4), np.uint8), np.tile(np.float32([1, 0, 0, 0]), (8, 1))
        turns = np.float32([[0, 0, 0, 1], [0, 0, 0.7071068, 0.7071068]])
        bind = np.eye(4, dtype=np.float32).reshape(1, 16)
        arrays += [(joints, 5121, "VEC4"), (weights, 5126, "VEC4"), (bind, 5126, "MAT4")]
        arrays += [(np.float32([[0.0], [1.0]]), 5126, "SCALAR"), (turns, 5126, "VEC4")]
        attributes |= {"JOINTS_0": 2, "WEIGHTS_0": 3}
        nodes = [{"mesh": 0, "skin": 0}, {"translation": [0, 1, 0]}]
        tree |= {"scenes": [{"nodes": [0, 1]}], "skins": [{"joints": [1], "inverseBindMatrices": 4}]}
        sampler = {"input": 5, "output": 6, "interpolation": "LINEAR"}
        channel = {"sampler": 0, "target": {"node": 1, "path": "rotation"}}
        tree["animations"] = [{"samplers": [sampler], "channels": [channel]}]
    blob, views, accessors = b"", [], []
    for place, (array, component, kind) in enumerate(arrays):
        data = array.tobytes()
        views.append({"buffer": 0, "byteOffset": len(blob), "byteLength": len(data)})
        accessors.append({"bufferView": place, "componentType": component, "count": len(array), "type": kind})
        blob += data + bytes(-len(data) % 4)
    accessors[0] |= {"min": [0, 0, 0], "max": [1, 1, 1]}
    tree |= {
        "nodes": nodes,
        "meshes": [{"primitives": [{"attributes": attributes, "indices": 1}]}],
        "accessors": accessors,
        "bufferViews": views,
        "buffers": [{"byteLength": len(blob)}],
    }
    return tree, blob


def gltf(animated: bool = False) -> bytes:
    tree, blob = gltf_parts(animated)
    uri = "data:application/octet-stream;base64," + base64.b64encode(blob).decode()
    tree["buffers"] = [{"byteLength": len(blob), "uri": uri}]
    return json.dumps(tree).encode()


def glb(animated: bool = False) -> bytes:
    tree, blob = gltf_parts(animated)
    text = json.dumps(tree).encode()
    text += b" " * (-len(text) % 4)
    total = 28 + len(text) + len(blob)
    head = struct.pack("<4sIIII", b"glTF", 2, total, len(text), 0x4E4F534A)
    return head + text + struct.pack("<II", len(blob), 0x004E4942) + blob


@cache
def images() -> dict[str, bytes]:
    """A gradient of 5 x 4 pixels in every format and some modes."""
    from PIL import Image

    grey = (np.arange(20).reshape(4, 5) * 12).astype(np.uint8)
    colour = np.stack([grey, grey[::-1], 255 - grey, grey], axis=-1)
    made = {}
    for name, mode, kind, options in (
        ("l.png", "L", "PNG", {}), ("rgba.png", "RGBA", "PNG", {}), ("p.png", "P", "PNG", {}),
        ("x.jpg", "RGB", "JPEG", {}), ("x.tif", "RGB", "TIFF", {}),
        ("lzw.tif", "L", "TIFF", {"compression": "tiff_lzw"}),
        ("f.tif", "F", "TIFF", {}), ("x.bmp", "RGB", "BMP", {}), ("p.bmp", "P", "BMP", {}), ("x.gif", "P", "GIF", {}),
        ("x.webp", "RGBA", "WEBP", {"lossless": True}), ("y.webp", "RGB", "WEBP", {}), ("x.tga", "RGBA", "TGA", {}),
        ("rle.tga", "RGB", "TGA", {"compression": "tga_rle"}), ("x.ppm", "RGB", "PPM", {}), ("x.pgm", "L", "PPM", {}),
    ):  # fmt: skip
        picture = Image.fromarray(colour).convert(mode)
        if mode == "F":
            picture = Image.fromarray(grey.astype(np.float32) / 255)
        buffer = io.BytesIO()
        picture.save(buffer, kind, **options)
        made[name] = buffer.getvalue()
    made["text.ppm"] = b"P3\n# c\n2 2\n255\n0 0 0 255 255 255\n9 9 9 100 100 100\n"
    buffer = io.BytesIO()
    Image.fromarray(grey.astype(np.uint16) * 257).save(buffer, "PNG")
    made["i16.png"] = buffer.getvalue()
    return made


def fonts() -> list[bytes]:
    """The smallest fonts that matplotlib carries."""
    import matplotlib

    folder = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
    return [(folder / name).read_bytes() for name in ("cmss10.ttf", "cmtt10.ttf")]


def vdbs() -> list[bytes]:
    """Files of libopenvdb, and two of our own writer."""
    import tempfile

    from keyfluid.io.vdb import VdbGrid, cell_transform, write_vdb

    names = ("mask_only", "tiles", "tiles_large", "inactive_zip_half", "inactive_mask_half", "inactive_blosc_half",
             "smoke_mask_half", "vel_mask_half", "stream")  # fmt: skip
    found = [gzip.decompress((VDB / f"{name}.vdb.gz").read_bytes()) for name in names]
    values = np.linspace(0, 1, 512, dtype=np.float32).reshape(8, 8, 8)
    with tempfile.TemporaryDirectory() as folder:
        for data, kind in ((values, "fog volume"), (values - 0.5, "level set")):
            grid = VdbGrid("density", data, (0, 0, 0), cell_transform(0.1), kind, 0.0 if kind == "fog volume" else 0.3)
            write_vdb(Path(folder, "x.vdb"), [grid])
            found.append(Path(folder, "x.vdb").read_bytes())
    return found


def npys() -> list[bytes]:
    made = []
    for array in (np.linspace(0, 1, 24).reshape(4, 6), np.linspace(0, 1, 64, dtype=np.float32).reshape(4, 4, 4)):
        buffer = io.BytesIO()
        np.save(buffer, array)
        made.append(buffer.getvalue())
    return made


def npzs() -> list[bytes]:
    """As a run writes frames and checkpoints."""
    meta = json.dumps({"index": 1, "memory": {}, "mass": {"density": 0.5}, "parts": []}).encode()
    buffer = io.BytesIO()
    np.savez(buffer, meta=np.frombuffer(meta, np.uint8), density=np.zeros(16, np.float32), velocity=np.ones(24))
    return [buffer.getvalue()]
