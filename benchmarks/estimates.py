"""Estimated against real time, and how honest the time left is: ``python benchmarks/estimates.py [NAME...]``.

Small runs of all methods and both fluids, outputs included. `ratio` is the estimate over the real time; `least left`
is the smallest of (time left as shown) / (time really left) after the first fifth of a run, while a second or more is
left. The goals are a ratio between 0.67 and 1.5, and a least of 0.5. Compilation comes before the estimate. Each run
has a process of its own, as with `keyfluid run`.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

from keyfluid.runs.progress import Progress
from keyfluid.runs.run import choose_threads, run_problem
from keyfluid.scenes import load_scene
from keyfluid.scenes.build.problem import build
from timing import machine, table

WATER_LETTER = """
[domain]
resolution = 24
[time]
frames = 8
steps_per_frame = 2
[liquid]
initial = { shape = "disk", center = [0.5, 0.45], volume = "first-key" }
[[keyframe]]
frame = 8
text = "L"
fit = 0.6
[control]
method = "adjoint"
iterations = 12
"""

RUNS: dict[str, tuple[str, tuple[str, ...]]] = {
    "free smoke, 2D": ("plume_obstacle_2d", ("domain.resolution=96", "time.frames=60")),
    "free smoke, 3D": ("plume_mesh_3d", ("domain.resolution=24", "time.frames=24")),
    "free liquid, 3D": ("liquid_drop_3d", ("domain.resolution=20", "time.frames=20")),
    "target, 2D": ("target_word", ("domain.resolution=96", "time.frames=24", "keyframe[0].frame=20")),
    "particles, 3D": (
        "particles_horse",
        ("domain.resolution=40", "time.frames=16", "keyframe[0].frame=16", "control.markers=20000"),
    ),
    "adjoint, 2D": (
        "adjoint_winds",
        ("domain.resolution=64", "time.frames=12", "keyframe[0].frame=10", "control.iterations=24"),
    ),
    "adjoint liquid, 2D": (WATER_LETTER, ()),
    "spectral, 2D": (
        "spectral_word",
        ("domain.resolution=64", "time.frames=16", "keyframe[0].frame=12", "control.iterations=30"),
    ),
    "spacetime, 2D": ("spacetime_letter", ("domain.resolution=40", "time.frames=16", "keyframe[0].frame=12")),
}
GOALS = """The goal is a
ratio (estimated over real) of 0.67 to 1.5 and a least left of 0.5: the time left that was printed over the real one, at
its lowest after the first fifth. Each run has a process of its own, and kernels are compiled. What other programs begin
or end during a run is not in its estimate."""
GALLERY = Path(__file__).resolve().parents[1] / "src" / "keyfluid" / "gallery"


def measured(name: str, folder: Path) -> tuple[float, float, float]:
    """Estimated and real seconds of a run, and the least honest time left."""
    source, sets = RUNS[name]
    problem = build(load_scene(source if "\n" in source else GALLERY / f"{source}.toml", sets))
    choose_threads(problem, None)
    announced: list[tuple[float, float]] = []
    shown: list[tuple[float, float]] = []

    def listen(progress: Progress) -> None:
        if progress.seconds_left is not None:
            shown.append((time.perf_counter(), progress.seconds_left))

    run_problem(
        problem, folder, progress=listen, announce=lambda seconds: announced.append((time.perf_counter(), seconds))
    )
    end = time.perf_counter()
    ((began, estimated),) = announced
    shares = [left / (end - now) for now, left in shown if now - began > 0.2 * (end - began) and end - now >= 1.0]
    return estimated, end - began, min(shares, default=1.0)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", choices=[*RUNS, []], metavar="NAME", help="of runs; default: all")
    names = parser.parse_args().names or list(RUNS)
    print(f"`python benchmarks/estimates.py`; {machine()}. {GOALS}\n")
    rows: list[dict[str, object]] = []
    for name in names:
        with tempfile.TemporaryDirectory() as folder, ProcessPoolExecutor(1, get_context("spawn")) as process:
            estimated, real, least = process.submit(measured, name, Path(folder) / "run").result()
        ratio = f"{estimated / real:.2f}"
        rows.append(
            {"run": name, "estimated, s": f"{estimated:.1f}", "real, s": f"{real:.1f}", "ratio": ratio,
             "least left": f"{least:.2f}"}
        )  # fmt: skip
        print(*rows[-1].values(), sep=", ", file=sys.stderr, flush=True)
    print(table(rows))


if __name__ == "__main__":
    main()
