"""A simulation of many steps and the gradient of an objective of its states.

    value = sum_t phi_t(q_t),     q_{t+1} = f_t(q_t, u_t)
    r_n = dphi_n/dq_n,            r_t = (df_t/dq_t)^T r_{t+1} + dphi_t/dq_t        [McNamara 2004, eq. 12]
    u_t_bar = (df_t/du_t)^T r_{t+1}                                                               [eq. 10]

Bits do not depend on how much is stored: every step is run by the same code on the same inputs, and adjoints are
added from the last step to the first.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.models.model import Model
from keyfluid.models.operation import UNWATCHED, Observer
from keyfluid.models.state import Bars, State, add_bars, state_bytes
from keyfluid.models.tape import Tape
from keyfluid.rollout.forcing import Forcing, StoredForcing
from keyfluid.rollout.plan import MemoryPlan, plan_memory
from keyfluid.rollout.schedule import Schedule


class Objective(Protocol):
    """A sum of terms, each a function of the state after some number of steps."""

    def steps(self) -> Iterable[int]:
        """The states it depends on, by number of steps; 0 is the initial one."""
        ...

    def term(self, step: int, state: State) -> tuple[float, Mapping[str, Field]]:
        """Value of the term and its derivative with respect to the fields of the state."""
        ...


class PathObjective(Protocol):
    """A function of the velocities that moved the fluid, all steps' at once."""

    def term(self, carriers: Sequence[Field]) -> tuple[float, Callable[[], Sequence[Field]]]:
        """Its value, and what computes its derivative by each of them."""
        ...


@dataclass(frozen=True)
class Gradient:
    """Value of an objective, and its gradient with respect to the initial state.

    The gradient with respect to forces and sources went to the forcing's `pull`.
    """

    value: float
    terms: Mapping[int, float]
    initial_bar: Mapping[str, Field]


@dataclass(frozen=True)
class Evaluated:
    """Value of an objective; `gradient` takes the way back, once, for those who want it.

    A line search drops the points that are too high, whose adjoint would be two thirds of their cost.
    """

    value: float
    gradient: Callable[[], Gradient]


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
        one = state_bytes(model.initial_state())
        self.plan: MemoryPlan = plan_memory(steps, one, budget, control_bytes, bar_bytes)
        room = self.plan.total_bytes + steps * model.work_bytes
        self._keep_work = model.work_bytes > 0 and self.plan.places >= steps and (budget is None or room <= budget)
        if self._keep_work:
            self.plan = plan_memory(steps, one, budget, control_bytes, bar_bytes + model.work_bytes)
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
        observe: Observer = UNWATCHED,
    ) -> dict[int, State]:
        """States after the chosen numbers of steps (0: the initial state); the last one always."""
        forcing = forcing or StoredForcing()
        wanted = {*keep, self.last}
        kept = {self.first: state} if self.first in wanted else {}
        for step in range(self.first, self.last):
            state = self.model.step(state, forcing.inputs(step), step, observe)
            if on_step is not None:
                on_step(step + 1, state)
            if step + 1 in wanted:
                kept[step + 1] = state
        return kept

    def gradient(
        self, state: State, objective: Objective, forcing: Forcing | None = None, along: PathObjective | None = None
    ) -> Gradient:
        """Value and gradient; the gradient with respect to forces goes to `forcing.pull`.

        along: is added to the objective.
        """
        return self.evaluate(state, objective, forcing, along).gradient()

    def evaluate(
        self, state: State, objective: Objective, forcing: Forcing | None = None, along: PathObjective | None = None
    ) -> Evaluated:
        """The value, and the gradient if it is asked for. Where not all steps can be stored, the last ones are
        simulated and reversed before the value is known, so the gradient is found at once."""
        forcing = forcing or StoredForcing()
        looks = set(objective.steps())
        beyond = [step for step in looks if not self.first <= step <= self.last]
        if beyond:
            raise KeyfluidError(
                f"objective: looks at steps {sorted(beyond)}; this rollout has {self.first} to {self.last}"
            )
        terms: dict[int, float] = {}

        def look(step: int, now: State) -> Mapping[str, Field]:
            if step not in looks:
                return {}
            terms[step], bar = objective.term(step, now)
            return bar

        at_start = look(self.first, state)
        pushes = _Pushes(along, self.first)
        reversal = _Reversal(self.model, self._schedule, forcing, look, pushes, self._keep_work)

        def value() -> float:
            return sum(terms[step] for step in sorted(terms)) + pushes.value

        def gradient(bars: Bars) -> Gradient:
            add_bars(bars, at_start)
            initial_bar = {name: bars[name] if name in bars else state[name].zeros_like() for name in state}
            return Gradient(value(), terms, initial_bar)

        if self._schedule.split(self.steps, self.plan.places) > 0:
            if along is not None:
                seen = Carriers()
                self.run(state, forcing, observe=seen)
                pushes.find(seen.velocities)
            found = gradient(reversal.whole(state, self.first, self.steps, self.plan.places, {}))
            return Evaluated(found.value, lambda: found)
        taken = reversal.forward(state, self.first, self.steps)
        return Evaluated(value(), lambda: gradient(reversal.back(taken, state, {})))


