"""States, and stages that turn one into the next.

A state is a set of named fields: "velocity", "density" and whatever else a model carries. A stage applies one
operator to the fields it reads and puts the results under the names it writes. Running a list of stages is
McNamara's q_{i+1} = f_i(q_i, u); running it backwards with adjoints is his equation 12.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from keyfluid.fields import Field
from keyfluid.operators.base import Fields, Operator

State = Mapping[str, Field]
"""Named fields. Fields are never changed in place once they are part of a state."""

Bars = dict[str, Field]
"""Adjoints of named fields; a name that is missing has adjoint zero."""

Tape = dict[int, Fields]
"""Inputs of the nonlinear stages, by their place in the list: all that the adjoint needs to know."""


@dataclass(frozen=True)
class Stage:
    """One named operation of a step."""

    name: str
    operator: Operator
    reads: tuple[str, ...]
    writes: tuple[str, ...]


def run_stages(stages: Iterable[Stage], fields: State, tape: Tape | None = None) -> dict[str, Field]:
    """Apply the stages in order; the inputs of nonlinear ones are put on the tape, if there is one."""
    now = dict(fields)
    for index, stage in enumerate(stages):
        inputs = tuple(now[name] for name in stage.reads)
        if tape is not None and not stage.operator.linear:
            tape[index] = inputs
        now.update(zip(stage.writes, stage.operator.forward(*inputs)))
    return now


def run_tangent(stages: Iterable[Stage], fields: State, d_fields: State) -> tuple[dict[str, Field], Bars]:
    """Apply the stages to a state and to a change of it."""
    now, d_now = dict(fields), dict(d_fields)
    for stage in stages:
        inputs = tuple(now[name] for name in stage.reads)
        d_inputs = tuple(d_now[name] if name in d_now else now[name].zeros_like() for name in stage.reads)
        d_now.update(zip(stage.writes, stage.operator.tangent(inputs, d_inputs)))
        now.update(zip(stage.writes, stage.operator.forward(*inputs)))
    return now, d_now


def run_adjoint(stages: list[Stage], tape: Tape, bars: Bars, like: State) -> Bars:
    """Apply the transposed stages in reverse order to the adjoint of the state after them.

    `like` gives, for every name a stage may write, a field of the right kind, for adjoints that are zero.
    """
    bars = dict(bars)
    for index in range(len(stages) - 1, -1, -1):
        stage = stages[index]
        if not any(name in bars for name in stage.writes):
            continue
        outputs_bar = tuple(
            bars.pop(name) if name in bars else like[name].zeros_like() for name in stage.writes
        )
        inputs_bar = stage.operator.adjoint(tape.get(index, ()), outputs_bar)
        for name, bar in zip(stage.reads, inputs_bar):
            bars[name] = bars[name] + bar if name in bars else bar
    return bars


def state_bytes(state: State) -> int:
    return sum(field.nbytes for field in state.values())
