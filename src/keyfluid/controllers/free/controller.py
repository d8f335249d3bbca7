"""`method = "none"`: free simulation. Sources, obstacles, buoyancy and viscosity act; nothing steers."""

from __future__ import annotations

from keyfluid.controllers.march import march
from keyfluid.controllers.shell import Shell
from keyfluid.controllers.steps import steps_of
from keyfluid.problem import Problem


class Free:
    """The controller that controls nothing."""

    def memory_bytes(self, problem: Problem) -> int:
        return 0

    def run(self, problem: Problem, shell: Shell) -> None:
        if shell.restored is None:
            shell.count(evaluations=1)
        march(problem, shell, steps_of(problem).advance)
