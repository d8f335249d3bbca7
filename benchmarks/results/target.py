"""Target-driven smoke beside Fattal & Lischinski 2004: `python benchmarks/results/target.py [words] [reach] [figure2]
[parameters] [scenes] [large]`, all of them by default. Prints markdown tables, writes docs/images/target_*.png.

words       with defaults, at 128^2 and 256^2, from a disk of equal area in 2 s
reach       the same words at 128^2 with reach = 0, which is the paper's method
figure2     without gathering (row A), as it is (B), with first-order advection (C)
parameters  low, default and high sigma, v_f, v_d, v_g (section 3.4), on the way and at the keyframe
scenes      every bundled scene at its bundled size; name scenes to run only those: scenes:knot_3d,logo
large       the 3D scenes with about as many cells as the paper's 128^3; large:knot_3d,mouse,ship
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np

import keyfluid
from keyfluid.render import filmstrip, save_png
from keyfluid.runs.pictures import Painter

ROOT = Path(__file__).resolve().parents[2]
IMAGES = ROOT / "docs" / "images"
GALLERY = ROOT / "src" / "keyfluid" / "gallery"

WORDS = ("SMOKE", "FLUX", "FLUID", "WORD", "HELLO", "KEY")
LETTERS = ("F", "A", "O", "8")
WORD = """
[domain]
resolution = {resolution}
[time]
frames = 48
steps_per_frame = "auto"
[smoke]
initial = {{ shape = "disk", mass = "first-key" }}
[[keyframe]]
frame = 48
text = "{text}"
fit = {fit}
[control]
method = "target"
"""
MIDWAY = 14
PARAMETERS = {
    "sigma": ("control.smoothing", (0.02, 0.05, 0.12)),
    "v_f": ("control.strength", (0.1, 1.0, 4.0)),
    "v_d": ("control.damping", (0.2, 1.0, 5.0)),
    "v_g": ("control.gathering", (0.0, 1.0, 4.0)),
}
SCENES = {
    "word": (8, 16, 24, 48),
    "logo": (16, 32, 48, 64, 80, 96, 112, 128, 142, 156),
    "yin_yang": (0, 15, 30, 60),
    "knot_3d": (12, 30, 48, 66),
    "mouse": (8, 24, 48, 72, 96),
    "ship": (6, 18, 30, 42, 54, 72),
}
LARGE = {"knot_3d": 128, "mouse": 168, "ship": 192}
"""Cells along the longest side: 2.1, 2.1 and 1.8 million in all."""


def word(text: str, resolution: int, *changes: str) -> keyfluid.RunResult:
    fit = 0.95 if len(text) > 1 else 0.8
    scene = keyfluid.load_scene(WORD.format(text=text, resolution=resolution, fit=fit), changes)
    return keyfluid.run(scene)


def gathered(result: keyfluid.RunResult, frame: int) -> float:
    """Mass moved by gathering for the target in force at a frame, over all mass; the largest of all fields."""
    (entry,) = (entry for entry in result.metrics["history"] if entry.get("frame") == frame)
    return max((value for name, value in entry.items() if name.startswith("gathered")), default=0.0)


def quality(result: keyfluid.RunResult) -> tuple[float, float, float]:
    key = result.metrics["keyframes"][-1]
    return key["relative_error"], key["iou"], gathered(result, key["frame"])


def words() -> None:
    print("| text | error 128^2 | 256^2 | IoU 128^2 | 256^2 | gathered 128^2 | 256^2 |\n|---|---|---|---|---|---|---|")
    for text in WORDS + LETTERS:
        coarse, fine = (quality(word(text, n)) for n in (128, 256))
        print(f"| {text} | " + " | ".join(f"{a:.3f} | {b:.3f}" for a, b in zip(coarse, fine)) + " |", flush=True)


def reach() -> None:
    print("| text, 128^2 | error, reach = 0 | default | IoU, reach = 0 | default |\n|---|---|---|---|---|")
    for text in WORDS + LETTERS:
        paper, here = quality(word(text, 128, "control.reach=0")), quality(word(text, 128))
        print(f"| {text} | {paper[0]:.3f} | {here[0]:.3f} | {paper[1]:.3f} | {here[1]:.3f} |", flush=True)


def sharpness(density: np.ndarray, spacing: float) -> tuple[float, float]:
    """The integral of rho^2, and that of |grad rho|^2 under a root."""
    slopes = np.gradient(density.astype(np.float64), spacing)
    volume = spacing**density.ndim
    return float(np.sum(density.astype(np.float64) ** 2) * volume), float(
        np.sqrt(sum(np.sum(slope**2) for slope in slopes) * volume)
    )


def figure2() -> None:
    rows = {
        "A: no gathering": ["control.gathering=0"],
        "B: as it is": [],
        "C: first order": ['control.advection="first-order"'],
    }
    pictures, labels = [], []
    print(f"| FLUX, 128^2 | error | IoU | integral of rho^2, frame {MIDWAY} | gradient norm, frame {MIDWAY} |")
    print("|---|---|---|---|---|")
    for name, changes in rows.items():
        result = word("FLUX", 128, *changes)
        midway = result.frames[MIDWAY].densities["density"]
        energy, slope = sharpness(midway, result.problem.grid.spacing)
        error, iou, _ = quality(result)
        print(f"| {name} | {error:.3f} | {iou:.3f} | {energy:.4f} | {slope:.2f} |", flush=True)
        painter = Painter(result.problem, 176)
        for frame in (8, MIDWAY, 48):
            pictures.append(painter.picture(result.frames[frame].densities, frame))
            labels.append(f"{name[:1]}, frame {frame}")
    save_png(IMAGES / "target_figure2.png", filmstrip(pictures, labels, columns=3, tile=176))


def parameters() -> None:
    print("| parameter | low | default | high |\n|---|---|---|---|")
    for symbol, (key, values) in PARAMETERS.items():
        pictures, labels, errors = [], [], []
        name = key.partition(".")[2]
        for value in values:
            result = keyfluid.run(keyfluid.load_scene(GALLERY / "target_word.toml", [f"{key}={value}"]))
            painter = Painter(result.problem, 224)
            errors.append(quality(result)[0])
            for frame in (8, 16, 48):
                pictures.append(painter.picture(result.frames[frame].densities, frame))
                labels.append(f"{name} {value:g}, frame {frame}")
        save_png(IMAGES / f"target_{symbol}.png", filmstrip(pictures, labels, columns=3, tile=224))
        cells = (f"{name} = {value:g}: error {error:.2f}" for value, error in zip(values, errors))
        print(f"| {symbol} | {' | '.join(cells)} |", flush=True)


def scenes(resolutions: dict[str, int | None]) -> None:
    """By name, each with this many cells along its longest side; None: as it is bundled."""
    columns = (
        "scene", "cells", "frames", "error", "IoU", "least IoU", "gathered", "mass drift", "seconds", "MB"
    )  # fmt: skip
    print(f"| {' | '.join(columns)} |\n{'|---' * len(columns)}|")
    for name, resolution in resolutions.items():
        changes = ["output.vdb=false", "output.video=false"]
        if resolution is not None:
            changes.append(f"domain.resolution={resolution}")
        picture = f"target_{name}" + ("" if resolution is None else "_large")
        scene = keyfluid.load_scene(GALLERY / f"target_{name}.toml", changes)
        result = keyfluid.run(scene, ROOT / "out" / picture, overwrite=True)
        metrics, problem = result.metrics, result.problem
        keys = [[key for key in metrics["keyframes"] if key["field"] == field] for field in problem.densities]
        shown = [key for few in keys for key in (few if len(few) <= 6 else [few[0], few[len(few) // 2], few[-1]])]
        row = [
            name,
            " x ".join(str(n) for n in problem.grid.cells),
            str(problem.frames),
            ", ".join(f"{key['relative_error']:.2f}" for key in shown),
            ", ".join(f"{key['iou']:.2f}" for key in shown),
            ", ".join(f"{min(key['iou'] for key in few):.2f}" for few in keys),
            ", ".join(f"{gathered(result, key['frame']):.2f}" for key in shown),
            f"{metrics['mass_drift']:.1e}",
            f"{metrics['seconds']:.0f}",
            f"{metrics['peak_memory_mb']:.0f}",
        ]
        print(f"| {' | '.join(row)} |", flush=True)
        painter = Painter(problem, 256)
        pictures = [painter.picture(result.frames.densities(frame), frame) for frame in SCENES[name]]
        labels = [f"frame {frame}" for frame in SCENES[name]]
        columns_of_strip = 3 if len(pictures) == 6 else 5
        tile = 200 if len(pictures) < 7 else 176
        save_png(IMAGES / f"{picture}.png", filmstrip(pictures, labels, columns=columns_of_strip, tile=tile))


def main() -> None:
    wanted = sys.argv[1:] or ["words", "reach", "figure2", "parameters", "scenes", "large"]
    for part in wanted:
        name, _, chosen = part.partition(":")
        names = chosen.split(",") if chosen else list(LARGE if name == "large" else SCENES)
        if name in ("scenes", "large"):
            scenes({scene: LARGE[scene] if name == "large" else None for scene in names})
        else:
            {"words": words, "reach": reach, "figure2": figure2, "parameters": parameters}[name]()
        print()


if __name__ == "__main__":
    main()
