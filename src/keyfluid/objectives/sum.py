"""Several objectives at once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from keyfluid.fields import Field
from keyfluid.models.state import State
from keyfluid.rollout.rollout import Objective


@dataclass(frozen=True)
class Scaled:
    """An objective times a number."""

    part: Objective
    factor: float

    def steps(self) -> Iterable[int]:
        return self.part.steps()

    def term(self, step: int, state: State) -> tuple[float, Mapping[str, Field]]:
        value, bars = self.part.term(step, state)
        return self.factor * value, {name: self.factor * bar for name, bar in bars.items()}


class SumOfObjectives:
    """The sum of the parts."""

    def __init__(self, parts: Sequence[Objective]) -> None:
        self.parts = list(parts)
        self._looks = [set(part.steps()) for part in self.parts]

    def steps(self) -> Iterable[int]:
        return set().union(*self._looks)

    def term(self, step: int, state: State) -> tuple[float, Mapping[str, Field]]:
        value = 0.0
        bars: dict[str, Field] = {}
        for part, looks in zip(self.parts, self._looks):
            if step not in looks:
                continue
            more, part_bars = part.term(step, state)
            value += more
            for name, bar in part_bars.items():
                bars[name] = bars[name] + bar if name in bars else bar
        return value, bars
