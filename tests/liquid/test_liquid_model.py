"""The liquid model: rest, volume, divergence, falling, viscosity, bodies, taps, and the gradient of ten steps."""

from __future__ import annotations

import numpy as np
import pytest
from liquid_cases import disk, square, step, surface, volume
from scipy.ndimage import gaussian_filter

from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.models.liquid import LIQUID_ORDER, MCNAMARA_LIQUID_ORDER, Liquid, LiquidOptions, Tap
from keyfluid.objectives.surface import SurfaceKey, SurfaceMatch
from keyfluid.operators.base import SharedWork
from keyfluid.operators.diffuse_liquid import DiffuseLiquid
from keyfluid.operators.project import divergence
from keyfluid.operators.project_liquid import ProjectLiquid
from keyfluid.operators.wet import Wet
from keyfluid.rollout import Rollout, StoredForcing
from keyfluid.solids import Solids


@pytest.mark.parametrize(("cells", "up"), [((20, 16), 1), ((8, 7, 9), 2)])
def test_a_flat_level_off_the_grid_stays_at_rest(cells, up):
    grid, fall = Grid(cells), [0.0] * len(cells)
    fall[up] = -9.81
    model = Liquid(grid, 1 / 24, LiquidOptions(dtype=np.float64, gravity=fall, tolerance=1e-12))
    state = model.initial_state(surface=surface(grid, lambda *x: x[up] - 0.3137 + 0 * sum(x)))
    for index in range(50):
        state = step(model, state, index)
    assert state["velocity"].peak() < 1e-8 * 9.81 * 50 / 24


def test_without_ghost_fluid_the_level_would_not_rest(monkeypatch):
    """Pressure zero at the centres of air cells, as if every way were wet to its end: gravity drives a current."""
    grid = Grid((20, 16))
    model = Liquid(grid, 1 / 24, LiquidOptions(dtype=np.float64, gravity=(0.0, -9.81), tolerance=1e-12))
    monkeypatch.setattr("keyfluid.operators.project_liquid.LEAST", 1.0)
    tilted = surface(grid, lambda x, y: y - 0.3137 - 0.11 * x)
    level = surface(grid, lambda x, y: y - 0.3137 + 0 * x)
    moved = [step(model, model.initial_state(surface=phi), 0)["velocity"].peak() for phi in (tilted, level)]
    assert moved[0] > 1e-3  # a slope flows either way; the level's staircase happens to be flat
    assert moved[1] < 1e-8


_WIND_FIRST = ("wind", *(name for name in LIQUID_ORDER if name != "wind"))


def _at_rest(grid, phi):
    """State and number of a first step."""
    return {"surface": phi, "velocity": Field.zeros(grid, Kind.FACES, np.float64)}, 0


@pytest.mark.parametrize("name", ["carried", "turned"])
def test_volume_over_a_hundred_steps(name):
    grid = square(48)
    model = Liquid(grid, 1 / 100, LiquidOptions(dtype=np.float64))
    if name == "carried":
        phi = disk(grid, (0.3, 0.35), 0.15)
        wind = Field.from_function(grid, Kind.FACES, lambda x, y: (0.4 + 0 * x * y, 0.3 + 0 * x * y))
    else:
        phi = surface(grid, lambda x, y: np.maximum(abs(x - 0.5) - 0.25, abs(y - 0.5) - 0.1))
        wind = Field.from_function(grid, Kind.FACES, lambda x, y: (-6.28 * (y - 0.5) + 0 * x, 6.28 * (x - 0.5) + 0 * y))
    state = model.initial_state(surface=phi, velocity=wind)
    before = volume(state)
    for index in range(100):
        state = step(model, state, index)
    assert abs(volume(state) / before - 1) < 0.02
    if name == "carried":
        middle = np.average(np.argwhere(state["surface"].array < 0) + 0.5, axis=0) * grid.spacing
        np.testing.assert_allclose(middle, (0.7, 0.65), atol=0.02)


def test_a_drop_falls_as_a_stone_does():
    grid = square(40)
    model = Liquid(grid, 0.02, LiquidOptions(dtype=np.float64, gravity=(0.0, -2.0)))
    state = model.initial_state(surface=disk(grid, (0.45, 0.7), 0.12))
    for index in range(10):
        state = step(model, state, index)
    wet = np.argwhere(state["surface"].array < 0)
    # Velocity first, then position: t = 0.2 s takes the drop g t (t + dt) / 2 down.
    assert (wet[:, 1].mean() + 0.5) * grid.spacing == pytest.approx(0.7 - 2.0 * 0.2 * 0.22 / 2, abs=0.003)


