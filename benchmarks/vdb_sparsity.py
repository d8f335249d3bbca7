"""Active voxels of VDB files over voxels with smoke above the threshold, on runs.

    python benchmarks/folder_size.py --folder out/sizes
    python benchmarks/vdb_sparsity.py out/sizes/*

Densities, and velocity, which is also active in the voxels that share a face with smoke: means over the film.
"changed" counts values above the threshold that a file does not give back bit for bit, in the precision that
`output.half` asks for: half for densities unless the scene says otherwise.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

from keyfluid.io.vdb import read_vdb
from keyfluid.runs.run import open_run
from keyfluid.runs.vdb_files import grids_of, write_frame


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folders", nargs="+", type=Path, help="folders of runs of smoke")
    parser.add_argument("--every", type=int, default=8, help="look at each so many-th frame")
    arguments = parser.parse_args()
    print(f"{'run':24}{'voxels':>9}{'not zero':>9}{'above':>8}{'density':>9}{'velocity':>9}{'changed':>8}")
    for folder in arguments.folders:
        run = open_run(folder)
        problem = run.problem
        if problem.fluid.mesh:
            continue
        rows = []
        for index in run.frames.store.indices()[1 :: arguments.every]:
            frame = run.frames[index]
            ((name, values), *_) = frame.densities.items()
            above = values > problem.scene.output.threshold * problem.peaks[name]
            grids = {grid.name: grid for grid in grids_of(problem, frame)}
            active = [np.count_nonzero(grids[key].active) for key in (name, "vel")]
            with tempfile.TemporaryDirectory() as place:
                write_frame(Path(place) / "a.vdb", problem, frame)
                stored = next(grid for grid in read_vdb(Path(place) / "a.vdb") if grid.name == name)
            full = np.zeros(grids[name].data.shape, np.float32)
            full[tuple(slice(f, f + n) for f, n in zip(stored.first_index, stored.data.shape))] = stored.data
            kept = values.astype(np.float16).astype(np.float32) if grids[name].half else values
            changed = np.count_nonzero(full.reshape(values.shape)[above] != kept[above])
            rows.append([np.count_nonzero(values), np.count_nonzero(above), *active, changed])
        some, above, density, velocity, changed = np.mean(rows, axis=0)
        ratios = f"{density / above:9.2f}{velocity / above:9.2f}"
        print(f"{folder.name:24}{problem.grid.count:9}{some:9.0f}{above:8.0f}{ratios}{changed:8.0f}", flush=True)


if __name__ == "__main__":
    main()
