"""Smoke around a solid sphere, a keyframe every 30 frames, each from where the last ended [Tang 2021, figure 13]."""

from __future__ import annotations

import numpy as np
from _shots_common import OUTPUT, chosen, frame_pictures, save_strip, shoot, table, target_pictures

SCENE = """
name = "obstacle3d"
[domain]
size = [1.0, 1.0, 1.0]
resolution = {size}
[time]
frames = {frames}
[smoke]
initial = {{ shape = "sphere", center = [0.5, 0.21, 0.5], radius = 0.17 }}
[[obstacle]]
shape = "sphere"
center = [0.5, 0.5, 0.5]
radius = 0.1
[[keyframe]]
frame = {first}
shape = "torus"
center = [0.5, 0.5, 0.5]
radius = 0.22
thickness = 0.138
rotation = [90.0, 0.0, 0.0]
[[keyframe]]
frame = {second}
shape = "sphere"
center = [0.5, 0.78, 0.5]
radius = 0.17
[[keyframe]]
frame = {frames}
shape = "box"
center = [0.8, 0.5, 0.5]
size = [0.274, 0.274, 0.274]
[control]
method = "spectral"
schedule = "sequence"
cutoff = {cutoff}
iterations = {iterations}
"""


def run() -> None:
    size, gap, cutoff, iterations = chosen.pick((64, 30, 16, 60), (32, 30, 10, 40), (16, 6, 4, 8), (128, 30, 16, 60))
    text = SCENE.format(size=size, frames=3 * gap, first=gap, second=2 * gap, cutoff=cutoff, iterations=iterations)
    shot = shoot("obstacle", text + OUTPUT)
    frames = shot.result.frames
    changes, speeds = {}, {}
    for index in range(1, 3 * gap + 1):
        before, now = frames[index - 1].velocity, frames[index].velocity
        changes[index] = (now - before).norm()
        speeds[index] = now.norm()
    mean = float(np.sqrt(np.mean(np.square(list(speeds.values())))))
    at_seams = [(changes[cut + 1] / mean, changes[cut + 1] / speeds[cut + 1]) for cut in (gap, 2 * gap)]
    rows = [
        {
            "keyframe": key["frame"],
            "error": key["relative_error"],
            "bound": key["bound"],
            "IoU": round(key["iou"], 3),
            "stray, %": round(100 * key["stray"], 1),
        }
        for key in shot.result.metrics["keyframes"]
    ]
    print(f"\n{table(rows)}\n\n{table([shot.cost()])}\n")
    print(
        "change of velocity from a frame to the next, over the film's root mean square (over that of the frame): "
        + ", ".join(f"{of_film:.3f} ({of_frame:.3f})" for of_film, of_frame in at_seams)
        + f" across the seams, median {np.median(list(changes.values())) / mean:.3f}, at the start "
        f"{changes[1] / mean:.3f}\n"
    )
    shown = [round(share * gap) for share in (0.5, 1.0, 1.5, 2.0, 2.5, 3.0)]
    keys = [gap, 2 * gap, 3 * gap]
    pictures = frame_pictures(shot.result, shown) + target_pictures(shot.result, keys)
    save_strip("obstacle", pictures, [*(f"frame {i}" for i in shown), *(f"keyframe {i}" for i in keys)], 6, 200, 256)
