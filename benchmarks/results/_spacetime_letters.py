"""FLUID: iterations, errors, replay, time, memory; and L-BFGS on the same problem."""

from __future__ import annotations

import time
import tracemalloc
from typing import Any

import numpy as np
from _spacetime_case import DISK, REPORT, Case, bound, compiled, letter, report
from _spacetime_print import IMAGES, head, line, plots, save
from _spacetime_shots import bunny_case

from keyfluid.controllers.spacetime.advection import Advection
from keyfluid.controllers.spacetime.plan import SpacetimePlan, goal_error, memory_plan, pyramid
from keyfluid.controllers.spacetime.shooting import SingleShooting
from keyfluid.render import filmstrip, save_png

MOST_SHOTS = 400
"""Iterations of L-BFGS over forces, if it has not met its stop rule before."""


def letters(small: bool) -> None:
    """Figure 1 and other letters, from a disk of equal area; twenty frames more, free."""
    n = 2 if small else 1
    compiled()
    head(*REPORT)
    pictures: list[np.ndarray] = []
    for text in "FLUIDARB8&":
        case = Case(128 // n, 40 // n, DISK, [(40 // n, letter(text))], fps=40 / n, free=20 // n).run()
        report(f"{text} {128 // n}^2/{40 // n}", case)
        pictures += case.pictures([10 // n, 20 // n, 30 // n, 40 // n, 60 // n])
        if text == "F":
            plot_outer(case)
            first = case
    labels = [f"{t}, {w}" for t in "FLUIDARB8&" for w in ("1/4", "1/2", "3/4", "keyframe", "free")]
    save_png(IMAGES / "spacetime_letters.png", filmstrip(pictures, labels, columns=10, tile=92))
    plan = memory_plan(SpacetimePlan.of(first.problem))
    print("\nMemory plan, MB: " + ", ".join(f"{k} {v / 2**20:.1f}" for k, v in plan.items()))
    print(
        f"sum {sum(plan.values()) / 2**20:.1f}, the paper's bound 8 n^d (1 + d) N {bound(first.problem):.1f}, arrays "
        f"of the optimisation at their peak {arrays_peak(first.problem):.1f}, process over its start {first.memory:.1f}"
    )


CAPITALS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
MORE = 200


def capitals(small: bool) -> None:
    """All capitals and digits at 64^2/20 by the defaults; and what MORE rounds add to one that has converged."""
    n, more = (32, 5) if small else (64, MORE)
    compiled()
    head("letter", "rounds", "converged", "error", "bound", "error over bound", "objective", f"after {more} more",
         "ratio", "engine's smoke", "processor s")  # fmt: skip
    pictures, over, worst = [], [], 0.0
    for text in CAPITALS:
        case = Case(n, 20, DISK, [(20, letter(text))], fps=20).run()
        last, (error,) = case.history[-1], case.errors
        least = case.result.metrics["keyframes"][0]["bound"]
        end = longer(case.problem, more)
        over.append(error - least)
        worst = max(worst, error)
        line(text, case.iterations, case.converged, error, least, error - least, last["objective"], end,
             last["objective"] / end, case.engine_error(), case.cpu)  # fmt: skip
        pictures += case.pictures([20], 90)
    met = sum(excess <= 0.08 for excess in over)
    print(f"\n{met} of {len(over)} within 0.08 of the bound; the largest error is {worst:.3f}")
    save_png(IMAGES / "spacetime_capitals.png", filmstrip(pictures, list(CAPITALS), columns=12, tile=90))


def others(small: bool) -> None:
    """Shapes that nothing was tuned on."""
    n = 32 if small else 64
    compiled()
    head("shape", "rounds", "converged", "error", "bound", "objective")
    for text in "g?@Ω%k":
        case = Case(n, 20, DISK, [(20, letter(text))], fps=20).run()
        line(text, case.iterations, case.converged, case.errors[0], case.result.metrics["keyframes"][0]["bound"],
             case.history[-1]["objective"])  # fmt: skip


def longer(problem: Any, more: int) -> float:
    """The objective `more` rounds after the stop rule was met."""
    plan = SpacetimePlan.of(problem)
    outer = plan.outer(plan.horizon())
    while not outer.done:
        record = outer.advance()
    for _ in range(more):
        outer.calm = 0
        record = outer.advance()
    return record.objective


def letters80(small: bool) -> None:
    n = 2 if small else 1
    compiled()
    head(*REPORT)
    for text in "FLUID":
        case = Case(128 // n, 80 // n, DISK, [(80 // n, letter(text))], fps=80 / n).run()
        report(f"{text} {128 // n}^2/{80 // n}", case)


def arrays_peak(problem: Any) -> float:
    """MB of arrays in five outer iterations, as the allocator counts them."""
    tracemalloc.start()
    plan = SpacetimePlan.of(problem)
    outer = plan.outer(plan.horizon())
    for _ in range(5):
        outer.advance()
    peak = tracemalloc.get_traced_memory()[1] / 2**20
    tracemalloc.stop()
    return peak


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
    """The letter F by our rounds, by the paper's splitting, and by L-BFGS over forces until its own stop rule.

    FAS, whose V-cycles cost most, comes last: at full size it had not ended after half an hour.
    """
    n = 2 if small else 1
    compiled()
    head("method", "iterations", "converged", "simulations", "objective", "error", "s", "processor s",
         "processor s until our objective + 10 %")  # fmt: skip
    scene = (128 // n, 40 // n, DISK, [(40 // n, letter("F"))])
    case = Case(*scene, fps=40 / n).run()
    goal = 1.1 * case.history[-1]["objective"]
    split_row("rounds", case)
    split_row("admm", Case(*scene, 'solver = "admm"', fps=40 / n).run())
    shoot(case, goal)
    split_row("fas", Case(*scene, 'solver = "fas"\ncoarse = false', fps=40 / n).run())


def split_row(name: str, case: Case) -> None:
    line(name, case.iterations, case.converged, "-", case.history[-1]["objective"], max(case.errors), case.seconds,
         case.cpu, "-")  # fmt: skip


def lbfgs_bunny(small: bool) -> None:
    """The same of circle, two circles, bunny."""
    n = 2 if small else 1
    compiled()
    head("method", "iterations", "converged", "simulations", "objective", "error", "s", "processor s",
         "processor s until our objective + 10 %")  # fmt: skip
    case = bunny_case(n, "r = 1e3\napproach = false", 40 / n).run()
    split_row("rounds", case)
    shoot(case, 1.1 * case.history[-1]["objective"])


def shoot(case: Case, goal: float) -> None:
    """L-BFGS over forces, plain and scaled, until no density changes by more than 1 %, as the paper stops it."""
    plan = SpacetimePlan.of(case.problem)
    for scaled in (False, True):
        flow = plan.flow(False)
        advection = Advection(flow, plan.units.inside(case.problem), plan.goals, plan.transport(), pyramid(flow.grid))
        shooting = SingleShooting(flow, advection, plan.settings.force_weight, plan.steps, scaled)
        began, cpu, reached = time.perf_counter(), time.process_time(), []

        def told(state: Any, change: float, cpu: float = cpu, reached: list[float] = reached) -> bool:
            if state.now.value <= goal and not reached:
                reached.append(time.process_time() - cpu)
            return False

        forces, state = shooting.minimise(0.01, MOST_SHOTS, told)
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        sweep = shooting.simulate(forces)[1]
        errors = [goal_error(goal_, sweep.densities) for goal_ in plan.goals]
        line("L-BFGS, scaled" if scaled else "L-BFGS", state.iteration, state.iteration < MOST_SHOTS, state.evaluations,
             state.now.value, max(errors), seconds, cpu, reached[0] if reached else "not reached")  # fmt: skip
