"""Parts of first_time.py about defaults: shapes by winds, and targets whose parts are far from the smoke."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from keyfluid.render import filmstrip, save_png
from keyfluid.runs.pictures import Painter
from keyfluid.runs.run import RunResult, choose_threads, run_problem
from keyfluid.scenes import load_scene
from keyfluid.scenes.build.problem import build

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"

SHAPE = """
name = "shape"
[domain]
resolution = 64
[time]
frames = 30
[smoke]
initial = {{ shape = "disk", center = [0.5, 0.5], mass = "first-key" }}
[[keyframe]]
frame = 30
{target}
[control]
method = "adjoint"
"""

SHAPES = {"A": 'text = "A"', "R": 'text = "R"', "8": 'text = "8"', "&": 'text = "&"',
          "star": 'shape = "star"\ncenter = [0.5, 0.5]\nradius = 0.3'}  # fmt: skip

LOGO = """
name = "logo"
[domain]
resolution = 64
[time]
frames = 60
[smoke]
buoyancy = 0.3
[[source]]
shape = "disk"
center = [0.5, 0.1]
radius = 0.08
rate = 4.5
stop = 40
[[keyframe]]
frame = 52
text = "KEY\\nFLUID"
center = [0.5, 0.55]
[control]
method = "{method}"
"""

SIDEWAYS = """
name = "sideways"
[domain]
resolution = 64
[time]
frames = 48
[[source]]
shape = "box"
center = [0.1, 0.5]
size = [0.1, 0.3]
rate = 2.0
stop = 30
[[keyframe]]
frame = 44
text = "o x"
fit = 0.7
center = [0.6, 0.5]
[control]
method = "{method}"
"""

CORNER = """
name = "corner"
[domain]
resolution = 64
[time]
frames = 40
[smoke]
initial = {{ shape = "disk", center = [0.23, 0.23], mass = "first-key" }}
[[keyframe]]
frame = 36
text = "UP\\nON"
fit = 0.5
center = [0.55, 0.6]
[control]
method = "{method}"
"""


def adjoint(small: bool) -> None:
    """Five shapes from a disk of equal area, everything else at its default."""
    head("shape", "error", "IoU", "carried IoU", "mass", "evaluations", "processor s")
    pictures = []
    for name, target in SHAPES.items():
        result, cpu = run(SHAPE.format(target=target), 32 if small else None)
        key = result.metrics["keyframes"][-1]
        line(name, key["relative_error"], key["iou"], key["transported_iou"], key["mass_ratio"],
             result.metrics["evaluations"], cpu)  # fmt: skip
        pictures.append(picture(result))
    save_png(IMAGES / "first_time_adjoint.png", filmstrip(pictures, list(SHAPES), columns=5, tile=150))


def islands(small: bool) -> None:
    """Two words from one vent, before and after the defaults look at islands."""
    islands_of(
        small,
        [
            ("spectral", LOGO, 1, ()),
            ("spectral, no blur (the default before)", LOGO, 1, ('control.gamma="none"',)),
            ("spectral, gamma = blur", LOGO, 1, ('control.gamma="blur"',)),
            ("target", LOGO, 1, ()),
            ("target, reach 0.2, strength 1 (the default before)", LOGO, 1, ("control.reach=0.2",)),
            ("target, reach 0.6, strength 3", LOGO, 1, ("control.reach=0.6", "control.strength=3")),
        ],
        "first_time_islands.png",
    )


def others(small: bool) -> None:
    """Scenes that were not looked at while the defaults were chosen."""
    cases = []
    for name, scene, axis in (("vent at the left, o x", SIDEWAYS, 0), ("disk in a corner, UP over ON", CORNER, 1)):
        cases += [
            (f"{name}: spectral", scene, axis, ()),
            (f"{name}: spectral, no blur", scene, axis, ('control.gamma="none"',)),
            (f"{name}: target", scene, axis, ()),
            (f"{name}: target, reach 0.2", scene, axis, ("control.reach=0.2",)),
        ]
    islands_of(small, cases, "first_time_others.png")


def islands_of(small: bool, cases: Sequence[tuple[str, str, int, Sequence[str]]], image: str) -> None:
    head("case", "error", "IoU", "IoU of the near part", "IoU of the far part", "mass", "evaluations", "processor s")
    pictures = []
    for name, scene, axis, changes in cases:
        method = "target" if "target" in name else "spectral"
        result, cpu = run(scene.format(method=method), 32 if small else None, changes)
        key = result.metrics["keyframes"][-1]
        near, far = part_overlaps(result, axis)
        line(name, key["relative_error"], key["iou"], near, far, key["mass_ratio"], result.metrics["evaluations"], cpu)
        pictures.append(picture(result))
    save_png(IMAGES / image, filmstrip(pictures, [str(i + 1) for i in range(len(cases))], columns=4, tile=150))


def run(scene: str, resolution: int | None, changes: Sequence[str] = ()) -> tuple[RunResult, float]:
    began = time.process_time()
    size = [] if resolution is None else [f"domain.resolution={resolution}"]
    problem = build(load_scene(scene, [*changes, *size]))
    choose_threads(problem, None)
    result = run_problem(problem)
    return result, time.process_time() - began


def part_overlaps(result: RunResult, axis: int) -> tuple[float, float]:
    """IoU on both sides of the widest gap across an axis of the last target, the lower side first."""
    key = result.problem.keyframes[-1]
    density = result.frames[key.frame].densities[key.field]
    level = 0.5 * float(np.max(key.target))
    filled = np.flatnonzero((key.target > level).any(axis=1 - axis))
    widest = int(np.argmax(np.diff(filled)))
    middle = (int(filled[widest]) + int(filled[widest + 1]) + 1) // 2
    found = []
    for side in (slice(None, middle), slice(middle, None)):
        where = (side, slice(None)) if axis == 0 else (slice(None), side)
        reached, wanted = density[where] > level, key.target[where] > level
        found.append(float(np.count_nonzero(reached & wanted) / np.count_nonzero(reached | wanted)))
    return found[0], found[1]


def picture(result: RunResult) -> np.ndarray:
    key = result.problem.keyframes[-1]
    return Painter(result.problem, 150).picture(result.frames[key.frame].densities, key.frame)


def head(*names: str) -> None:
    print("| " + " | ".join(names) + " |\n|" + "---|" * len(names), flush=True)


def line(*cells: object) -> None:
    print("| " + " | ".join(f"{c:.3g}" if isinstance(c, float) else str(c) for c in cells) + " |", flush=True)
