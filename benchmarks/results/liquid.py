"""Liquids beside McNamara et al. 2004: `python benchmarks/results/liquid.py [PART]... [--threads N] [--small]`.

marching    order of fast marching, and its speed beside scikit-fmm's (processor time)
invariants  a level at rest, volume over 100 steps, a dam break beside Martin & Moyce 1952
gradients   ten steps against central differences
letters     a disk to a letter at 96^2 in 10 steps: clay and water, with and without sources; 30 steps
waves       letters by winds and by waves of forces (method "spectral")
target      the same letter by method "target", in one pass
figures     figure 4: a clay drop to a cross, a ring and a figure, 50 x 23 x 50, 10 steps
splash      figure 6: one and three droplets asked for after a splash, 30^3, 10 steps
motion      figure 1: a man throws a punch, of water and of smoke, a keyframe every frame, 40^3

All parts by default. Prints markdown tables row by row, writes docs/images/liquid_*.png. Every run is a process of its
own, its kernels compiled before the clock starts; memory is told above what is resident then. --small: tiny grids, to
see that a part works, whose pictures are not kept.
"""

from __future__ import annotations

import argparse
import tempfile
from collections.abc import Sequence
from pathlib import Path

import _liquid_numerics as numerics
import numpy as np
import trimesh
from _particles_assets import Bone, mesh_of
from _shots_common import OUTPUT, chosen, shoot
from _shots_figure import write_punch

import keyfluid
from keyfluid.render import filmstrip, save_png
from keyfluid.runs.pictures import Painter
from keyfluid.runs.run import RunResult

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
{key}
[camera]
position = [1.1, 2.0, 1.9]
floor = true
[control]
method = "adjoint"
sources = true
iterations = 25
"""
FLAT = "center = [0.5, 0.1, 0.5]\nrotation = [90, 0, 0]\n"
"""Sides lie between cells: where they halve cells, an IoU of full cells is a matter of rounding."""
KEYS = {
    "cross": FLAT + 'shape = "cross"\nsize = 0.64\nthickness = 0.2\ndepth = 0.16',
    "ring": FLAT + 'shape = "torus"\nradius = 0.24\nthickness = 0.16',
    "figure": 'mesh = "{mesh}"\nfit = 0.8\ncenter = [0.5, 0.11, 0.5]',
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
act = [2, 10]
blur = [0.133, 0.067, 0.033]
iterations = 30
"""
DROPLETS = """
[[keyframe]]
frame = {frame}
npy = "{sketch}"
mass = "keep"
mask = {{ shape = "box", center = [0.5, 0.55, 0.5], size = [0.9, 0.54, 0.9] }}
"""
MOTION = """
[domain]
size = [1.0, 1.0, 1.0]
resolution = {size}
[time]
frames = {frames}
{fluid}
[[keyframe]]
frame = 1
until = {frames}
mesh = "{mesh}"
fit = 0.86
[control]
method = "adjoint"
spacing = 0.05
{search}
"""
START = 'initial = {{ mesh = "{mesh}", fit = 0.86, {amount} = "first-key" }}'
COLUMNS = ("scene", "unknowns", "evaluations", "IoU", "carried IoU", "volume", "churn", "seconds", "CPU s", "MB above")
HEAD = f"| {' | '.join(COLUMNS)} |\n{'|---' * len(COLUMNS)}|"