def test_projection_leaves_no_divergence_in_the_liquid():
    grid = Grid((17, 15))
    phi = disk(grid)
    rng = np.random.default_rng(0)
    wind = Field.of(grid, Kind.FACES, *(rng.normal(size=s) for s in grid.shapes(Kind.FACES)))
    (free,) = ProjectLiquid(grid, tolerance=1e-13).forward(wind, phi)
    wet = Wet.of(phi, None).cells
    assert np.abs(divergence(free)[wet]).max() < 1e-11
    (again,) = ProjectLiquid(grid, tolerance=1e-13).forward(free, phi)
    np.testing.assert_allclose(again.data, free.data, atol=1e-10)


def test_viscosity_slows_shear_and_keeps_momentum():
    grid = Grid((20, 20), boundary="periodic")
    phi = surface(grid, lambda x, y: abs(y - 0.5) - 0.3 + 0 * x)
    shear = Field.from_function(grid, Kind.FACES, lambda x, y: (np.sin(9 * y) + 0.4 + 0 * x, 0 * x * y))
    model = Liquid(grid, 0.1, LiquidOptions(dtype=np.float64, viscosity=0.05))
    diffuse = next(o.operator for o in model.operations(0) if o.name == "diffuse")
    (slow,) = diffuse.forward(shear, phi)
    found = Wet.of(phi, None)
    wet = found.components(found.faces)[0]
    assert slow.component(0)[wet].mean() == pytest.approx(shear.component(0)[wet].mean(), rel=1e-9)
    assert slow.component(0)[wet].std() < 0.7 * shear.component(0)[wet].std()


def test_a_wind_after_viscosity_is_a_rougher_one_before_it():
    """f after DIFFUSE does what (1 - nu dt L) f does before it: both reach the same velocities."""
    grid = square(16)
    phi, wind = disk(grid), smooth(grid, Kind.FACES, 1.5, 4)
    diffuse = DiffuseLiquid(grid, 0.05, 0.1, tolerance=1e-13)
    wet = Wet.of(phi, None).faces
    columns = []
    for place in np.flatnonzero(wet):
        unit = np.zeros(wet.size)
        unit[place] = 1.0
        columns.append(diffuse.forward(wind.like(unit), phi)[0].data[wet])
    before = wind.like(np.where(wet, 0.0, wind.data))
    before.data[wet] = np.linalg.solve(np.array(columns).T, wind.data[wet])
    (felt,) = diffuse.forward(before, phi)
    np.testing.assert_allclose(felt.data[wet], wind.data[wet], atol=1e-10)
    after = step(Liquid(grid, 0.1, LiquidOptions(dtype=np.float64, viscosity=0.05)), *_at_rest(grid, phi), force=wind)
    first = Liquid(grid, 0.1, LiquidOptions(dtype=np.float64, viscosity=0.05, sequence=_WIND_FIRST))
    np.testing.assert_allclose(
        step(first, *_at_rest(grid, phi), force=before)["surface"].data, after["surface"].data, atol=1e-9
    )


def test_liquid_stays_out_of_bodies_and_taps_pour():
    grid = square(24)
    bodies = Solids.from_distance(grid, lambda x, y: np.hypot(x - 0.5, y - 0.2) - 0.12, dtype=np.float64)
    region = disk(grid, (0.5, 0.85), 0.08)
    wind = Field.from_function(grid, Kind.FACES, lambda x, y: (0 * x * y, -1.0 + 0 * x * y))
    mask = wind.like(np.where(np.abs(wind.data) > 0, 1.0, 0.0) * 0)
    tap = Tap(region, mask, wind, 0.0, 0.1)
    model = Liquid(grid, 1 / 48, LiquidOptions(dtype=np.float64, gravity=(0.0, -4.0), solids=bodies, taps=[tap]))
    state = model.initial_state()
    volumes = []
    for index in range(20):
        state = step(model, state, index)
        volumes.append(volume(state))
    assert volumes[0] == pytest.approx(np.pi * 0.08**2, rel=0.1)
    wet = Wet.of(state["surface"], bodies).cells
    assert wet.any()
    assert not wet[bodies.solid].any()


def smooth(grid, kind, size, seed):
    field = Field.zeros(grid, kind, np.float64)
    for values in field.components():
        drawn = gaussian_filter(np.random.default_rng(seed).normal(size=values.shape), 2.5)
        values[...] = size * drawn / np.abs(drawn).max()
    return field


