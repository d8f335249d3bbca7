"""How far the smoke goes in a step: a note when that is far, and a stop when it has left all sense.

Advection is stable for any step, so a step that is too long shows only in what is lost. How far the fastest air had
gone in a step when the mass was first off by 5 %, of a disk of smoke that rises in a box with walls (one step per
frame, buoyancy from 1 to 1000 m/s^2, 40 frames), in cells and as a share of the longest side:

    32^2    5 (0.16)                    64^2   7 (0.11, around an obstacle too)     128^2   10 to 15 (0.08 to 0.12)
    256^2   19 to 31 (0.07 to 0.12)     32^3   4 (0.13)                             64^3    6 to 9 (0.09 to 0.14)

At 0.2 a third of the mass was lost, at 0.4 two thirds. Below a tenth, drift comes from coarse grids more than from long
steps. The scenes of the gallery reach 0.08 at most.
"""

from __future__ import annotations

import math

from keyfluid.controllers.shell import Shell
from keyfluid.errors import BlowUp
from keyfluid.problem import Problem

FAST = 0.1
"""Share of the longest side that smoke may cross in a step; beyond it a run recommends more steps."""

_LEAST_LIMIT = 40.0
"""Crossing the whole domain in a step ends a run; on a tiny grid, crossing as many cells as a liquid may."""

_FIXED_STEPS = ("adjoint", "spectral", "spacetime")
"""Methods that need a fixed number of steps."""

ABOUT = "step size"
"""What the note is about, in result.json's history."""


def cells_crossed(problem: Problem, speed: float, dt: float, time: float) -> float:
    """Cells that air of this speed crosses in a step of `dt` seconds; raises if no simulation can mean that."""
    cells = speed * dt / problem.grid.spacing
    if cells <= max(_LEAST_LIMIT, *problem.grid.cells):
        return cells
    moved = f"moves at {speed:.3g} m/s, {cells:.3g} cells in a step" if math.isfinite(cells) else "has no finite speed"
    raise BlowUp(f"{_to_blame(problem)}: at {time:.3g} s the air {moved}; {_remedy(problem)}")


def tell_if_fast(problem: Problem, shell: Shell, cells: float, time: float) -> None:
    """A note, once per run, if a step crosses so many cells that mass and shape suffer."""
    most = FAST * max(problem.grid.cells)
    if cells <= most or problem.liquid is not None:
        return
    steps = problem.steps_per_frame
    if steps is None:
        advice = "lower simulation.cfl"
    else:
        advice = f"raise time.steps_per_frame from {steps} to {math.ceil(steps * cells / most)} or more"
        if problem.method not in _FIXED_STEPS:
            advice += ', or set it to "auto"'
    shell.note(
        f"warning: at {time:.3g} s the smoke crosses {cells:.1f} cells in a step; beyond a tenth of the domain "
        f"({most:.3g} cells) shape and mass may suffer: {advice}",
        about=ABOUT,
    )


def too_many_steps(problem: Problem, frame: int, speed: float, count: int, otherwise: str) -> BlowUp:
    """For a frame that would have to be cut into more steps than make sense; otherwise: what else to lower."""
    key = _to_blame(problem)
    remedy = otherwise if key == "time.steps_per_frame" else f"lower {key}"
    where = f"frame {frame}" if key == "time.steps_per_frame" else f"{key}: frame {frame}"
    return BlowUp(f"{where}: the air moves at {speed:.3g} m/s and would need {count} steps in a frame; {remedy}")


def _to_blame(problem: Problem) -> str:
    """The key that most likely made the air so fast.

    Confinement multiplies what spins by about 1 + vorticity dt in a step; lift moves smoke from rest by buoyancy dt^2.
    """
    dt = 1.0 / (problem.fps * (problem.steps_per_frame or 1))
    if problem.liquid is None:
        lift = abs(problem.buoyancy) * sum(problem.peaks.values())
        if problem.vorticity * dt > 1:
            return "smoke.vorticity"
        if lift * dt * dt > FAST * max(problem.grid.size):
            return "smoke.buoyancy"
    return "time.steps_per_frame"


def _remedy(problem: Problem) -> str:
    key, value = _to_blame(problem), {"smoke.vorticity": problem.vorticity, "smoke.buoyancy": problem.buoyancy}
    lower = f"lower it from {value[key]:g}" if key in value else "lower forces and velocities"
    if problem.steps_per_frame is None or problem.method == "target":
        return lower
    return f"{lower}, or take more steps per frame"
