"""Transport by the matrix exponential: forward and adjoint, in nanoseconds per cell and term of the series.

    python benchmarks/transport_cost.py [--courant 1.9] [--json FILE]

float32, walls, a disk or ball of smoke in a smooth flow. Terms are the orders of all sub-steps of one time step,
without the negligible one that ends each series. Processor time on one thread, wall time on two: a machine that
others use shows the first unharmed, the second not.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from flows import smooth
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.operators.transport import Transport
from keyfluid.threads import available, set_threads
from timing import best, machine, table

GRIDS = ((64, 64), (128, 128), (64, 64, 64))


def problem(cells: tuple[int, ...], courant: float) -> tuple[Transport, Field, Field]:
    """Smoke, and a wind that crosses `courant` cells in a step, summed over the axes."""
    grid = Grid(cells)
    distance = np.sqrt(sum((x - 0.45) ** 2 for x in grid.coordinates(Kind.CENTRES.places(grid.dim)[0])))
    disk = np.clip((0.25 - distance) / grid.spacing + 0.5, 0, 1)
    density = Field.of(grid, Kind.CENTRES, disk, dtype=np.float32)
    return Transport(grid, grid.spacing), density, smooth(grid, Kind.FACES, courant / grid.dim, seed=1)


def processor_seconds(work: Callable[[], object], repeats: int = 15) -> float:
    """The least of as many runs as fill half a second, and of `repeats` at least."""
    work()
    start, runs = time.perf_counter(), []
    while len(runs) < repeats or time.perf_counter() - start < 0.5:
        before = time.process_time()
        work()
        runs.append(time.process_time() - before)
    return min(runs)


def measure(courant: float) -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    for cells in GRIDS:
        transport, density, wind = problem(cells, courant)
        found = transport.orders(density, wind)
        units = transport.grid.count * sum(found) / 1e9
        works = {
            "forward": lambda t=transport, q=density, v=wind: t.forward(q, v),
            "adjoint": lambda t=transport, q=density, v=wind: t.adjoint((q, v), (q,)),
        }
        works["adjoint"]()  # as in a run, where malloc then keeps what forward sweeps take and give back
        for name, work in works.items():
            set_threads(1)
            row: dict[str, object] = {
                "grid": "x".join(map(str, cells)),
                "operation": name,
                "terms": "+".join(map(str, found)),
                "ms CPU, 1 thr.": round(1e3 * processor_seconds(work), 3),
            }
            row["ns per cell and term"] = round(row["ms CPU, 1 thr."] / 1e3 / units, 2)  # type: ignore[operator]
            walls = []
            for count in sorted({1, min(2, available())}):
                set_threads(count)
                timing = best(work)
                walls.append(timing.seconds)
                row[f"ms wall, {count} thr."] = round(1e3 * timing.seconds, 3)
            row["CPU / wall"] = round(timing.parallelism, 2)
            row["speed-up"] = round(walls[0] / walls[-1], 2)
            rows.append(row)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--courant", type=float, default=1.9, help="cells crossed in a step, summed over the axes")
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = measure(options.courant)
    print(f"{machine()}; float32; {options.courant} cells a step\n\n{table(rows)}")
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
