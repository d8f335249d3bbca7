"""What happens in a step of smoke, as a run reports it, and the guard against air that is too fast."""

from __future__ import annotations

from keyfluid.fields import Field
from keyfluid.models.operation import Observer
from keyfluid.models.state import State
from keyfluid.problem import Problem


class StepWatch(Observer):
    """Watches a step that begins at `time` seconds.

    seconds: its length; carrier: the velocity that moved the smoke; cells: that its fastest air crossed;
    emitted: mass that sources gave, per field.
    """

    carrier: Field

    def __init__(self, problem: Problem, time: float) -> None:
        self.problem, self.time = problem, time
        self.seconds = self.cells = 0.0
        self.emitted: dict[str, float] = {}

    def lasts(self, seconds: float) -> None:
        self.seconds = seconds

    def carries(self, fields: State) -> None:
        """Raises if no simulation can mean such a speed."""
        self.carrier = fields["velocity"]
        speed = self.carrier.peak()
        self.cells = self.problem.fluid.cells_crossed(self.problem, speed, self.seconds, self.time)

    def let_in(self, name: str, before: Field, after: Field) -> None:
        self.emitted[name] = self.emitted.get(name, 0.0) + after.integral() - before.integral()

    def added(self, name: str, before: Field, after: Field) -> None:
        self.let_in(name, before, after)
