"""Eight shapes, one every 30 frames: all at once, by layered multiple shooting, and one after the other.

Shooting has one process here, so that its memory is one window's; that two give the same bits is a test of the suite.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from _shots_common import OUTPUT, Shot, chosen, frame_pictures, save_strip, shoot, table, target_pictures

HEAD = """
name = "long"
[domain]
resolution = {size}
[time]
frames = {frames}
[smoke]
initial = {{ shape = "disk", center = [0.45, 0.4], mass = "first-key" }}
"""
SHAPES = (
    'shape = "box"\ncenter = [0.6, 0.58]\nsize = [0.32, 0.32]',
    'shape = "star"\ncenter = [0.42, 0.58]\nradius = 0.25',
    'text = "A"\nfit = 0.5',
    'shape = "ring"\ncenter = [0.54, 0.5]\nradius = 0.2\nthickness = 0.1',
    'shape = "heart"\ncenter = [0.46, 0.46]\nsize = 0.4',
    'text = "S"\nfit = 0.55',
    'shape = "cross"\nsize = 0.45',
    'shape = "disk"\ncenter = [0.5, 0.55]\nradius = 0.2',
)


def scene(size: int, gap: int) -> str:
    keys = [f"[[keyframe]]\nframe = {gap * (i + 1)}\n{shape}\n" for i, shape in enumerate(SHAPES)]
    head = HEAD.format(size=size, frames=gap * len(SHAPES))
    return head + "".join(keys) + '[control]\nmethod = "spectral"\n' + OUTPUT


def largest_jump(shot: Shot) -> float:
    """Of the velocity from one frame to the next, over the median: a seam would stand out."""
    frames = shot.result.frames
    before = frames[0].velocity
    jumps = []
    for index in range(1, len(frames)):
        now = frames[index].velocity
        jumps.append((now - before).norm())
        before = now
    return float(max(jumps[1:]) / np.median(jumps[1:]))


def _jumps(entry: Mapping[str, float]) -> str:
    return f"{100 * entry['seam_density']:.2f} / {100 * entry['seam_velocity']:.2f}"


def run() -> None:
    size, gap = chosen.pick((128, 30), (64, 30), (24, 6))
    less = chosen.pick([], [], ["control.iterations=20", "control.coarse=0"])
    text = scene(size, gap)
    runs, rows = {}, []
    for schedule in ("all", "shooting", "sequence"):
        threads = 1 if schedule == "shooting" else None
        shot = runs[schedule] = shoot(schedule, text, [f"control.schedule={schedule}", *less], threads)
        seams = [entry for entry in shot.result.metrics["history"] if "seam_density" in entry]
        errors = [key["relative_error"] for key in shot.result.metrics["keyframes"]]
        rows.append(
            {
                "schedule": schedule,
                "errors": " ".join(f"{error:.3f}" for error in errors),
                "mean error": float(np.mean(errors)),
                "rounds": len(seams) - 1 if seams else "-",
                "jumps before the closing, density / velocity, %": _jumps(seams[-2]) if seams else "-",
                "at the end": _jumps(seams[-1]) if seams else "-",
                "largest step of velocity over the median": largest_jump(shot),
                **shot.cost(),
            }
        )
        print(f"{table(rows[-1:])}\n", flush=True)
    print(f"\n{table(rows)}\n")
    for entry in runs["shooting"].result.metrics["history"]:
        if "seam_density" in entry:
            name = "closing" if entry["closing"] else f"round {entry['round']}"
            print(f"{name}: jumps in density / velocity, %: {_jumps(entry)}")
    shown = [gap * (i + 1) for i in range(len(SHAPES))]
    pictures = frame_pictures(runs["shooting"].result, shown, 140) + frame_pictures(runs["all"].result, shown, 140)
    pictures += target_pictures(runs["shooting"].result, shown, 140)
    labels = [f"{name}, {i}" for name in ("shooting", "all", "keyframe") for i in shown]
    save_strip("long", pictures, labels, len(shown), 110)
