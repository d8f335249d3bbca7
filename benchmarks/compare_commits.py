"""Two commits side by side: the same gradients and whole optimisations by both, in one go, and their ratios.

    make bench-compare A=v0.1 B=main                       (ROUNDS=3, WHAT="letter knot" are optional)
    python benchmarks/compare_commits.py A B [--rounds N] [--only NAME ...] [--threads N]

The sources of both are laid out under benchmarks/out/commits, and this tree's benchmarks call them in processes of
their own: A, B, A, B, ..., after one small run each that compiles. The machine is shared and noisy, so the best of the
rounds counts on each side. "." is this tree with its uncommitted changes. Written to benchmarks/out/compare_A_B.json
with commits and machine.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import subprocess
import sys
import tarfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import gradients
from timing import best, machine, table

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
OUT = HERE / "out"

OPTIMISATIONS = ("letter", "knot", "two")
"""F at 128^2, the knot at 50^3, ring and knot at 64^3 (docs/results.md)."""
EVALUATIONS = ("clay 96^2", "water 96^2", "clay 50x23x50")
"""One evaluation of a liquid's objective with its gradient, ten steps: a letter, and figure 4's cross."""
TASKS = (*gradients.RUNS, *EVALUATIONS, *OPTIMISATIONS)
QUALITY = ("relative_error", "iou", "transported_iou")


@dataclass(frozen=True)
class Side:
    """A commit whose sources lie in a folder."""

    name: str
    commit: str
    source: Path

    def run(self, task: str, threads: int, small: bool = False) -> dict[str, Any] | None:
        """One task in a process of its own; None if this commit can't do it."""
        command = [sys.executable, __file__, "--task", task, "--threads", str(threads), *(["--small"] if small else [])]
        environment = {**os.environ, "PYTHONPATH": str(self.source / "src")}
        done = subprocess.run(command, env=environment, capture_output=True, text=True)
        if done.returncode:
            print(f"{self.name}: {task}: {(done.stderr.strip().splitlines() or ['failed'])[-1]}", file=sys.stderr)
            return None
        result: dict[str, Any] = json.loads(done.stdout.strip().splitlines()[-1])
        return result


def lay_out(name: str) -> Side:
    """The sources of a commit; "." is this tree as it is."""
    commit = _git("rev-parse", "--short", "HEAD" if name == "." else f"{name}^{{commit}}").decode().strip()
    if name == ".":
        return Side(name, f"{commit} and changes", ROOT)
    folder = OUT / "commits" / commit
    if not (folder / "src").exists():
        with tarfile.open(fileobj=io.BytesIO(_git("archive", commit, "src"))) as archive:
            archive.extractall(folder, filter="data")
    return Side(name, commit, folder)


def _git(*arguments: str) -> bytes:
    done = subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True)
    if done.returncode:
        raise SystemExit(f"git {' '.join(arguments)}: {done.stderr.decode().strip().splitlines()[0]}")
    return done.stdout


def _optimisation(scene: str, changes: list[str], threads: int) -> dict[str, Any]:
    import keyfluid

    began, cpu = time.perf_counter(), time.process_time()
    result = keyfluid.run(scene, overrides=changes, threads=threads)
    seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
    key = result.metrics["keyframes"][-1]
    quality = {name: key[name] for name in QUALITY if key.get(name) is not None}
    return {"seconds": seconds, "processor": cpu, "evaluations": result.metrics.get("evaluations"), **quality}


def _evaluation(scene: str, threads: int) -> dict[str, Any]:
    """Of forces that move the liquid a little: one step down from rest."""
    import numpy as np

    from keyfluid.controllers.optimised.evaluation import Evaluation
    from keyfluid.controllers.optimised.settings import SearchNumbers
    from keyfluid.controllers.optimised.stages import plan_stages
    from keyfluid.scenes import load_scene
    from keyfluid.scenes.build.problem import build
    from keyfluid.threads import set_threads

    set_threads(threads)
    problem = build(load_scene(scene))
    settings = SearchNumbers.of(problem)
    stage = plan_stages(problem, settings)[-1]
    evaluation = Evaluation(stage, settings)
    rest = stage.control.zeros()
    slope = evaluation(rest)[1]
    moved = rest - slope * (0.1 / np.abs(slope).max())
    return {"seconds": best(lambda: evaluation(moved), 5).seconds}


