"""The derivative of one step, recorded while the step runs.

The tape of a step keeps its operations, the inputs of the nonlinear ones and the work that they share with their
derivatives, if there is room: all that tangent and adjoint need.

    d_q1 = J d_q      operation after operation, first to last
    q_bar = J^T q1_bar      transposed, last to first                                   [McNamara 2004, eq. 12]
"""

from __future__ import annotations

from dataclasses import dataclass

from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.models.operation import Observer, Operation, Role
from keyfluid.models.state import Bars, State
from keyfluid.operators.base import Fields, SharedWork


@dataclass(frozen=True, eq=False)
class _Taken:
    """An operation that was run, its inputs if its derivative depends on them, and its work if it was kept."""

    operation: Operation
    inputs: Fields
    work: object = None

    def tangent(self, d_inputs: Fields) -> Fields:
        operator = self.operation.operator
        if self.work is not None and isinstance(operator, SharedWork):
            return operator.tangent_with(self.work, self.inputs, d_inputs)
        return operator.tangent(self.inputs, d_inputs)

    def adjoint(self, outputs_bar: Fields) -> Fields:
        operator = self.operation.operator
        if self.work is not None and isinstance(operator, SharedWork):
            return operator.adjoint_with(self.work, self.inputs, outputs_bar)
        return operator.adjoint(self.inputs, outputs_bar)


class Tape(Observer):
    """Observe a step with it, then ask for derivatives; refuses an operation that has none.

    keep_work: keep the work of operations that share it with their derivatives; else they do it again.
    `like` gives, for every name an operation reads or writes, a field of the right kind, for those that are zero.
    """

    carrier: Field
    """The velocity that moved the fluid."""

    def __init__(self, keep_work: bool = True) -> None:
        self._keep_work = keep_work
        self._taken: list[_Taken] = []

    def carries(self, fields: State) -> None:
        self.carrier = fields["velocity"]

    def apply(self, operation: Operation, inputs: Fields) -> Fields:
        operator = operation.operator
        if not operator.differentiable:
            raise KeyfluidError(
                f"gradient: operation {operation.name!r} ({type(operator).__name__}) has no derivative; "
                "use another operator in its place"
            )
        if self._keep_work and isinstance(operator, SharedWork):
            work = operator.work(*inputs)
            self._taken.append(_Taken(operation, inputs, work))
            return operator.forward_with(work, inputs)
        self._taken.append(_Taken(operation, () if operator.linear else inputs))
        return operator.forward(*inputs)

    def tangent(self, changes: Bars, like: State) -> Bars:
        """Changes of all fields after the step, given those of states and inputs before it."""
        changes = dict(changes)
        for taken in self._taken:
            operation = taken.operation
            given = tuple(changes[name] if name in changes else like[name].zeros_like() for name in operation.reads)
            changes.update(zip(operation.writes, taken.tangent(given)))
        return changes

    def adjoint(self, bars: Bars, like: State, carrier_bar: Field | None = None) -> Bars:
        """Adjoints of the states and inputs before the step, given those of the state after it and, if something else
        depends on it, of the velocity that moved the fluid."""
        bars = dict(bars)
        for taken in reversed(self._taken):
            operation = taken.operation
            if any(name in bars for name in operation.writes):
                outputs_bar = tuple(
                    bars.pop(name) if name in bars else like[name].zeros_like() for name in operation.writes
                )
                for name, bar in zip(operation.reads, taken.adjoint(outputs_bar)):
                    bars[name] = bars[name] + bar if name in bars else bar
            if operation.role is Role.CARRY and carrier_bar is not None:
                bars["velocity"] = bars["velocity"] + carrier_bar if "velocity" in bars else carrier_bar
        return bars
