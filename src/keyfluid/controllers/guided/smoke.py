"""A finer film of solved smoke: each step, the long waves of the air are replaced by the run's (operators/guide.py).

A step is force, diffuse, heat - GUIDE - project - advect.
"""

from __future__ import annotations

from dataclasses import replace

from keyfluid.boundary import Boundary
from keyfluid.controllers.guided.air import SolvedAir
from keyfluid.controllers.guided.eddies import Eddies
from keyfluid.controllers.guided.plan import GuidedPlan
from keyfluid.controllers.march import Step
from keyfluid.fluids.smoke.fluid import SmokeFluid
from keyfluid.fluids.smoke.steps import SmokeSteps
from keyfluid.models.state import State
from keyfluid.operators.guide import Guide
from keyfluid.operators.long_waves import LongWaves
from keyfluid.problem import Advance, Clock


def led_smoke(plan: GuidedPlan) -> Step:
    """Steps of the scene's smoke, whose long waves are the solved run's, with eddies of its own."""
    steps = _steps(plan)
    if plan.turbulence == 0:
        return steps.advance
    eddies = Eddies(plan.problem, plan.cutoff, plan.turbulence)

    def advance(state: State, clock: Clock) -> Advance:
        """Eddies are part of the film, not a control force to be kept with it."""
        return replace(steps.advance(state, clock, eddies.force(state, clock.time)), force=None)

    return advance


def _steps(plan: GuidedPlan) -> SmokeSteps:
    """The scene's smoke, whose long waves are the solved run's."""
    problem, grid, solved = plan.problem, plan.problem.grid, plan.other.problem.grid
    broken = problem.solids(0.0) is not None or Boundary.OPEN in grid.boundary
    fine, coarse = (LongWaves(one, plan.cutoff, problem.dtype, taper=broken) for one in (grid, solved))
    air = SolvedAir(plan.other, coarse, plan.ends)

    def guide(begin: float, end: float) -> Guide | None:
        strength = plan.strength_at(0.5 * (begin + end), end - begin)
        return Guide(fine, air.over(begin, end), strength) if strength > 0 else None

    fluid = problem.fluid
    assert isinstance(fluid, SmokeFluid)
    return SmokeSteps(problem, replace(fluid.options(problem), guide=guide))
