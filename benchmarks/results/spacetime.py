"""Spacetime control beside Pan & Manocha 2017: `python benchmarks/results/spacetime.py [parts] [--small]`.

Prints markdown tables and writes docs/images/spacetime_*.png. --small halves every resolution and number of steps.

fas        V-cycles: factors over sizes and steps (figure 6), cost
map        V-cycles over CFL and kappa, what the watched solver does, and Gauss-Newton-CG beside it
letters    FLUID, 128^2/40: iterations, errors, replay, time, memory (figures 1 and 7)
letters80  FLUID, 128^2/80
lbfgs      the letter F by ADMM, by L-BFGS and by scaled L-BFGS in one run
bunny      circle, two circles, bunny 128^2/80 with r = 1e2, 1e3, 1e4 (figures 8 and 15)
steps      the same with steps of 0.4 to 2 of the paper's scale
abc        letters A, B, C 128^2/60
advection  advection optimisation alone, both operators, a bird (figure 4)
volumes    3D: varying genus, moving sphere, dense keyframes
large      64^3/40: time per outer iteration
pd         one target by `target` and by this method (figure 14)
"""

from __future__ import annotations

import argparse
import contextlib
import resource
import sys
import time
import tracemalloc
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import _spacetime_shapes as shapes
from _spacetime_cycles import fas, solver_map
from _spacetime_print import IMAGES, head, line, plots, save

import keyfluid
from keyfluid.controllers.march import Clock
from keyfluid.controllers.smoke_steps import SmokeSteps
from keyfluid.controllers.spacetime.advection import Advection, FixedPoint
from keyfluid.controllers.spacetime.controller import Plan, memory_plan, pyramid, relative_error
from keyfluid.controllers.spacetime.shooting import Shooting
from keyfluid.fields import Field
from keyfluid.grid import Kind
from keyfluid.render import filmstrip, save_png
from keyfluid.runs.pictures import Painter
from keyfluid.runs.run import run_problem
from keyfluid.scenes.problem import build
from keyfluid.threads import set_threads
from timing import machine

ROOT = Path(__file__).resolve().parents[2]
OUT = ROOT / "out" / "spacetime"

SCENE = """
[domain]
size = {size}
resolution = {resolution}
boundary = "{sides}"
up = "{up}"
[time]
fps = {fps}
frames = {frames}
[smoke]
initial = {initial}
{keys}
[control]
method = "spacetime"
{control}
"""


class Case:
    """One run of the method, watched."""

    def __init__(
        self, resolution: int, steps: int, initial: str, keys: Sequence[tuple[int, str]], control: str = "",
        dim: int = 2, sides: str = "walls", fps: float = 40.0, free: int = 0, method: str = "spacetime",
    ) -> None:  # fmt: skip
        text = SCENE.format(
            size=[1.0] * dim, resolution=resolution, sides=sides, fps=fps, frames=steps + free, initial=initial,
            keys="\n".join(f"[[keyframe]]\nframe = {frame}\n{body}" for frame, body in keys), control=control,
            up="y" if dim == 2 else "z",
        )  # fmt: skip
        self.scene = keyfluid.load_scene(text.replace('"spacetime"', f'"{method}"'))
        self.result: Any = None
        self.seconds = self.cpu = 0.0

    def run(self) -> Case:
        before, wall, cpu = _resident(), time.perf_counter(), time.process_time()
        _forget_peak()
        self.problem = build(self.scene)
        self.result = run_problem(self.problem)
        self.seconds, self.cpu = time.perf_counter() - wall, time.process_time() - cpu
        self.memory = _peak() - before
        return self

    @property
    def history(self) -> list[dict[str, float]]:
        return [entry for entry in self.result.metrics["history"] if "objective" in entry]

    @property
    def errors(self) -> list[float]:
        return [key["relative_error"] for key in self.result.metrics["keyframes"]]

    def engine_error(self) -> float:
        """Of the first keyframe, the same forces on the engine's smoke model."""
        problem, frames = self.problem, self.result.frames
        steps = SmokeSteps(problem)
        state = {**problem.densities, "velocity": problem.velocity}
        key = problem.keyframes[0]
        for index in range(key.frame):
            force = frames[index + 1].force
            state = steps.advance(state, Clock(index, 1.0 / problem.fps), force).state
        miss = state[key.field].array - key.target
        return float(np.linalg.norm(miss) / np.linalg.norm(key.target))

    def pictures(self, frames: Sequence[int], tile: int = 150) -> list[np.ndarray]:
        painter = Painter(self.problem, tile)
        return [painter.picture(self.result.frames[f].densities, f) for f in frames]


