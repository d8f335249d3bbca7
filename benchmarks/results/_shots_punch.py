"""A man of smoke who throws a punch, a keyframe every frame; and a fist that becomes a hand, band by band."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import trimesh
from _particles_assets import Bone, mesh_of
from _shots_common import OUTPUT, chosen, frame_pictures, save_strip, shoot, table, target_pictures
from _shots_figure import write_punch

from keyfluid.io.container import load_arrays
from keyfluid.runs.pictures import Painter

PUNCH = """
name = "punch"
[domain]
size = [1.0, 0.9, 0.8]
resolution = {size}
[time]
frames = {frames}
[simulation]
interpolation = "cubic"
[smoke]
initial = {{ mesh = "{mesh}", fit = 0.86, mass = "first-key" }}
[[keyframe]]
frame = 1
until = {frames}
mesh = "{mesh}"
fit = 0.86
[control]
method = "spectral"
cutoff = {cutoff}
shear = 0.3
"""
HANDS = """
name = "hands"
[domain]
size = [1.0, 0.5, 0.5]
resolution = {size}
[time]
frames = 20
[smoke]
initial = {{ mesh = "{fist}", fit = 0.55, center = [0.38, 0.25, 0.25], mass = "first-key" }}
[[keyframe]]
frame = 20
mesh = "{hand}"
fit = 0.8
center = [0.56, 0.25, 0.25]
[control]
method = "spectral"
bands = "grow"
growth = 3
cutoff = {cutoff}
window = 5
coarse = 0
paths = 0
iterations = {iterations}
"""

POST = """
[[obstacle]]
shape = "sphere"
center = [0.5, 0.36, 0.25]
radius = 0.04
"""
"""A body between the fingers and the thumb; the paper does not say what its own is."""


def punch() -> None:
    """McNamara: 90,000 voxels, 600,000 controls, 550 MB. Here the controls are waves of a potential."""
    size, frames, cutoff = chosen.pick((50, 20, 12.5), (40, 20, 10), (20, 6, 5))
    mesh = write_punch(chosen.scratch / "figure", frames)
    less = chosen.pick([], [], ["control.iterations=8"])
    shot = shoot("punch", PUNCH.format(size=size, frames=frames, mesh=mesh, cutoff=cutoff) + OUTPUT, less)
    keys = shot.result.metrics["keyframes"]
    row = {
        "controls": shot.plan[0].split(" unknowns")[0],
        **shot.worst(),
        "mean IoU": round(float(np.mean([key["iou"] for key in keys])), 3),
        "carried IoU at the last frame": round(float(keys[-1]["transported_iou"]), 3),
        **shot.cost(),
    }
    print(f"\n{table([row])}\n\nIoU by frame: " + ", ".join(f"{key['iou']:.3f}" for key in keys) + "\n")
    shown = [round(frames * share) for share in (0.2, 0.4, 0.5, 0.6, 0.8, 1.0)]
    pictures = frame_pictures(shot.result, shown) + target_pictures(shot.result, shown)
    save_strip("punch", pictures, [*(f"frame {i}" for i in shown), *(f"keyframe {i}" for i in shown)], 6, 170)


def preview() -> None:
    """Tang: 166, 500 and 824 minutes for the cutoffs 1, 8 and 64, at 200 x 100 x 100 with an obstacle."""
    fist, hand = _hands(chosen.scratch)
    size, cutoff, iterations = chosen.pick((128, 64, 20), (64, 32, 30), (32, 16, 6), (200, 64, 20))
    text = HANDS.format(size=size, fist=fist, hand=hand, cutoff=cutoff, iterations=iterations) + OUTPUT
    text += chosen.pick("", "", "", POST)
    shot = shoot("preview", text)
    problem = shot.result.problem
    painter, rows, pictures, labels = Painter(problem, 220), [], [], []
    shown = (7, 14, 20)
    key = problem.keyframes[0]
    for number, stage in enumerate(shot.stages, 1):
        k = stage["label"].split("k <= ")[-1]
        if "blur" in k:
            continue
        kept = shot.folder.with_name(f"{shot.folder.name}.stage{number}")
        frames = kept if number < len(shot.stages) else shot.folder / "frames"
        for index in shown:
            arrays, _ = load_arrays(frames / f"{index:04d}.npz")
            pictures.append(painter.picture({"density": arrays["density"].reshape(problem.grid.cells)}, index))
            labels.append(f"k = {k}, frame {index}")
        gap = arrays["density"].reshape(problem.grid.cells) - key.target
        rows.append(
            {
                "cutoff": k,
                "error": float(np.linalg.norm(gap) / np.linalg.norm(key.target)),
                "seconds from the start": stage["seconds"],
            }
        )
    print(f"\n{table(rows)}\n\n{table([{**shot.worst(), **shot.cost()}])}\n")
    save_strip("preview", [*pictures, *target_pictures(shot.result, [20])], [*labels, "keyframe"], 3, 220)


def _hands(folder: Path) -> tuple[Path, Path]:
    """A fist, and a hand with its fingers spread; both of capsules, pointing along +x."""
    palm = [Bone("palm", (0.0, y, 0.0), (0.16, y, 0.0), 0.07) for y in (-0.06, 0.0, 0.06)]
    thumb, wrist = Bone("thumb", (0.03, 0.1, 0.0), (0.13, 0.2, 0.02), 0.045), Bone("", (-0.2, 0, 0), (0.0, 0, 0), 0.075)
    bent = [Bone("finger", (0.2, y, 0.05), (0.14, y, 0.12), 0.05) for y in (-0.1, -0.035, 0.035, 0.1)]
    spread = [
        Bone("finger", (0.18, y, 0.0), (0.18 + reach, 2.2 * y, 0.0), 0.042)
        for y, reach in ((-0.1, 0.2), (-0.035, 0.26), (0.035, 0.27), (0.1, 0.22))
    ]
    folded = Bone("thumb", (0.05, 0.1, 0.06), (0.16, 0.06, 0.12), 0.045)
    paths = []
    for name, bones in {"fist": [wrist, *palm, *bent, folded], "hand": [wrist, *palm, *spread, thumb]}.items():
        vertices, faces, _, _ = mesh_of(bones)
        paths.append(folder / f"{name}.obj")
        trimesh.Trimesh(vertices, faces, process=False).export(paths[-1])
    return paths[0], paths[1]
