"""A spacetime run as the start of `spectral`: what the engine's own smoke makes of the run's forces and of its air."""

from __future__ import annotations

import time

from _spacetime_case import DISK, OUT, Case, compiled, letter
from _spacetime_print import head, line

from keyfluid.runs.run import RunResult, run

FEW, MANY, GOAL = 10, 120, 0.1
"""Iterations of a hand-over; those after which the error GOAL is given up."""

CONTROL = """start = "{}"
iterations = {}
[simulation]
interpolation = "{}"
"""


def handover(small: bool) -> None:
    n = 2 if small else 1
    cells, steps = 128 // n, 40 // n
    compiled()
    head("scene", "interpolation", "least of a rearrangement", "spacetime", "its s", "engine's smoke, its forces",
         "its air", f"after {FEW} iterations", "carried IoU", "s", f"iterations until {GOAL:g}")  # fmt: skip
    for text in "FLUID":
        keys = [(steps, letter(text))]
        folder = OUT / f"handover-{text}"
        case = Case(cells, steps, DISK, keys, fps=40 / n)
        began = time.perf_counter()
        case.result = run(case.scene, folder, overwrite=True)
        found = time.perf_counter() - began
        line(f"{text} {cells}^2/{steps}", "", "", case.errors[0], found, case.engine_error(), *5 * [""])
        for interpolation in ("linear", "cubic"):
            few, many = (
                Case(cells, steps, DISK, keys, CONTROL.format(folder, count, interpolation), fps=40 / n,
                     method="spectral")
                for count in (FEW, MANY)
            )  # fmt: skip
            began = time.perf_counter()
            few.result = run(few.scene)
            seconds = time.perf_counter() - began
            key = few.result.metrics["keyframes"][0]
            line("", interpolation, key["bound"], "", "", "", _course(few.result)[0], few.errors[0],
                 key["transported_iou"], seconds, _until(run(many.scene)))  # fmt: skip


def _course(result: RunResult) -> list[float]:
    return [float(entry["error"]) for entry in result.metrics["history"] if "objective" in entry]


def _until(result: RunResult) -> str:
    """Iterations until the goal; what was reached instead."""
    course = _course(result)
    below = [iteration for iteration, error in enumerate(course) if error <= GOAL]
    return str(below[0]) if below else f"{course[-1]:.3f} after {len(course) - 1}"
