"""What a run will take, printed before it starts. Memory is counted; time is a guess until frames are measured."""

from __future__ import annotations

import math
from dataclasses import dataclass

from keyfluid.controllers.method import Plan
from keyfluid.scenes.build.problem import BuiltScene
from keyfluid.threads import threads

# Nanoseconds of one thread per cell and step, with one density; measured on a laptop core at 192 x 288 and 96^3.
_PLAIN, _WITH_BODIES, _PER_DENSITY = {2: 120.0, 3: 170.0}, {2: 700.0, 3: 900.0}, {2: 25.0, 3: 40.0}


@dataclass(frozen=True)
class Estimate:
    """Bytes of memory and of disk, seconds of computing."""

    memory: int
    disk: int
    seconds: float

    def line(self) -> str:
        return f"about {size_words(self.memory)} of memory, {size_words(self.disk)} on disk, {time_words(self.seconds)}"


def estimate(problem: BuiltScene, plan: Plan) -> Estimate:
    grid = problem.grid
    steps = problem.frames * (problem.steps_per_frame or _likely_steps(problem))
    bodies = problem.solids(0.0) is not None
    cost = (_WITH_BODIES if bodies else _PLAIN)[grid.dim] + _PER_DENSITY[grid.dim] * (len(problem.carried) - 1)
    state = (len(problem.carried) + grid.dim) * problem.dtype.itemsize * grid.count
    kept = grid.dim * problem.dtype.itemsize * grid.count * steps if problem.keyframes else 0
    return Estimate(
        problem.memory_estimate_bytes + plan.memory_bytes,
        state * (problem.frames + 2) + kept + plan.stored_bytes,
        plan.simulations * steps * grid.count * cost * 1e-9 / (1 + 0.6 * (threads() - 1)),
    )


def _likely_steps(problem: BuiltScene) -> int:
    """Steps of a frame with "auto", from the winds and the speed that lifted smoke reaches over half the domain."""
    lift = problem.fluid.acceleration([max(problem.peaks.values(), default=1.0)])
    rising = math.sqrt(lift * problem.grid.size[problem.up])
    blown = [max(map(abs, source.velocity)) for source in problem.sources if source.velocity is not None]
    blown += [math.hypot(*wind.velocity) for wind in problem.winds]
    speed = max([rising, problem.velocity.peak(), *blown])
    return max(1, math.ceil(speed / (problem.fps * problem.cfl * problem.grid.spacing)))


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
