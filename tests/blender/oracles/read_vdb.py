"""VDB files as libopenvdb sees them, and the sizes that it writes for the same grids. Prints JSON.

read_vdb.py FILE [I,J,K ...]: the values at these voxels are part of the answer.
"""

from __future__ import annotations

import json
import sys
import tempfile
from pathlib import Path

import bpy

site = next(Path(bpy.__file__).parents[3].glob("python/lib/python*/site-packages"))
sys.path.append(str(site))
import openvdb  # noqa: E402

path, *voxels = sys.argv[1:]
grids, metadata = openvdb.readAll(path)
places = [tuple(int(part) for part in text.split(",")) for text in voxels]
found = {}
for grid in grids:
    accessor = grid.getConstAccessor()
    values = [accessor.probeValue(place) for place in places]
    found[grid.name] = {
        "type": type(grid).__name__,
        "class": grid.gridClass,
        "vector": grid.vectorType if hasattr(grid, "vectorType") else None,
        "half": grid.saveFloatAsHalf,
        "background": grid.background,
        "active": grid.activeVoxelCount(),
        "voxel": grid.transform.voxelSize(),
        "origin": grid.transform.indexToWorld((0, 0, 0)),
        "values": values,
    }
with tempfile.TemporaryDirectory() as folder:
    again = Path(folder) / "again.vdb"
    openvdb.write(str(again), grids=grids, metadata=metadata)
    size = again.stat().st_size
print("JSON" + json.dumps({"grids": found, "metadata": metadata, "size": size}))
