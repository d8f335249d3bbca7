"""Our kernels: nanoseconds per cell, threads, and the share of the machine's memory bandwidth.

    python benchmarks/kernels.py [--json FILE]

Advection carries a density and the velocity by the velocity (four fields in 3D, three in 2D), float32, walls,
displacements up to two cells. The projection is the direct one. "Bandwidth used" is the least traffic of an
operation, every input read once and every output written once, over the measured bandwidth of a triad.
"""

from __future__ import annotations

import argparse
import json
from functools import partial
from pathlib import Path

import numpy as np
from numba import njit, prange

from flows import smooth
from keyfluid.grid import Grid, Kind
from keyfluid.operators.advect import Advect
from keyfluid.operators.project import Project
from keyfluid.threads import available, set_threads
from timing import best, machine, table

GRIDS = ((256, 256), (128, 128, 128))


@njit(parallel=True)
def triad(a, b, c):
    for i in prange(a.size):
        a[i] = b[i] + np.float32(1.5) * c[i]


def bandwidth() -> float:
    """Bytes per second of a = b + s c on arrays far larger than the caches."""
    a, b, c = (np.ones(1 << 25, np.float32) for _ in range(3))
    return 3 * a.nbytes / best(lambda: triad(a, b, c)).seconds


def measure() -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    counts = sorted({1, min(2, available())})
    for cells in GRIDS:
        grid = Grid(cells)
        density = smooth(grid, Kind.CENTRES, 1.0)
        velocity = smooth(grid, Kind.FACES, 2 * grid.spacing, seed=1)
        state = density.nbytes + velocity.nbytes
        project = Project(grid)
        inputs = (density, velocity, velocity)
        works = {"project": (partial(project.forward, velocity), 2 * velocity.nbytes)}
        for feet in ("own", "shared"):
            for order in (1, 2, 3):
                advect = Advect(grid, 1.0, order, feet)
                name = f"RK{order}, {feet} feet"
                works[f"advect {name}"] = (partial(advect.forward, *inputs), 2 * state)
                works[f"its adjoint, {name}"] = (partial(advect.adjoint, inputs, inputs[:2]), 4 * state)
        for name, (work, traffic) in works.items():
            row: dict[str, object] = {"grid": "x".join(map(str, cells)), "operation": name}
            for count in counts:
                set_threads(count)
                timing = best(work)
                row[f"ns per cell, {count} thr."] = round(timing.nanoseconds(grid.count), 1)
            row["CPU / wall"] = round(timing.parallelism, 2)
            row["bandwidth used"] = f"{traffic / timing.seconds / bandwidth():.0%}"
            if len(counts) == 2:
                first, second = (row[f"ns per cell, {count} thr."] for count in counts)
                row["speed-up"] = round(first / second, 2)  # type: ignore[operator]
            rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = measure()
    print(f"{machine()}; triad {bandwidth() / 1e9:.1f} GB/s; float32\n\n{table(rows)}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
