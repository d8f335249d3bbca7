"""Gradients of whole simulations: right by Taylor's theorem, and the same bits however they are computed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from engine_cases import bodies, setting, stacked

from keyfluid.errors import KeyfluidError
from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.models import DEFAULT_ORDER, MCNAMARA_ORDER, Emitter, Operation, Smoke, SmokeOptions, Tape
from keyfluid.operators.advect_limited import AdvectLimited
from keyfluid.rollout import Rollout, StoredForcing
from keyfluid.rollout.plan import WORKING_STATES
from keyfluid.solids import Solids
from keyfluid.threads import set_threads
from keyfluid.verify import random_like, taylor_test
from keyfluid.verify.check import Distance

STEPS = 10
WORLDS = {"2d": (13, 11), "3d": (9, 8, 7)}
# First Taylor step: large enough for the last remainders to stand above rounding, small enough for no foot to
# cross a grid line.
VARIABLES = {"density": 4e-6, "velocity": 4e-6, "force": 6e-5, "source.density": 3e-5}


class Watch:
    """0.5 |density - target|^2 at the end, and a term in velocity and density on the way."""

    def __init__(self, target, wind):
        self.target, self.wind = target, wind

    def steps(self):
        return (0, 4, STEPS)

    def term(self, step, state):
        gap = state["density"] - self.target
        if step == STEPS:
            return 0.5 * gap.dot(gap), {"density": gap}
        push = state["velocity"] - self.wind
        return 0.1 * gap.dot(gap) + 0.05 * push.dot(push), {"density": 0.2 * gap, "velocity": 0.1 * push}


class World:
    """Ten steps of buoyant, viscous smoke past a body, with a force and a source in every step."""

    def __init__(self, cells, dtype=np.float64, sides="walls", **options):
        at = setting(cells, sides, False, dtype)
        grid = at.grid
        options.setdefault("solids", bodies(grid, dtype, moving=False))
        tolerance = 1e-13 if dtype == np.float64 else None
        basic = SmokeOptions(dtype=dtype, buoyancy=3.0, viscosity=1e-3, tolerance=tolerance)
        self.model = Smoke(grid, 0.05, replace(basic, **options))
        self.start = self.model.initial_state(density=at.field(Kind.CENTRES), velocity=0.5 * at.field(Kind.FACES))
        self.inputs = [
            {"force": at.field(Kind.FACES), "source.density": 0.5 * at.field(Kind.CENTRES)} for _ in range(STEPS)
        ]
        self.objective = Watch(at.field(Kind.CENTRES), at.field(Kind.FACES))
        self.rng = at.rng

    def gradient(self, budget=None):
        forcing = StoredForcing(self.inputs)
        return Rollout(self.model, STEPS, budget).gradient(self.start, self.objective, forcing), forcing.bars

    def value(self, start, inputs):
        kept = Rollout(self.model, STEPS).run(start, StoredForcing(inputs), keep=self.objective.steps())
        return sum(self.objective.term(step, state)[0] for step, state in kept.items())

    def taylor(self, variable):
        """Taylor test of the value along a random change of one variable."""
        gradient, bars = self.gradient()
        assert gradient.value == pytest.approx(self.value(self.start, self.inputs), rel=1e-14)
        if variable in self.start:
            (change,) = random_like((self.start[variable],), self.rng)
            slope = gradient.initial_bar[variable].dot(change)

            def value(h):
                moved = {**self.start, variable: self.start[variable].add_scaled(h, change)}
                return np.array([self.value(moved, self.inputs)])

        else:
            changes = [random_like((given[variable],), self.rng)[0] for given in self.inputs]
            slope = sum(bar[variable].dot(change) for bar, change in zip(bars, changes))

            def value(h):
                moved = [
                    {**given, variable: given[variable].add_scaled(h, change)}
                    for given, change in zip(self.inputs, changes)
                ]
                return np.array([self.value(self.start, moved)])

        result = taylor_test(value, np.array([slope]), [VARIABLES[variable] * 2.0**-k for k in range(5)])
        assert abs(slope) > 1e-3
        return result


@pytest.mark.parametrize("variable", VARIABLES)
@pytest.mark.parametrize("world", WORLDS)
def test_gradient_of_ten_steps_past_a_body(world, variable):
    assert World(WORLDS[world]).taylor(variable).slope == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize("world", WORLDS)
def test_gradient_without_a_body_between_mixed_sides(world):
    sides = ("periodic", "open", "walls")[: len(WORLDS[world])]
    assert World(WORLDS[world], sides=sides, solids=None).taylor("force").slope == pytest.approx(2.0, abs=0.1)


@pytest.mark.parametrize(("order", "feet"), [(1, "own"), (3, "own"), (2, "shared")])
def test_gradient_for_other_backtraces(order, feet):
    assert World((13, 11), order=order, feet=feet).taylor("velocity").slope == pytest.approx(2.0, abs=0.1)


def test_gradient_in_mcnamaras_order():
    world = World((13, 11), sequence=MCNAMARA_ORDER)
    assert [operation.name for operation in world.model.operations(0)] == [
        "source", "force", "advect", "empty bodies", "diffuse", "heat", "project",
    ]  # fmt: skip
    assert world.taylor("force").slope == pytest.approx(2.0, abs=0.1)


def test_by_default_the_field_that_advects_is_the_projected_one():
    world = World((13, 11))
    assert DEFAULT_ORDER == ("force", "diffuse", "heat", "project", "advect")
    assert [operation.name for operation in world.model.operations(0)] == [
        "source", "force", "diffuse", "heat", "project", "advect", "empty bodies",
    ]  # fmt: skip


def moving_ball(grid):
    def at(time):
        def distance(*x):
            return sum((a - c) ** 2 for a, c in zip(x, (0.3 + 0.5 * time, 0.45, 0.5))) - 0.15**2

        return Solids.from_distance(grid, distance, [0.5, 0.0, 0.0][: grid.dim], np.float64)

    return at


@pytest.mark.parametrize("world", WORLDS)
def test_gradient_with_a_moving_body_and_emitters(world):
    cells = WORLDS[world]
    at = setting(cells, ("walls", "open", "walls")[: len(cells)], False, seed=5)
    mask, wind_mask = at.field(Kind.CENTRES), at.field(Kind.FACES)
    emitters = [
        Emitter(
            mask.like(np.clip(mask.data, 0, 1)), at.field(Kind.CENTRES),
            velocity_mask=wind_mask.like(np.clip(wind_mask.data, 0, 0.5)), velocity=at.field(Kind.FACES),
            start=0.1, stop=0.3,
        )
    ]  # fmt: skip
    scene = World(cells, sides=at.grid.boundary, solids=moving_ball(at.grid), emitters=emitters)
    names = [[operation.name for operation in scene.model.operations(step)] for step in (1, 2, 5, 6)]
    assert [("emit" in step, "blow" in step) for step in names] == [
        (False,) * 2,
        (True,) * 2,
        (True,) * 2,
        (False,) * 2,
    ]
    solid = [scene.model.solids_at(step).solid for step in (0, STEPS - 1)]
    assert (solid[0] != solid[1]).any()
    for variable in VARIABLES:
        assert scene.taylor(variable).slope == pytest.approx(2.0, abs=0.1), variable


def bits(result):
    gradient, bars = result
    parts = [*gradient.initial_bar.values(), *(field for bar in bars for field in bar.values())]
    return gradient.value, b"".join(part.data.tobytes() for part in parts)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("world", WORLDS)
def test_storage_and_threads_change_no_bit(world, dtype):
    scene = World({"2d": (40, 33), "3d": (26, 17, 19)}[world], dtype)
    state_bytes = Rollout(scene.model, STEPS).plan.state_bytes
    stored = bits(scene.gradient())
    for places in (1, 2, 3, 7):
        assert bits(scene.gradient((WORKING_STATES + places) * state_bytes)) == stored, places
    set_threads(2)
    assert bits(scene.gradient()) == stored
    assert bits(scene.gradient((WORKING_STATES + 3) * state_bytes)) == stored


def test_a_checkpointed_gradient_with_moving_body_has_the_same_bits():
    grid = Grid((13, 11))
    scene = World((13, 11), solids=moving_ball(grid))
    state_bytes = Rollout(scene.model, STEPS).plan.state_bytes
    assert bits(scene.gradient((WORKING_STATES + 2) * state_bytes)) == bits(scene.gradient())


@pytest.mark.parametrize("world", WORLDS)
def test_tangent_of_a_step_against_its_adjoint(world):
    """<J x, y> = <x, J^T y> for the whole step, through the list of operations."""
    scene = World(WORLDS[world])
    fields = {**scene.start, **scene.inputs[0]}
    change = dict(zip(fields, random_like(tuple(fields.values()), scene.rng)))
    bar = dict(zip(scene.start, random_like(tuple(scene.start.values()), scene.rng)))
    tape = Tape()
    scene.model.step(scene.start, scene.inputs[0], 0, tape)
    moved = tape.tangent(change, fields)
    pulled = tape.adjoint(bar, scene.start)
    left = sum(moved[name].dot(bar[name]) for name in bar)
    right = sum(change[name].dot(pulled[name]) for name in change)
    scale = np.linalg.norm(stacked([moved[n] for n in bar])) * np.linalg.norm(stacked(bar.values()))
    assert abs(left - right) < 1e-12 * scale


def test_an_operation_without_a_derivative_is_refused_by_name():
    grid = Grid((6, 5))

    class Limited(Smoke):
        def operations(self, index):
            limited = Operation("limit", AdvectLimited(grid, 0.01), ("density", "velocity"), ("density",))
            return [*super().operations(index), limited]

    model = Limited(grid, 0.01, SmokeOptions(dtype=np.float64))
    start = model.initial_state()
    Rollout(model, 2).run(start)
    with pytest.raises(KeyfluidError, match=r"'limit'.*no derivative"):
        Rollout(model, 2).gradient(start, Distance(2, start["density"]))


def test_run_keeps_the_states_it_is_asked_for():
    scene = World((13, 11))
    seen = []
    kept = Rollout(scene.model, 3).run(
        scene.start, StoredForcing(scene.inputs), keep=(0, 2), on_step=lambda step, state: seen.append(step)
    )
    assert sorted(kept) == [0, 2, 3]
    assert seen == [1, 2, 3]
    by_hand = scene.start
    for step in range(3):
        by_hand = scene.model.step(by_hand, scene.inputs[step], step)
    for name in by_hand:
        assert kept[3][name].data.tobytes() == by_hand[name].data.tobytes()


def test_a_rollout_of_no_steps_has_the_gradient_of_its_start():
    grid = Grid((5, 4))
    model = Smoke(grid, 0.1, SmokeOptions(dtype=np.float64))
    start = model.initial_state(density=Field.zeros(grid, Kind.CENTRES, np.float64))

    class Start:
        def steps(self):
            return (0,)

        def term(self, step, state):
            ones = state["density"].like(np.arange(20.0))
            return ones.dot(state["density"]), {"density": ones}

    gradient = Rollout(model, 0).gradient(start, Start())
    assert gradient.initial_bar["density"].data.tolist() == list(range(20))
    assert gradient.initial_bar["velocity"].peak() == 0


def test_several_densities_are_carried_and_lift_alike():
    grid = Grid((9, 8))
    at = setting((9, 8), "walls", False)
    smoke, steam = at.field(Kind.CENTRES), at.field(Kind.CENTRES)
    two = Smoke(grid, 0.05, SmokeOptions(dtype=np.float64, densities=("smoke", "steam"), buoyancy=2.0))
    one = Smoke(grid, 0.05, SmokeOptions(dtype=np.float64, buoyancy=2.0))
    pair = Rollout(two, 3).run(two.initial_state(smoke=smoke, steam=steam))[3]
    both = Rollout(one, 3).run(one.initial_state(density=smoke + steam))[3]
    np.testing.assert_allclose((pair["smoke"] + pair["steam"]).data, both["density"].data, rtol=0, atol=1e-13)
    assert both["velocity"].peak() > 0.05
