"""Wind, drag, dissipation and cooling: exact in time, whatever the steps; gradients of whole rollouts with all on."""

from __future__ import annotations

import math

import numpy as np
import pytest
from engine_cases import setting
from test_engine_rollout import VARIABLES, World

from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.models import Observer, Smoke, SmokeOptions
from keyfluid.models.air import TEMPERATURE, Air
from keyfluid.models.driven_smoke import DrivenInputs, DrivenSmoke, DrivenSmokeOptions
from keyfluid.models.wind import Gusts, Wind, whole_air
from keyfluid.operators.relax import Relax
from keyfluid.rollout import Rollout, StoredForcing

GRIDS = {
    "2d": Grid((9, 7), boundary=("open", "walls")),
    "3d": Grid((7, 5, 6), boundary=("periodic", "walls", "open")),
}


def end_of(model, state, steps):
    return Rollout(model, steps).run(state)[steps]


def still(grid, air, dt, **options):
    model = Smoke(grid, dt, SmokeOptions(dtype=np.float64, air=air, **options))
    density = setting(grid.cells, [side.value for side in grid.boundary], False).field(Kind.CENTRES)
    return model, density.like(np.abs(density.data))


def uniform(grid, *speeds):
    field = Field.zeros(grid, Kind.FACES, np.float64)
    for component, speed in zip(field.components(), speeds):
        component[...] = speed
    return field.like(field.data * whole_air(grid, np.float64).data)


@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
@pytest.mark.parametrize("steps", [1, 7])
def test_smoke_and_heat_at_rest_decay_exponentially_however_long_the_steps(grid, steps):
    model, density = still(grid, Air(dissipation=3.0, cooling=5.0), 1.4 / steps, warm=True)
    after = end_of(model, model.initial_state(density=density, temperature=2.0 * density), steps)
    np.testing.assert_allclose(after["density"].data, math.exp(-4.2) * density.data, rtol=1e-13)
    np.testing.assert_allclose(after[TEMPERATURE].data, 2 * math.exp(-7.0) * density.data, rtol=1e-13)


@pytest.mark.parametrize("steps", [1, 7])
def test_a_source_of_smoke_that_dissipates_is_exact_too(steps):
    """rho(t) = rho0 exp(-k t) + r (1 - exp(-k t)) / k."""
    model, density = still(GRIDS["2d"], Air(dissipation=3.0), 0.6 / steps)
    given = StoredForcing([{"source.density": 2.0 * density}] * steps)
    after = Rollout(model, steps).run(model.initial_state(density=density), given)[steps]["density"]
    share = math.exp(-1.8) + 2 * -math.expm1(-1.8) / 3
    np.testing.assert_allclose(after.data, share * density.data, rtol=1e-13)


@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
def test_uniform_air_slows_down_by_drag_exactly(grid):
    model, _ = still(grid, Air(drag=2.0), 0.15)
    start = uniform(grid, 0.4)
    after = end_of(model, model.initial_state(velocity=start), 6)["velocity"]
    np.testing.assert_allclose(after.data, math.exp(-1.8) * start.data, rtol=0, atol=1e-13)


@pytest.mark.parametrize("grid", GRIDS.values(), ids=GRIDS)
@pytest.mark.parametrize("steps", [3, 40])
def test_uniform_air_takes_up_the_wind_as_one_minus_an_exponential(grid, steps):
    """Of a wind from 0.1 s on; its rise of 0.4 s counts half, so by 1.2 s it has blown for 0.9 s."""
    wind = Wind((0.3, 0.0, 0.0)[: grid.dim], whole_air(grid, np.float64), rate=2.0, start=0.1, ramp=0.4)
    model, _ = still(grid, Air(winds=[wind]), 1.2 / steps)
    after = end_of(model, model.initial_state(), steps)["velocity"]
    expected = uniform(grid, 0.3 * -math.expm1(-2.0 * 0.9))
    np.testing.assert_allclose(after.data, expected.data, rtol=0, atol=1e-12)


