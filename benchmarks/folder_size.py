"""Sizes of run folders by kind of file, beside the estimate printed before each run.

    python benchmarks/folder_size.py [--folder FOLDER] [--only NAME ...]

Six small runs, one of each kind of method. Few iterations: the files of an optimisation do not depend on how far it
came. "estimated" and "taken" are megabytes of the finished folder.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from keyfluid.runs.estimate import estimate
from keyfluid.runs.run import choose_threads, plan_run, run_problem
from keyfluid.scenes import load_scene
from keyfluid.scenes.build.problem import build

BALL_TO_RING = """
name = "{name}"
[domain]
size = [1.0, 1.0, 1.0]
resolution = {resolution}
[time]
frames = {frames}
[smoke]
initial = {{ shape = "sphere", center = [0.35, 0.35, 0.5], radius = 0.18 }}
[[keyframe]]
frame = {frames}
shape = "torus"
center = [0.6, 0.6, 0.5]
radius = 0.2
thickness = 0.14
[control]
method = "{method}"
{control}
[output]
size = 256
"""

WORD = """
name = "word"
[domain]
resolution = 96
[time]
frames = 30
[smoke]
initial = { shape = "disk", center = [0.5, 0.4], radius = 0.2 }
[[keyframe]]
frame = 30
text = "R"
fit = 0.7
[control]
method = "adjoint"
iterations = 8
[output]
size = 256
"""

PLUME = """
name = "plume"
[domain]
size = [1.0, 1.5, 1.0]
resolution = 48
boundary = ["walls", "open", "walls"]
[time]
frames = 30
[smoke]
buoyancy = 2.0
[[source]]
shape = "sphere"
center = [0.5, 0.2, 0.5]
radius = 0.12
density = 1.0
velocity = [0.1, 0.6, 0.0]
[output]
size = 256
"""

DROP = """
name = "drop"
[domain]
size = [1.0, 0.8, 1.0]
resolution = 32
[time]
frames = 12
steps_per_frame = 2
[[liquid.initial]]
shape = "box"
center = [0.5, 0.1, 0.5]
size = [1.0, 0.2, 1.0]
[[liquid.initial]]
shape = "sphere"
center = [0.45, 0.5, 0.5]
radius = 0.14
velocity = [0.0, -1.5, 0.0]
[output]
size = 128
"""

SCENES = {
    "spectral 48^3": BALL_TO_RING.format(
        name="ring", resolution=48, frames=30, method="spectral", control="iterations = 10"
    ),
    "target 48^3": BALL_TO_RING.format(name="driven", resolution=48, frames=24, method="target", control=""),
    "particles 40^3": BALL_TO_RING.format(
        name="motes", resolution=40, frames=20, method="particles", control="markers = 60_000"
    ),
    "adjoint 96^2": WORD,
    "free plume 32x48x32": PLUME,
    "liquid 32x26x32": DROP,
}
"""Names and texts of the runs."""


def sizes(folder: Path) -> dict[str, int]:
    """Bytes of the files in a folder, by kind."""
    found = {"frames": 0, "checkpoints": 0, "vdb": 0, "rest": 0}
    for path in folder.rglob("*"):
        if path.is_file():
            kind = path.parent.name if path.parent.name in found else "rest"
            found["checkpoints" if path.name.startswith("checkpoint") else kind] += path.stat().st_size
    return found


def measure(name: str, folder: Path) -> tuple[int, dict[str, int]]:
    """Estimated bytes of a run's folder, and its bytes by kind once it has ended."""
    problem = build(load_scene(SCENES[name]))
    choose_threads(problem, 1)
    plan = plan_run(problem)
    expected = estimate(problem, plan, seconds=0.0).disk
    run_problem(problem, folder, plan=plan)
    return expected, sizes(folder)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--folder", type=Path, help="keep the run folders in this new folder")
    parser.add_argument("--only", nargs="*", default=list(SCENES), help="names of runs")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        root = arguments.folder or Path(temporary)
        print(
            f"{'run':22}{'estimated':>10}{'taken':>8}{'frames':>8}{'checkpoints':>13}{'vdb':>7}{'rest':>7}", flush=True
        )
        for name in arguments.only:
            expected, found = measure(name, root / name.replace(" ", "_"))
            numbers = [expected, sum(found.values()), *found.values()]
            widths = (10, 8, 8, 13, 7, 7)
            print(f"{name:22}" + "".join(f"{n / 1e6:>{w}.1f}" for n, w in zip(numbers, widths)), flush=True)


if __name__ == "__main__":
    main()
