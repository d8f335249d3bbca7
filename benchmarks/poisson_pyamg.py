"""Our multigrid-preconditioned CG against PyAMG's on pressure problems with a solid ball, walls all round.

    python benchmarks/poisson_pyamg.py [--json FILE] [--repeats N] [--largest SIDE]

Same matrices, same random right-hand side (mean zero on the fluid), same stop: the residual that CG carries
along falls to 1e-6 |b|. The true residual is recomputed in float64 from the returned x; in float32 the
rounding of x leaves more than 1e-6. Ours runs in float32 and float64 on Numba's threads; PyAMG in float64 on
one thread, apart from its BLAS calls. Wall times, the best of N: compare them only on an idle machine.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from collections.abc import Callable
from pathlib import Path

import numba
import numpy as np
import pyamg
import scipy.sparse

from keyfluid.solvers.multigrid import MultigridPCG

TOLERANCE = 1e-6
SHAPES = ((64, 64), (256, 256), (32, 32, 32), (128, 128, 128))


def ball_problem(shape: tuple[int, ...]) -> tuple[np.ndarray, list[np.ndarray]]:
    """Fluid cells around a solid ball of radius 0.2, off centre, and the links between them."""
    mesh = np.meshgrid(*((np.arange(n) + 0.5) / n for n in shape), indexing="ij")
    fluid = sum((x - c) ** 2 for x, c in zip(mesh, (0.4, 0.55, 0.6))) > 0.2**2
    links = []
    for axis in range(len(shape)):
        weights = (fluid & np.roll(fluid, -1, axis)).astype(float)
        np.moveaxis(weights, axis, 0)[-1] = 0
        links.append(weights)
    return fluid, links


def assembled(fluid: np.ndarray, links: list[np.ndarray]) -> scipy.sparse.csr_matrix:
    """The same matrix over the fluid cells, for PyAMG."""
    number = np.cumsum(fluid).reshape(fluid.shape) - 1
    rows, columns = [], []
    for axis, weights in enumerate(links):
        here = weights > 0
        rows.append(number[here])
        columns.append(np.roll(number, -1, axis)[here])
    row, column = np.concatenate(rows), np.concatenate(columns)
    count = int(fluid.sum())
    half = scipy.sparse.csr_matrix((np.ones(row.size), (row, column)), shape=(count, count))
    adjacency = half + half.T
    degree = np.asarray(adjacency.sum(axis=1)).ravel()
    return scipy.sparse.csr_matrix(scipy.sparse.diags(degree) - adjacency)


def best_of(repeats: int, action: Callable[[], object]) -> tuple[float, object]:
    """Shortest wall time in milliseconds, and the last result."""
    times = []
    for _ in range(repeats):
        start = time.perf_counter()
        result = action()
        times.append(time.perf_counter() - start)
    return 1e3 * min(times), result


def compare(shape: tuple[int, ...], repeats: int) -> list[dict[str, object]]:
    fluid, links = ball_problem(shape)
    b = np.where(fluid, np.random.default_rng(0).normal(size=shape), 0)
    b[fluid] -= b[fluid].mean()
    matrix = assembled(fluid, links)
    size = np.linalg.norm(b)
    rows: list[dict[str, object]] = []

    def add(name: str, dtype: type, threads: int, times: list[float], count: int, x: np.ndarray) -> None:
        setup, solve = times
        error = float(np.linalg.norm(b[fluid] - matrix @ x.astype(np.float64)) / size)
        rows.append(
            {
                "shape": "x".join(map(str, shape)),
                "solver": name,
                "precision": np.dtype(dtype).name,
                "threads": threads,
                "iterations": count,
                "setup_ms": round(setup, 2),
                "solve_ms": round(solve, 2),
                "ns_per_cell_iteration": round(1e6 * solve / (fluid.size * count), 1),
                "true_residual": float(f"{error:.1e}"),
            }
        )

    for dtype in (np.float32, np.float64):
        system = (fluid, links, np.zeros(shape), (False,) * len(shape), dtype, TOLERANCE)
        MultigridPCG(*system).solve(b)
        setup, ours = best_of(repeats, lambda system=system: MultigridPCG(*system))
        solve, (x, report) = best_of(repeats, lambda ours=ours: ours.solve(b))
        if not report.converged:
            raise SystemExit(f"keyfluid did not converge at {shape}: {report}")
        add("keyfluid", dtype, numba.get_num_threads(), [setup, solve], report.iterations, x[fluid])

    for name, build in (
        ("ruge_stuben", pyamg.ruge_stuben_solver),
        ("smoothed_aggregation", pyamg.smoothed_aggregation_solver),
    ):
        setup, hierarchy = best_of(repeats, lambda build=build: build(matrix))
        residuals: list[float] = []

        def run(hierarchy: object = hierarchy, residuals: list[float] = residuals) -> np.ndarray:
            residuals.clear()
            return hierarchy.solve(b[fluid], tol=TOLERANCE, accel="cg", maxiter=200, residuals=residuals)

        solve, x = best_of(repeats, run)
        add(f"pyamg {name}", np.float64, 1, [setup, solve], len(residuals) - 1, x)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path, help="also write the rows to this file")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--largest", type=int, default=256, help="leave out lattices with a longer side")
    options = parser.parse_args()
    print(f"best of {options.repeats}; load average at the start {os.getloadavg()[0]:.1f}")
    rows: list[dict[str, object]] = []
    for shape in SHAPES:
        if max(shape) > options.largest:
            continue
        for row in compare(shape, options.repeats):
            if not rows:
                print("  ".join(f"{key:>{width(key)}}" for key in row))
            rows.append(row)
            print("  ".join(f"{value!s:>{width(key)}}" for key, value in row.items()), flush=True)
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1) + "\n")


def width(key: str) -> int:
    return max(len(key), {"solver": 26, "shape": 11}.get(key, 9))


if __name__ == "__main__":
    main()
