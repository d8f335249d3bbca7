"""What a run will take, printed before it starts. Memory is counted, time is measured (expected.py)."""

from __future__ import annotations

import math
from dataclasses import dataclass

from keyfluid.controllers.method import Plan
from keyfluid.runs.busy import busy
from keyfluid.runs.disk_estimate import disk_bytes, frame_in_memory
from keyfluid.scenes.build.problem import BuiltScene

_COMPILATION = {"none": 30, "target": 30, "particles": 40, "guided": 30, "adjoint": 60, "spectral": 60, "spacetime": 60}
"""Processor seconds until an empty kernel cache has what a run needs; gradients alone take 35 to 40
(benchmarks/compile_time.py)."""


@dataclass(frozen=True)
class Estimate:
    """Bytes of memory and of disk, seconds with all outputs."""

    memory: int
    disk: int
    seconds: float

    def line(self) -> str:
        return f"about {size_words(self.memory)} of memory, {size_words(self.disk)} on disk, {time_words(self.seconds)}"


def estimate(problem: BuiltScene, plan: Plan, seconds: float, in_memory: bool = False) -> Estimate:
    """seconds: as measured (expected.py); in_memory: of a run without a folder, which keeps all frames."""
    steps = problem.steps_per_frame or likely_steps(problem)
    memory = plan.memory_bytes
    if in_memory:
        frame, frames = frame_in_memory(problem, plan.steps or steps), problem.frames + 1
        beside = frames if plan.frames_beside is None else plan.frames_beside
        memory = max(memory + beside * frame, frames * frame)
    return Estimate(problem.memory_estimate_bytes + memory, disk_bytes(problem, plan, steps), seconds)


def likely_steps(problem: BuiltScene) -> int:
    """Steps of a frame with "auto", from the winds and the speed that lifted smoke reaches over half the domain."""
    lift = problem.fluid.acceleration([max(problem.peaks.values(), default=1.0)])
    rising = math.sqrt(lift * problem.grid.size[problem.up])
    blown = [max(map(abs, source.velocity)) for source in problem.sources if source.velocity is not None]
    blown += [math.hypot(*wind.velocity) for wind in problem.winds]
    speed = max([rising, problem.velocity.peak(), *blown])
    return max(1, math.ceil(speed / (problem.fps * problem.cfl * problem.grid.spacing)))


def compiling_line(method: str) -> str:
    """For the first run of its kind on a machine."""
    return f"first run: compiling the kernels of {method!r}, up to {time_words(busy() * _COMPILATION[method])}"


def size_words(count: float) -> str:
    for unit in ("B", "kB", "MB"):
        if count < 1000:
            return f"{count:.3g} {unit}"
        count /= 1000
    return f"{count:.3g} GB"


def time_words(seconds: float) -> str:
    """As one would say it: 40 s, 3 min, 1.5 h."""
    if seconds < 90:
        return f"{max(1, round(seconds))} s"
    if seconds < 5400:
        return f"{round(seconds / 60)} min"
    return f"{seconds / 3600:.1f} h"
