"""VDB files read by Blender's own OpenVDB: names, types, transform, values, sparsity; and the sizes that it writes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from blender_oracle import ask, needs_blender

import keyfluid
from keyfluid.runs.vdb_files import grids_of, write_frame

pytestmark = needs_blender

SMOKE = """
[domain]
size = [1.0, 0.8, 1.2]
resolution = 28
up = "y"
[time]
frames = 2
[smoke]
buoyancy = 2.0
[[smoke.initial]]
shape = "sphere"
center = [0.4, 0.4, 0.5]
radius = 0.25
velocity = [0.3, 0.2, 0.5]
temperature = 40.0
[output]
names = "both"
up = "z"
"""
LIQUID = """
[domain]
size = [1.0, 1.0, 1.0]
resolution = 20
[time]
frames = 1
[[liquid.initial]]
shape = "sphere"
center = [0.45, 0.4, 0.5]
radius = 0.3
velocity = [0.5, 0.1, 0.0]
"""


def written(scene: str, folder: Path, frame: int) -> tuple[Any, dict[str, Any], Path]:
    result = keyfluid.run(scene)
    path = folder / "a.vdb"
    write_frame(path, result.problem, result.frames[frame])
    return result, {grid.name: grid for grid in grids_of(result.problem, result.frames[frame])}, path


def test_smoke(tmp_path: Path) -> None:
    result, ours, path = written(SMOKE, tmp_path, 2)
    voxels = [(9, 9, 12), (11, 10, 14), (0, 0, 0)]
    answer = ask("read_vdb.py", path, *(",".join(map(str, voxel)) for voxel in voxels))
    theirs = answer["grids"]
    assert set(theirs) == {"density", "temperature", "vel", "velocity"} == set(ours)
    dx = result.problem.grid.spacing
    for name, grid in ours.items():
        found = theirs[name]
        vector = grid.data.ndim == 4
        assert found["type"] == ("Vec3SGrid" if vector else "FloatGrid")
        assert found["class"] == ("unknown" if vector else "fog volume")
        assert found["half"] is (not vector)
        assert found["voxel"] == pytest.approx([dx] * 3)
        assert found["origin"] == pytest.approx([dx / 2, -dx / 2, dx / 2]), "turned to z up"
        active = grid.data != 0 if grid.active is None else grid.active
        assert found["active"] == np.count_nonzero(active)
        for voxel, (value, is_on) in zip(voxels, found["values"]):
            kept = (
                grid.data[voxel].astype(np.float16 if grid.half else np.float32)
                if active[voxel]
                else 0 * grid.data[voxel]
            )
            assert np.array_equal(np.float32(value), np.float32(kept))
            assert is_on == active[voxel]
    assert any(on for _, on in theirs["density"]["values"])
    assert theirs["vel"]["vector"] == "contravariant relative"
    assert answer["metadata"]["fps"] == 24.0
    assert path.stat().st_size <= 1.1 * answer["size"], "no more than a tenth larger than libopenvdb's own"


def test_level_set(tmp_path: Path) -> None:
    """Its half width is three voxels, what Houdini and Blender take for granted, and inside is -background."""
    result, ours, path = written(LIQUID, tmp_path, 1)
    inside = tuple(int(n) for n in np.argwhere(result.frames[1].surface < -0.2)[0])
    answer = ask("read_vdb.py", path, ",".join(map(str, inside)), "0,19,0")
    surface = answer["grids"]["surface"]
    dx = result.problem.grid.spacing
    assert (surface["class"], surface["half"]) == ("level set", False)
    assert surface["background"] == pytest.approx(3 * dx)
    assert [value for value, _ in surface["values"]] == pytest.approx([-3 * dx, 3 * dx])
    assert not any(on for _, on in surface["values"])
    band = np.abs(ours["surface"].data.astype(np.float32)) < np.float32(3 * dx)
    assert surface["active"] == np.count_nonzero(band)
    assert path.stat().st_size <= 1.1 * answer["size"]
