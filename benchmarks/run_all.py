"""All benchmarks in one run, and docs/benchmarks.md written from them.

    make bench          (or: python benchmarks/run_all.py [--quick])

Machines are noisy: every figure is the best of several repeats, ours are timed both before and after each
peer and the better counts, and ratios compare figures of this run only. --quick leaves the peers out.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import compile_time
import gradients
import kernels
from flows import smooth
from keyfluid.grid import Grid, Kind
from keyfluid.operators.advect import Advect
from keyfluid.threads import available, set_threads
from peers.environments import measure as measure_peer
from timing import best, commit, machine, table

HERE = Path(__file__).resolve().parent
PAGE = HERE.parent / "docs" / "benchmarks.md"

HEAD = """# Benchmarks

Written by `make bench` at commit {commit} on: {machine}. Every figure is the best of several repeats in that
one run; ratios compare figures of that run only. "cell-step" is one cell for one time step. keyfluid runs in float32 on
{threads} threads and projects exactly (direct solver) in every step; compilation counts only where it says so.
"""


def our_gradient(name: str) -> float:
    row = gradients.measure(name, min(2, available()))
    return float(str(row["forward + adjoint, ms"])) / 1e3


def our_advection() -> tuple[float, float]:
    """RK3 advection of one scalar at 128^3 with its adjoint: Warp's task."""
    set_threads(min(2, available()))
    grid = Grid((128, 128, 128), boundary="periodic")
    density = smooth(grid, Kind.CENTRES, 1.0)
    velocity = smooth(grid, Kind.FACES, 2 * grid.spacing, seed=1)
    advect = Advect(grid, 1.0, 3)
    forward = best(lambda: advect.forward(density, velocity)).seconds
    adjoint = best(lambda: advect.adjoint((density, velocity), (density,))).seconds
    return forward, adjoint


def against(peer: dict[str, Any], what: str, theirs: float, ours: float, how: str) -> dict[str, object]:
    return {
        "peer": f"{peer['peer']} {peer['version']}",
        "task": what,
        "theirs, ms": round(theirs * 1e3, 1),
        "keyfluid, ms": round(ours * 1e3, 1),
        "ratio": round(theirs / ours, 1),
        "theirs: threads, precision, projection": how,
    }


def describe(peer: dict[str, Any]) -> str:
    return f"{peer.get('threads', '?')}, {peer.get('precision', '?')}, {peer.get('projection', 'none')}"


def compare() -> list[dict[str, object]]:
    rows: list[dict[str, object]] = []
    tasks = [
        ("taichi", ("--variant", "tape"), "110^2 x 100, RK1, periodic", "gradient, tape as in DiffTaichi"),
        ("taichi", ("--variant", "fused"), "110^2 x 100, RK1, periodic", "gradient, kernels fused by hand"),
        ("taichi", ("--variant", "fused", "--threads", "1"), "110^2 x 100, RK1, periodic", "the same on one thread"),
        ("phiflow", ("--size", "64"), "64^2 x 20, RK1", "gradient, after compilation"),
        ("phiflow", ("--size", "128"), "128^2 x 20, RK1", "gradient, after compilation"),
    ]
    for name, arguments, ours, what in tasks:
        before = our_gradient(ours)
        peer = measure_peer(name, *arguments)
        if "skipped" in peer:
            rows.append({"peer": name, "task": f"skipped: {peer['skipped']}"})
            continue
        best_ours = min(before, our_gradient(ours))
        rows.append(against(peer, f"{ours}: {what}", peer["seconds"], best_ours, describe(peer)))
    before_forward, before_adjoint = our_advection()
    peer = measure_peer("warp")
    if "skipped" in peer:
        rows.append({"peer": "warp", "task": f"skipped: {peer['skipped']}"})
    else:
        forward, adjoint = our_advection()
        forward, adjoint = min(forward, before_forward), min(adjoint, before_adjoint)
        how = f"{peer['threads']}, {peer['precision']}, {peer['velocity']} velocity"
        task = "128^3, RK3 advection of one scalar"
        rows.append(against(peer, task, peer["forward_seconds"], forward, how))
        rows.append(against(peer, f"{task}: adjoint", peer["adjoint_seconds"], adjoint, how))
        both = peer["forward_seconds"] + peer["adjoint_seconds"]
        rows.append(against(peer, f"{task}: both", both, forward + adjoint, how))
    return rows


def script(name: str) -> str:
    """The printed output of another benchmark script."""
    done = subprocess.run([sys.executable, name], cwd=HERE, capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else f"failed: {done.stderr.strip().splitlines()[-1]}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="without the peers")
    options = parser.parse_args()
    threads = min(2, available())
    parts = [HEAD.format(commit=commit(), machine=machine(), threads=threads)]

    def section(title: str, text: str) -> None:
        print(f"\n## {title}\n\n{text}", flush=True)
        parts.append(f"## {title}\n\n{text}\n")

    if not options.quick:
        section("Peers", table(compare()))
    section("Whole gradients", table([gradients.measure(name, threads) for name in gradients.RUNS]))
    memory = [{"budget": name, **gradients.peak_memory(budget)} for name, budget in gradients.BUDGETS.items()]
    section("Memory under a budget", table(memory))
    section("Memory of a whole run", script("memory.py"))
    bandwidth = f"Triad bandwidth {kernels.bandwidth() / 1e9:.1f} GB/s."
    section("Kernels", f"{bandwidth}\n\n{table(kernels.measure())}")
    section("Pressure with a solid ball: ours and PyAMG", f"```\n{script('poisson_pyamg.py')}\n```")
    section("Ray march", f"```\n{script('raymarch.py')}\n```")
    section("Estimated and real time", script("estimates.py"))
    section("Cost of target-driven control", f"```\n{script('target_cost.py')}\n```")
    section("Mesh to signed distance", f"```\n{script('mesh_sdf.py')}\n```")
    section("Import and compilation", table(compile_time.measure()))
    (HERE / "out").mkdir(exist_ok=True)
    about = {"commit": commit(), "machine": machine(), "threads": threads, "sections": parts}
    (HERE / "out" / "benchmarks.json").write_text(json.dumps(about, indent=1))
    if not options.quick:
        PAGE.write_text("\n".join(parts))
        print(f"\nwritten: {PAGE}")


if __name__ == "__main__":
    main()
