"""A dense array as a sparse tree: cut into leaves, gathered into nodes, turned into bytes."""

from __future__ import annotations

import struct
import zlib
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from keyfluid.io.vdb import layout

_SIDE = layout.LEAF_SIDE
_ZIP_LEVEL = 1


@dataclass(frozen=True)
class Blocks:
    """Blocks of 8^3 voxels in the order of the file.

    A block is a leaf where it has an active voxel or inactive voxels of both signs, else (in a level set)
    a tile of -background; blocks that are background throughout are not in the list.
    """

    coords: np.ndarray  # (n, 3), counted in blocks
    values: np.ndarray  # (n, 512, components)
    active: np.ndarray  # (n, 512)
    minus: np.ndarray  # (n, 512): inactive and -background
    is_leaf: np.ndarray  # (n,)


@dataclass(frozen=True)
class EncodedTree:
    topology: bytes
    blocks: bytes
    memory_bytes: int  # of the tree once loaded, node headers aside


def cut_into_blocks(
    data: np.ndarray,
    active: np.ndarray,
    minus: np.ndarray,
    first_index: tuple[int, int, int],
    background: np.ndarray,
) -> Blocks:
    """`data` is (nx, ny, nz, components), `active` and `minus` are (nx, ny, nz)."""
    first = np.array(first_index, dtype=np.int64)
    before = first % _SIDE
    padded = tuple(-(-(before + data.shape[:3]) // _SIDE) * _SIDE)
    inner = tuple(slice(b, b + n) for b, n in zip(before, data.shape[:3]))

    def blocked(array: np.ndarray, fill: np.ndarray | bool) -> np.ndarray:
        full = np.empty(padded + array.shape[3:], dtype=array.dtype)
        full[:] = fill
        full[inner] = array
        counts = [n // _SIDE for n in padded]
        cut = full.reshape(counts[0], _SIDE, counts[1], _SIDE, counts[2], _SIDE, *array.shape[3:])
        return np.moveaxis(cut, (1, 3), (3, 4))

    active_cut, minus_cut = blocked(active, False), blocked(minus, False)
    voxels = (3, 4, 5)
    used = np.argwhere(active_cut.any(axis=voxels) | minus_cut.any(axis=voxels))
    coords = used + first // _SIDE
    order = _file_order(coords)
    used, coords = used[order], coords[order]
    pick = tuple(used.T)
    count = len(used)
    active_list = active_cut[pick].reshape(count, layout.LEAF_COUNT)
    minus_list = minus_cut[pick].reshape(count, layout.LEAF_COUNT)
    values = blocked(data, background)[pick].reshape(count, layout.LEAF_COUNT, data.shape[3])
    return Blocks(coords, values, active_list, minus_list, ~minus_list.all(axis=1))


def _file_order(coords: np.ndarray) -> np.ndarray:
    """Depth first: by root child, then position in the upper node, then in the lower node."""
    root = coords // (layout.UPPER_SIDE * layout.LOWER_SIDE)
    upper = coords // layout.LOWER_SIDE % layout.UPPER_SIDE
    lower = coords % layout.LOWER_SIDE
    return np.lexsort((*lower.T[::-1], *upper.T[::-1], *root.T[::-1]))


def encode_tree(blocks: Blocks, background: np.ndarray, half: bool) -> EncodedTree:
    """Zip and active-mask compression; `background` and the values come in single precision."""
    if half:
        background = background.astype(np.float16).astype(np.float32)
    no_values = b"" if half else struct.pack("<q", 0)
    leaf_masks = np.packbits(blocks.active, axis=1, bitorder="little")
    upper_coords = blocks.coords // (layout.UPPER_SIDE * layout.LOWER_SIDE)
    upper_groups = _groups(upper_coords)
    parts = [struct.pack("<i", 1), background.astype("<f4").tobytes()]
    parts.append(struct.pack("<II", 0, len(upper_groups)))
    slots = 0
    for upper in upper_groups:
        lower_parts: list[bytes] = []
        children = np.zeros(layout.UPPER_COUNT, dtype=bool)
        minus = np.zeros(layout.UPPER_COUNT, dtype=bool)
        for lower in _groups(blocks.coords[upper] // layout.LOWER_SIDE, upper.start):
            is_leaf = blocks.is_leaf[lower]
            place = _position(blocks.coords[lower.start] // layout.LOWER_SIDE, layout.UPPER_SIDE)
            if len(is_leaf) == layout.LOWER_COUNT and not is_leaf.any():
                minus[place] = True
                continue
            children[place] = True
            positions = _position(blocks.coords[lower], layout.LOWER_SIDE)
            lower_parts += _node_head(layout.LOWER_COUNT, positions[is_leaf], positions[~is_leaf], no_values)
            lower_parts.append(leaf_masks[lower][is_leaf].tobytes())
            slots += layout.LOWER_COUNT
        slots += layout.UPPER_COUNT
        origin = upper_coords[upper.start] * layout.UPPER_SPAN
        parts.append(origin.astype("<i4").tobytes())
        parts += _node_head(layout.UPPER_COUNT, np.flatnonzero(children), np.flatnonzero(minus), no_values)
        parts += lower_parts
    value_bytes = background.nbytes
    leaves = int(blocks.is_leaf.sum())
    memory = leaves * layout.LEAF_COUNT * value_bytes + slots * max(8, value_bytes)
    return EncodedTree(b"".join(parts), _encode_leaves(blocks, leaf_masks, half), memory)


def _groups(coords: np.ndarray, offset: int = 0) -> list[slice]:
    """Runs of equal rows, as slices shifted by `offset`."""
    edges = np.flatnonzero(np.any(coords[1:] != coords[:-1], axis=1)) + 1
    bounds = [0, *edges.tolist(), len(coords)] if len(coords) else [0]
    return [slice(offset + start, offset + stop) for start, stop in pairwise(bounds)]


def _position(coords: np.ndarray, side: int) -> np.ndarray:
    local = coords % side
    return (local[..., 0] * side + local[..., 1]) * side + local[..., 2]


def _node_head(count: int, children: np.ndarray, minus: np.ndarray, no_values: bytes) -> list[bytes]:
    """Masks and values of an internal node whose tiles are all inactive, +background or -background."""
    child_bits = np.zeros(count, dtype=bool)
    child_bits[children] = True
    plus_bits = np.ones(count, dtype=bool)
    plus_bits[minus] = False
    value_mask = bytes(count // 8)
    head = [np.packbits(child_bits, bitorder="little").tobytes(), value_mask]
    if len(minus) == 0:
        return [*head, bytes([layout.ALL_BACKGROUND]), no_values]
    if len(minus) + len(children) == count:
        return [*head, bytes([layout.ALL_MINUS_BACKGROUND]), no_values]
    selection = np.packbits(plus_bits, bitorder="little").tobytes()
    return [*head, bytes([layout.MINUS_OR_PLUS_BACKGROUND]), selection, no_values]


def _encode_leaves(blocks: Blocks, leaf_masks: np.ndarray, half: bool) -> bytes:
    """For each leaf its mask, flag, selection mask where needed, and its active values, zipped."""
    leaf = blocks.is_leaf
    active, minus, masks = blocks.active[leaf], blocks.minus[leaf], leaf_masks[leaf]
    values = blocks.values[leaf][active].astype("<f2" if half else "<f4")
    stored = values.tobytes()
    width = values.dtype.itemsize * values.shape[1]
    counts = active.sum(axis=1)
    ends = (np.cumsum(counts) * width).tolist()
    minus_counts = minus.sum(axis=1)
    flags = np.full(len(counts), layout.MINUS_OR_PLUS_BACKGROUND, dtype=np.uint8)
    flags[minus_counts == 0] = layout.ALL_BACKGROUND
    flags[(minus_counts > 0) & (minus_counts + counts == layout.LEAF_COUNT)] = layout.ALL_MINUS_BACKGROUND
    heads = np.concatenate([masks, flags[:, None]], axis=1)
    selections = np.packbits(~minus, axis=1, bitorder="little")

    parts: list[bytes] = []
    start = 0
    for number, end in enumerate(ends):
        parts.append(heads[number].tobytes())
        if flags[number] == layout.MINUS_OR_PLUS_BACKGROUND:
            parts.append(selections[number].tobytes())
        parts.append(_zip(stored[start:end], half))
        start = end
    return b"".join(parts)


def _zip(raw: bytes, half: bool) -> bytes:
    if half and not raw:
        return b""
    packed = zlib.compress(raw, _ZIP_LEVEL)
    if len(packed) < len(raw):
        return struct.pack("<q", len(packed)) + packed
    return struct.pack("<q", -len(raw)) + raw
