"""Read OpenVDB files as dense arrays, trusting nothing that the file says about itself."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.io.budget import Budget, enough_memory
from keyfluid.io.vdb import layout
from keyfluid.io.vdb.cursor import Cursor
from keyfluid.io.vdb.grid import VdbGrid
from keyfluid.io.vdb.maps import decode_map
from keyfluid.io.vdb.metadata import decode_metadata
from keyfluid.io.vdb.tree_reader import active_box, read_dense, read_topology
from keyfluid.io.vdb.values import ValueFormat

_CLASSES = ("fog volume", "level set", "staggered")
_VECTOR_TYPES = ("covariant", "covariant normalize", "contravariant relative", "contravariant absolute")


@dataclass(frozen=True)
class _Descriptor:
    """What stands before a grid: its unique name, type, parent, and where its parts lie."""

    unique_name: str
    tree_type: str
    half: bool
    parent: str
    offsets: tuple[int, int, int] | None  # start, blocks, end; none in a stream


def read_vdb(path: str | Path, limit_bytes: int | None = None, vectors: bool = True, later: int = 0) -> list[VdbGrid]:
    """All float, double, vec3s and vec3d grids of the file, each over the box of its active voxels.

    An array holds the value of the tree at every voxel of that box, inactive ones too: the background,
    for a level set with its sign, or whatever the writer left there. A grid with nothing active has the
    shape (0, 0, 0). Grids of other types (points, masks, integers) are left out; a file with no others is
    an error.

    limit_bytes: what the file and the arrays together may take; None takes `reader_budget()`.
    vectors: False leaves vector grids out too.
    later: bytes per voxel that the caller will need beside the array of one grid; the limit covers them.
    """
    path = Path(path)
    budget = Budget(limit_bytes, "crop or coarsen the volume")
    with enough_memory(str(path)):
        try:
            with path.open("rb") as file:
                # At most the file's size: read() allocates the requested length first.
                content = file.read(min(budget.limit, path.stat().st_size) + 1)
        except (OSError, ValueError) as fault:
            raise KeyfluidError(f"{path}: cannot be read: {getattr(fault, 'strerror', fault)}") from None
        if len(content) > budget.limit:
            raise KeyfluidError(f"{path}: larger than the limit of {budget.limit / 2**20:.6g} MiB; {budget.advice}")
        budget.spend(len(content), "the file")
        try:
            with np.errstate(all="ignore"):  # values that are no numbers are refused once they are read
                return _read_file(Cursor(content), budget, vectors, later)
        except KeyfluidError as fault:
            raise KeyfluidError(f"{path}: {fault}") from None


def _read_file(cursor: Cursor, budget: Budget, vectors: bool, later: int) -> list[VdbGrid]:
    if len(cursor.data) < 8 or cursor.number("q") != layout.MAGIC:
        raise KeyfluidError("not an OpenVDB file")
    version = cursor.number("I")
    if not layout.OLDEST_VERSION <= version <= layout.FILE_VERSION:
        raise KeyfluidError(
            f"VDB file version {version} cannot be read, only {layout.OLDEST_VERSION} to "
            f"{layout.FILE_VERSION}; save it again with a current program"
        )
    cursor.take(8)  # library version
    has_offsets = cursor.number("B") != 0
    cursor.take(36)  # uuid
    decode_metadata(cursor)

    grids: dict[str, VdbGrid] = {}
    left_out: set[str] = set()
    foreign = False
    for _ in range(cursor.number("I")):
        descriptor = _read_descriptor(cursor, has_offsets)
        shared = descriptor.parent != "" and descriptor.parent in left_out
        known = descriptor.tree_type in layout.TREE_TYPES
        # In a stream nothing can be skipped.
        unwanted = known and has_offsets and not vectors and layout.TREE_TYPES[descriptor.tree_type][1] > 1
        if shared or unwanted or not known:
            if descriptor.offsets is None:
                raise KeyfluidError(f"a grid of type {descriptor.tree_type[:60]!r} cannot be read")
            foreign |= not known
            left_out.add(descriptor.unique_name)
            cursor.position = descriptor.offsets[2]
            continue
        if descriptor.unique_name in grids:
            raise KeyfluidError("the file is damaged: two grids have the same unique name")
        try:
            grids[descriptor.unique_name] = _read_grid(cursor, descriptor, grids, budget, later)
        except KeyfluidError as fault:
            raise KeyfluidError(f"grid {_plain_name(descriptor)!r}: {fault}") from None
    if foreign and not grids:
        raise KeyfluidError("holds no float or vector grid")
    return list(grids.values())


def _plain_name(descriptor: _Descriptor) -> str:
    return descriptor.unique_name.split(layout.NAME_SEPARATOR)[0][:80]


def _read_descriptor(cursor: Cursor, has_offsets: bool) -> _Descriptor:
    unique_name, tree_type, parent = cursor.string(), cursor.string(), cursor.string()
    start, blocks, end = cursor.number("q"), cursor.number("q"), cursor.number("q")
    if has_offsets:
        if parent:
            blocks = start  # an instance has none
        if not cursor.position == start <= blocks <= end <= len(cursor.data):
            raise KeyfluidError(
                f"the file is damaged or cut short: a grid lies at bytes {start} to {end} by its offsets, "
                f"the file has {len(cursor.data)} bytes"
            )
    return _Descriptor(
        unique_name,
        tree_type.removesuffix(layout.HALF_SUFFIX),
        tree_type.endswith(layout.HALF_SUFFIX),
        parent,
        (start, blocks, end) if has_offsets else None,
    )


def _read_grid(
    cursor: Cursor, descriptor: _Descriptor, earlier: dict[str, VdbGrid], budget: Budget, later: int
) -> VdbGrid:
    dtype, components = layout.TREE_TYPES[descriptor.tree_type]
    form = ValueFormat(np.dtype(dtype), components, descriptor.half, cursor.number("I"))
    metadata = decode_metadata(cursor)
    transform = decode_map(cursor)
    if descriptor.parent:
        parent = earlier.get(descriptor.parent)
        if parent is None:
            raise KeyfluidError("the file is damaged: it shares the values of a grid that is not there")
        budget.spend(parent.data.nbytes, "its copy of shared values")
        data, first, background = parent.data.copy(), parent.first_index, parent.background
    else:
        topology = read_topology(cursor, form, budget)
        _require_position(cursor, descriptor, 1)
        box = active_box(topology)
        data = read_dense(cursor, topology, form, box, budget, later)
        low = box[0].tolist() if box is not None else (0, 0, 0)
        first = (int(low[0]), int(low[1]), int(low[2]))
        background = _as_value(topology.background)
        if components == 1:
            data = data[..., 0]
    _require_position(cursor, descriptor, 2)
    # Minimum and maximum need no mask as large as the grid, and NaN passes through both.
    extremes = (data.min(), data.max()) if data.size else (0.0, 0.0)
    if not (np.isfinite(extremes).all() and np.isfinite(background).all()):
        raise KeyfluidError("holds values that are infinite or not a number; fix it in the program that wrote it")
    return _make_grid(descriptor, data, first, transform, background, metadata)


def _require_position(cursor: Cursor, descriptor: _Descriptor, which: int) -> None:
    if descriptor.offsets is not None and cursor.position != descriptor.offsets[which]:
        raise KeyfluidError(
            f"the file is damaged: its offsets name byte {descriptor.offsets[which]}, "
            f"its content ends at byte {cursor.position}"
        )


def _as_value(background: np.ndarray) -> float | tuple[float, float, float]:
    if background.size == 1:
        return float(background[0])
    return float(background[0]), float(background[1]), float(background[2])


def _make_grid(
    descriptor: _Descriptor,
    data: np.ndarray,
    first: tuple[int, int, int],
    transform: np.ndarray,
    background: float | tuple[float, float, float],
    metadata: dict[str, Any],
) -> VdbGrid:
    grid_class, vector_type = metadata.get("class"), metadata.get("vector_type")
    return VdbGrid(
        name=_plain_name(descriptor),
        data=data,
        first_index=first,
        transform=transform,
        grid_class=grid_class if grid_class in _CLASSES else "unknown",
        background=background,
        vector_type=vector_type if vector_type in _VECTOR_TYPES else "invariant",
        metadata={key: value for key, value in metadata.items() if key not in layout.OWN_METADATA},
    )