def do(task: str, threads: int, small: bool) -> dict[str, Any]:
    """A task, in this process; small: only so much of it that everything is compiled."""
    if task in gradients.RUNS:
        row = gradients.measure(task, threads)
        return {"seconds": float(str(row["forward + adjoint, ms"])) / 1e3}
    sys.path.insert(0, str(HERE / "results"))
    if task in EVALUATIONS:
        from _liquid_scenes import CLAY, CROSS, LETTER, WATER

        if task == "clay 50x23x50":
            return _evaluation(CROSS, threads)
        liquid = CLAY if task.startswith("clay") else WATER
        return _evaluation(LETTER.format(steps=10, liquid=liquid, control='method = "adjoint"'), threads)
    from _spectral_common import ball, letter
    from _spectral_solid import scene_of

    scenes = {"letter": letter(128), "knot": ball(50, 20), "two": scene_of("two keyframes, 64^3", False)[0]}
    changes = ["domain.resolution=24", "control.iterations=2"] if small else []
    return _optimisation(scenes[task], changes, threads)


def compare(task: str, sides: tuple[Side, Side], rounds: int, threads: int) -> dict[str, object]:
    """A row: the best of both sides, taken in turns."""
    if task in OPTIMISATIONS:
        for side in sides:
            side.run(task, threads, small=True)
    runs: tuple[list[dict[str, Any]], list[dict[str, Any]]] = ([], [])
    for _ in range(rounds):
        for side, mine in zip(sides, runs, strict=True):
            found = side.run(task, threads)
            if found is not None:
                mine.append(found)
    row: dict[str, object] = {"task": task, "threads": threads}
    quickest = [min(mine, key=lambda run: run["seconds"]) if mine else None for mine in runs]
    for side, one in zip(sides, quickest, strict=True):
        row[f"{side.name}, s"] = "-" if one is None else round(one["seconds"], 3)
    first, second = quickest
    row["ratio"] = "-" if first is None or second is None else round(second["seconds"] / first["seconds"], 2)
    for name in ("processor", "evaluations", *QUALITY) if task in OPTIMISATIONS else ():
        row[name] = " / ".join("-" if one is None or one.get(name) is None else f"{one[name]:.4g}" for one in quickest)
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("commits", nargs="*", metavar="A B")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", nargs="+", choices=TASKS, default=list(TASKS))
    parser.add_argument("--task", choices=TASKS, help=argparse.SUPPRESS)
    parser.add_argument("--small", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        print(json.dumps(do(options.task, options.threads, options.small)))
        return
    if len(options.commits) != 2:
        parser.error("give two commits: A B")
    first, second = (lay_out(name) for name in options.commits)
    title = f"{first.name} ({first.commit}) and {second.name} ({second.commit}), best of {options.rounds}; {machine()}"
    print(f"{title}\n", flush=True)
    rows = []
    for task in options.only:
        rows.append(compare(task, (first, second), options.rounds, options.threads))
        same = len(rows) > 1 and rows[-1].keys() == rows[-2].keys()
        print("\n".join(table(rows[-1:]).splitlines()[2 if same else 0 :]), flush=True)
    OUT.mkdir(exist_ok=True)
    path = OUT / f"compare_{first.commit}_{second.commit}.json".replace(" ", "_")
    path.write_text(json.dumps({"about": title, "commits": [first.commit, second.commit], "rows": rows}, indent=1))
    print(f"\nwritten: {path}")


if __name__ == "__main__":
    main()
