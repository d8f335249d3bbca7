"""Liquids beside McNamara et al. 2004: `python benchmarks/results/liquid.py [marching] [invariants] [gradients]
[letters] [target] [figures] [splash]`, all of them by default; --threads N. Prints markdown tables row by row, writes
docs/images/liquid_*.png.

marching    order of fast marching, and its speed beside scikit-fmm's (processor time)
invariants  a level at rest, volume over 100 steps, a dam break beside Martin & Moyce 1952
gradients   ten steps against central differences
letters     a disk to a letter at 96^2 in 10 steps: clay and water, with and without sources; 30 steps
target      the same letter by method "target", in one pass
figures     figure 4: a clay drop to a cross, a ring and a figure, 50 x 23 x 50, 10 steps
splash      figure 6: droplets asked for after a splash, 30^3, 10 steps
"""

from __future__ import annotations

import sys
from pathlib import Path

import _liquid_numerics as numerics

import keyfluid
from keyfluid.render import filmstrip, save_png
from keyfluid.runs.pictures import Painter

IMAGES = Path(__file__).resolve().parents[2] / "docs" / "images"
CLAY = "gravity = 0.0\nviscosity = 0.5\ncolour = '#c0764a'"
WATER = "gravity = 2.0"

LETTER = """
[domain]
resolution = 96
[time]
frames = {steps}
[liquid]
initial = {{ shape = "disk", center = [0.5, 0.5], volume = "first-key" }}
{liquid}
[[keyframe]]
frame = {steps}
text = "L"
fit = 0.6
[control]
{control}
"""
FIGURE = """
[domain]
size = [1.0, 0.46, 1.0]
resolution = 50
[time]
frames = 10
[liquid]
initial = {{ shape = "sphere", center = [0.5, 0.23, 0.5], volume = "first-key" }}
gravity = 2.0
viscosity = 0.5
colour = "#c0764a"
[[keyframe]]
frame = 10
center = [0.5, 0.09, 0.5]
rotation = [90, 0, 0]
{key}
[camera]
position = [1.1, 2.0, 1.9]
floor = true
[control]
method = "adjoint"
sources = true
iterations = 60
"""
KEYS = {
    "cross": 'shape = "cross"\nsize = 0.62\nthickness = 0.2\ndepth = 0.16',
    "ring": 'shape = "torus"\nradius = 0.24\nthickness = 0.16',
    "figure": 'shape = "star"\npoints = 5\nradius = 0.38\ninner = 0.5\ndepth = 0.16',
}
SPLASH = """
[domain]
size = [1.0, 1.0, 1.0]
resolution = 30
[time]
frames = 10
fps = 20
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
sources = true
act = [2, 10]
iterations = 40
"""
DROPLET = """
[[keyframe]]
frame = 10
shape = "sphere"
center = [{x}, 0.6, {z}]
radius = 0.09
mass = "keep"
mask = {{ shape = "box", center = [0.5, 0.7, 0.5], size = [0.9, 0.5, 0.9] }}
"""
COLUMNS = ("scene", "unknowns", "evaluations", "IoU", "carried IoU", "volume", "churn", "seconds", "MB")
HEAD = f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|"


def solve(name: str, text: str, threads: int, picture: str | None = None) -> keyfluid.RunResult:
    result = keyfluid.run(text, threads=threads)
    metrics = result.metrics
    key, liquid = metrics["keyframes"][-1], metrics["liquid"]
    from keyfluid.controllers import controller_for
    from keyfluid.controllers.interface import plan_lines

    lines = plan_lines(controller_for(metrics["method"]), result.problem)
    unknowns = lines[0].split()[0] if lines else "-"
    print(
        f"| {name} | {unknowns} | {metrics['evaluations']} | {key['iou']:.3f} | {key['transported_iou']:.3f} | "
        f"{100 * (liquid['volume_end'] / liquid['volume_start'] - 1):+.2f} % | {100 * liquid['churn']:.1f} % | "
        f"{metrics['seconds']:.0f} | {metrics['peak_memory_mb']:.0f} |",
        flush=True,
    )
    if picture is not None:
        painter = Painter(result.problem, 200)
        last = result.problem.frames
        chosen = [round(last * share) for share in (0, 0.25, 0.5, 0.75, 1)]
        shots = [painter.frame(result.frames, index) for index in chosen]
        wanted = [painter.target(index) for index in chosen]
        save_png(IMAGES / f"liquid_{picture}.png", filmstrip(shots, [f"frame {i}" for i in chosen], wanted, columns=6))
    return result


def letters(threads: int) -> None:
    print("### A disk to the letter L, 96^2\n\n" + HEAD)
    plain, sourced = 'method = "adjoint"', 'method = "adjoint"\nsources = true'
    solve("clay, 10 steps", LETTER.format(steps=10, liquid=CLAY, control=plain), threads, "clay")
    solve("clay with sources, 10 steps", LETTER.format(steps=10, liquid=CLAY, control=sourced), threads)
    solve("water under gravity, 10 steps", LETTER.format(steps=10, liquid=WATER, control=plain), threads, "water")
    solve("water under gravity, 30 steps", LETTER.format(steps=30, liquid=WATER, control=plain), threads)
    print()


def target(threads: int) -> None:
    print("### The letter L by method target, 96^2, 24 frames of 2 steps, gravity 9.81\n\n" + HEAD)
    text = LETTER.format(steps=24, liquid="", control='method = "target"')
    text = text.replace("frames = 24", "frames = 24\nsteps_per_frame = 2")
    solve("water, one pass", text, threads, "target")
    print()


def figures(threads: int) -> None:
    print("### Figure 4: a clay drop, 50 x 23 x 50, 10 steps\n\n" + HEAD)
    for name, key in KEYS.items():
        solve(name, FIGURE.format(key=key), threads, f"figure4_{name}")
    print()


def splash(threads: int) -> None:
    print("### Figure 6: droplets after a splash, 30^3, 10 steps\n\n" + HEAD)
    solve("one droplet", SPLASH.format(keys=DROPLET.format(x=0.5, z=0.5)), threads, "splash")
    print()


def main() -> None:
    words = sys.argv[1:]
    threads = int(words.pop(words.index("--threads") + 1)) if "--threads" in words else 2
    words = [word for word in words if word != "--threads"]
    parts = {
        "marching": numerics.marching, "invariants": numerics.invariants, "gradients": numerics.gradients,
        "letters": lambda: letters(threads), "target": lambda: target(threads),
        "figures": lambda: figures(threads), "splash": lambda: splash(threads),
    }  # fmt: skip
    for word in words or parts:
        parts[word]()


if __name__ == "__main__":
    main()
