"""Liquids beside McNamara et al. 2004: `python benchmarks/results/liquid.py [PART]... [--threads N] [--small]`.

marching    order of fast marching, and its speed beside scikit-fmm's (processor time)
invariants  a level at rest, volume over 100 steps, a dam break beside Martin & Moyce 1952
gradients   ten steps against central differences
letters     a disk to a letter at 96^2 in 10 steps: clay and water, with and without sources; 30 steps
waves       letters by winds and by waves of forces (method "spectral")
target      the same letter by method "target", in one pass
long        three letters in one film of 90 frames, 96^2
figures     figure 4: a clay drop falls, and becomes a cross, a ring and a man, 50 x 46 x 50
splash      figure 6: one and three droplets thrown out of a splash, 30^3 and 48^3
man         figure 1: a man of water runs, a keyframe every frame, 45 x 50 x 36, and the film at twice the resolution

All parts by default. Prints markdown tables row by row, writes docs/images/liquid_*.png. Every run is a process of its
own, its kernels compiled before the clock starts; memory is told above what is resident then. --small: tiny grids, to
see that a part works, whose pictures are not kept.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import _liquid_numerics as numerics
from _liquid_common import HEAD, draw, solve
from _liquid_figures import figures
from _liquid_man import man
from _liquid_scenes import CLAY, LETTER, WATER
from _liquid_splash import splash
from _shots_common import OUTPUT, chosen

import keyfluid

LONG = """
[domain]
resolution = 96
[time]
frames = 90
[liquid]
initial = {{ shape = "disk", center = [0.5, 0.5], volume = "first-key" }}
gravity = 2.0
{keys}
[control]
method = "spectral"
schedule = "sequence"
ahead = 0
"""
MORE = "P5E2"
"""Letters that were held out until they helped to choose how far a step may go up (P, 5), or were seen before the
patience of a stage was chosen (E, 2)."""
HELD_OUT = "W9"
"""Letters chosen once, after all settings, before either method was tried on them."""
KEY = """
[[keyframe]]
frame = {frame}
text = "{letter}"
fit = 0.6
"""


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
    for letter in chosen.pick("LRSGK" + MORE + HELD_OUT, "LR", "L"):
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
    draw(result, "target")


def long() -> None:
    print("### Three letters in 90 frames, 96^2, water\n\n" + HEAD)
    words = chosen.pick(("LRS", "TAC"), ("LRS",), ("LR",))
    less = chosen.pick([], [], ["domain.resolution=24", "control.iterations=2"])
    for word in words:
        keys = "".join(KEY.format(frame=30 * (k + 1), letter=letter) for k, letter in enumerate(word))
        shot = solve(f"{' '.join(word)}, water", LONG.format(keys=keys), less)
        print("IoU " + " ".join(f"{key['iou']:.3f}" for key in shot.result.metrics["keyframes"]), flush=True)
        if word == words[0]:
            draw(shot.result, "long", range(0, 91, 6), columns=8)
    print()


PARTS = {
    "marching": numerics.marching, "invariants": numerics.invariants, "gradients": numerics.gradients,
    "letters": letters, "waves": waves, "long": long, "target": target, "figures": figures, "splash": splash,
    "man": man,
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