class Carriers(Observer):
    """Collects the velocities that move the fluid, one for each step of a run."""

    def __init__(self) -> None:
        self.velocities: list[Field] = []

    def carries(self, fields: State) -> None:
        self.velocities.append(fields["velocity"])


@dataclass(eq=False)
class _Pushes:
    """What a path objective adds to the adjoint of each step's velocity: known when all steps have been taken."""

    along: PathObjective | None
    first: int
    value: float = 0.0
    _way_back: Callable[[], Sequence[Field]] | None = None
    _bars: Sequence[Field] | None = None

    def find(self, carriers: Sequence[Field]) -> None:
        if self.along is not None and self._way_back is None and self._bars is None:
            self.value, self._way_back = self.along.term(carriers)

    def at(self, step: int) -> Field | None:
        if self._way_back is not None:
            # What it is computed from is let go before the steps' own adjoints take memory.
            self._bars, self._way_back = self._way_back(), None
        return None if self._bars is None else self._bars[step - self.first]


_Taken = list[tuple[int, Tape, Mapping[str, Field]]]
"""For each step: its number, its tape, and the objective's derivative by the state after it."""


@dataclass(frozen=True, eq=False)
class _Reversal:
    """The way back through the steps. look: an objective's derivative after a step; pushes: a path objective's;
    keep_work: see Tape."""

    model: Model
    schedule: Schedule
    forcing: Forcing
    look: Callable[[int, State], Mapping[str, Field]]
    pushes: _Pushes
    keep_work: bool

    def whole(self, state: State, first: int, count: int, places: int, bars: Bars) -> Bars:
        """Adjoint of the state before step `first`, given that of the state `count` steps later."""
        if count == 0:
            return bars
        ahead = self.schedule.split(count, places)
        if ahead == 0:
            return self.back(self.forward(state, first, count), state, bars)
        middle = state
        for step in range(first, first + ahead):
            middle = self.model.step(middle, self.forcing.inputs(step), step)
        bars = self.whole(middle, first + ahead, count - ahead, max(places - 1, 1), bars)
        del middle
        return self.whole(state, first, ahead, places, bars)

    def forward(self, state: State, first: int, count: int) -> _Taken:
        """Steps with the tape of every one stored."""
        taken: _Taken = []
        for step in range(first, first + count):
            tape = Tape(self.keep_work)
            state = self.model.step(state, self.forcing.inputs(step), step, tape)
            taken.append((step, tape, self.look(step + 1, state)))
        self.pushes.find([tape.carrier for _, tape, _ in taken])
        return taken

    def back(self, taken: _Taken, like: State, bars: Bars) -> Bars:
        """Adjoint of the state before the first of these steps, which are used up."""
        while taken:
            step, tape, term_bar = taken.pop()
            add_bars(bars, term_bar)
            bars = tape.adjoint(bars, like, self.pushes.at(step))
            self.forcing.pull(step, {name: bar for name, bar in bars.items() if name not in like})
            bars = {name: bars[name] for name in like if name in bars}
        return bars
