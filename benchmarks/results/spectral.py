"""Keyframe optimisation at the papers' sizes: `python benchmarks/results/spectral.py [PART]... [--small]`.

    letters    FLUID: five letters from a disk of equal area, 128^2, 40 frames, default settings       (3 minutes)
    grid       the same letters, their smoke carried by the grid (control.paths = 0)                   (3 minutes)
    ideas      what each idea of the default brought, for the letter F                                 (6 minutes)
    smearing   simulated and carried IoU under each remedy against smearing, 2D and 3D                 (8 minutes)
    tang       Tang's uniform-force and multi-scale-vortex benchmarks at 64^2, 128^2 and 256^2        (20 minutes)
    sinks      mass between keyframes with a loose and with an exact projection                        (1 minute)
    solid40    a ball to a mesh, 40^3, 20 frames                                                       (3 minutes)
    solid50    a ball to a mesh, 50^3, 20 frames                                                       (3 minutes)
    solid64    two keyframes, 64^3, 40 frames                                                         (10 minutes)
    solid128   one keyframe, 128^3, 30 frames                                                         (15 minutes)

All parts in this order if none is named. Tables go to the screen, pictures to docs/images/spectral_*.png, and
docs/results.md quotes both. Compilation is never timed; two threads unless --threads says otherwise. --small: tiny
grids, to see that a part works; its pictures are not kept. --sizes 64,128 restricts `tang`.
"""

from __future__ import annotations

import argparse
import tempfile
from functools import partial
from pathlib import Path

import _spectral_common as common
import _spectral_sinks as sinks
import _spectral_solid as solid
import _spectral_tang as tang
from _spectral_common import Measured, ball, compile_first, letter, machine, measure, table

REACHED = (0.3, 0.1, 0.05)

IDEAS: dict[str, list[str]] = {
    "Tang's bands, force per step": ["control.preset=tang", "control.time=step", "control.iterations=40"],
    "all waves, force per step, 1/k": ["control.time=step", "control.scaling=1"],
    "all waves, integrated, unscaled": ["control.scaling=0"],
    "all waves, integrated, 1/k": ["control.scaling=1"],
    "all waves, integrated, 1/k^1.5": [],
    "+ coarse grids first": ["control.coarse=2"],
    "+ shear penalty": ["control.coarse=2", "control.shear=1"],
}
"""Each row against the bare optimiser: no coarse grid, no penalty. Gauss-Newton-CG and a start from optimal transport:
spectral_alternatives.py."""
GRID = "control.paths=0"
"""Ideas and remedies were found for smoke that the grid carries."""
BARE = [GRID, "control.coarse=0", "control.shear=0", "control.gamma=none", "control.iterations=200", "control.tau=0"]
SETTINGS = {
    "all of it, float64": ([GRID, "simulation.precision=float64"], None),
    "all of it, float32": ([GRID], None),
    "all of it, one thread": ([GRID], 1),
    "along paths (the default)": ([], None),
}

REMEDIES: dict[str, list[str]] = {
    "none": ["control.shear=0"],
    "shear penalty 0.3": ["control.shear=0.3"],
    "shear penalty 1": ["control.shear=1"],
    "shear penalty 3": ["control.shear=3"],
    "shear penalty 10": ["control.shear=10"],
    "force penalty alpha 0.01": ["control.shear=0", "control.alpha=0.01"],
    "force penalty alpha 0.1": ["control.shear=0", "control.alpha=0.1"],
    "cubic interpolation": ["control.shear=0", "simulation.interpolation=cubic"],
    "backtrace of order 3": ["control.shear=0", "simulation.order=3"],
    "two steps per frame": ["control.shear=0", "time.steps_per_frame=2"],
    "shear 1 and cubic": ["control.shear=1", "simulation.interpolation=cubic"],
    "shear 1 and two steps per frame": ["control.shear=1", "time.steps_per_frame=2"],
}


def scores(run: Measured) -> dict[str, object]:
    key = run.key
    bound = key["bound"]
    return {
        "error": key["relative_error"],
        "bound": bound if bound is not None else "-",
        "IoU": round(float(key["iou"]), 3),
        "carried IoU": round(float(key["transported_iou"]), 3),
    }


