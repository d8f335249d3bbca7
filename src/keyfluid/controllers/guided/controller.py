"""`method = "guided"`: each step, the fluid is drawn to that of a solved run, before it is projected.

The solved run and this scene have the same domain and the same time; grids and steps may differ. Long waves are the
run's, so the fluid arrives where it did; what is shorter is this grid's own. How a fluid is led is its own matter:
smoke.py, liquid.py.
"""

from __future__ import annotations

from keyfluid.controllers.guided.liquid import led_liquid
from keyfluid.controllers.guided.plan import GuidedPlan
from keyfluid.controllers.guided.smoke import led_smoke
from keyfluid.controllers.march import march
from keyfluid.controllers.method import Method, OtherRuns, Plan
from keyfluid.controllers.shell import Shell
from keyfluid.problem import Problem

_LED = {"smoke": led_smoke, "liquid": led_liquid}
"""By fluid, what makes a plan's steps."""


class Guided(Method):
    """The method."""

    def plan(self, problem: Problem, other_runs: OtherRuns) -> GuidedPlan:
        return GuidedPlan.of(problem, other_runs)

    def run(self, plan: Plan, shell: Shell) -> None:
        assert isinstance(plan, GuidedPlan)
        if shell.restored is None:
            shell.count(evaluations=1)
        march(plan.problem, shell, _LED[plan.problem.fluid.name](plan))