def _resident() -> float:
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * resource.getpagesize() / 2**20


def _forget_peak() -> None:
    """Let the kernel count the peak from here: compilers have had their memory back."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5", encoding="ascii")


def _peak() -> float:
    for entry in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if entry.startswith("VmHWM"):
            return int(entry.split()[1]) / 1024
    return 0.0


def npy(name: str, array: np.ndarray) -> str:
    """A keyframe or start body of an array, as it is."""
    OUT.mkdir(parents=True, exist_ok=True)
    np.save(OUT / f"{name}.npy", array)
    return f'npy = "{OUT / name}.npy"'


def start_of(name: str, array: np.ndarray) -> str:
    return "{ " + npy(name, array) + " }"


def key_of(name: str, array: np.ndarray) -> str:
    return npy(name, array) + '\nmass = "keep"'


DISK = '{ shape = "disk", center = [0.5, 0.5], radius = 0.2, mass = "first-key" }'


def letter(text: str) -> str:
    return f'text = "{text}"\nfit = 0.6'


# Letters.


def report(name: str, case: Case) -> None:
    metrics, last = case.result.metrics, case.history[-1]
    line(name, metrics["iterations"], last["change"] < 0.01, max(case.errors), max(last["error"], 0.0),
         last["gap"], case.engine_error(), metrics["keyframes"][-1]["transported_iou"] or 0.0, last["objective"],
         case.seconds, case.cpu, case.memory)  # fmt: skip


REPORT = ("scene", "iterations", "converged", "error, replayed", "error, optimiser", "gap", "error, engine's smoke",
          "carried IoU", "objective", "s", "processor s", "MB above start")  # fmt: skip


def letters(small: bool) -> None:
    n = 2 if small else 1
    Case(16, 4, DISK, [(4, letter("F"))], "iterations = 1").run()
    head(*REPORT)
    pictures: list[np.ndarray] = []
    for text in "FLUID":
        case = Case(128 // n, 40 // n, DISK, [(40 // n, letter(text))], fps=40 / n, free=20 // n).run()
        report(f"{text} {128 // n}^2/{40 // n}", case)
        pictures += case.pictures([10 // n, 20 // n, 30 // n, 40 // n, 60 // n])
        if text == "F":
            plot_outer(case)
            first = case
    labels = [f"{t}, {w}" for t in "FLUID" for w in ("1/4", "1/2", "3/4", "keyframe", "free")]
    save_png(IMAGES / "spacetime_letters.png", filmstrip(pictures, labels, columns=5, tile=92))
    plan = memory_plan(first.problem)
    print("\nMemory plan, MB: " + ", ".join(f"{k} {v / 2**20:.1f}" for k, v in plan.items()))
    print(
        f"sum {sum(plan.values()) / 2**20:.1f}, the paper's bound 8 n^d (1 + d) N {bound(first.problem):.1f}, arrays "
        f"of the optimisation at their peak {arrays_peak(first.problem):.1f}, process over its start {first.memory:.1f}"
    )


def bound(problem: Any) -> float:
    """8 n^d (1 + d) N numbers, in MB."""
    steps = max(key.frame for key in problem.keyframes)
    return float(8 * problem.grid.count * (1 + problem.grid.dim) * steps * problem.dtype.itemsize / 2**20)


def arrays_peak(problem: Any) -> float:
    """MB of arrays in five outer iterations, as the allocator counts them."""
    tracemalloc.start()
    plan = Plan.of(problem)
    admm = plan.admm(plan.horizon())
    for _ in range(5):
        admm.advance()
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return peak


def letters80(small: bool) -> None:
    n = 2 if small else 1
    Case(16, 4, DISK, [(4, letter("F"))], "iterations = 1").run()
    head(*REPORT)
    for text in "FLUID":
        case = Case(128 // n, 80 // n, DISK, [(80 // n, letter(text))], fps=80 / n).run()
        report(f"{text} {128 // n}^2/{80 // n}", case)


def plot_outer(case: Case) -> None:
    """Figure 7: the outer loop and the advection subproblem."""
    plt = plots()
    figure, (left, right) = plt.subplots(1, 2, figsize=(7, 2.6))
    steps = [entry["iteration"] for entry in case.history]
    for name in ("objective", "match", "force"):
        left.semilogy(steps, [entry[name] for entry in case.history], label=name)
    left.set(xlabel="outer iteration", ylabel="eq. 5, in cells")
    right.semilogy(steps, [entry["advection_residual"] for entry in case.history], label="advection residual")
    right.semilogy(steps, [entry["gap"] for entry in case.history], label="|v - v*| / |v|")
    right.semilogy(steps, [entry["change"] for entry in case.history], label="largest density change")
    right.set(xlabel="outer iteration")
    left.legend(fontsize=7)
    right.legend(fontsize=7)
    save(figure, "spacetime_outer")


def lbfgs(small: bool) -> None:
    n = 2 if small else 1
    case = Case(128 // n, 40 // n, DISK, [(40 // n, letter("F"))], fps=40 / n)
    Case(16, 4, DISK, [(4, letter("F"))], "iterations = 1").run()
    case.run()
    goal = case.history[-1]["objective"]
    head("method", "iterations", "simulations", "objective", "error", "s", "processor s",
         "processor s until ADMM's objective")  # fmt: skip
    line("ADMM", case.result.metrics["iterations"], "-", goal, max(case.errors), case.seconds, case.cpu, case.cpu)
    plan = Plan.of(case.problem)
    for scaled in (False, True):
        flow = plan.flow(False)
        advection = Advection(flow, plan.units.inside(case.problem), plan.goals, plan.transport(), pyramid(flow.grid))
        shooting = Shooting(flow, advection, plan.settings.force_weight, plan.steps, scaled)
        began, cpu, reached = time.perf_counter(), time.process_time(), []

        def told(state: Any, change: float, cpu: float = cpu, reached: list[float] = reached) -> bool:
            if state.now.value <= goal and not reached:
                reached.append(time.process_time() - cpu)
            return time.process_time() - cpu > 12 * case.cpu

        forces, state = shooting.minimise(0.01, 200, told)
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        sweep = shooting.simulate(forces)[1]
        errors = [relative_error(goal_, sweep.densities) for goal_ in plan.goals]
        line("L-BFGS, scaled" if scaled else "L-BFGS", state.iteration, state.evaluations, state.now.value, max(errors),
             seconds, cpu, reached[0] if reached else "not reached")  # fmt: skip


# Figures 8, 9, 15.


def bunny_case(n: int, control: str, fps: float, initial: np.ndarray) -> Case:
    cells, steps = 128 // n, 80 // n
    mass = float(initial.sum())
    keys = [
        (steps // 2, key_of(f"two{cells}", shapes.drawn(shapes.TWO_DISKS, cells, 2, mass))),
        (steps, key_of(f"bunny{cells}", shapes.drawn(shapes.BUNNY, cells, 2, mass))),
    ]
    return Case(cells, steps, start_of(f"disk{cells}", initial), keys, control, fps=fps)


def bunny(small: bool) -> None:
    n = 2 if small else 1
    initial = shapes.drawn(shapes.DISK, 128 // n, 2)
    head("r", "iterations", "converged", "errors", "force, m/s^2", "gap", "CG iterations", "s", "processor s")
    pictures: list[np.ndarray] = []
    counts, residuals = [], {}
    for r in (1e2, 1e3, 1e4):
        case = bunny_case(n, f"r = {r}", 40 / n, initial).run()
        metrics, last = case.result.metrics, case.history[-1]
        counts.append(metrics["iterations"])
        line(r, counts[-1], last["change"] < 0.01, " ".join(f"{e:.3f}" for e in case.errors), metrics["force_norm"],
             last["gap"], sum(e["flow_iterations"] for e in case.history), case.seconds, case.cpu)  # fmt: skip
        pictures += case.pictures([20 // n, 40 // n, 60 // n, 80 // n])
        residuals[f"r = {r:g}"] = [entry["flow_iterations"] for entry in case.history]
    slope = np.polyfit([2, 3, 4], counts, 1)[0]
    print(f"\niterations against log10 r: {counts}, {slope:+.1f} per decade (paper: 25, 37, 43)")
    labels = [f"r = 1e{p}, frame {f // n}" for p in (2, 3, 4) for f in (20, 40, 60, 80)]
    save_png(IMAGES / "spacetime_bunny.png", filmstrip(pictures, labels, columns=4, tile=115))
    plt = plots()
    figure, axes = plt.subplots(figsize=(4.2, 2.6))
    for name, counts_of in residuals.items():
        axes.plot(range(1, len(counts_of) + 1), counts_of, label=name)
    axes.set(xlabel="outer iteration", ylabel="CG iterations of the subproblem")
    axes.legend(fontsize=7)
    save(figure, "spacetime_flow")


def steps(small: bool) -> None:
    """The paper's dt, 0.4 to 2, as multiples of 0.025 s with as many steps."""
    n = 2 if small else 1
    initial = shapes.drawn(shapes.DISK, 128 // n, 2)
    head("dt", "iterations", "errors", "force, m/s^2", "s")
    for dt in (0.4, 1.0, 2.0):
        case = bunny_case(n, "r = 1e3", 40 / n / dt, initial).run()
        line(dt, case.result.metrics["iterations"], " ".join(f"{e:.3f}" for e in case.errors),
             case.result.metrics["force_norm"], case.seconds)  # fmt: skip


def abc(small: bool) -> None:
    n = 2 if small else 1
    keys = [(20 * (i + 1) // n, letter(text)) for i, text in enumerate("ABC")]
    head(*REPORT)
    pictures: list[np.ndarray] = []
    case = Case(128 // n, 60 // n, DISK, keys, "r = 1e3", fps=40 / n).run()
    report(f"ABC {128 // n}^2/{60 // n}, r = 1e3", case)
    near = Case(128 // n, 60 // n, DISK, keys, f"r = 1e3\nhorizon = {20 // n}", fps=40 / n).run()
    report("the same, receding horizon of one keyframe", near)
    report("r = 1e4, as in the paper", Case(128 // n, 60 // n, DISK, keys, "r = 1e4", fps=40 / n).run())
    frames = [10 // n, 20 // n, 30 // n, 40 // n, 50 // n, 60 // n]
    pictures = case.pictures(frames) + near.pictures(frames)
    labels = [f"{w} {f}" for w in ("all, frame", "horizon, frame") for f in frames]
    save_png(IMAGES / "spacetime_abc.png", filmstrip(pictures, labels, columns=6, tile=110))


def advection(small: bool) -> None:
    """Figure 4: large steps, so that the semi-Lagrangian feet jump over cells."""
    cells, steps = (64, 8) if small else (128, 8)
    initial = shapes.drawn(shapes.DISK, cells, 2)
    target = shapes.drawn(shapes.BIRD, cells, 2, float(initial.sum()))
    pictures, labels = [], []
    head("operator", "iterations", "match", "error", "roughness of v*", "s")
    for operator in ("semi-lagrangian", "upwind"):
        case = Case(cells, steps, start_of("disk_bird", initial), [(steps, key_of("bird", target))],
                    f'transport = "{operator}"', fps=40)  # fmt: skip
        case.problem = build(case.scene)
        plan = Plan.of(case.problem)
        admm = plan.admm(plan.horizon())
        fixed = FixedPoint(admm.advection, admm.v.copy())
        began = time.perf_counter()
        sweep, _ = fixed.run(np.zeros_like(admm.v), plan.settings.penalty / 100, 60)
        v = Field(case.problem.grid, Kind.FACES, np.ascontiguousarray(fixed.v[:, steps // 2]))
        rough = sum(float(np.square(np.diff(c, axis=0)).sum()) for c in v.components()) / max(v.dot(v), 1e-300)
        (name,) = sweep.densities
        line(
            operator,
            60,
            sweep.match,
            relative_error(plan.goals[0], sweep.densities),
            rough,
            time.perf_counter() - began,
        )
        painter = Painter(case.problem, 150)
        for k in (2, 4, 6, 8):
            pictures.append(painter.picture({name: sweep.densities[name][k].array}, k))
            labels.append(f"{operator}, step {k}")
    save_png(IMAGES / "spacetime_advection.png", filmstrip(pictures, labels, columns=4, tile=150))


# Volumes.


VOLUME = ("scene", "cells/steps", "iterations", "converged", "errors", "s", "s per outer iteration", "processor s",
          "MB above start", "plan, MB", "bound, MB")  # fmt: skip


def volumes(small: bool) -> None:
    cells, steps = (16, 12) if small else (32, 40)
    fps = float(steps)
    head(*VOLUME)
    start = shapes.drawn(shapes.ball((0.5, 0.5, 0.5), 0.24), cells, 3)
    mass = float(start.sum())
    keys = [
        (steps // 2, key_of("torus", shapes.drawn(shapes.TORUS, cells, 3, mass))),
        (steps, key_of("eight", shapes.drawn(shapes.EIGHT, cells, 3, mass))),
    ]
    genus = Case(cells, steps, start_of("ball", start), keys, dim=3, sides="periodic", fps=fps)
    _volume("varying genus, periodic", genus, [steps // 4, steps // 2, 3 * steps // 4, steps], "spacetime_genus")
    corners = [(0.3, 0.3, 0.5), (0.7, 0.3, 0.5), (0.7, 0.7, 0.5), (0.3, 0.7, 0.5)]
    spheres = [shapes.drawn(shapes.ball(c, 0.15), cells, 3) for c in corners]
    keys = [(steps * (i + 1) // 3, key_of(f"sphere{i}", spheres[i + 1])) for i in range(3)]
    for r in (1e2, 1e3):
        moving = Case(cells, steps, start_of("sphere", spheres[0]), keys, f"r = {r}", dim=3, fps=fps)
        _volume(
            f"moving sphere, walls, r = {r:g}",
            moving,
            [steps // 6, steps // 3, steps // 2, steps],
            f"spacetime_sphere_{r:.0f}",
        )
    poses = 10 if small else 20
    first = shapes.drawn(shapes.puncher(0.0), cells, 3)
    keys = [
        (k, key_of(f"pose{k}", shapes.drawn(shapes.puncher((k - 1) / (poses - 1)), cells, 3, float(first.sum()))))
        for k in range(2, poses + 1)
    ]
    dense = Case(cells, poses, start_of("pose", first), keys, dim=3, sides="periodic", fps=fps)
    _volume("dense keyframes (paper: 5 iterations)", dense, [2, poses // 2, poses], "spacetime_dense")


def large(small: bool) -> None:
    cells, count = (32, 12) if small else (64, 40)
    head(*VOLUME)
    start = shapes.drawn(shapes.ball((0.5, 0.5, 0.5), 0.24), cells, 3)
    key = key_of("large", shapes.drawn(shapes.TORUS, cells, 3, float(start.sum())))
    one = Case(cells, count, start_of("large_ball", start), [(count, key)], "iterations = 3", dim=3, fps=40)
    _volume("ball to torus, 3 iterations only", one, [count], None)


def _volume(name: str, case: Case, frames: Sequence[int], picture: str | None) -> None:
    case.run()
    metrics, grid = case.result.metrics, case.problem.grid
    steps = max(key.frame for key in case.problem.keyframes)
    shown = case.errors if len(case.errors) < 4 else [case.errors[0], max(case.errors), case.errors[-1]]
    line(name, f"{'x'.join(map(str, grid.cells))}/{steps}", metrics["iterations"], case.history[-1]["change"] < 0.01,
         " ".join(f"{e:.3f}" for e in shown), case.seconds, case.seconds / metrics["iterations"], case.cpu, case.memory,
         sum(memory_plan(case.problem).values()) / 2**20, bound(case.problem))  # fmt: skip
    if picture is not None:
        save_png(IMAGES / f"{picture}.png", filmstrip(case.pictures(frames, 180), [f"frame {f}" for f in frames],
                                                      columns=4, tile=180))  # fmt: skip


def pd(small: bool) -> None:
    """Figure 14: the same target by the controller that looks one step ahead, and by this method."""
    cells, steps = (64, 20) if small else (128, 40)
    initial = shapes.drawn(shapes.DISK, cells, 2)
    keys = [(steps, key_of("bird_pd", shapes.drawn(shapes.BIRD, cells, 2, float(initial.sum()))))]
    pictures, labels = [], []
    head("method", "error at the keyframe", "IoU", "s")
    rows = {
        "spacetime": "",
        "target": "",
        "target, no gathering": "gathering = 0.0",
        "target, no damping": "damping = 0.0",
    }
    frames = [steps // 4, steps // 2, 3 * steps // 4, steps]
    for name, control in rows.items():
        case = Case(
            cells, steps, start_of("disk_pd", initial), keys, control, fps=steps, method=name.split(",")[0]
        ).run()
        line(name, case.errors[-1], case.result.metrics["keyframes"][-1]["iou"], case.seconds)
        pictures += case.pictures(frames, 130)
        labels += [f"{name.split(', ')[-1]}, {f}" for f in frames]
    save_png(IMAGES / "spacetime_pd.png", filmstrip(pictures, labels, columns=4, tile=115))


PARTS = {"fas": fas, "map": solver_map, "letters": letters, "letters80": letters80, "lbfgs": lbfgs,
         "bunny": bunny, "steps": steps, "abc": abc, "advection": advection, "volumes": volumes, "large": large,
         "pd": pd}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="all by default")
    parser.add_argument("--small", action="store_true")
    parser.add_argument("--threads", type=int, default=2)
    options = parser.parse_args()
    set_threads(options.threads)
    print(f"{machine()}; {options.threads} threads, float32{', small' if options.small else ''}")
    IMAGES.mkdir(parents=True, exist_ok=True)
    for name in options.parts or PARTS:
        print(f"\n## {name}\n", flush=True)
        PARTS[name](options.small)


if __name__ == "__main__":
    main()
