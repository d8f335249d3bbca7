"""The operations of a step, and its observers.

An operation applies one operator to the fields it reads and puts the results under the names it writes. Running a
list of them is McNamara's q_{i+1} = f_i(q_i, u). Code that needs to know what happens during a step (which velocity
moved the fluid, how much a source gave) passes an observer instead of repeating the loop.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from enum import Enum, auto

from keyfluid.fields import Field
from keyfluid.models.state import State
from keyfluid.operators.base import Fields, Operator


class Role(Enum):
    """What an operation is to an observer."""

    PLAIN = auto()
    CARRY = auto()
    """Moves the fluid."""
    LET_IN = auto()
    """A source of the scene: changes the first field it writes."""
    ADD = auto()
    """Adds a rate that was given as an input to the first field it writes."""
    FADE = auto()
    """Removes some of the first field it writes, for good."""


@dataclass(frozen=True)
class Operation:
    """One named operation of a step."""

    name: str
    operator: Operator
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    role: Role = Role.PLAIN


class Observer:
    """Watches a step. Each method is called at one point of the step and does nothing unless overridden."""

    def lasts(self, seconds: float) -> None:
        """The length of the step is known; nothing has been moved."""

    def apply(self, operation: Operation, inputs: Fields) -> Fields:
        """Runs any operation on these fields; one who keeps something of it may do so here."""
        return operation.operator.forward(*inputs)

    def carries(self, fields: State) -> None:
        """The fluid is about to be moved, by fields["velocity"]; once per step."""

    def let_in(self, name: str, before: Field, after: Field) -> None:
        """A source of the scene has changed the field `name`."""

    def added(self, name: str, before: Field, after: Field) -> None:
        """The input "source.NAME" has changed the field `name`."""

    def faded(self, name: str, before: Field, after: Field) -> None:
        """Some of the field `name` has dissipated."""


UNWATCHED = Observer()


def run_operations(operations: Iterable[Operation], fields: State, observe: Observer = UNWATCHED) -> dict[str, Field]:
    """Apply the operations in order; returns all fields."""
    now = dict(fields)
    for operation in operations:
        inputs = tuple(now[name] for name in operation.reads)
        if operation.role is Role.CARRY:
            observe.carries(now)
        outputs = observe.apply(operation, inputs)
        name = operation.writes[0]
        if operation.role is Role.LET_IN:
            observe.let_in(name, now[name], outputs[0])
        elif operation.role is Role.ADD:
            observe.added(name, now[name], outputs[0])
        elif operation.role is Role.FADE:
            observe.faded(name, now[name], outputs[0])
        now.update(zip(operation.writes, outputs))
    return now