@pytest.mark.parametrize("sequence", ["projected", "paper"])
def test_the_gradient_of_ten_steps_against_central_differences(sequence):
    """Twenty directions in winds and sources; steps of 1e-6, in which no cell changes sides."""
    grid, steps, eps = square(20), 10, 1e-6
    order = {} if sequence == "projected" else {"sequence": MCNAMARA_LIQUID_ORDER}
    options = LiquidOptions(dtype=np.float64, gravity=(0.0, -1.0), viscosity=0.01, tolerance=1e-13, **order)
    model = Liquid(grid, 1 / 24, options)
    start = model.initial_state(surface=disk(grid))
    goal = surface(grid, lambda x, y: np.maximum(abs(x - 0.53) - 0.21, abs(y - 0.46) - 0.16))
    objective = SurfaceMatch([SurfaceKey(steps, goal)], 2 * grid.spacing)
    acting = [
        {"force": smooth(grid, Kind.FACES, 1.5, i), "source.surface": smooth(grid, Kind.CENTRES, 0.05, 100 + i)}
        for i in range(steps)
    ]
    rollout, forcing = Rollout(model, steps), StoredForcing(acting)
    rollout.gradient(start, objective, forcing)

    def wet_and_value(per_step):
        wet = []
        last = rollout.run(start, StoredForcing(per_step), on_step=lambda _, s: wet.append(s["surface"].data < 0))
        return np.concatenate(wet), objective.term(steps, last[steps])[0]

    errors = []
    for seed in range(20 if sequence == "projected" else 5):
        ways = [
            {"force": smooth(grid, Kind.FACES, 1.0, 1000 + 50 * seed + i),
             "source.surface": smooth(grid, Kind.CENTRES, 0.03, 5000 + 50 * seed + i)}
            for i in range(steps)
        ]  # fmt: skip
        sides = []
        for sign in (1, -1):
            moved = [{k: a[k].add_scaled(sign * eps, w[k]) for k in a} for a, w in zip(acting, ways)]
            sides.append(wet_and_value(moved))
        assert np.array_equal(sides[0][0], sides[1][0])
        difference = (sides[0][1] - sides[1][1]) / (2 * eps)
        slope = sum(bar[k].dot(w[k]) for bar, w in zip(forcing.bars, ways) for k in w)
        errors.append(abs(difference / slope - 1))
    assert np.median(errors) < 1e-6
    assert max(errors) < 1e-3


def _water(cells, steps):
    """A blob over a floor, with winds, and a place for it to go."""
    grid = Grid(cells, 1 / cells[0])
    options = LiquidOptions(gravity=(0.0, -1.0, 0.0)[: len(cells)], viscosity=0.01)
    model = Liquid(grid, 1 / 24, options)
    middle = tuple(0.5 * size for size in grid.size)
    start = model.initial_state(surface=disk(grid, middle, 0.3).astype(np.float32))
    goal = disk(grid, tuple(0.9 * m for m in middle), 0.3).astype(np.float32)
    objective = SurfaceMatch([SurfaceKey(steps, goal)], 2 * grid.spacing)
    acting = [{"force": smooth(grid, Kind.FACES, 1.5, i).astype(np.float32)} for i in range(steps)]
    return model, start, objective, acting


@pytest.mark.parametrize("cells", [(16, 14), (10, 9, 8)])
def test_kept_work_changes_no_bit(cells):
    """A budget with no room for it: march, matrices and layers are found again on the way back."""
    model, start, objective, acting = _water(cells, 4)
    plain = Rollout(model, 4)
    tight = Rollout(model, 4, budget=plain.plan.total_bytes - model.work_bytes)
    assert tight.plan.total_bytes == plain.plan.total_bytes - 4 * model.work_bytes
    found = []
    for rollout in (plain, tight):
        forcing = StoredForcing(acting)
        rollout.gradient(start, objective, forcing)
        found.append([bar["force"].data.tobytes() for bar in forcing.bars])
    assert found[0] == found[1]


def _arrays(thing, seen):
    """Bytes of all arrays that something holds, each once."""
    if isinstance(thing, np.ndarray):
        owner = thing if thing.base is None else thing.base
        new = id(owner) not in seen
        seen[id(owner)] = owner
        return getattr(owner, "nbytes", 0) if new else 0
    parts = thing if isinstance(thing, list | tuple) else getattr(thing, "__dict__", {}).values()
    return 0 if isinstance(thing, Grid | Field) else sum(_arrays(part, seen) for part in parts)


@pytest.mark.parametrize("cells", [(40, 40), (20, 18, 16), (260, 250)])
def test_kept_work_is_no_more_than_planned(cells):
    """Of a box that is nearly full, where the matrices are largest; the last one's are solved by multigrid."""
    grid = Grid(cells, 1 / cells[0])
    model = Liquid(grid, 1 / 24, LiquidOptions(viscosity=0.01))
    state = model.initial_state(surface=disk(grid, tuple(0.5 * s for s in grid.size), 0.9).astype(np.float32))
    now = {**state, "force": state["velocity"], "source.surface": state["surface"], "surface before": state["surface"]}
    held, seen = 0, {}
    for operation in model.operations(0):
        if isinstance(operation.operator, SharedWork):
            held += _arrays(operation.operator.work(*(now[name] for name in operation.reads)), seen)
    assert 0.4 * model.work_bytes < held <= 1.02 * model.work_bytes
