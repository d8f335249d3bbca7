"""Observers of a step: what they are told, when, how often, and that watching changes nothing."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from engine_cases import setting

from keyfluid.fields import Field
from keyfluid.grid import Grid, Kind
from keyfluid.models import MCNAMARA_ORDER, Emitter, Observer, Smoke, SmokeOptions, Tape
from keyfluid.models.driven_smoke import DrivenInputs, DrivenSmoke, DrivenSmokeOptions
from keyfluid.models.inlet import Inlet
from keyfluid.models.liquid import Liquid, LiquidOptions, Tap
from keyfluid.models.pull import Coefficients, DrivenGoal, Pull
from keyfluid.operators.blur import gaussian_blur
from keyfluid.operators.project import relative_divergence
from keyfluid.operators.redistance import Redistance


class Diary(Observer):
    """Writes down what it is told, in order."""

    def __init__(self):
        self.entries, self.masses = [], []

    def lasts(self, seconds):
        self.seconds = seconds
        self.entries.append("lasts")

    def apply(self, operation, inputs):
        assert len(inputs) == len(operation.reads)
        self.entries.append(operation.name)
        return super().apply(operation, inputs)

    def carries(self, fields):
        self.carrier, self.fields = fields["velocity"], dict(fields)
        self.entries.append("carries")

    def let_in(self, name, before, after):
        self.entries.append(f"let in {name}")
        self.masses.append(after.integral() - before.integral())

    def added(self, name, before, after):
        self.entries.append(f"added {name}")
        self.masses.append(after.integral() - before.integral())


def unwatched_is_the_same(model, state, inputs):
    diary = Diary()
    watched, alone = model.step(state, inputs, 0, diary), model.step(state, inputs, 0)
    assert list(watched) == list(state)
    for name in state:
        assert watched[name].data.tobytes() == alone[name].data.tobytes()
    return diary, watched


def smoke(**changes):
    at = setting((9, 8), "walls", False)
    mask, wind = at.field(Kind.CENTRES), at.field(Kind.FACES)
    emitter = Emitter(
        mask.like(np.clip(mask.data, 0, 1)), at.field(Kind.CENTRES),
        velocity_mask=wind.like(np.clip(wind.data, 0, 0.5)), velocity=at.field(Kind.FACES),
    )  # fmt: skip
    options = SmokeOptions(dtype=np.float64, buoyancy=2.0, emitters=[emitter])
    state = {"density": at.field(Kind.CENTRES), "velocity": at.field(Kind.FACES)}
    inputs = {"force": at.field(Kind.FACES), "source.density": at.field(Kind.CENTRES)}
    return Smoke(at.grid, 0.05, replace(options, **changes)), state, inputs


def test_a_step_of_smoke_is_told_in_order():
    diary, _ = unwatched_is_the_same(*smoke())
    assert diary.entries == [
        "lasts", "emit", "let in density", "blow", "source", "added density", "force", "heat", "project",
        "carries", "advect",
    ]  # fmt: skip
    assert diary.seconds == 0.05


def test_what_sources_give_is_the_change_of_mass():
    model, state, inputs = smoke()
    diary, _ = unwatched_is_the_same(model, state, inputs)
    emitter = model.options.emitters[0]
    held = emitter.mask.data * (emitter.density.data - state["density"].data)
    volume = model.grid.cell_volume
    assert diary.masses == pytest.approx([held.sum() * volume, 0.05 * inputs["source.density"].integral()], rel=1e-12)


@pytest.mark.parametrize(("sequence", "free"), [(SmokeOptions.sequence, True), (MCNAMARA_ORDER, False)])
def test_the_carrier_is_the_velocity_that_advects(sequence, free):
    model, state, inputs = smoke(sequence=sequence)
    diary, after = unwatched_is_the_same(model, state, inputs)
    assert (relative_divergence(diary.carrier) < 1e-12) is free
    advect = next(o for o in model.operations(0) if o.name == "advect")
    moved = advect.operator.forward(*(diary.fields[name] for name in advect.reads))
    assert moved[0].data.tobytes() == after["density"].data.tobytes()


def test_operations_without_their_input_are_not_told():
    model, state, _ = smoke()
    diary, _ = unwatched_is_the_same(model, state, {})
    assert not {"source", "force", "added density"} & set(diary.entries)
    assert "carries" in diary.entries


def test_a_step_of_liquid_is_told_in_order():
    grid = Grid((12, 11))
    at = setting((12, 11), "walls", False)
    (phi,) = Redistance(grid).forward(at.field(Kind.CENTRES))
    (region,) = Redistance(grid).forward(
        Field.from_function(grid, Kind.CENTRES, lambda x, y: np.hypot(x - 0.4, y - 0.5) - 0.2)
    )
    model = Liquid(grid, 0.02, LiquidOptions(dtype=np.float64, gravity=(0.0, -1.0), taps=[Tap(region)]))
    state = model.initial_state(surface=phi, velocity=at.field(Kind.FACES))
    inputs = {"force": at.field(Kind.FACES), "source.surface": 0.1 * at.field(Kind.CENTRES)}
    diary, _ = unwatched_is_the_same(model, state, inputs)
    assert diary.entries == [
        "lasts", "pour", "let in surface", "source", "added surface", "gravity", "force", "project", "extrapolate",
        "remember", "carries", "advect surface", "advect", "redistance", "keep volume",
    ]  # fmt: skip
    poured = np.minimum(phi.data, region.data)
    assert diary.masses[0] == pytest.approx((poured - phi.data).sum() * grid.cell_volume, rel=1e-12)
    np.testing.assert_allclose(diary.fields["surface"].data, poured + 0.02 * inputs["source.surface"].data, atol=1e-14)


def driven(**changes):
    at = setting((16, 14), "walls", False)
    grid = at.grid
    blob = Field.from_function(grid, Kind.CENTRES, lambda x, y: np.exp(-40 * ((x - 0.4) ** 2 + (y - 0.5) ** 2)))
    mask = blob.like((blob.data > 0.5).astype(float))
    blur = gaussian_blur(grid, 0.1)
    goal = DrivenGoal(blob, blur.forward(blob)[0], at.field(Kind.FACES), 0.1 * at.field(Kind.FACES), blob.integral())
    pull = Pull(goal, Coefficients(3.0, 2.0, 0.01), 0.1, blur)
    wind = at.field(Kind.FACES)
    inlets = [
        Inlet("a", mask, rate=2.0, velocity_mask=wind.like(np.clip(wind.data, 0, 0.5)), velocity=wind),
        Inlet("b", mask, density=blob.like(np.full_like(blob.data, 0.7))),
        Inlet("b", mask, rate=9.0, start=1.0),
    ]
    options = DrivenSmokeOptions({"a": 1.0, "b": 1.0}, np.float64, buoyancy=0.5, inlets=inlets, equalise=1.0)
    model = DrivenSmoke(grid, replace(options, **changes))
    state = {"a": blob, "b": blob.like(0.5 * blob.data[::-1]), "velocity": at.field(Kind.FACES)}
    return model, model.projected(state), DrivenInputs({"a": pull}, 0.5, 0.04, wind.zeros_like())


def test_a_step_of_driven_smoke_is_the_papers():
    model, state, inputs = driven()
    diary, after = unwatched_is_the_same(model, state, inputs)
    assert diary.entries == [
        "blow", "lasts", "emit", "let in a", "emit", "let in b", "force and attenuate", "heat", "heat",
        "advect momentum", "project", "carries", "advect and gather", "advect and gather", "equalise",
    ]  # fmt: skip
    assert diary.carrier.data.tobytes() == after["velocity"].data.tobytes()
    assert 0.04 / diary.seconds == pytest.approx(round(0.04 / diary.seconds))
    assert 0 < diary.seconds < 0.04
    mask = model.options.inlets[0].mask
    held = mask.data * (0.7 - state["b"].data)
    expected = [2.0 * diary.seconds * mask.integral(), held.sum() * model.grid.cell_volume]
    assert diary.masses == pytest.approx(expected, rel=1e-12)


def test_without_pulls_driven_smoke_is_carried_only():
    model, state, inputs = driven()
    diary, after = unwatched_is_the_same(model, state, replace(inputs, pulls={}))
    assert not {"force and attenuate", "equalise"} & set(diary.entries)
    assert not inputs.impulse.data.any()
    given = diary.masses
    for name, gained in zip("ab", given):
        assert after[name].integral() == pytest.approx(state[name].integral() + gained, rel=1e-12)


def test_the_impulse_is_what_control_does_to_the_velocity():
    """Force and attenuation, and nothing else: added up over steps."""
    model, state, inputs = driven(inlets=(), buoyancy=0.0)
    diary = Diary()
    model.step(state, inputs, 0, diary)
    once = inputs.impulse.copy()
    force = model.control_force(state, replace(inputs, impulse=once.zeros_like()), diary.seconds)
    np.testing.assert_allclose(once.data, diary.seconds * force.data, rtol=0, atol=1e-14)
    assert once.norm() > 0.01
    model.step(state, inputs, 0)
    np.testing.assert_allclose(inputs.impulse.data, 2 * once.data, rtol=1e-12)


def test_a_tape_refuses_driven_smoke():
    model, state, inputs = driven()
    with pytest.raises(ValueError, match=r"'force and attenuate' \(_Kick\) has no derivative"):
        model.step(state, inputs, 0, Tape())
