"""What a gradient will take in memory and in steps, known before it starts."""

from __future__ import annotations

from dataclasses import dataclass

from keyfluid.errors import OverBudget
from keyfluid.rollout.schedule import Schedule

WORKING_STATES = 9
"""States' worth of memory in use inside a step and its adjoint: states, adjoints, their sums, transforms, framed
copies (measured: 8.6 at 128^3)."""


@dataclass(frozen=True)
class MemoryPlan:
    """How many states and tapes a rollout may store, and what that costs."""

    steps: int
    state_bytes: int
    place_bytes: int
    fixed_bytes: int
    """Working memory of a step, plus controls, their gradient and the optimiser's vectors."""
    places: int
    forward_steps: int

    @property
    def total_bytes(self) -> int:
        return self.fixed_bytes + self.places * self.place_bytes

    @property
    def recompute(self) -> float:
        """Forward runs that one gradient takes; 1 means that everything is stored."""
        return self.forward_steps / self.steps if self.steps else 1.0

    def __str__(self) -> str:
        mode = "all stored" if self.places >= self.steps else f"{self.places} of {self.steps} steps stored"
        return (
            f"memory {_size(self.total_bytes)}: {mode} ({_size(self.place_bytes)} each), "
            f"working and controls {_size(self.fixed_bytes)}; {self.recompute:.2f} forward runs per gradient"
        )


def plan_memory(
    steps: int, state_bytes: int, budget: int | None = None, control_bytes: int = 0, bar_bytes: int = 0
) -> MemoryPlan:
    """Places for tapes and states that fit into `budget` bytes (None: store everything).

    control_bytes: controls, their gradient and the optimiser's vectors.
    bar_bytes: derivatives of the objective that are kept for every stored step.
    """
    place = state_bytes + bar_bytes
    fixed = WORKING_STATES * state_bytes + control_bytes
    places = max(steps, 1)
    if budget is not None:
        places = min(places, (budget - fixed) // place)
        if places < 1:
            need = fixed + place
            raise OverBudget(
                f"memory: a budget of {_size(budget)} is too small; one step takes {_size(need)} here "
                f"({_size(control_bytes)} of it controls); raise the budget to at least {_size(need)} or lower "
                "the resolution"
            )
    schedule = Schedule(steps, places)
    return MemoryPlan(steps, state_bytes, place, fixed, places, schedule.forward_steps if steps else 0)


def _size(count: float) -> str:
    for unit in ("bytes", "kB", "MB"):
        if count < 1000:
            return f"{count:.0f} {unit}" if unit == "bytes" else f"{count:.1f} {unit}"
        count /= 1000
    return f"{count:.2f} GB"
