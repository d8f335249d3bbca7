"""The part of the OpenVDB file format that keyfluid supports: constants, and the byte layout in words.

Everything is little endian; a string is a uint32 length and that many bytes. Versions 222 to 224 have
the same bytes for the grids below (223 added blosc, 224 a second pass for point grids).

    file      int64 magic | uint32 file version | uint32 library major, minor | uint8 has offsets |
              36 ASCII characters of uuid | metadata | int32 grid count | grids
    metadata  uint32 count | count x (string name | string type | uint32 size | value)
    grid      string name | string tree type | string instance parent | int64 start, blocks, end |
              uint32 compression | metadata | string map type, map | topology | blocks
    topology  int32 1 | background | uint32 tiles | uint32 children |
              tiles x (3 int32 origin | value | uint8 active) | children x (3 int32 origin | node)
    node      child mask | value mask | values | its children in order: nodes, or leaf value masks
    blocks    for each leaf, depth first, roots in order of (x, y, z): value mask (again) | values
    values    uint8 flag | 0 to 2 inactive values | selection mask or nothing | the stored values

The three absolute offsets point behind themselves, at the blocks, and behind the grid. An instance ends
after its map and shares the tree of its parent. A grid stored in half precision has "_HalfFloat" behind
its tree type; its background, tiles of the root and inactive values still take the full width. Equal
names are told apart by a record separator (0x1e) and a number.

The tree is root > 32^3 > 16^3 > 8^3 ("5_4_3"): a root child spans 4096 voxels a side, its children 128,
a leaf 8. A position in a node is (x * n + y) * n + z, which is numpy's C order of a[x, y, z]; bit p of a
mask is bit p % 8 of byte p // 8.

With active-mask compression and a flag from 0 to 5 only the active values are stored, else all. They
stand there as they are, or zipped, or as a blosc chunk, the latter two behind an int64 size that is
negative where the bytes are raw. With no values to store, full precision writes the size 0, half nothing.

The facts were taken from the headers of OpenVDB 10.0 (io/Compression.h, tree/*.h, math/Maps.h) and
checked against the library on files in both directions; the code is keyfluid's own.
"""

from __future__ import annotations

MAGIC = 0x56444220
OLDEST_VERSION = 222
FILE_VERSION = 224
LIBRARY_VERSION = (10, 0)

COMPRESS_ZIP = 1
COMPRESS_ACTIVE_MASK = 2
COMPRESS_BLOSC = 4

# What an inactive value is, by the flag before the values of a node.
ALL_BACKGROUND = 0
ALL_MINUS_BACKGROUND = 1
ALL_ONE_VALUE = 2
MINUS_OR_PLUS_BACKGROUND = 3
ONE_VALUE_OR_BACKGROUND = 4
TWO_VALUES = 5
ALL_STORED = 6
HAS_FIRST_VALUE = (ALL_ONE_VALUE, ONE_VALUE_OR_BACKGROUND, TWO_VALUES)
HAS_SELECTION = (MINUS_OR_PLUS_BACKGROUND, ONE_VALUE_OR_BACKGROUND, TWO_VALUES)

LEAF_SIDE = 8
LOWER_SIDE = 16
UPPER_SIDE = 32
LOWER_SPAN = LEAF_SIDE * LOWER_SIDE
UPPER_SPAN = LOWER_SPAN * UPPER_SIDE
LEAF_COUNT = LEAF_SIDE**3
LOWER_COUNT = LOWER_SIDE**3
UPPER_COUNT = UPPER_SIDE**3

HALF_SUFFIX = "_HalfFloat"
NAME_SEPARATOR = "\x1e"

# tree type: (numpy type of a component, components)
TREE_TYPES = {
    "Tree_float_5_4_3": ("<f4", 1),
    "Tree_double_5_4_3": ("<f8", 1),
    "Tree_vec3s_5_4_3": ("<f4", 3),
    "Tree_vec3d_5_4_3": ("<f8", 3),
}

# Grid metadata that VdbGrid has fields for, or that only describe the file at hand.
OWN_METADATA = {
    "name",
    "class",
    "vector_type",
    "is_saved_as_half_float",
    "file_bbox_min",
    "file_bbox_max",
    "file_compression",
    "file_mem_bytes",
    "file_voxel_count",
    "file_delayed_load",
}
