"""How far the fluid goes in a step: a note when that is far, and the error when no number of steps would do."""

from __future__ import annotations

import math

from keyfluid.controllers.shell import Watcher
from keyfluid.errors import BlowUp
from keyfluid.problem import Problem

_FIXED_STEPS = ("adjoint", "spectral", "spacetime")
"""Methods that need a fixed number of steps."""

ABOUT = "step size"
"""What the note is about, in result.json's history."""


def tell_if_fast(problem: Problem, watch: Watcher, cells: float, time: float) -> None:
    """A note, once per run, if a step crosses so many cells that mass and shape suffer."""
    most = problem.fluid.fast * max(problem.grid.cells)
    if cells <= most:
        return
    steps = problem.steps_per_frame
    if steps is None:
        advice = "lower simulation.cfl"
    else:
        advice = f"raise time.steps_per_frame from {steps} to {math.ceil(steps * cells / most)} or more"
        if problem.method not in _FIXED_STEPS:
            advice += ', or set it to "auto"'
    watch.note(
        f"warning: at {time:.3g} s the {problem.fluid.name} crosses {cells:.1f} cells in a step; beyond a tenth of the "
        f"domain ({most:.3g} cells) shape and mass may suffer: {advice}",
        about=ABOUT,
    )


def too_many_steps(problem: Problem, frame: int, speed: float, count: int, otherwise: str) -> BlowUp:
    """For a frame that would have to be cut into more steps than make sense; otherwise: what else to lower."""
    culprit = problem.fluid.culprit(problem)
    where, remedy = f"frame {frame}", otherwise
    if culprit is not None:
        where, remedy = f"{culprit[0]}: {where}", f"lower {culprit[0]}"
    return BlowUp(f"{where}: the air moves at {speed:.3g} m/s and would need {count} steps in a frame; {remedy}")