@pytest.mark.parametrize("steps", [3, 40])
def test_a_wind_that_stops_has_blown_its_time_less_one_rise(steps):
    grid = GRIDS["2d"]
    wind = Wind((0.3, 0.0), whole_air(grid, np.float64), rate=2.0, start=0.1, stop=0.8, ramp=0.2)
    model, _ = still(grid, Air(winds=[wind]), 1.0 / steps)
    after = end_of(model, model.initial_state(), steps)
    expected = uniform(grid, 0.3 * -math.expm1(-2.0 * 0.5))
    np.testing.assert_allclose(after["velocity"].data, expected.data, rtol=0, atol=1e-12)
    assert [wind.strength(time) for time in (0.1, 0.2, 0.45, 0.7, 0.8)] == pytest.approx([0, 0.5, 1, 0.5, 0])


def test_warm_air_rises_by_its_own_buoyancy_and_smoke_by_its_own():
    """A layer as wide as a periodic box, so lift is the same everywhere: speed h T (1 - exp(-k t)) / k in the limit."""
    grid = Grid((6, 5), boundary="periodic")
    model, _ = still(grid, Air(cooling=2.0, heat_buoyancy=0.03), 0.005, warm=True, buoyancy=7.0)
    heat = Field(grid, Kind.CENTRES, np.full(grid.count, 50.0))
    after = end_of(model, model.initial_state(temperature=heat), 100)["velocity"]
    exact = 0.03 * 50 * -math.expm1(-1.0) / 2
    np.testing.assert_allclose(after.component(1), exact, rtol=6e-3)
    assert np.abs(after.component(0)).max() < 1e-12


def test_a_region_is_blown_and_the_rest_is_left_alone():
    grid = Grid((12, 8), boundary="periodic")
    region = Field.from_function(grid, Kind.FACES, lambda x, y: ((y > 0.4) + 0 * x, (y > 0.4) + 0 * x))
    wind = Wind((0.5, 0.0), region, rate=3.0)
    model, _ = still(grid, Air(winds=[wind]), 0.1)
    after = end_of(model, model.initial_state(), 2)["velocity"]
    expected = 0.5 * -math.expm1(-0.6) * region.data * uniform(grid, 1.0).data
    np.testing.assert_allclose(after.data, expected, rtol=0, atol=1e-12)


def test_gusts_depend_on_seed_and_time_alone_and_have_their_strength():
    grid = Grid((24, 20), boundary="open")

    def wind(seed, dtype=np.float64):
        return Wind((1.0, 0.0), whole_air(grid, dtype), 4.0, gusts=Gusts(0.3, 1.5, 0.2, seed))

    one, again, other = wind(3), wind(3), wind(4)
    other.towards(0.7)
    assert one.towards(1.3).data.tobytes() == again.towards(1.3).data.tobytes()
    assert one.towards(1.3).data.tobytes() != other.towards(1.3).data.tobytes()
    calm = uniform(grid, 1.0)
    swells, eddies = [], []
    for time in np.linspace(0, 40, 400):
        gap = one.towards(time) - calm
        swells.append(gap.component(0).mean())
        eddies.append(gap.dot(gap) / gap.data.size)
    # The swell is 0.3 in x; eddies have a mean square of 0.3^2 over both components, the swell 0.3^2 / 2.
    assert np.std(swells) == pytest.approx(0.3, rel=0.15)
    assert np.mean(eddies) == pytest.approx(0.3**2 * 1.5, rel=0.2)


def test_smoke_that_waits_for_its_wind_is_bit_identical_to_smoke_without_one():
    grid = GRIDS["2d"]
    wind = Wind((0.3, 0.1), whole_air(grid, np.float64), rate=2.0, start=44 / 24)
    ends = []
    for winds in ([], [wind]):
        model, density = still(grid, Air(winds=winds), 1 / 24, buoyancy=1.0)
        ends.append(end_of(model, model.initial_state(density=density), 44))
    for name in ends[0]:
        assert ends[0][name].data.tobytes() == ends[1][name].data.tobytes()
    assert [[op.name for op in model.operations(step)].count("wind") for step in (43, 44)] == [0, 1]


