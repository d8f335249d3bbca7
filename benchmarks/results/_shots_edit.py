"""A free plume, changed: twisted at two frames [Tang 2021, figure 10], and by paint on its render [figure 12]."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from _shots_common import OUTPUT, chosen, frame_pictures, save_strip, shoot, table, target_pictures
from PIL import Image

from keyfluid.fields import density
from keyfluid.runs.run import RunResult
from keyfluid.scenes.build.pictures import upright, view_of

PLUME = """
name = "plume"
[domain]
size = [0.5, 1.0, 0.5]
resolution = {size}
[time]
frames = {frames}
[smoke]
buoyancy = 1.2
initial = {{ shape = "box", center = [0.25, 0.45, 0.25], size = [0.24, 0.6, 0.11] }}
"""
TWIST = """
[edit]
run = "{run}"
first = {first}
[[keyframe]]
frame = {middle}
run = "{run}"
twist = 60.0
[[keyframe]]
frame = {frames}
run = "{run}"
twist = -60.0
[control]
method = "spectral"
cutoff = {cutoff}
window = 2
iterations = {iterations}
shear = 1.0
"""
GHOST = """
name = "ghost"
[domain]
size = [1.0, 1.0, 1.0]
resolution = {size}
[time]
frames = {frames}
[smoke]
buoyancy = 0.8
initial = {{ shape = "sphere", center = [0.5, 0.3, 0.5], radius = 0.2 }}
"""
PAINTED = """
[edit]
run = "{run}"
first = {first}
[[picture]]
frame = {frames}
image = "{image}"
[control]
method = "spectral"
cutoff = {cutoff}
iterations = {iterations}
shear = 0.3
"""


def twist() -> None:
    """Tang: 100 x 200 x 100, 31 frames, 483 minutes; keyframes of opposite twist at two frames."""
    sizes = chosen.pick((96, 30, 6, 12, 50), (64, 30, 6, 8, 50), (24, 8, 2, 4, 8), (200, 30, 6, 12, 50))
    size, frames, first, cutoff, iterations = sizes
    middle = (first + frames) // 2
    scene = PLUME.format(size=size, frames=frames)
    free = shoot("plume", scene + OUTPUT)
    wanted = TWIST.format(
        run=free.folder, first=first, middle=middle, frames=frames, cutoff=cutoff, iterations=iterations
    )
    edited = shoot("twist", scene + wanted + OUTPUT)
    same = all(_same_bits(free.result, edited.result, index) for index in range(first + 1))
    course = [entry["error"] for entry in edited.result.metrics["history"] if "objective" in entry]
    rows = [
        {
            "keyframe": key["frame"],
            "error of the free run": _error(free.result, edited.result, key["frame"]),
            "error": key["relative_error"],
            "IoU": round(key["iou"], 3),
            "mass": round(key["mass_ratio"], 3),
        }
        for key in edited.result.metrics["keyframes"]
    ]
    print(f"\n{table(rows)}\n\n{table([edited.cost()])}\n")
    print(f"frames 0 to {first} have the same bits: {same}; frame {first + 1} differs: ", end="")
    print(f"{not _same_bits(free.result, edited.result, first + 1)}; errors from {course[0]:.3f} to {course[-1]:.3f}\n")
    shown = [first, (first + middle) // 2, middle, (middle + frames) // 2, frames]
    pictures = frame_pictures(free.result, shown) + frame_pictures(edited.result, shown)
    pictures += target_pictures(edited.result, [middle, frames])
    labels = [f"{name}, {index}" for name in ("free", "edited") for index in shown]
    save_strip("twist", pictures, [*labels, f"keyframe {middle}", f"keyframe {frames}"], 5, 200)


def ghost() -> None:
    """Tang: 128^3, 30 frames, 348 minutes; strokes on the render of a free run."""
    sizes = chosen.pick((64, 30, 4, 12, 70), (32, 30, 4, 12, 70), (20, 8, 2, 5, 12), (128, 30, 4, 12, 70))
    size, frames, first, cutoff, iterations = sizes
    scene = GHOST.format(size=size, frames=frames)
    free = shoot("free", scene + OUTPUT)
    before = _seen(free.result, frames)
    wanted = _strokes(before)
    image = chosen.scratch / "painted.png"
    _save(image, wanted)
    text = scene + PAINTED.format(
        run=free.folder, first=first, frames=frames, image=image, cutoff=cutoff, iterations=iterations
    )
    edited = shoot("ghost", text + OUTPUT)
    after = _seen(edited.result, frames)
    (picture,) = edited.result.problem.pictures
    asked = upright("+z", picture.wanted)
    errors = [float(np.linalg.norm(seen - asked) / np.linalg.norm(asked)) for seen in (before, after)]
    row = {
        "picture error before": errors[0],
        "after": errors[1],
        "falls by": f"{errors[0] / errors[1]:.1f} times",
        "same bits up to the window": all(_same_bits(free.result, edited.result, i) for i in range(first + 1)),
        **edited.cost(),
    }
    print(f"\n{table([row])}\n")
    grey = [_grey(pixels, 220) for pixels in (before, asked, after)]
    shown = [frames // 2, 3 * frames // 4, frames]
    pictures = grey + frame_pictures(free.result, shown) + frame_pictures(edited.result, shown)
    labels = ["render before", "painted", "render after"]
    labels += [f"{name}, {index}" for name in ("free", "directed") for index in shown]
    save_strip("ghost", pictures, labels, 3, 220)


def _seen(result: RunResult, index: int) -> np.ndarray:
    """Brightness from +z, pixels[right, up]."""
    smoke = density(result.problem.grid, result.frames[index].densities["density"])
    return upright("+z", view_of(result.problem.grid, "+z", None).picture(smoke))


def _strokes(before: np.ndarray) -> np.ndarray:
    """A ghost of the plume's cap: eyes and a mouth are wiped out, and arms drawn with the smoke that was wiped.

    Brightness is 1 - exp(-depth), and the sum of depths is the mass: so the strokes are of depth.
    """
    width, height = before.shape
    x, y = np.meshgrid((np.arange(width) + 0.5) / width, (np.arange(height) + 0.5) / height, indexing="ij")
    depth = -np.log1p(-before)
    total = depth.sum()
    middle, rise = float((x * depth).sum() / total), float((y * depth).sum() / total)

    def dab(across: float, up: float, wide: float, high: float) -> np.ndarray:
        there = ((x - middle - across) / wide) ** 2 + ((y - rise - up) / high) ** 2
        return np.exp(-(there**2))

    wiped = depth.copy()
    for stroke in ((-0.085, 0.05, 0.05, 0.06), (0.085, 0.05, 0.05, 0.06), (0.0, -0.085, 0.06, 0.035)):
        wiped *= 1 - dab(*stroke)
    arms = dab(-0.26, -0.04, 0.12, 0.045) + dab(0.26, -0.04, 0.12, 0.045)
    painted = wiped + arms * (total - wiped.sum()) / arms.sum()
    return 1 - np.exp(-painted)


def _save(path: Path, pixels: np.ndarray) -> None:
    Image.fromarray(np.round(255 * pixels.T[::-1]).astype(np.uint8)).save(path)


def _grey(pixels: np.ndarray, size: int) -> np.ndarray:
    grey = Image.fromarray(np.round(255 * np.clip(pixels, 0, 1).T[::-1]).astype(np.uint8))
    return np.asarray(grey.resize((size, size)).convert("RGB"))


def _error(result: RunResult, edited: RunResult, index: int) -> float:
    """Of a run against another's keyframe."""
    (key,) = [key for key in edited.problem.keyframes if key.frame == index]
    gap = result.frames[index].densities[key.field] - key.target
    return float(np.linalg.norm(gap) / np.linalg.norm(key.target))


def _same_bits(one: RunResult, other: RunResult, index: int) -> bool:
    a, b = one.frames[index], other.frames[index]
    same = all(np.array_equal(a.densities[name], b.densities[name]) for name in a.densities)
    return same and np.array_equal(a.velocity.data, b.velocity.data)
