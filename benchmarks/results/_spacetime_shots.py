"""2D shots of the paper: circle-bunny, step lengths, A B C, figures 4 and 14."""

from __future__ import annotations

import time

import _spacetime_shapes as shapes
import numpy as np
from _spacetime_case import DISK, REPORT, Case, compiled, key_of, letter, report, spaced, start_of
from _spacetime_print import IMAGES, head, line

from keyfluid.controllers.spacetime.penalty import GapPenalty
from keyfluid.controllers.spacetime.plan import SpacetimePlan, goal_error
from keyfluid.controllers.spacetime.search import Search
from keyfluid.fields import Field
from keyfluid.grid import Kind
from keyfluid.render import filmstrip, save_png
from keyfluid.runs.pictures import Painter
from keyfluid.scenes.build.problem import build


def bunny_case(n: int, control: str, fps: float) -> Case:
    cells, steps = 128 // n, 80 // n
    initial = shapes.drawn(shapes.DISK, (cells, cells))
    mass = float(initial.sum())
    keys = [
        (steps // 2, key_of(f"two{cells}", shapes.drawn(shapes.TWO_DISKS, (cells, cells), mass))),
        (steps, key_of(f"bunny{cells}", shapes.drawn(shapes.BUNNY, (cells, cells), mass))),
    ]
    return Case(cells, steps, start_of(f"disk{cells}", initial), keys, control, fps=fps)


def bunny(small: bool) -> None:
    """Figures 8 and 15: from rest, as in the paper, and one of them approached keyframe by keyframe."""
    n = 2 if small else 1
    compiled()
    head("r", "iterations", "converged", "errors", "carried IoU", "force, m/s^2", "advection iterations", "s",
         "processor s", "MB above start")  # fmt: skip
    pictures: list[np.ndarray] = []
    counts = []
    for r, way in ((1e2, "from rest"), (1e3, "from rest"), (1e4, "from rest"), (1e3, "approached")):
        case = bunny_case(n, f"r = {r}\napproach = {str(way == 'approached').lower()}", 40 / n).run()
        metrics = case.result.metrics
        line(f"{r:g}, {way}", case.iterations, case.converged, spaced(case.errors),
             spaced([key["transported_iou"] for key in metrics["keyframes"]]), metrics["force_norm"],
             sum(e["advection_iterations"] for e in case.history), case.seconds, case.cpu, case.memory)  # fmt: skip
        pictures += case.pictures([20 // n, 40 // n, 60 // n, 80 // n])
        if way == "approached":
            continue
        counts.append(len(case.history))
    slope = np.polyfit([2, 3, 4], counts, 1)[0]
    print(f"\niterations against log10 r: {counts}, {slope:+.1f} per decade (paper: 25, 37, 43)")
    rows = ("r = 1e2, frame", "r = 1e3, frame", "r = 1e4, frame", "approached,")
    labels = [f"{row} {f // n}" for row in rows for f in (20, 40, 60, 80)]
    save_png(IMAGES / "spacetime_bunny.png", filmstrip(pictures, labels, columns=4, tile=115))


def steps(small: bool) -> None:
    """The paper's dt, 0.4 to 2, as multiples of 0.025 s with as many steps; r stays, as in table I. From rest."""
    n = 2 if small else 1
    compiled()
    head("dt", "iterations", "converged", "errors", "force, m/s^2", "s", "processor s")
    for dt in (0.4, 1.0, 2.0):
        case = bunny_case(n, "r = 1e3\napproach = false", 40 / n / dt).run()
        line(dt, case.iterations, case.converged, spaced(case.errors),
             case.result.metrics["force_norm"], case.seconds, case.cpu)  # fmt: skip


def abc(small: bool) -> None:
    n = 2 if small else 1
    compiled()
    keys = [(20 * (i + 1) // n, letter(text)) for i, text in enumerate("ABC")]
    runs = {
        "r = 1e4, from rest, as in the paper": "r = 1e4\napproach = false",
        "r = 1e4, approached": "r = 1e4\napproach = true",
        "r = 1e3, from rest": "r = 1e3\napproach = false",
        "r = 1e3, approached": "r = 1e3\napproach = true",
        "r = 1e3, receding horizon of one keyframe": f"r = 1e3\nhorizon = {20 // n}",
    }
    frames = [10 // n, 20 // n, 30 // n, 40 // n, 50 // n, 60 // n]
    pictures: list[np.ndarray] = []
    head(*REPORT)
    for name, control in runs.items():
        case = Case(128 // n, 60 // n, DISK, keys, control, fps=40 / n).run()
        report(f"ABC {128 // n}^2/{60 // n}, {name}", case)
        pictures += case.pictures(frames)
    labels = [f"{w}, {f}" for w in ("1e4, rest", "1e4, one by one", "1e3, rest", "1e3, one by one", "horizon")
              for f in frames]  # fmt: skip
    save_png(IMAGES / "spacetime_abc.png", filmstrip(pictures, labels, columns=6, tile=92))


def advection(small: bool) -> None:
    """Figure 4: large steps, so that the semi-Lagrangian feet jump over cells."""
    cells, count = (64, 8) if small else (128, 8)
    initial = shapes.drawn(shapes.DISK, (cells, cells))
    target = shapes.drawn(shapes.BIRD, (cells, cells), float(initial.sum()))
    pictures, labels = [], []
    head("operator", "iterations", "match", "error", "roughness of v*", "s")
    for operator in ("semi-lagrangian", "upwind"):
        case = Case(cells, count, start_of("disk_bird", initial), [(count, key_of("bird", target))],
                    f'transport = "{operator}"', fps=40)  # fmt: skip
        case.problem = build(case.scene)
        plan = SpacetimePlan.of(case.problem)
        outer = plan.outer(plan.horizon())
        began = time.perf_counter()
        penalty = plan.settings.penalty
        cost = GapPenalty(np.zeros_like(outer.v), penalty / 100, np.full(count, penalty))
        w = outer.v.copy()
        sweep, _ = Search(outer.advection).run(w, cost, 60)
        v = Field(case.problem.grid, Kind.FACES, np.ascontiguousarray(w[:, count // 2]))
        rough = sum(float(np.square(np.diff(c, axis=0)).sum()) for c in v.components()) / max(v.dot(v), 1e-300)
        error = goal_error(plan.goals[0], sweep.densities)
        line(operator, 60, sweep.match, error, rough, time.perf_counter() - began)
        painter = Painter(case.problem, 150)
        ((name, carried),) = sweep.densities.items()
        for k in (2, 4, 6, 8):
            pictures.append(painter.picture({name: carried[k].array}, k))
            labels.append(f"{operator}, step {k}")
    save_png(IMAGES / "spacetime_advection.png", filmstrip(pictures, labels, columns=4, tile=150))


def pd(small: bool) -> None:
    """Figure 14: the same target by the controller that looks one step ahead, and by this method."""
    cells, count = (64, 20) if small else (128, 40)
    compiled()
    initial = shapes.drawn(shapes.DISK, (cells, cells))
    keys = [(count, key_of("bird_pd", shapes.drawn(shapes.BIRD, (cells, cells), float(initial.sum()))))]
    pictures, labels = [], []
    head("method", "error at the keyframe", "IoU", "s")
    rows = {
        "spacetime": "",
        "target": "",
        "target, no gathering": "gathering = 0.0",
        "target, no damping": "damping = 0.0",
    }
    frames = [count // 4, count // 2, 3 * count // 4, count]
    for name, control in rows.items():
        method = name.split(",")[0]
        case = Case(cells, count, start_of("disk_pd", initial), keys, control, fps=count, method=method).run()
        line(name, case.errors[-1], case.result.metrics["keyframes"][-1]["iou"], case.seconds)
        pictures += case.pictures(frames, 130)
        labels += [f"{name.split(', ')[-1]}, {f}" for f in frames]
    save_png(IMAGES / "spacetime_pd.png", filmstrip(pictures, labels, columns=4, tile=110))
