"""Eight shapes, one every 30 frames, one after the other, with smoke carried along paths and by the grid; then sixteen
others. `schedules`: the eight all at once, and by layered multiple shooting.

Shooting has one process here, so that its memory is one window's; that two give the same bits is a test of the suite.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from _shots_common import OUTPUT, Shot, chosen, frame_pictures, save_strip, shoot, table, target_pictures

from keyfluid.runs.flow_map import FlowMap
from keyfluid.runs.metrics import overlap

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


OTHERS = (
    'text = "R"\nfit = 0.5',
    'shape = "ring"\ncenter = [0.45, 0.55]\nradius = 0.18\nthickness = 0.11',
    'text = "W"\nfit = 0.55',
    'shape = "heart"\ncenter = [0.55, 0.52]\nsize = 0.42',
    'text = "8"\nfit = 0.5',
    'shape = "box"\ncenter = [0.45, 0.45]\nsize = [0.5, 0.22]',
    'text = "&"\nfit = 0.5',
    'shape = "star"\ncenter = [0.55, 0.5]\nradius = 0.24',
)
"""Looked at once, when the first comparisons along paths were not yet blurred: the 8 could not become the box."""
NEW = (
    'text = "K"\nfit = 0.5',
    'shape = "cross"\ncenter = [0.55, 0.45]\nsize = 0.42',
    'text = "B"\nfit = 0.5',
    'shape = "disk"\ncenter = [0.42, 0.56]\nradius = 0.2',
    'text = "Q"\nfit = 0.5',
    'shape = "star"\ncenter = [0.5, 0.45]\nradius = 0.26',
    'text = "5"\nfit = 0.52',
    'shape = "ring"\ncenter = [0.5, 0.52]\nradius = 0.19\nthickness = 0.12',
)
"""Chosen once, when all was done."""


def scene(size: int, gap: int, shapes: Sequence[str] = SHAPES) -> str:
    keys = [f"[[keyframe]]\nframe = {gap * (i + 1)}\n{shape}\n" for i, shape in enumerate(shapes)]
    head = HEAD.format(size=size, frames=gap * len(shapes))
    return head + "".join(keys) + '[control]\nmethod = "spectral"\n' + OUTPUT


def carried_ious(shot: Shot) -> list[float]:
    """IoU of each keyframe with the smoke of the keyframe before, carried through the velocities between them."""
    frames, found, begin = shot.result.frames, [], 0
    for key in shot.result.problem.keyframes:
        paths = FlowMap(shot.result.problem.grid)
        for index in range(key.frame, begin, -1):
            for seconds, velocity in reversed(frames[index].carriers):
                paths.back(velocity, seconds)
        found.append(overlap(paths.read(frames[begin].densities[key.field]), key))
        begin = key.frame
    return found


def seam_jump(shot: Shot) -> float:
    """The largest change of velocity in the first frame after a keyframe, over the median change of a frame."""
    frames, jumps = shot.result.frames, {}
    for index in range(1, len(frames)):
        jumps[index] = (frames[index].velocity - frames[index - 1].velocity).norm()
    after = [key.frame + 1 for key in shot.result.problem.keyframes if key.frame + 1 in jumps]
    return float(max(jumps[index] for index in after) / np.median(list(jumps.values())))


def _jumps(entry: Mapping[str, float]) -> str:
    return f"{100 * entry['seam_density']:.2f} / {100 * entry['seam_velocity']:.2f}"


RUNS: dict[str, tuple[Sequence[str], list[str]]] = {
    "sequence": (SHAPES, ["control.schedule=sequence"]),
    "sequence, by the grid": (SHAPES, ["control.schedule=sequence", "control.paths=0"]),
    "sequence, other shapes": (OTHERS, ["control.schedule=sequence"]),
    "sequence, new shapes": (NEW, ["control.schedule=sequence"]),
}
SCHEDULES: dict[str, tuple[Sequence[str], list[str]]] = {
    "shooting": (SHAPES, ["control.schedule=shooting"]),
    "all": (SHAPES, ["control.schedule=all"]),
}


def run() -> None:
    runs, gap = _shots(RUNS)
    shown = [gap * (i + 1) for i in range(len(SHAPES))]
    strips = {
        "long": {"sequence, by the grid": "by the grid", "sequence": "along paths"},
        "long_others": {"sequence, other shapes": "others", "sequence, new shapes": "new"},
    }
    for picture, films in strips.items():
        pictures, labels = [], []
        for name, label in films.items():
            pictures += frame_pictures(runs[name].result, shown, 140)
            labels += [f"{label}, {i}" for i in shown]
            if name != "sequence, by the grid":
                pictures += target_pictures(runs[name].result, shown, 140)
                labels += [f"keyframe {i}" for i in shown]
        save_strip(picture, pictures, labels, len(shown), 110)


def schedules() -> None:
    runs, _ = _shots(SCHEDULES)
    for entry in runs["shooting"].result.metrics["history"]:
        if "seam_density" in entry:
            name = "closing" if entry["closing"] else f"round {entry['round']}"
            print(f"{name}: jumps in density / velocity, %: {_jumps(entry)}")


def _shots(wanted: Mapping[str, tuple[Sequence[str], list[str]]]) -> tuple[dict[str, Shot], int]:
    """The films, and the frames from one keyframe to the next."""
    size, gap = chosen.pick((128, 30), (64, 30), (24, 6))
    less = chosen.pick([], [], ["control.iterations=20", "control.coarse=0"])
    runs, rows = {}, []
    for name, (shapes, sets) in wanted.items():
        threads = 1 if name == "shooting" else None
        folder = name.replace(",", "").replace(" ", "_")
        shot = runs[name] = shoot(folder, scene(size, gap, shapes), [*sets, *less], threads)
        rows.append(_row(name, shot))
        print(f"{table(rows[-1:])}\n", flush=True)
    print(f"\n{table(rows)}\n")
    return runs, gap


def _row(name: str, shot: Shot) -> dict[str, object]:
    keys = shot.result.metrics["keyframes"]
    errors = [key["relative_error"] for key in keys]
    return {
        "run": name,
        "errors": " ".join(f"{error:.3f}" for error in errors),
        "mean error": float(np.mean(errors)),
        "most stray, %": round(100 * max(key["stray"] for key in keys), 1),
        "least IoU": round(min(key["iou"] for key in keys), 3),
        "carried IoU, each from the keyframe before": " ".join(f"{iou:.3f}" for iou in carried_ious(shot)),
        "change of velocity at a seam over the median": seam_jump(shot),
        **shot.cost(),
    }