def letters(small: bool, *changes: str, picture: str = "letters") -> None:
    """FLUID, each letter by itself, default settings but for `changes`."""
    size, frames = (32, 8) if small else (128, 40)
    less = [*changes, *(["control.iterations=5"] if small else [])]
    compile_first(letter(size), less)
    rows, pictures, labels = [], [], []
    shown = [0, frames // 2, 3 * frames // 4, 7 * frames // 8, frames]
    for name in "FLUID":
        run = measure(letter(size, name, frames), less)
        drift = 100 * run.result.metrics["mass_drift"]
        rows.append({"letter": name, **scores(run), "mass drift, %": round(drift, 2), **run.cost()})
        print(rows[-1], flush=True)
        pictures += common.frame_pictures(run.result, shown)
        labels += [*(f"frame {index}" for index in shown), "target"]
    print(table(rows))
    common.save_strip(picture, pictures, labels, columns=len(shown) + 1, tile=120)


def ideas(small: bool) -> None:
    """Work to three errors, for the letter F; work counts evaluations on coarser grids by their cells."""
    size, frames = (32, 12) if small else (128, 40)
    less = ["control.iterations=5"] if small else []
    rows, curves = [], {}

    def add(name: str, changes: list[str], threads: int | None = None) -> None:
        run = measure(letter(size, "F", frames), [*changes, *less], threads)
        to = {f"to {error:g}": run.record.work_to(error) for error in REACHED}
        rows.append({"idea": name, **to, **scores(run), **run.cost()})
        print(rows[-1], flush=True)
        curves[name] = run

    compile_first(letter(size))
    for name, changes in IDEAS.items():
        add(name, [*BARE, *changes])
    compile_first(letter(size), ["simulation.precision=float64"])
    for name, (changes, threads) in SETTINGS.items():
        add(name, changes, threads)
    print(table(rows))

    def draw(figure) -> None:  # type: ignore[no-untyped-def]
        axes = figure.subplots()
        for name in IDEAS:
            axes.semilogy(curves[name].record.work(), curves[name].record.lowest(), label=name)
        axes.set(xlabel="evaluations (coarser grids by their cells)", ylabel="relative error", title=f"F, {size}^2")
        axes.legend(fontsize=8)
        axes.grid(alpha=0.3)

    common.save_plot("ideas", 7, 4, draw)


def smearing(small: bool) -> None:
    """The simulated keyframe against the start carried by a fine flow map."""
    flat, frames = (32, 8) if small else (128, 40)
    deep, deep_frames = (16, 6) if small else (40, 20)
    less = ["control.iterations=5"] if small else []
    scenes = {"2D": letter(flat, "F", frames), "3D": ball(deep, deep_frames)}
    points = {}
    for dimension, scene in scenes.items():
        rows = []
        for name, changes in REMEDIES.items():
            if "cubic" in name or "order 3" in name or not rows:
                compile_first(scene, changes)
            run = measure(scene, [GRID, *changes, *less])
            force = run.result.metrics["force_norm"]
            rows.append({"remedy": name, **scores(run), "force, m/s^2": force, **run.cost()})
            print(rows[-1], flush=True)
        points[dimension] = rows
        print(f"\n{dimension}\n\n{table(rows)}\n", flush=True)

    def draw(figure) -> None:  # type: ignore[no-untyped-def]
        for axes, (dimension, rows) in zip(figure.subplots(1, 2), points.items()):
            for index, row in enumerate(rows):
                axes.plot(row["IoU"], row["carried IoU"], "o" if index < 10 else "s", label=row["remedy"])
            axes.set(xlabel="IoU, simulated", ylabel="IoU, carried by the flow", title=dimension)
            axes.grid(alpha=0.3)
        axes.legend(fontsize=7, bbox_to_anchor=(1.02, 1), loc="upper left")

    common.save_plot("smearing", 10, 3.6, draw)


PARTS = {
    "letters": letters,
    "grid": lambda small: letters(small, GRID, picture="grid"),
    "ideas": ideas,
    "smearing": smearing,
    "tang": tang.run,
    "sinks": sinks.run,
    **{f"solid{size}": partial(solid.run, name) for name, (size, _, _) in solid.CASES.items()},
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], metavar="PART")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--sizes", type=lambda text: [int(n) for n in text.split(",")], default=[64, 128, 256])
    options = parser.parse_args()
    tang.SIZES[:] = options.sizes
    common.chosen.threads = options.threads
    with tempfile.TemporaryDirectory() as scratch:
        if options.small:
            common.chosen.images = Path(scratch)
        for part in options.parts or PARTS:
            print(f"## {part}\n\n{machine()}; compile time out\n", flush=True)
            PARTS[part](options.small)


if __name__ == "__main__":
    main()
