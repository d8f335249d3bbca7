"""Write dense arrays as OpenVDB files (version 224, zip, active values only)."""

from __future__ import annotations

import hashlib
import struct
import uuid
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.io.atomic import write_whole
from keyfluid.io.vdb import layout
from keyfluid.io.vdb.grid import MetadataValue, VdbGrid
from keyfluid.io.vdb.maps import encode_map
from keyfluid.io.vdb.metadata import Int64, encode_metadata, encode_string
from keyfluid.io.vdb.tree_writer import EncodedTree, cut_into_blocks, encode_tree

LARGEST_HALF = 65504.0
_SMALLEST_INDEX, _LARGEST_INDEX = -(2**31), 2**31 - 1


def write_vdb(
    path: str | Path,
    grids: Sequence[VdbGrid],
    metadata: Mapping[str, MetadataValue] | None = None,
) -> None:
    """Write `grids` to one file; the file appears complete or not at all.

    Values are stored in single precision, or in half (`VdbGrid.half`). Active are the voxels of `VdbGrid.active`,
    without it those that differ from the background; in a level set those strictly between -background and
    +background. The rest takes no space. The same input gives the same bytes, the uuid included.
    """
    path = Path(path)
    names = [grid.name for grid in grids]
    if len(set(names)) != len(names) or any(not name or layout.NAME_SEPARATOR in name for name in names):
        raise KeyfluidError(f"{path}: the grids of a file need different names, not {names}")
    body = [encode_metadata(metadata or {}), struct.pack("<i", len(grids))]
    header = struct.pack("<qIIIB", layout.MAGIC, layout.FILE_VERSION, *layout.LIBRARY_VERSION, 1)
    position = len(header) + 36 + sum(len(part) for part in body)
    for grid in grids:
        try:
            part = _encode_grid(grid, position)
        except KeyfluidError as fault:
            raise KeyfluidError(f"{path}: grid {grid.name!r}: {fault}") from None
        body += part
        position += sum(len(piece) for piece in part)
    digest = hashlib.sha256()
    for piece in body:
        digest.update(piece)
    identity = str(uuid.UUID(bytes=digest.digest()[:16], version=4)).encode("ascii")
    write_whole(path, lambda file: file.writelines([header, identity, *body]))


def _encode_grid(grid: VdbGrid, position: int) -> list[bytes]:
    """Descriptor and content of a grid whose descriptor starts at byte `position` of the file."""
    half = grid.half
    data, background = _checked_values(grid)
    active, minus = _active_voxels(data, background, grid)
    blocks = cut_into_blocks(data, active, minus, grid.first_index, background)
    tree = encode_tree(blocks, background, half)

    vector = data.shape[3] == 3
    tree_type = ("Tree_vec3s_5_4_3" if vector else "Tree_float_5_4_3") + (layout.HALF_SUFFIX if half else "")
    descriptor = encode_string(grid.name) + encode_string(tree_type) + encode_string("")
    content = b"".join(
        [
            struct.pack("<I", layout.COMPRESS_ZIP | layout.COMPRESS_ACTIVE_MASK),
            encode_metadata(_grid_metadata(grid, active, tree)),
            encode_map(grid.transform),
            tree.topology,
        ]
    )
    start = position + len(descriptor) + 24
    block_start = start + len(content)
    offsets = struct.pack("<3q", start, block_start, block_start + len(tree.blocks))
    return [descriptor, offsets, content, tree.blocks]


def _checked_values(grid: VdbGrid) -> tuple[np.ndarray, np.ndarray]:
    """Values as (nx, ny, nz, components) and background as (components,), both single precision."""
    data = np.asarray(grid.data)
    if data.ndim == 3:
        data = data[..., None]
    if data.ndim != 4 or data.shape[3] not in (1, 3) or data.dtype.kind not in "fiu":
        raise KeyfluidError(f"needs three axes (and 3 components for vectors), not {data.dtype} {data.shape}")
    last = [f + n - 1 for f, n in zip(grid.first_index, data.shape[:3])]
    if min(grid.first_index) < _SMALLEST_INDEX or max(last) > _LARGEST_INDEX:
        raise KeyfluidError(f"starts at index {grid.first_index}, outside the range of VDB indices")
    with np.errstate(over="ignore"):
        data = data.astype(np.float32)
        background = np.broadcast_to(np.asarray(grid.background, dtype=np.float32), data.shape[3:]).copy()
        stored_background = background.astype(np.float16 if grid.half else np.float32)
    largest = LARGEST_HALF if grid.half else np.finfo(np.float32).max
    if not (np.isfinite(stored_background).all() and np.all(np.abs(data) <= largest)):
        raise KeyfluidError(f"holds values that are NaN or beyond {largest:.5g}, the largest number in this precision")
    if grid.grid_class == "level set":
        if data.shape[3] != 1 or stored_background[0] <= 0:
            raise KeyfluidError("a level set needs scalar values and a positive background (its half width)")
        data = np.clip(data, -background, background)
    return data, background


def _active_voxels(data: np.ndarray, background: np.ndarray, grid: VdbGrid) -> tuple[np.ndarray, np.ndarray]:
    """Masks of the active voxels and of the inactive ones that hold -background."""
    if grid.grid_class == "level set":
        return np.abs(data[..., 0]) < background[0], data[..., 0] == -background[0]
    active = np.any(data != background, axis=3) if grid.active is None else np.asarray(grid.active, bool)
    if active.shape != data.shape[:3]:
        raise KeyfluidError(f"has {data.shape[:3]} voxels and a mask of {active.shape}")
    return active, np.zeros_like(active)


def _grid_metadata(grid: VdbGrid, active: np.ndarray, tree: EncodedTree) -> dict[str, object]:
    """The caller's metadata, and the statistics that libopenvdb keeps with a grid."""
    low: tuple[int, ...] = (_LARGEST_INDEX,) * 3
    high: tuple[int, ...] = (_SMALLEST_INDEX,) * 3
    if active.any():
        ranges = [np.flatnonzero(active.any(axis=others)) for others in ((1, 2), (0, 2), (0, 1))]
        low = tuple(int(f + r[0]) for f, r in zip(grid.first_index, ranges))
        high = tuple(int(f + r[-1]) for f, r in zip(grid.first_index, ranges))
    entries: dict[str, object] = {
        **grid.metadata,
        "name": grid.name,
        "class": grid.grid_class,
        "is_saved_as_half_float": grid.half,
        "file_bbox_min": low,
        "file_bbox_max": high,
        "file_compression": "zip + active values",
        "file_mem_bytes": Int64(tree.memory_bytes),
        "file_voxel_count": Int64(int(np.count_nonzero(active))),
    }
    if grid.data.ndim == 4:
        entries["vector_type"] = grid.vector_type
    return entries
