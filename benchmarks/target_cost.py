"""What control costs: a controlled sub-step over an ordinary one of the same scheme, at 256^2 and 128^3.

    python benchmarks/target_cost.py

Fattal & Lischinski 2004 report 15 % more, 0.25 s per step at 256^2 and 10.6 s at 128^3 (one 2.4 GHz Pentium 4, with a
multigrid projection; ours is direct in a box without solids, so control weighs more beside it). Gathering has a step
limit of its own and is cycled within a sub-step: measured for one cycle, and for steps of 1 ms or 0.4 cells.
"""

from __future__ import annotations

import argparse
import math
from functools import partial

import numpy as np

from keyfluid.controllers.target.driven import driven_smoke
from keyfluid.controllers.target.goals import Goals
from keyfluid.controllers.target.settings import TargetNumbers
from keyfluid.models.driven_smoke import DrivenInputs
from keyfluid.scenes import load_scene
from keyfluid.scenes.build.problem import build
from timing import best, machine

SCENE = """
[domain]
size = {size}
resolution = {resolution}
[time]
frames = 48
steps_per_frame = "auto"
[smoke]
initial = {{ shape = "{start}", center = {center}, radius = 0.2 }}
[[keyframe]]
frame = 48
{key}
[[obstacle]]
shape = "{start}"
center = {corner}
radius = 0.03
[control]
method = "target"
"""
PAPER = {2: 0.25, 3: 10.6}


def measure(dim: int, resolution: int, solids: bool, repeats: int) -> list[tuple[int, float, float]]:
    """Cycles of gathering, and seconds of an ordinary and of a controlled sub-step: for one cycle, and in full."""
    text = SCENE.format(
        size=[1.0] * dim,
        resolution=resolution,
        start="disk" if dim == 2 else "sphere",
        center=[0.5] * dim,
        corner=[0.1] * dim,
        key='text = "F"\nfit = 0.8' if dim == 2 else 'shape = "torus"\ncenter = [0.5, 0.5, 0.5]',
    )
    if not solids:
        text = text[: text.index("[[obstacle]]")] + text[text.index("[control]") :]
    made = build(load_scene(text))
    plan, model = Goals(made, TargetNumbers()), driven_smoke(made, TargetNumbers())
    pulls = plan.pulls(48)  # the narrowest blur, which costs most
    state = model.projected({**made.densities, "velocity": made.velocity})
    impulse = state["velocity"].zeros_like()
    for index in range(20):
        state = model.step(state, DrivenInputs(pulls, index / 1000, 1 / 1000, impulse), index)
    dt = 0.4 * made.grid.spacing / max(np.abs(c).max() for c in state["velocity"].components())
    dt = min(dt, 1e-3)
    gather = model.gathering("density", pulls, made.solids(0.0))
    assert gather is not None
    found = []
    for length in (min(dt, gather.longest(state["density"])), dt):
        times: tuple[list[float], list[float]] = ([], [])
        for _ in range(repeats):  # in turn, so that a busy machine slows both
            for pull, kept in zip(({}, pulls), times):
                step = partial(model.step, state, DrivenInputs(pull, 0.02, length, impulse))
                kept.append(best(step, 2).seconds)
        cycles = math.ceil(length / gather.longest(state["density"]) - 1e-9)
        found.append((cycles, min(times[0]), min(times[1])))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--sizes", nargs="*", default=["2:256", "3:128"], help="dimension:cells")
    options = parser.parse_args()
    print(machine())
    print("grid      projection  cycles   ordinary   controlled   ratio   paper's step")
    for size in options.sizes:
        dim, resolution = (int(part) for part in size.split(":"))
        for solids in (False, True):
            name = "multigrid" if solids else "direct"
            for cycles, free, steered in measure(dim, resolution, solids, options.repeats):
                print(
                    f"{resolution}^{dim:<5} {name:<10} {cycles:5} {free * 1e3:10.1f} ms {steered * 1e3:9.1f} ms"
                    f" {steered / free:8.2f} {PAPER[dim]:10.2f} s",
                    flush=True,
                )


if __name__ == "__main__":
    main()
