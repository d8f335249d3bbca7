"""What acts on a simulation from outside, step by step, and where its gradient goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

from keyfluid.fields import Field


class Forcing(Protocol):
    """Inputs of each step ("force", "source.density") and the sink of their adjoints.

    `inputs` may be called several times for a step (checkpointing runs steps again) and must then return the
    same values; `pull` is called once per step, from the last to the first.
    """

    def inputs(self, step: int) -> Mapping[str, Field]: ...

    def pull(self, step: int, inputs_bar: Mapping[str, Field]) -> None: ...


class StoredForcing:
    """Forces and sources kept as one mapping per step; their gradient is kept the same way in `bars`."""

    def __init__(self, per_step: Sequence[Mapping[str, Field]] = ()) -> None:
        self.per_step = list(per_step)
        self.bars: list[Mapping[str, Field]] = [{} for _ in self.per_step]

    def inputs(self, step: int) -> Mapping[str, Field]:
        return self.per_step[step] if step < len(self.per_step) else {}

    def pull(self, step: int, inputs_bar: Mapping[str, Field]) -> None:
        if step < len(self.per_step):
            self.bars[step] = {name: inputs_bar[name] for name in self.per_step[step] if name in inputs_bar}
