"""OpenVDB volumes in numpy and zlib: `write_vdb`, `read_vdb` and the `VdbGrid` that passes between them."""

from keyfluid.io.vdb.grid import VdbGrid, cell_transform
from keyfluid.io.vdb.reader import read_vdb
from keyfluid.io.vdb.writer import write_vdb

__all__ = ["VdbGrid", "cell_transform", "read_vdb", "write_vdb"]
