"""Points and meshes as PLY: binary little-endian, float32, with whatever goes with each point (velocity, colour)."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from keyfluid.errors import KeyfluidError

_TYPES = {"float": "<f4", "uchar": "u1"}


def ply_bytes(points: Mapping[str, np.ndarray], comments: Mapping[str, object] | None = None) -> bytes:
    """A file's content, from columns by name: x, y, z, then others. float32, but uint8 stays so (red, green, blue)."""
    lengths = {len(column) for column in points.values()}
    if len(lengths) != 1 or not {"x", "y", "z"} <= set(points):
        raise KeyfluidError(f"PLY: points need columns x, y and z of one length, not {sorted(points)}")
    kinds = {name: "uchar" if column.dtype == np.uint8 else "float" for name, column in points.items()}
    table = np.empty(lengths.pop(), [(name, _TYPES[kind]) for name, kind in kinds.items()])
    for name, column in points.items():
        table[name] = column
    header = ["ply", "format binary_little_endian 1.0"]
    header += [f"comment {name} {value}" for name, value in (comments or {}).items()]
    header += [f"element vertex {len(table)}", *(f"property {kind} {name}" for name, kind in kinds.items())]
    header.append("end_header")
    return ("\n".join(header) + "\n").encode("ascii") + table.tobytes()


def mesh_bytes(
    vertices: np.ndarray,
    triangles: np.ndarray,
    comments: Mapping[str, object] | None = None,
    velocities: np.ndarray | None = None,
) -> bytes:
    """A file's content: vertices (n, 3), triangles (m, 3) as numbers of vertices, velocities (n, 3) of vertices."""
    faces = np.empty(len(triangles), [("count", "u1"), ("corners", "<i4", 3)])
    faces["count"], faces["corners"] = 3, triangles
    names = ["x", "y", "z"] if velocities is None else ["x", "y", "z", "vx", "vy", "vz"]
    table = vertices if velocities is None else np.concatenate([vertices, velocities], axis=1)
    header = ["ply", "format binary_little_endian 1.0"]
    header += [f"comment {name} {value}" for name, value in (comments or {}).items()]
    header += [f"element vertex {len(vertices)}", *(f"property float {name}" for name in names)]
    header += [f"element face {len(triangles)}", "property list uchar int vertex_indices", "end_header"]
    return ("\n".join(header) + "\n").encode("ascii") + table.astype("<f4").tobytes() + faces.tobytes()


def read_ply(path: Path) -> dict[str, np.ndarray]:
    """Columns of a file that `ply_bytes` made."""
    content = path.read_bytes()
    end = content.find(b"end_header\n")
    lines = content[:end].decode("ascii", "replace").splitlines() if end > 0 else []
    if lines[:2] != ["ply", "format binary_little_endian 1.0"]:
        raise KeyfluidError(f"{path}: is not a binary little-endian PLY file of points")
    try:
        count = next(int(line.split()[2]) for line in lines if line.startswith("element vertex "))
        kinds = [line.split()[1:3] for line in lines if line.startswith("property ")]
        table = np.frombuffer(content, [(name, _TYPES[kind]) for kind, name in kinds], count, end + 11)
    except (StopIteration, LookupError, ValueError, OverflowError):
        raise KeyfluidError(f"{path}: is damaged or cut short, or has properties that are not numbers") from None
    return {name: np.array(table[name]) for _, name in kinds}
