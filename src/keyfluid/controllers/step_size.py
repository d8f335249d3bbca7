"""How far the smoke goes in a step: a note when that is far, and a stop when it has left all sense.

Advection is stable for any step, so a step that is too long shows only in what is lost. Cells that the fastest air had
crossed in a step when the mass was first off by 5 %, of a disk of smoke that rises in a box with walls (one step per
frame, buoyancy from 1 to 1000 m/s^2, 40 frames):

    32^2   5 cells      64^2   7 (around an obstacle 7)      128^2   10 to 15      32^3   4

With 15 cells a third of the mass was lost, with 50 two thirds. Drift below 8 cells comes as much from coarse grids as
from long steps, and is told at the end of a run by itself. The scenes of the gallery stay below 8.
"""

from __future__ import annotations

import math

from keyfluid.controllers.interface import Problem, Shell
from keyfluid.errors import BlowUp

FAST = 8.0
"""Cells in a step beyond which a run is told to take more steps."""

_LEAST_LIMIT = 40.0
"""A step may cross the whole domain; of a tiny grid, as many cells as a liquid may."""

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
    if cells <= FAST or problem.liquid is not None:
        return
    steps = problem.steps_per_frame
    if steps is None:
        advice = "lower simulation.cfl"
    else:
        advice = f"raise time.steps_per_frame from {steps} to {math.ceil(steps * cells / FAST)} or more"
        if problem.scene.control.method not in _FIXED_STEPS:
            advice += ', or set it to "auto"'
    shell.note(
        f"warning: at {time:.3g} s the smoke crosses {cells:.1f} cells in a step; beyond {FAST:g} it loses mass and "
        f"shape: {advice}",
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
        if lift * dt * dt > FAST * problem.grid.spacing:
            return "smoke.buoyancy"
    return "time.steps_per_frame"


def _remedy(problem: Problem) -> str:
    key, value = _to_blame(problem), {"smoke.vorticity": problem.vorticity, "smoke.buoyancy": problem.buoyancy}
    more = "take more steps per frame (time.steps_per_frame)"
    if key not in value:
        return f"{more} or lower forces and velocities"
    return f"lower it from {value[key]:g}, or {more}"
