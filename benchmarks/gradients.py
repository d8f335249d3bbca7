"""Whole gradients: forward alone, forward + adjoint, and what they cost in memory.

    python benchmarks/gradients.py [--json FILE] [--only NAME]

Final-density loss, gradient with respect to the initial velocity (and density), float32, exact projection in
every step. Memory is measured in a process of its own: peak resident size above that of the imported package.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
from pathlib import Path

from flows import final_density, start
from keyfluid.grid import Grid
from keyfluid.models import Smoke, SmokeOptions
from keyfluid.rollout import Rollout
from keyfluid.threads import available, set_threads
from timing import best, machine, table

# name: cells, steps, order, feet, cells per step, sides (periodic as DiffTaichi's scheme, else walls)
RUNS = {
    "110^2 x 100, RK1, periodic": ((110, 110), 100, 1, "own", 0.5, "periodic"),
    "110^2 x 100, RK1": ((110, 110), 100, 1, "own", 0.5, "walls"),
    "64^2 x 20, RK1": ((64, 64), 20, 1, "own", 0.5, "walls"),
    "128^2 x 20, RK1": ((128, 128), 20, 1, "own", 0.5, "walls"),
    "128^2 x 40, RK2": ((128, 128), 40, 2, "own", 1.0, "walls"),
    "256^2 x 40, RK3": ((256, 256), 40, 3, "own", 1.0, "walls"),
    "64^3 x 10, RK2": ((64, 64, 64), 10, 2, "own", 1.0, "walls"),
    "128^3 x 3, RK2": ((128, 128, 128), 3, 2, "own", 1.0, "walls"),
    "128^3 x 3, RK2, shared feet": ((128, 128, 128), 3, 2, "shared", 1.0, "walls"),
    "128^3 x 3, RK3": ((128, 128, 128), 3, 3, "own", 1.0, "walls"),
}
BUDGETS = {"3 GB": 3_000_000_000, "1 GB": 1_000_000_000}


def build(name: str, budget: int | None = None) -> tuple[Rollout, dict, object]:
    cells, steps, order, feet, speed, sides = RUNS[name]
    grid = Grid(cells, boundary=sides)
    model = Smoke(grid, speed * grid.spacing, SmokeOptions(order=order, feet=feet))
    return Rollout(model, steps, budget=budget), start(model, speed), final_density(model, steps)


def measure(name: str, threads: int, repeats: int = 5) -> dict[str, object]:
    """Forward and gradient seconds of one run."""
    set_threads(threads)
    rollout, state, objective = build(name)
    cell_steps = rollout.model.grid.count * rollout.steps
    forward = best(lambda: rollout.run(state), repeats)
    gradient = best(lambda: rollout.gradient(state, objective), repeats)
    return {
        "run": name,
        "threads": threads,
        "forward, ms": round(forward.seconds * 1e3, 1),
        "forward + adjoint, ms": round(gradient.seconds * 1e3, 1),
        "forward, ns/cell-step": round(forward.nanoseconds(cell_steps), 1),
        "adjoint, ns/cell-step": round(gradient.nanoseconds(cell_steps) - forward.nanoseconds(cell_steps), 1),
        "gradient / forward": round(gradient.seconds / forward.seconds, 2),
        "CPU / wall": round(gradient.parallelism, 2),
    }


def peak_memory(budget: int) -> dict[str, object]:
    """Peak memory of a gradient of 30 steps at 128^3 under a budget, from a fresh process."""
    code = f"import gradients; gradients.report_memory({budget})"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=Path(__file__).parent, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout.strip().splitlines()[-1])


def report_memory(budget: int) -> None:
    grid = Grid((128, 128, 128))
    model = Smoke(grid, grid.spacing, SmokeOptions(order=2))
    small = Smoke(Grid((8, 8, 8)), dt=0.1)
    Rollout(small, 2).gradient(start(small, 1.0), final_density(small, 2))
    # What is resident now, not the peak so far, which holds the compiler's memory if kernels were not cached yet.
    with open("/proc/self/statm", encoding="ascii") as statm:
        before = int(statm.read().split()[1]) * resource.getpagesize() // 1024
    rollout = Rollout(model, 30, budget=budget)
    state, objective = start(model, 1.0), final_density(model, 30)
    seconds = best(lambda: rollout.gradient(state, objective), 1).seconds
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    row = {
        "run": "128^3 x 30, RK2",
        "planned, MB": round(rollout.plan.total_bytes / 1e6),
        "measured above the package, MB": round((peak - before) / 1e3),
        "whole process, MB": round(peak / 1e3),
        "forward runs per gradient": round(rollout.plan.recompute, 2),
        "seconds": round(seconds, 1),
    }
    print(json.dumps(row))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--only", choices=RUNS)
    options = parser.parse_args()
    threads = min(2, available())
    rows = [measure(name, threads) for name in ([options.only] if options.only else RUNS)]
    print(f"{machine()}; float32, exact projection\n\n{table(rows)}\n")
    memory = []
    if not options.only:
        memory = [{"budget": name, **peak_memory(budget)} for name, budget in BUDGETS.items()]
        print(table(memory))
    if options.json:
        options.json.write_text(json.dumps({"gradients": rows, "memory": memory}, indent=1))


if __name__ == "__main__":
    main()
