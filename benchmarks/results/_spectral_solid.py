"""A ball of smoke becomes a mesh [McNamara 2004, section 7: the bunny, 50^3; Pan 2017: two keyframes, 64^3].

Each run is a process of its own, so that its peak memory can be told: above what is resident once the package is
imported and its kernels are compiled.
"""

from __future__ import annotations

import json
import subprocess
import sys
from functools import partial
from pathlib import Path

import _spectral_common as common
import numpy as np
from _spectral_common import ball, save_plot, save_strip, table

SECOND = """
[[keyframe]]
frame = {frame}
shape = "torus"
radius = 0.27
thickness = 0.16
"""
CASES: dict[str, tuple[int, int, list[str]]] = {
    "one keyframe, 40^3": (40, 20, []),
    "one keyframe, 50^3": (50, 20, []),
    "two keyframes, 64^3": (64, 40, []),
    "one keyframe, 128^3": (
        128,
        30,
        ["control.cutoff=32", "control.window=3", "control.iterations=50", "simulation.feet=shared"],
    ),
}
PAPERS = {
    "one keyframe, 40^3": "-",
    "one keyframe, 50^3": "McNamara: 2 h, 600 MB",
    "two keyframes, 64^3": "Pan: 6.81 h, 1.34 GB",
    "one keyframe, 128^3": "Tang (30 frames, toy): 677 min, GPU",
}


def scene_of(name: str, small: bool) -> tuple[str, list[str]]:
    size, frames, changes = CASES[name]
    if small:
        size, frames = 16, 6
        changes = ["control.cutoff=4", "control.iterations=4"]
    text = ball(size, frames)
    if name.startswith("two"):
        # The ring comes first, and the start is sized to it; the knot is sized to the smoke.
        text = text.replace("[control]", SECOND.format(frame=frames // 2).strip() + "\n[control]")
    return text, changes


def resident_mb() -> float:
    import resource

    with open("/proc/self/statm", encoding="ascii") as statm:
        return int(statm.read().split()[1]) * resource.getpagesize() / 1e6


def report(name: str, small: bool, picture: str, threads: int) -> None:
    """Run one case in this process; the last line printed is its row as JSON."""
    from _spectral_common import compile_first, frame_pictures, measure

    from keyfluid.runs.run import plan_run
    from keyfluid.scenes import load_scene
    from keyfluid.scenes.build.problem import build

    text, changes = scene_of(name, small)
    common.chosen.threads = threads
    compile_first(text, [*changes, "control.cutoff=4"])
    before = resident_mb()
    problem = build(load_scene(text, changes))
    for line in plan_run(problem).lines:
        print(line, flush=True)
    run = measure(text, changes)
    metrics, record = run.result.metrics, run.record
    last = np.array(record.cells) == record.finest
    gaps = np.diff(record.seconds)[last[1:]]
    worst = {
        "error": max(key["relative_error"] for key in metrics["keyframes"]),
        "bound": max(key["bound"] for key in metrics["keyframes"]),
        "IoU": min(float(key["iou"]) for key in metrics["keyframes"]),
        "carried IoU": min(float(key["transported_iou"]) for key in metrics["keyframes"]),
    }
    row = {
        "run": name,
        **{name: round(value, 3) for name, value in worst.items()},
        "unknowns": record.best[0].control.count if record.best else 0,
        "evaluations of the last grid": int(last.sum()),
        "seconds per evaluation": round(float(np.median(gaps)), 2),
        "peak above the package, MB": round(metrics["peak_memory_mb"] * 1.048576 - before),
        "whole process, MB": round(metrics["peak_memory_mb"] * 1.048576),
        **run.cost(),
        "paper": PAPERS[name],
    }
    problem = run.result.problem
    shown = [0, problem.frames // 4, problem.frames // 2, 3 * problem.frames // 4, problem.frames]
    np.savez(picture, pictures=frame_pictures(run.result, shown, 240), frames=shown,
             work=record.work(), errors=record.lowest())  # fmt: skip
    print(json.dumps(row))


def run(name: str, small: bool) -> None:
    """One case: its row, frames and error curve."""
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        picture = Path(place) / "picture.npz"
        arguments = (name, small, str(picture), common.chosen.threads)
        code = f"import _spectral_solid as solid; solid.report(*{arguments!r})"
        process = subprocess.Popen(
            [sys.executable, "-c", code], cwd=Path(__file__).parent, stdout=subprocess.PIPE, text=True
        )
        assert process.stdout is not None
        last = ""
        for line in process.stdout:
            last = line
            print(line, end="", flush=True)
        if process.wait():
            raise SystemExit(f"{name} failed")
        kept = np.load(picture)
        print(f"\n{table([json.loads(last)])}\n")
        save_strip(
            f"solid{CASES[name][0]}", list(kept["pictures"]), [*map(str, kept["frames"]), "target"], columns=6, tile=170
        )
        save_plot(f"solid{CASES[name][0]}_curve", 6, 3.4, partial(_draw_curve, kept["work"], kept["errors"]))


def _draw_curve(work: np.ndarray, errors: np.ndarray, figure) -> None:  # type: ignore[no-untyped-def]
    axes = figure.subplots()
    axes.semilogy(work, errors)
    axes.set(xlabel="evaluations (coarser grids by their cells)", ylabel="relative error, all keyframes")
    axes.grid(alpha=0.3)
