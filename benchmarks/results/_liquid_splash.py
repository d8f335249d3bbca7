"""Figure 6 of McNamara et al. 2004: droplets that come off a pool after a splash, where and when a sketch has them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from _liquid_common import draw
from _shots_common import OUTPUT, chosen, shoot
from scipy.ndimage import label

SPLASH = """
[domain]
size = [1.0, 1.0, 1.0]
resolution = {size}
[time]
frames = 20
fps = 20
steps_per_frame = {steps}
[[liquid.initial]]
shape = "box"
center = [0.5, 0.125, 0.5]
size = [1.0, 0.25, 1.0]
[[liquid.initial]]
shape = "sphere"
center = [0.5, 0.45, 0.5]
radius = 0.13
velocity = [0.0, -2.0, 0.0]
[liquid]
gravity = 5.0
{keys}
[camera]
floor = true
[control]
method = "adjoint"
schedule = "{schedule}"
ahead = {ahead}
act = [2, 10]
spacing = {spacing}
blur = {blur}
iterations = 60
"""
DROPLETS = """
[[keyframe]]
frame = {frame}
npy = "{sketch}"
mass = "keep"
mask = {{ shape = "box", center = [0.5, 0.55, 0.5], size = [0.9, 0.54, 0.9] }}
"""
LAST, POOL, RADIUS = 10, 0.25, 0.09
SKETCHED, ASKED = range(5, LAST + 1), range(8, LAST + 1)
"""Frames that the animator's sketch has, and those in which its droplets are clear of the pool."""
SHOWN = (1, 3, 5, 6, 7, 8, 9, 10, 12, 14, 16, 20)
PLACES = {"one": [(0.5, 0.5)], "three": [(0.27, 0.35), (0.73, 0.4), (0.47, 0.74)]}
HELD_OUT = {"two": [(0.33, 0.62), (0.7, 0.45)]}
COLUMNS = (
    "droplets", "cells", "unknowns of a window", "evaluations", "counted at frames 8, 9, 10", "IoU there",
    "farthest from its place, cells", "back in the pool at frame", "volume", "churn", "seconds", "CPU s",
)  # fmt: skip


def height(frame: int) -> float:
    """Of a droplet's centre, metres: free flight, 0.5 m high at the last frame and 0.18 m/s fast there."""
    left = (LAST - frame) / 20
    return 0.5 - 0.183 * left - 0.5 * 5.0 * left**2


def splash() -> None:
    """As in the paper an animator's sketch is followed: droplets thrown out of the pool, one pose per frame."""
    print("### Figure 6: droplets after a splash, 20 frames of two steps, three at 48^3\n")
    print(f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|")
    for size in chosen.pick((30, 48), (30,), (16,)):
        for name, places in {**PLACES, **(HELD_OUT if size == 30 else {})}.items():
            throw(f"{name}, {size}^3", size, places, picture=f"splash{size if size > 30 else ''}_{len(places)}")
    print()


def throw(
    name: str, size: int, places: Sequence[tuple[float, float]], schedule: str = "sequence", picture: str | None = None
) -> None:
    """Solve one, and print its row."""
    keys = "".join(
        DROPLETS.format(frame=frame, sketch=_sketch(chosen.scratch / f"{name}.{frame}.npy", frame, places))
        for frame in SKETCHED
    )
    # Winds two cells apart, and steps as short in cells as at 30^3. gamma is two and one cell of 30^3 wide, and at last
    # one of a finer grid, or threads stay.
    widths, steps = [0.067, 0.033, *([round(1 / size, 3)] if size > 30 else [])], max(1, size // 15)
    scene = SPLASH.format(
        size=size, keys=keys, schedule=schedule, ahead=2, spacing=2 / size, blur=widths, steps=steps
    )  # fmt: skip
    shot = shoot("-".join(name.split()), scene + OUTPUT, chosen.pick([], [], ["control.iterations=3"]))
    result, metrics = shot.result, shot.result.metrics
    liquid = metrics["liquid"]
    found = [droplets(result.frames[frame].surface) for frame in ASKED]
    ious = [key["iou"] for key in metrics["keyframes"] if key["frame"] in ASKED]
    misses = [_miss(one, places, frame, size) for one, frame in zip(found, ASKED)]
    back = next((f for f in range(LAST, 21) if not droplets(result.frames[f].surface)), None)
    cells = (
        len(places), f"{size}^3", shot.plan[0].split()[0], metrics["evaluations"], " ".join(str(len(f)) for f in found),
        " ".join(f"{iou:.3f}" for iou in ious), f"{max(misses):.2f}", back if back is not None else "after 20",
        f"{100 * (liquid['volume_end'] / liquid['volume_start'] - 1):+.2f} %", f"{100 * liquid['churn']:.1f} %",
        f"{shot.seconds:.0f}", f"{shot.cpu:.0f}",
    )  # fmt: skip
    print(f"| {' | '.join(map(str, cells))} |", flush=True)
    if picture is not None:
        draw(result, picture, SHOWN, columns=9)


def droplets(surface: np.ndarray) -> list[np.ndarray]:
    """Centres, in metres, of the connected bodies of liquid that are not the largest; each cell counts."""
    found, count = label(surface < 0)
    sizes = np.bincount(found.ravel())[1:]
    others = [k + 1 for k in range(count) if k != int(np.argmax(sizes))]
    return [(np.argwhere(found == k).mean(axis=0) + 0.5) / max(surface.shape) for k in others]


def _miss(found: list[np.ndarray], places: Sequence[tuple[float, float]], frame: int, size: int) -> float:
    """The largest distance from a place of the sketch to the nearest droplet, in cells."""
    wanted = [np.array([x, height(frame), z]) for x, z in places]
    return max(min((float(np.linalg.norm(one - place)) * size for one in found), default=np.inf) for place in wanted)


def _sketch(path: Path, frame: int, places: Sequence[tuple[float, float]]) -> Path:
    """The still pool, and droplets in flight."""
    cells = 120
    x, y, z = np.meshgrid(*[(np.arange(cells) + 0.5) / cells] * 3, indexing="ij", sparse=True)
    distance = y - POOL + 0 * (x + z)
    for a, b in places:
        distance = np.minimum(distance, np.sqrt((x - a) ** 2 + (y - height(frame)) ** 2 + (z - b) ** 2) - RADIUS)
    np.save(path, np.clip(0.5 - cells * distance, 0, 1).astype(np.float32))
    return path