def solve(name: str, scene: str, sets: Sequence[str] = (), picture: str | None = None) -> None:
    """Run a scene and print its row; of many keyframes the least IoU and the mean."""
    shot = shoot("-".join(name.split()), scene + OUTPUT, sets)
    metrics = shot.result.metrics
    keys, liquid = metrics["keyframes"], metrics.get("liquid")
    ious = [key["iou"] for key in keys]
    iou = f"{ious[-1]:.3f}" if len(keys) == 1 else f"{min(ious):.3f} to {max(ious):.3f}"
    kept = f"{100 * (liquid['volume_end'] / liquid['volume_start'] - 1):+.2f} %" if liquid else "-"
    churn = f"{100 * liquid['churn']:.1f} %" if liquid else "-"
    unknowns = shot.plan[0].split()[0] if shot.plan else "-"
    cells = (name, unknowns, metrics["evaluations"], iou, f"{keys[-1]['transported_iou']:.3f}", kept, churn)
    costs = (f"{shot.seconds:.0f}", f"{shot.cpu:.0f}", f"{shot.memory:.0f}")
    print(f"| {' | '.join(map(str, cells + costs))} |", flush=True)
    if picture is not None:
        _draw(shot.result, picture)


def _draw(result: RunResult, name: str) -> None:
    painter = Painter(result.problem, 200)
    last = result.problem.frames
    shown = [round(last * share) for share in (0, 0.25, 0.5, 0.75, 1)]
    pictures = [painter.frame(result.frames, index) for index in shown]
    wanted = [painter.target(index) for index in shown]
    strip = filmstrip(pictures, [f"frame {i}" for i in shown], wanted, columns=6)
    save_png(chosen.images / f"liquid_{name}.png", strip)


def letters() -> None:
    print("### A disk to the letter L, 96^2\n\n" + HEAD)
    plain, sourced = 'method = "adjoint"', 'method = "adjoint"\nsources = true'
    less = chosen.pick([], [], ["domain.resolution=24", "control.iterations=5"])
    cases = (
        ("clay, 10 steps", 10, CLAY, f"{plain}\niterations = 60", "clay"),
        ("clay with sources, 10 steps", 10, CLAY, f"{sourced}\niterations = 60", None),
        ("water under gravity, 10 steps", 10, WATER, f"{plain}\niterations = 24\nblur = [0.083, 0.042]", "water"),
        ("water under gravity, 30 steps", 30, WATER, f"{plain}\niterations = 25", None),
        ("clay, 30 steps", 30, CLAY, f"{plain}\niterations = 25", None),
    )
    for name, steps, liquid, control, picture in cases:
        solve(name, LETTER.format(steps=steps, liquid=liquid, control=control), less, picture)
    print()


def waves() -> None:
    print("### A disk to a letter, 96^2, 10 steps, default settings: winds and waves\n\n" + HEAD)
    less = chosen.pick([], [], ["domain.resolution=24", "control.iterations=3"])
    for letter in chosen.pick("LRSGK", "LR", "L"):
        for name, liquid in (("clay", CLAY), ("water", WATER)):
            for method, by in (("adjoint", "winds"), ("spectral", "waves")):
                text = LETTER.format(steps=10, liquid=liquid, control=f'method = "{method}"')
                solve(f"{letter}, {name}, {by}", text.replace('text = "L"', f'text = "{letter}"'), less)
    print()


def target() -> None:
    print("### The letter L by method target, 96^2, 24 frames of 2 steps, gravity 9.81\n")
    scene = LETTER.format(steps=24, liquid="", control='method = "target"')
    scene = scene.replace("frames = 24", "frames = 24\nsteps_per_frame = 2")
    less = chosen.pick([], [], ["domain.resolution=32"])
    result = keyfluid.run(scene + OUTPUT, overrides=less, threads=chosen.threads)
    key, kept = result.metrics["keyframes"][-1], result.metrics["liquid"]
    drift = 100 * (kept["volume_end"] / kept["volume_start"] - 1)
    print(f"IoU {key['iou']:.3f}, carried {key['transported_iou']:.3f}, volume {drift:+.2f} %\n", flush=True)
    _draw(result, "target")


def figures() -> None:
    print("### Figure 4: a clay drop, 50 x 23 x 50, 10 steps\n\n" + HEAD)
    less = chosen.pick([], [], ["domain.resolution=24", "control.iterations=4"])
    mesh = _gingerbread(chosen.scratch / "figure.obj")
    for name, key in KEYS.items():
        solve(name, FIGURE.format(key=key.format(mesh=mesh)), less, f"figure4_{name}")
    print()


