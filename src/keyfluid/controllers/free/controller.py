"""`method = "none"`: free simulation. Sources, obstacles, buoyancy and viscosity act; nothing steers."""

from __future__ import annotations

from keyfluid.controllers.march import march
from keyfluid.controllers.method import Method, OtherRuns, Plan
from keyfluid.controllers.shell import Shell
from keyfluid.problem import Problem


class Free(Method):
    """The method that controls nothing."""

    def plan(self, problem: Problem, other_runs: OtherRuns) -> Plan:
        return Plan(problem=problem)

    def run(self, plan: Plan, shell: Shell) -> None:
        if shell.restored is None:
            shell.count(evaluations=1)
        march(plan.problem, shell, plan.problem.fluid.steps(plan.problem).advance)
