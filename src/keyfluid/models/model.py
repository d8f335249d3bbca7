"""A fluid in steps of one length: a named list of operations, and the one function that runs it.

    state, inputs -> state            q_{i+1} = f_i(q_i, u_i)                    [McNamara 2004, section 3]

Inputs of a step act from outside: "force" (faces, m/s^2) and "source.NAME" (a rate of the field NAME, per second);
operations whose input is not given are left out. Bodies and sources depend on time, so steps are numbered.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.models.operation import UNWATCHED, Observer, Operation, run_operations
from keyfluid.models.state import State
from keyfluid.solids import Solids

SolidsOverTime = Solids | Callable[[float], Solids | None] | None
"""Bodies that stand still, or a function of time in seconds for moving ones."""

NO_INPUTS: State = MappingProxyType({})


class Model(ABC):
    """carried: names of the centred fields that the fluid carries; nothing: their value where there is no fluid."""

    name: ClassVar[str]
    solids: SolidsOverTime
    varies: bool
    """Whether the operations of two steps can differ."""
    work_bytes: int = 0
    """At most, what a step's operations share with their derivatives (operators/base.py), if it is kept."""

    def __init__(
        self, grid: Grid, dt: float, dtype: np.typing.DTypeLike, carried: Sequence[str], nothing: float = 0.0
    ) -> None:
        self.grid, self.dt, self.dtype = grid, float(dt), np.dtype(dtype)
        self.carried, self._nothing = tuple(carried), nothing
        self._recent: tuple[int, list[Operation]] | None = None

    @abstractmethod
    def constants(self, index: int) -> dict[str, Field]:
        """Fields that operations read and that nothing changes: what sources let in."""

    @abstractmethod
    def _build(self, index: int) -> list[Operation]: ...

    def initial_state(self, velocity: Field | None = None, **fields: Field) -> dict[str, Field]:
        """A checked state in the model's precision; velocity defaults to rest, carried fields to no fluid."""
        strangers = set(fields) - set(self.carried)
        if strangers:
            raise KeyfluidError(f"{self.name}: fields {sorted(strangers)} are not part of this model: {self.carried}")
        empty = Field(self.grid, Kind.CENTRES, np.full(self.grid.count, self._nothing, self.dtype))
        state = {name: fields.get(name) or empty for name in self.carried}
        state["velocity"] = velocity or Field.zeros(self.grid, Kind.FACES, self.dtype)
        for name, field in state.items():
            field.require(self.grid, Kind.FACES if name == "velocity" else Kind.CENTRES, name)
            field.require_finite(name)
        return {name: field.astype(self.dtype) for name, field in state.items()}

    def solids_at(self, index: int) -> Solids | None:
        """The bodies during a step, taken at its end."""
        return self.solids((index + 1) * self.dt) if callable(self.solids) else self.solids

    def operations(self, index: int) -> list[Operation]:
        """The named operations of a step, those without their inputs too."""
        index = index if self.varies else 0
        if self._recent is None or self._recent[0] != index:
            self._recent = (index, self._build(index))
        return self._recent[1]

    def active(self, index: int, inputs: State) -> list[Operation]:
        """The operations of a step, without those whose input (a force, a source) was not given."""
        outside = {"force", *(f"source.{name}" for name in self.carried)}
        if not outside.issuperset(inputs):
            raise KeyfluidError(
                f"{self.name}: inputs {sorted(inputs)} given; a step takes {', '.join(sorted(outside))}"
            )
        missing = outside.difference(inputs)
        return [operation for operation in self.operations(index) if missing.isdisjoint(operation.reads)]

    def step(
        self, state: State, inputs: State = NO_INPUTS, index: int = 0, observe: Observer = UNWATCHED
    ) -> dict[str, Field]:
        """The state after step number `index`, which begins index * dt seconds after the start."""
        observe.lasts(self.dt)
        now = run_operations(self.active(index, inputs), {**state, **self.constants(index), **inputs}, observe)
        return {name: now[name] for name in state}