def _gingerbread(path: Path) -> Path:
    """A man of capsules who lies on his back, his head towards -z."""
    bones = [Bone("head", (0, 0, -0.27), (0, 0, -0.26), 0.1), Bone("body", (0, 0, -0.1), (0, 0, 0.1), 0.1)]
    for side in (-1.0, 1.0):
        bones.append(Bone("arm", (0.06 * side, 0, -0.09), (0.28 * side, 0, -0.15), 0.065))
        bones.append(Bone("leg", (0.05 * side, 0, 0.12), (0.15 * side, 0, 0.34), 0.075))
    vertices, faces, _, _ = mesh_of(bones)
    trimesh.Trimesh(vertices, faces, process=False).export(path)
    return path


def splash() -> None:
    """As in the paper an animator's sketch is followed: droplets rise out of the pool, one pose per frame."""
    print("### Figure 6: droplets after a splash, 30^3, 10 steps\n\n" + HEAD)
    less = chosen.pick([], [], ["domain.resolution=16", "control.iterations=4"])
    one, three = [(0.5, 0.5)], [(0.27, 0.35), (0.73, 0.4), (0.47, 0.74)]
    for name, places in (("one droplet", one), ("three droplets", three)):
        sketches = {frame: _sketch(chosen.scratch / f"{name}.{frame}.npy", frame, places) for frame in range(5, 11)}
        keys = "".join(DROPLETS.format(frame=frame, sketch=path) for frame, path in sketches.items())
        solve(name, SPLASH.format(keys=keys), less, f"splash_{len(places)}")
    print()


def _sketch(path: Path, frame: int, places: Sequence[tuple[float, float]]) -> Path:
    """The still pool, and droplets of 0.09 m above it, 0.22 m up after frame 4 and 0.5 m at frame 10."""
    cells = 60
    x, y, z = np.meshgrid(*[(np.arange(cells) + 0.5) / cells] * 3, indexing="ij", sparse=True)
    height = 0.22 + 0.28 * (frame - 4) / 6
    distance = y - 0.25 + 0 * (x + z)
    for a, b in places:
        distance = np.minimum(distance, np.sqrt((x - a) ** 2 + (y - height) ** 2 + (z - b) ** 2) - 0.09)
    np.save(path, np.clip(0.5 - cells * distance, 0, 1).astype(np.float32))
    return path


def motion() -> None:
    print("### Figure 1: one motion, of water and of smoke, a keyframe every frame\n\n" + HEAD)
    size, frames, many = chosen.pick((40, 12, 60), (32, 12, 60), (16, 4, 6))
    mesh = write_punch(chosen.scratch / "figure", frames)
    water = f"[liquid]\ngravity = 1.0\n{START.format(mesh=mesh, amount='volume')}"
    smoke = f"[simulation]\ninterpolation = 'cubic'\n[smoke]\n{START.format(mesh=mesh, amount='mass')}"
    one_by_one, all_at_once = f"schedule = 'sequence'\niterations = {many // 5}", f"iterations = {many}"
    for name, fluid, search in (("water", water, one_by_one), ("smoke", smoke, all_at_once)):
        text = MOTION.format(size=size, frames=frames, mesh=mesh, search=search, fluid=fluid)
        solve(name, text, (), f"motion_{name}")
    print()


PARTS = {
    "marching": numerics.marching, "invariants": numerics.invariants, "gradients": numerics.gradients,
    "letters": letters, "waves": waves, "target": target, "figures": figures, "splash": splash, "motion": motion,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--small", dest="size", action="store_const", const="small", default="full")
    options = parser.parse_args()
    chosen.threads, chosen.size = options.threads, options.size
    with tempfile.TemporaryDirectory() as scratch:
        chosen.scratch = Path(scratch)
        if options.size == "small":
            chosen.images = Path(scratch)
        for part in options.parts or PARTS:
            PARTS[part]()


if __name__ == "__main__":
    main()
