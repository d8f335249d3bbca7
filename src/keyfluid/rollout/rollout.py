"""A simulation of many steps and the gradient of an objective of its states.

    value = sum_t phi_t(q_t),     q_{t+1} = f_t(q_t, u_t)
    r_n = dphi_n/dq_n,            r_t = (df_t/dq_t)^T r_{t+1} + dphi_t/dq_t        [McNamara 2004, eq. 12]
    u_t_bar = (df_t/du_t)^T r_{t+1}                                                               [eq. 10]

Bits do not depend on how much is stored: every step is run by the same code on the same inputs, and adjoints are
added from the last step to the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol

from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.models.stage import Bars, Stage, State, Tape, run_adjoint, run_stages, state_bytes
from keyfluid.rollout.forcing import Forcing, StoredForcing
from keyfluid.rollout.plan import MemoryPlan, plan_memory
from keyfluid.rollout.schedule import Schedule


class Model(Protocol):
    """What a rollout must know of a model: smoke or liquid."""

    def initial_state(self) -> dict[str, Field]: ...

    def constants(self, step: int) -> dict[str, Field]: ...

    def active(self, step: int, inputs: State) -> list[Stage]:
        """The stages of a step that have their inputs."""
        ...


class Objective(Protocol):
    """A sum of terms, each a function of the state after some number of steps."""

    def steps(self) -> Iterable[int]:
        """Which states it looks at; 0 is the initial one."""
        ...

    def term(self, step: int, state: State) -> tuple[float, Mapping[str, Field]]:
        """Value of the term and its derivative with respect to the fields of the state."""
        ...


@dataclass(frozen=True)
class Gradient:
    """Value of an objective, and its gradient with respect to the initial state.

    The gradient with respect to forces and sources went to the forcing's `pull`.
    """

    value: float
    terms: Mapping[int, float]
    initial_bar: Mapping[str, Field]


@dataclass
class _Taped:
    """One step, ready to be reversed."""

    step: int
    stages: list[Stage]
    tape: Tape
    term_bar: Mapping[str, Field]


class Rollout:
    """Runs a model for a number of steps.

    budget: bytes that a gradient may take for states and working memory; None stores every step.
    control_bytes: what else lives in that budget.
    first: number of the first step, for a piece of a longer simulation; steps keep their numbers.
    bar_bytes: derivatives that an objective of every step leaves there.
    """

    def __init__(
        self,
        model: Model,
        steps: int,
        budget: int | None = None,
        control_bytes: int = 0,
        first: int = 0,
        bar_bytes: int = 0,
    ) -> None:
        if steps < 0:
            raise KeyfluidError(f"rollout: {steps} steps; it takes zero or more")
        self.model = model
        self.first = first
        self.steps = steps
        self.plan: MemoryPlan = plan_memory(steps, state_bytes(model.initial_state()), budget, control_bytes, bar_bytes)
        self._schedule = Schedule(steps, self.plan.places)

    @property
    def last(self) -> int:
        """Number of steps taken by the end, counted from the start of the simulation."""
        return self.first + self.steps

    def run(
        self,
        state: State,
        forcing: Forcing | None = None,
        keep: Iterable[int] = (),
        on_step: Callable[[int, State], None] | None = None,
    ) -> dict[int, State]:
        """States after the chosen numbers of steps (0: the initial state); the last one always."""
        forcing = forcing or StoredForcing()
        wanted = {*keep, self.last}
        kept = {self.first: state} if self.first in wanted else {}
        for step in range(self.first, self.last):
            state = self._advance(state, step, forcing)
            if on_step is not None:
                on_step(step + 1, state)
            if step + 1 in wanted:
                kept[step + 1] = state
        return kept

    def gradient(self, state: State, objective: Objective, forcing: Forcing | None = None) -> Gradient:
        """Value and gradient; the gradient with respect to forces goes to `forcing.pull`."""
        forcing = forcing or StoredForcing()
        looks = set(objective.steps())
        beyond = [step for step in looks if not self.first <= step <= self.last]
        if beyond:
            raise KeyfluidError(
                f"objective: looks at steps {sorted(beyond)}; this rollout has {self.first} to {self.last}"
            )
        terms: dict[int, float] = {}
        bars: Bars = {}
        if self.first in looks:
            terms[self.first], start = objective.term(self.first, state)
            bars_at_start = dict(start)
        else:
            bars_at_start = {}

        def look(step: int, now: State) -> Mapping[str, Field]:
            if step not in looks:
                return {}
            terms[step], bar = objective.term(step, now)
            return bar

        bars = self._reverse(state, self.first, self.steps, self.plan.places, bars, forcing, look)
        _add(bars, bars_at_start)
        initial_bar = {name: bars[name] if name in bars else state[name].zeros_like() for name in state}
        return Gradient(sum(terms[step] for step in sorted(terms)), terms, initial_bar)

    def _advance(self, state: State, step: int, forcing: Forcing) -> dict[str, Field]:
        inputs = forcing.inputs(step)
        fields = {**state, **self.model.constants(step), **inputs}
        now = run_stages(self.model.active(step, inputs), fields)
        return {name: now[name] for name in state}

    def _reverse(
        self,
        state: State,
        first: int,
        count: int,
        places: int,
        bars: Bars,
        forcing: Forcing,
        look: Callable[[int, State], Mapping[str, Field]],
    ) -> Bars:
        """Adjoint of the state before step `first`, given that of the state `count` steps later."""
        if count == 0:
            return bars
        ahead = self._schedule.split(count, places)
        if ahead == 0:
            return self._reverse_taped(state, first, count, bars, forcing, look)
        middle = state
        for step in range(first, first + ahead):
            middle = self._advance(middle, step, forcing)
        bars = self._reverse(middle, first + ahead, count - ahead, max(places - 1, 1), bars, forcing, look)
        del middle
        return self._reverse(state, first, ahead, places, bars, forcing, look)

    def _reverse_taped(
        self,
        state: State,
        first: int,
        count: int,
        bars: Bars,
        forcing: Forcing,
        look: Callable[[int, State], Mapping[str, Field]],
    ) -> Bars:
        taped: list[_Taped] = []
        like = state
        for step in range(first, first + count):
            inputs = forcing.inputs(step)
            constants = self.model.constants(step)
            stages = self.model.active(step, inputs)
            _require_derivatives(stages)
            tape: Tape = {}
            fields = {**state, **constants, **inputs}
            now = run_stages(stages, fields, tape)
            state = {name: now[name] for name in state}
            taped.append(_Taped(step, stages, tape, look(step + 1, state)))
        del fields, now
        while taped:
            item = taped.pop()
            _add(bars, item.term_bar)
            bars = run_adjoint(item.stages, item.tape, bars, like)
            outside = {name: bar for name, bar in bars.items() if name not in like}
            forcing.pull(item.step, outside)
            bars = {name: bars[name] for name in like if name in bars}
        return bars


def _require_derivatives(stages: Iterable[Stage]) -> None:
    for stage in stages:
        if not stage.operator.differentiable:
            raise KeyfluidError(
                f"rollout: stage {stage.name!r} ({type(stage.operator).__name__}) has no derivative; "
                "a gradient needs another operator in its place"
            )


def _add(bars: Bars, more: Mapping[str, Field]) -> None:
    for name, bar in more.items():
        bars[name] = bars[name] + bar if name in bars else bar
