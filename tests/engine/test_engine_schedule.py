"""The checkpoint schedule: its cost against brute force, its places against what a rollout uses."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest

from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.models import Smoke, SmokeOptions
from keyfluid.rollout import Rollout, plan_memory
from keyfluid.rollout.plan import WORKING_STATES
from keyfluid.rollout.schedule import Schedule
from keyfluid.verify.check import Distance


@cache
def cheapest(steps, places):
    """Forward steps of the best of all splits, tried one by one."""
    if steps <= places:
        return steps
    if places == 1:
        return steps + cheapest(steps - 1, 1)
    return min(m + cheapest(steps - m, places - 1) + cheapest(m, places) for m in range(1, steps))


def replay(schedule, first, count, places, reversed_steps):
    """Follow the splits as a rollout does: (forward steps, most places in use at once)."""
    if count == 0:
        return 0, 0
    ahead = schedule.split(count, places)
    if ahead == 0:
        reversed_steps.extend(range(first + count - 1, first - 1, -1))
        return count, count
    cost, peak = replay(schedule, first + ahead, count - ahead, max(places - 1, 1), reversed_steps)
    more, peak_first = replay(schedule, first, ahead, places, reversed_steps)
    held = 0 if places == 1 else 1  # with one place, the stored state becomes the tape
    return ahead + cost + more, max(peak + held, peak_first)


@pytest.mark.parametrize("places", [1, 2, 3, 4, 7])
@pytest.mark.parametrize("steps", [0, 1, 2, 3, 5, 8, 13, 21])
def test_cost_is_the_least_and_places_suffice(steps, places):
    schedule = Schedule(steps, places)
    order = []
    cost, peak = replay(schedule, 0, steps, places, order)
    assert order == list(range(steps - 1, -1, -1))
    assert cost == schedule.forward_steps == cheapest(steps, places)
    assert peak <= places


@pytest.mark.parametrize(
    ("steps", "places", "cost"),
    [(10, 10, 10), (10, 1, 55), (10, 3, 23), (30, 10, 53), (100, 10, 249), (100, 20, 185)],
)
def test_cost_table(steps, places, cost):
    assert Schedule(steps, places).forward_steps == cost


@pytest.mark.parametrize("places", [1, 2, 4, 12])
def test_a_rollout_runs_as_many_steps_as_its_plan_says(places):
    class Counted(Smoke):
        runs = 0

        def step(self, *arguments):
            self.runs += 1
            return super().step(*arguments)

    grid = Grid((6, 5))
    model = Counted(grid, 0.1, SmokeOptions(dtype=np.float64))
    start = model.initial_state(density=Field.from_function(grid, Kind.CENTRES, lambda x, y: x + 2 * y))
    rollout = Rollout(model, 12, (WORKING_STATES + places) * Rollout(model, 12).plan.state_bytes)
    rollout.gradient(start, Distance(12, Field.zeros(grid, Kind.CENTRES, np.float64)))
    assert rollout.plan.places == places
    assert model.runs == rollout.plan.forward_steps == cheapest(12, places)


def test_a_plan_can_be_read_before_the_run():
    budget = 100_000_000 + (WORKING_STATES + 22) * 33_000_000 + 9_000_000
    plan = plan_memory(30, 33_000_000, budget, control_bytes=100_000_000)
    assert plan.places == 22
    assert plan.total_bytes == budget - 9_000_000
    text = str(plan)
    assert "22 of 30 steps stored (33.0 MB each)" in text
    assert f"memory {plan.total_bytes / 1e9:.2f} GB" in text
    assert "forward runs per gradient" in text
    assert "all stored" in str(plan_memory(30, 33_000_000))


def test_a_budget_too_small_for_one_step_says_what_would_do():
    need = (WORKING_STATES + 1) * 33
    words = rf"budget of 100\.0 MB is too small.*raise the budget to at least {need}\.0 MB"
    with pytest.raises(KeyfluidError, match=words):
        plan_memory(30, 33_000_000, 100_000_000)
    model = Smoke(Grid((16, 16)), 0.1)
    with pytest.raises(KeyfluidError, match=r"budget of 1\.0 kB is too small"):
        Rollout(model, 5, budget=1000)


def test_derivatives_kept_at_every_step_count():
    plan = plan_memory(30, 33_000_000, bar_bytes=25_000_000)
    assert plan.total_bytes - plan_memory(30, 33_000_000).total_bytes == 30 * 25_000_000
    assert plan_memory(30, 33_000_000, plan.total_bytes - 1, bar_bytes=25_000_000).places == 29
