"""3D shots of the paper: varying genus, moving sphere, dense keyframes, and one large volume."""

from __future__ import annotations

import shutil
from collections.abc import Sequence

import _spacetime_shapes as shapes
import numpy as np
from _spacetime_case import OUT, Case, bound, compiled, key_of, letter, spaced, start_of
from _spacetime_print import IMAGES, head, line

from keyfluid.controllers.spacetime.plan import SpacetimePlan, memory_plan
from keyfluid.render import filmstrip, save_png

VOLUME = ("scene", "cells/steps", "iterations", "converged", "errors", "carried IoU", "force, m/s^2", "s",
          "s per outer iteration", "processor s", "MB above start", "plan, MB", "bound, MB")  # fmt: skip

CUBE = (1.0, 1.0, 1.0)


def compiled_in_3d() -> None:
    """A run that does not count."""
    start = shapes.drawn(shapes.ball((0.5, 0.5, 0.5), 0.3), (8, 8, 8))
    Case(8, 3, start_of("tiny", start), [(3, key_of("tiny_too", start))], "iterations = 1", CUBE).run()


def genus(small: bool) -> None:
    """Figure 12: ball, torus, figure eight, in a box half as deep as wide; from rest, and approached one by one."""
    cells, steps = ((32, 32, 16), 20) if small else ((64, 64, 32), 40)
    compiled_in_3d()
    start = shapes.drawn(shapes.ball((0.5, 0.5, 0.25), 0.19), cells)
    mass = float(start.sum())
    keys = [
        (steps // 2, key_of("torus", shapes.drawn(shapes.torus(0.25), cells, mass))),
        (steps, key_of("eight", shapes.drawn(shapes.eight(0.25), cells, mass))),
    ]
    head(*VOLUME)
    for way, picture in (("from rest", "genus"), ("approached", "genus_approached")):
        control = f"approach = {str(way == 'approached').lower()}"
        case = Case(cells[0], steps, start_of("ball", start), keys, control, (1.0, 1.0, 0.5), "periodic", steps)
        volume(f"varying genus, periodic, {way}", case, [steps // 4, steps // 2, 3 * steps // 4, steps], picture)


def sphere(small: bool) -> None:
    """Figure 13: a ball led around three corners, with two penalties on forces."""
    n, steps = (32, 60) if small else (64, 60)
    compiled_in_3d()
    corners = [(0.3, 0.3, 0.5), (0.7, 0.3, 0.5), (0.7, 0.7, 0.5), (0.3, 0.7, 0.5)]
    balls = [shapes.drawn(shapes.ball(corner, 0.15), (n, n, n)) for corner in corners]
    keys = [(steps * (i + 1) // 3, key_of(f"sphere{i}", balls[i + 1])) for i in range(3)]
    head(*VOLUME)
    frames = [steps // 6, steps // 3, steps // 2, 2 * steps // 3, 5 * steps // 6, steps]
    for r in (1e2, 1e3):
        case = Case(n, steps, start_of("sphere", balls[0]), keys, f"r = {r}", CUBE, fps=40)
        volume(f"moving sphere, walls, r = {r:g}", case, frames, f"sphere_{r:.0f}", film=True)


def dense(small: bool) -> None:
    """Figure 11: a keyframe at every step."""
    n, poses = (16, 10) if small else (32, 30)
    compiled_in_3d()
    first = shapes.drawn(shapes.puncher(0.0), (n, n, n))
    keys = [
        (k, key_of(f"pose{k}", shapes.drawn(shapes.puncher((k - 1) / (poses - 1)), (n, n, n), float(first.sum()))))
        for k in range(2, poses + 1)
    ]
    head(*VOLUME)
    case = Case(n, poses, start_of("pose", first), keys, size=CUBE, sides="periodic", fps=40)
    volume("dense keyframes", case, [2, poses // 3, 2 * poses // 3, poses], "dense")


def large(small: bool) -> None:
    """The size of figure 10: together from rest, as in the paper, and approached one by one."""
    n, steps = (32, 12) if small else (64, 40)
    compiled_in_3d()
    start = shapes.drawn(shapes.ball((0.5, 0.5, 0.5), 0.24), (n, n, n))
    mass = float(start.sum())
    keys = [
        (steps // 2, key_of("large_torus", shapes.drawn(shapes.torus(0.5), (n, n, n), mass))),
        (steps, key_of("large_figure", shapes.drawn(shapes.puncher(1.0), (n, n, n), mass))),
    ]
    head(*VOLUME)
    for way, picture in (("from rest", "large"), ("approached", "large_approached")):
        control = f"approach = {str(way == 'approached').lower()}"
        case = Case(n, steps, start_of("large_ball", start), keys, control, CUBE, fps=steps)
        volume(f"ball, torus, figure, walls, {way}", case, [steps // 4, steps // 2, 3 * steps // 4, steps], picture)


def abc3(small: bool) -> None:
    """Figure 16, the paper's last row: A, B and C in 3D, periodic, r = 1e2."""
    n, steps = (32, 60) if small else (64, 150)
    compiled_in_3d()
    keys = [(steps * (i + 1) // 3, f"{letter(text)}\ndepth = 0.2") for i, text in enumerate("ABC")]
    initial = '{ shape = "sphere", center = [0.5, 0.5, 0.5], radius = 0.2, mass = "first-key" }'
    head(*VOLUME)
    case = Case(n, steps, initial, keys, "r = 1e2", CUBE, "periodic", 40)
    frames = [steps // 6, steps // 3, steps // 2, 2 * steps // 3, 5 * steps // 6, steps]
    volume("A, B, C, periodic, r = 1e2", case, frames, "abc3", film=True)


def volume(name: str, case: Case, frames: Sequence[int], picture: str, film: bool = False) -> None:
    """Run it, print its row and draw its frames; those of which a film is kept in the documents run in a folder."""
    folder = OUT / f"{picture}_{case.scene.domain.resolution}" if film else None
    case.run(folder)
    if folder is not None:
        shutil.copyfile(folder / "video.webp", IMAGES / f"spacetime_{picture}.webp")
    metrics, grid = case.result.metrics, case.problem.grid
    steps = max(key.frame for key in case.problem.keyframes)
    keys = metrics["keyframes"]
    if len(keys) > 4:
        keys = [keys[0], keys[len(keys) // 2], keys[-1]]
    line(name, f"{'x'.join(map(str, grid.cells))}/{steps}", case.iterations, case.converged,
         spaced([key["relative_error"] for key in keys]), spaced([key["transported_iou"] for key in keys]),
         metrics["force_norm"], case.seconds, case.seconds / case.whole_iterations, case.cpu, case.memory,
         sum(memory_plan(SpacetimePlan.of(case.problem)).values()) / 2**20, bound(case.problem))  # fmt: skip
    pictures: list[np.ndarray] = case.pictures(frames, 180)
    strip = filmstrip(pictures, [f"frame {f}" for f in frames], columns=len(frames), tile=150)
    save_png(IMAGES / f"spacetime_{picture}.png", strip)


AROUND = """
[domain]
size = {size}
resolution = {cells}
up = "y"
[time]
fps = {steps}
frames = {frames}
[smoke]
buoyancy = {buoyancy}
initial = {{ shape = "{round}", center = {low}, radius = {smoke} }}
[[obstacle]]
shape = "{round}"
center = {middle}
radius = {body}
[[keyframe]]
frame = {steps}
{key}
[control]
method = "spacetime"
r = {r}
"""


def around(small: bool) -> None:
    """Beyond the paper: warm smoke below a ball must become a shape above it, in 2D and 3D, with and without lift."""
    compiled()
    head("scene", "iterations", "converged", "error", "bound", "IoU", "force, m/s^2", "s", "processor s")
    n = 2 if small else 1
    letter_above = 'text = "A"\nfit = 0.3\ncenter = [0.5, 0.8]'
    ball_above = 'shape = "sphere"\ncenter = [0.5, 0.72, 0.5]\nradius = 0.12'
    flat = {"low": [0.5, 0.15], "middle": [0.5, 0.45], "smoke": 0.1, "body": 0.12, "round": "disk", "r": 1e3}
    deep = {"low": [0.5, 0.2, 0.5], "middle": [0.5, 0.46, 0.5], "smoke": 0.12, "body": 0.1, "round": "sphere", "r": 1e2}
    for name, cells, steps, buoyancy, key, places in (
        ("disk, no lift", 96 // n, 40, 0.0, letter_above, flat),
        ("disk, lift", 96 // n, 40, 4.0, letter_above, flat),
        ("ball, lift", 32 // n, 30, 4.0, ball_above, deep),
    ):
        dim = len(places["low"])
        text = AROUND.format(
            size=[1.0] * dim, cells=cells, steps=steps, frames=steps + steps // 4, buoyancy=buoyancy, key=key, **places
        )
        case = Case.of(text).run()
        (entry,) = case.result.metrics["keyframes"]
        line(f"{name}, {cells}^{dim}/{steps}", case.iterations, case.converged, entry["relative_error"],
             entry["bound"], entry["iou"], case.result.metrics["force_norm"], case.seconds, case.cpu)  # fmt: skip
        frames = [0, steps // 4, steps // 2, 3 * steps // 4, steps, steps + steps // 4]
        strip = filmstrip(case.pictures(frames, 150), [f"frame {f}" for f in frames], columns=6, tile=150)
        save_png(IMAGES / f"spacetime_around_{name.replace(', ', '_').replace(' ', '_')}.png", strip)