def windy(grid):
    region = setting(grid.cells, [side.value for side in grid.boundary], False).field(Kind.FACES)
    region = region.like(np.clip(region.data, 0, 1))
    gusts = Gusts(0.5, 2.0, 0.4, seed=1)
    wind = Wind((0.6, -0.3, 0.2)[: grid.dim], region, 2.0, 0.07, 0.4, 0.1, gusts)
    return Air(dissipation=0.7, cooling=1.5, drag=0.9, heat_buoyancy=0.4, winds=[wind])


@pytest.mark.parametrize("variable", ["density", "velocity", TEMPERATURE, "force"])
def test_gradient_of_ten_steps_that_are_blown_braked_thinned_and_cooled(variable, monkeypatch):
    monkeypatch.setitem(VARIABLES, TEMPERATURE, 2e-4)
    grid = Grid((13, 11), boundary=("open", "walls"))
    world = World((13, 11), sides=("open", "walls"), solids=None, air=windy(grid), warm=True)
    heat = setting((13, 11), ("open", "walls"), False, seed=5).field(Kind.CENTRES)
    world.start = {**world.start, TEMPERATURE: heat}
    assert world.taylor(variable).slope == pytest.approx(2.0, abs=0.1)


def test_gradient_in_3d_past_a_body_in_a_gusty_wind():
    grid = Grid((9, 8, 7), boundary=("open", "walls", "periodic"))
    world = World((9, 8, 7), sides=("open", "walls", "periodic"), air=windy(grid))
    assert world.taylor("force").slope == pytest.approx(2.0, abs=0.1)


def test_the_taylor_test_notices_a_wrong_adjoint(monkeypatch):
    """The derivative of a wind is not 1."""
    monkeypatch.setattr(Relax, "adjoint", lambda self, inputs, outputs_bar: outputs_bar)
    grid = Grid((13, 11), boundary=("open", "walls"))
    world = World((13, 11), sides=("open", "walls"), solids=None, air=windy(grid))
    assert world.taylor("force").slope < 1.5


def test_driven_smoke_has_the_same_air():
    """Its step is one of its own length; in resting air all of it is exact."""
    grid = Grid((9, 7), boundary=("open", "walls"))
    wind = Wind((0.3, 0.0), whole_air(grid, np.float64), rate=2.0, start=0.1)
    air = Air(dissipation=3.0, cooling=5.0, winds=[wind])
    model = DrivenSmoke(grid, DrivenSmokeOptions({"density": 1.0}, np.float64, air=air, warm=True))
    ones = Field(grid, Kind.CENTRES, np.ones(grid.count))
    state = {"density": ones, TEMPERATURE: 2.0 * ones, "velocity": uniform(grid, 0.0)}
    impulse, time = uniform(grid, 0.0), 0.0
    seconds = Seconds()
    while time < 0.4 - 1e-9:
        state = model.step(state, DrivenInputs({}, time, 0.4 - time, impulse), 0, seconds)
        time += seconds.last
    np.testing.assert_allclose(state["velocity"].data, uniform(grid, 0.3 * -math.expm1(-0.6)).data, rtol=0, atol=1e-12)
    # Far from the side where clean air comes in.
    np.testing.assert_allclose(state["density"].array[-1], math.exp(-1.2), rtol=1e-2)
    np.testing.assert_allclose(state[TEMPERATURE].array[-1], 2 * math.exp(-2.0), rtol=1e-2)
    assert seconds.thinned == {"density"}


class Seconds(Observer):
    """The length of the last step, and what has dissipated."""

    def __init__(self):
        self.last, self.thinned = 0.0, set()

    def lasts(self, seconds):
        self.last = seconds

    def faded(self, name, before, after):
        assert after.integral() < before.integral()
        self.thinned.add(name)
