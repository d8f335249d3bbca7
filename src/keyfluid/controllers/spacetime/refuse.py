"""What the method can't do, said before it starts."""

from __future__ import annotations

from keyfluid.boundary import Boundary
from keyfluid.controllers.spacetime.settings import settings_of
from keyfluid.errors import SceneError
from keyfluid.fluids.smoke.fluid import smoke_of
from keyfluid.problem import Problem
from keyfluid.solvers.fas import COARSEST, depth

LONGEST = 12
"""Cells along the longest side of the coarsest grid that the paper's ten smoothings still solve."""

INSTEAD = 'or use method = "target" or "adjoint"'


def refuse(problem: Problem, steps_per_frame: int) -> None:
    """Raise for what can't be done: air that leaves the box, smoke that comes, bodies that move."""
    if Boundary.OPEN in problem.grid.boundary:
        raise SceneError(
            "domain.boundary", f'"spacetime" knows walls and periodic sides, not open ones; close them, {INSTEAD}'
        )
    splitting = settings_of(problem).solver
    if problem.solids.move:
        raise SceneError("obstacle", f'"spacetime" knows obstacles at rest, not moving ones; stop them, {INSTEAD}')
    if problem.solids(0.0) is not None and splitting == "fas":
        raise SceneError("obstacle", 'solver = "fas" works in a box without obstacles; use "gauss-newton"')
    if problem.sources:
        raise SceneError("source", f'"spacetime" moves the smoke there is and has no sources; remove them, {INSTEAD}')
    if smoke_of(problem).buoyancy != 0 and splitting != "gauss-newton":
        raise SceneError("smoke.buoyancy", f'solver = "{splitting}" has no buoyancy; use "gauss-newton"')
    if smoke_of(problem).vorticity != 0:
        raise SceneError("smoke.vorticity", f'"spacetime" has no vorticity confinement; set it to 0, {INSTEAD}')
    if splitting == "fas":
        _refuse_sizes(problem.grid.cells)
    keys = [key for key in problem.keyframes if key.weight > 0]
    if not keys:
        raise SceneError("keyframe", '"spacetime" needs a keyframe whose weight is above 0')
    for key in keys:
        if key.frame * steps_per_frame < 2 and not settings_of(problem).free_start:
            raise SceneError(
                f"{key.path}.frame",
                "the first step moves with the initial velocity, which is given; put the keyframe two steps or more "
                "after the start, or set control.free_start",
            )


def _refuse_sizes(cells: tuple[int, ...]) -> None:
    """Multigrid halves all axes together; a coarsest grid that is still large would not be solved."""
    halvings = depth(cells) - 1
    ends = " x ".join(str(n >> halvings) for n in cells)
    if max(cells) >> halvings > LONGEST:
        raise SceneError(
            "control.solver",
            f'"fas" halves all sides together, to at most {LONGEST} cells on the longest and {COARSEST} or more on the '
            f"shortest, but {' x '.join(map(str, cells))} ends at {ends}; use sides with more factors of two and nearer"
            ' in length, or solver = "gauss-newton"',
        )
