"""What a method is: it says what it needs, and simulates. docs/methods.md has an example for authors.

    class Controller:
        def memory_bytes(self, problem) -> int      what it needs beyond a free run
        def run(self, problem, shell) -> None       simulate, and hand every frame to the shell
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from keyfluid.controllers.shell import Shell
from keyfluid.problem import Problem


class Controller(Protocol):
    """A method."""

    def memory_bytes(self, problem: Problem) -> int:
        """What the method holds beyond a free simulation, for the estimate before a run."""
        ...

    def run(self, problem: Problem, shell: Shell) -> None:
        """Simulate from `shell.restored` or the start to the last frame; raise Stopped to end early."""
        ...


def plan_lines(controller: Controller, problem: Problem) -> Sequence[str]:
    """What a method will search or store, told before a run; a method says so in `plan_lines(problem)`, if it does."""
    lines: Sequence[str] = controller.plan_lines(problem) if hasattr(controller, "plan_lines") else ()
    return lines


def check_first(controller: Controller, problem: Problem, shell: Shell) -> None:
    """What a method can't do, raised before anything is written: by `check(problem, shell)` of a method that has one.

    Of the shell only `other_run` may be asked.
    """
    if hasattr(controller, "check"):
        controller.check(problem, shell)


def begins_from_frames(controller: Controller) -> bool:
    """Whether `resume --from` can be asked of a method: not of one with `begins_from_frames = False`."""
    return bool(getattr(controller, "begins_from_frames", True))


def films_again(controller: Controller) -> bool:
    """Whether frames are films of what a checkpoint holds, so that damaged ones can be made again from it."""
    return bool(getattr(controller, "films_again", False))


def stored_bytes(controller: Controller, problem: Problem) -> int:
    """What a method's checkpoint takes on disk beyond a state: `stored_bytes(problem)` of a method that says so."""
    return int(controller.stored_bytes(problem)) if hasattr(controller, "stored_bytes") else 0


def simulations(controller: Controller, problem: Problem) -> float:
    """How many free simulations' work a run is: `simulations(problem)` of a method that needs more than one."""
    return float(controller.simulations(problem)) if hasattr(controller, "simulations") else 1.0
