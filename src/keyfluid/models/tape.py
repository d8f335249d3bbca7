"""The derivative of one step, recorded while the step runs.

The tape of a step keeps its operations and the inputs of the nonlinear ones: all that tangent and adjoint need.

    d_q1 = J d_q      operation after operation, first to last
    q_bar = J^T q1_bar      transposed, last to first                                   [McNamara 2004, eq. 12]
"""

from __future__ import annotations

from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.models.operation import Observer, Operation, Role
from keyfluid.models.state import Bars, State
from keyfluid.operators.base import Fields


class Tape(Observer):
    """Observe a step with it, then ask for derivatives; refuses an operation that has none.

    `like` gives, for every name an operation reads or writes, a field of the right kind, for those that are zero.
    """

    carrier: Field
    """The velocity that moved the fluid."""

    def __init__(self) -> None:
        self._taken: list[tuple[Operation, Fields]] = []

    def carries(self, fields: State) -> None:
        self.carrier = fields["velocity"]

    def before(self, operation: Operation, inputs: Fields) -> None:
        if not operation.operator.differentiable:
            raise KeyfluidError(
                f"gradient: operation {operation.name!r} ({type(operation.operator).__name__}) has no derivative; "
                "use another operator in its place"
            )
        self._taken.append((operation, () if operation.operator.linear else inputs))

    def tangent(self, changes: Bars, like: State) -> Bars:
        """Changes of all fields after the step, given those of states and inputs before it."""
        changes = dict(changes)
        for operation, inputs in self._taken:
            given = tuple(changes[name] if name in changes else like[name].zeros_like() for name in operation.reads)
            changes.update(zip(operation.writes, operation.operator.tangent(inputs, given)))
        return changes

    def adjoint(self, bars: Bars, like: State, carrier_bar: Field | None = None) -> Bars:
        """Adjoints of the states and inputs before the step, given those of the state after it and, if something else
        depends on it, of the velocity that moved the fluid."""
        bars = dict(bars)
        for operation, inputs in reversed(self._taken):
            if any(name in bars for name in operation.writes):
                outputs_bar = tuple(
                    bars.pop(name) if name in bars else like[name].zeros_like() for name in operation.writes
                )
                for name, bar in zip(operation.reads, operation.operator.adjoint(inputs, outputs_bar)):
                    bars[name] = bars[name] + bar if name in bars else bar
            if operation.role is Role.CARRY and carrier_bar is not None:
                bars["velocity"] = bars["velocity"] + carrier_bar if "velocity" in bars else carrier_bar
        return bars
