"""The tree of a grid: its topology first, then its leaf values straight into a dense array."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.io.budget import Budget
from keyfluid.io.vdb import layout
from keyfluid.io.vdb.cursor import Cursor
from keyfluid.io.vdb.values import ValueFormat, read_values, unpack_mask

Box = tuple[np.ndarray, np.ndarray]  # first index, one past the last
_LARGEST_INDEX = 2**31


@dataclass(frozen=True)
class Tiles:
    """Cubes of `span` voxels a side with one value each."""

    span: int
    origins: np.ndarray  # (n, 3)
    values: np.ndarray  # (n, components)
    active: np.ndarray  # (n,)


@dataclass(frozen=True)
class Leaves:
    """The leaves of one lower node, in file order."""

    origins: np.ndarray  # (n, 3)
    masks: memoryview  # n x 64 bytes


@dataclass
class Topology:
    background: np.ndarray
    tiles: list[Tiles] = field(default_factory=list)
    branches: list[tuple[tuple[int, ...], list[Leaves]]] = field(default_factory=list)

    def leaves_in_order(self) -> list[Leaves]:
        """As the blocks follow: by origin of the root's children, whatever their order in the topology."""
        return [leaves for _, branch in sorted(self.branches, key=lambda b: b[0]) for leaves in branch]


def read_topology(cursor: Cursor, form: ValueFormat, budget: Budget) -> Topology:
    if cursor.number("i") != 1:
        raise KeyfluidError("the file is damaged: a tree claims more or fewer than its one buffer")
    topology = Topology(form.read_value(cursor))
    tile_count, child_count = cursor.number("I"), cursor.number("I")
    record = np.dtype([("origin", "<i4", 3), ("value", form.dtype, (form.components,)), ("active", "u1")])
    raw = np.frombuffer(cursor.take(tile_count * record.itemsize), dtype=record)
    origins = raw["origin"].astype(np.int64)
    budget.spend(origins.nbytes, "the tree of a grid")
    topology.tiles.append(Tiles(layout.UPPER_SPAN, origins, raw["value"], raw["active"] != 0))

    for _ in range(child_count):
        origin = np.frombuffer(cursor.take(12), dtype="<i4").astype(np.int64)
        leaves: list[Leaves] = []
        topology.branches.append((tuple(origin.tolist()), leaves))
        for lower in _read_node(cursor, origin, layout.UPPER_SIDE, layout.LOWER_SPAN, form, topology, budget):
            children = _read_node(cursor, lower, layout.LOWER_SIDE, layout.LEAF_SIDE, form, topology, budget)
            leaves.append(Leaves(children, cursor.take(64 * len(children))))
    _require_apart(np.concatenate([origins, np.array([key for key, _ in topology.branches]).reshape(-1, 3)]))
    return topology


def _require_apart(origins: np.ndarray) -> None:
    if np.any(origins % layout.UPPER_SPAN) or len(np.unique(origins, axis=0)) != len(origins):
        raise KeyfluidError("the file is damaged: nodes of a tree overlap")


def _read_node(
    cursor: Cursor,
    origin: np.ndarray,
    side: int,
    span: int,
    form: ValueFormat,
    topology: Topology,
    budget: Budget,
) -> np.ndarray:
    """Read an internal node up to its children, note its tiles, return the origins of its children."""
    children = unpack_mask(cursor.take(side**3 // 8))
    active = unpack_mask(cursor.take(side**3 // 8))
    values = read_values(cursor, active, topology.background, form)
    worth_keeping = ~children & (active | np.any(values != topology.background, axis=1))
    kept = np.flatnonzero(worth_keeping)
    child_positions = np.flatnonzero(children)
    budget.spend(kept.size * (25 + form.size) + child_positions.size * 24, "the tree of a grid")
    if kept.size:
        topology.tiles.append(Tiles(span, _places(kept, origin, side, span), values[kept], active[kept]))
    return _places(child_positions, origin, side, span)


def _places(positions: np.ndarray, origin: np.ndarray, side: int, span: int) -> np.ndarray:
    return origin + span * np.stack(np.unravel_index(positions, (side,) * 3), axis=1)


def active_box(topology: Topology) -> Box | None:
    """The smallest box around all active voxels and tiles; None where nothing is active."""
    low = np.full(3, _LARGEST_INDEX, dtype=np.int64)
    high = -low
    for tiles in topology.tiles:
        origins = tiles.origins[tiles.active]
        if len(origins):
            low = np.minimum(low, origins.min(axis=0))
            high = np.maximum(high, origins.max(axis=0) + tiles.span)
    index = np.arange(layout.LEAF_SIDE)
    for leaves in topology.leaves_in_order():
        bits = unpack_mask(leaves.masks).reshape(-1, layout.LEAF_SIDE, layout.LEAF_SIDE, layout.LEAF_SIDE)
        for axis, others in enumerate(((2, 3), (1, 3), (1, 2))):
            occupied = np.any(bits, axis=others).reshape(-1, layout.LEAF_SIDE)
            some = np.any(occupied, axis=1)
            if some.any():
                start = leaves.origins[some, axis]
                row = occupied[some]
                low[axis] = min(low[axis], (start + row.argmax(axis=1)).min())
                high[axis] = max(high[axis], (start + np.where(row, index, -1).max(axis=1)).max() + 1)
    return (low, high) if np.all(high > low) else None


def read_dense(
    cursor: Cursor, topology: Topology, form: ValueFormat, box: Box | None, budget: Budget, later: int
) -> np.ndarray:
    """Values of the tree, active or not, at every voxel of `box`: shape (nx, ny, nz, components).

    later: bytes per voxel that the caller will need beside this array.
    """
    low, high = box if box is not None else (np.zeros(3, np.int64), np.zeros(3, np.int64))
    shape = tuple(int(n) for n in high - low)
    voxels = shape[0] * shape[1] * shape[2]
    purpose = f"a grid of {shape[0]} x {shape[1]} x {shape[2]} voxels"
    budget.require(voxels * (form.size + later), purpose)
    budget.spend(voxels * form.size, purpose)
    dense = np.empty((*shape, form.components), dtype=form.dtype.newbyteorder("="))
    dense[:] = topology.background
    for tiles in topology.tiles:
        overlapping = np.all((tiles.origins < high) & (tiles.origins + tiles.span > low), axis=1)
        for origin, value in zip((tiles.origins[overlapping] - low).tolist(), tiles.values[overlapping]):
            dense[tuple(slice(max(o, 0), o + tiles.span) for o in origin)] = value
    for leaves in topology.leaves_in_order():
        for number, (x, y, z) in enumerate((leaves.origins - low).tolist()):
            mask = cursor.take(64)
            if mask != leaves.masks[64 * number : 64 * number + 64]:
                raise KeyfluidError("the file is damaged: the two masks of a leaf differ")
            values = read_values(cursor, unpack_mask(mask), topology.background, form)
            _place_leaf(dense, values.reshape(8, 8, 8, form.components), x, y, z)
    return dense


def _place_leaf(dense: np.ndarray, block: np.ndarray, x: int, y: int, z: int) -> None:
    """Copy the part of the leaf at (x, y, z) that lies in `dense`."""
    nx, ny, nz, _ = dense.shape
    if -8 < x < nx and -8 < y < ny and -8 < z < nz:
        part = block[max(-x, 0) : nx - x, max(-y, 0) : ny - y, max(-z, 0) : nz - z]
        dense[max(x, 0) : x + 8, max(y, 0) : y + 8, max(z, 0) : z + 8] = part
