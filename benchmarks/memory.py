"""The memory that a run announces against what it holds at its peak.

    python benchmarks/memory.py [--only CASE] [--threads N] [--iterations N]

Scenes of the default method (`spectral`, smoke carried along paths), with a folder and without, each in a process of
its own: the number that is printed before a run ("about 1.2 GB of memory"), and the most that the process ever held
(VmHWM), both for the whole process, interpreter and compiled kernels included. Kernels are compiled beforehand, in
another process, because the compiler takes memory of its own. Few iterations are enough: all grids are reached, and the
plan counts the pairs of L-BFGS that so many iterations leave.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

from timing import machine, table

LETTER = """
[domain]
size = [1.0, 1.0]
resolution = {size}
[time]
frames = 40
[smoke]
initial = {{ shape = "disk", center = [0.5, 0.5], mass = "first-key" }}
[[keyframe]]
frame = 40
text = "F"
fit = 0.6
[control]
method = "spectral"
"""
TORUS = """
[domain]
size = [1.0, 1.0, 1.0]
resolution = {size}
[time]
frames = 20
[smoke]
initial = {{ shape = "sphere", center = [0.5, 0.5, 0.5], radius = 0.2 }}
[[keyframe]]
frame = 20
shape = "torus"
center = [0.5, 0.5, 0.5]
radius = 0.25
thickness = 0.14
[control]
method = "spectral"
"""
CASES = {"128^2, 40 frames": (LETTER, 128), "64^3, 20 frames": (TORUS, 64), "128^3, 20 frames": (TORUS, 128)}
COMPILING = {LETTER: 32, TORUS: 16}
"""Resolutions that have every grid and kernel of the scene."""


def held(scene: str, size: int, folder: bool, threads: int, iterations: int) -> dict[str, int]:
    """Bytes that a run in a new process announces, and holds at its peak."""
    code = f"import memory; memory.report({scene!r}, {size}, {folder}, {threads}, {iterations})"
    done = subprocess.run([sys.executable, "-c", code], cwd=Path(__file__).parent, stdout=subprocess.PIPE, check=True)
    found: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return found


def report(scene: str, size: int, folder: bool, threads: int, iterations: int) -> None:
    """Runs in the new process."""
    from keyfluid.runs.estimate import estimate
    from keyfluid.runs.run import choose_threads, plan_run, run_problem
    from keyfluid.scenes import load_scene
    from keyfluid.scenes.build.problem import build

    problem = build(load_scene(scene.format(size=size), [f"control.iterations={iterations}", "control.tau=0"]))
    choose_threads(problem, threads)
    plan = plan_run(problem)
    with tempfile.TemporaryDirectory() as place:
        planned = estimate(problem, plan, 0.0, in_memory=not folder).memory
        result = run_problem(problem, place if folder else None, overwrite=True, plan=plan)
    print(json.dumps({"planned": planned, "peak": _peak(), "evaluations": result.metrics["evaluations"]}))


def _peak() -> int:
    with open("/proc/self/status", encoding="ascii") as status:
        return next(int(line.split()[1]) << 10 for line in status if line.startswith("VmHWM"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", choices=CASES)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--iterations", type=int, default=2, help="of L-BFGS, on every grid (default 2)")
    options = parser.parse_args()
    rows: list[dict[str, object]] = []
    for name in [options.only] if options.only else CASES:
        scene, size = CASES[name]
        held(scene, COMPILING[scene], True, options.threads, options.iterations)
        for folder in (True, False):
            found = held(scene, size, folder, options.threads, options.iterations)
            rows.append(
                {
                    "run": name,
                    "frames": "in a folder" if folder else "in memory",
                    "planned, MB": round(found["planned"] / 1e6),
                    "measured, MB": round(found["peak"] / 1e6),
                    "planned / measured": f"{found['planned'] / found['peak']:.2f}",
                }
            )
            print(rows[-1], file=sys.stderr, flush=True)
    print(f"{machine()}; {options.threads} threads, {options.iterations} iterations on every grid\n\n{table(rows)}")


if __name__ == "__main__":
    main()
