"""[wind], drag, dissipation and heat in scenes: faults in words, keyframes that thin out, temperatures on the grid."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scene_texts import LETTER, letter
from test_scene_faults import faults_of

from keyfluid.scenes import dump_scene, load_scene
from keyfluid.scenes.build.problem import build

OPEN = "domain.boundary=['open','walls']"
WIND = "wind={velocity=[1.0,0.0]}"


@pytest.mark.parametrize(
    ("overrides", "key", "words"),
    [
        ([WIND], "wind[0].velocity", 'blows along x between walls.*domain.boundary = ["open", "walls"]'),
        (["wind={velocity=[0.0,1.0]}"], "wind[0].velocity", 'domain.boundary = ["walls", "open"]'),
        ([OPEN, "wind={velocity=[0.0,0.0]}"], "wind[0].velocity", "is zero; use smoke.drag"),
        ([OPEN, "wind={velocity=[1.0,0.0,0.0]}"], "wind[0].velocity", "the domain is 2D"),
        ([OPEN, "wind={start=3}"], "wind.velocity", "is missing"),
        ([OPEN, "wind={velocity=[1.0,0.0],gsut=1}"], "wind.gsut", "did you mean 'gust'"),
        ([OPEN, "wind={velocity=[1.0,0.0],start=40}"], "wind[0].start", "not in 0 to 39"),
        ([OPEN, "wind={velocity=[1.0,0.0],start=9,stop=9}"], "wind[0].stop", "not after start"),
        ([OPEN, "wind={velocity=[1.0,0.0],rate=0}"], "wind.rate", "above 0"),
        ([OPEN, "wind={velocity=[1.0,0.0],mask={radius=1}}"], "wind[0].mask", "says nothing to make it of"),
        (["smoke.cooling=1"], "smoke.cooling", "nothing is warm"),
        (["smoke.heat_buoyancy=1"], "smoke.heat_buoyancy", "nothing is warm"),
        (["smoke.drag=-1"], "smoke.drag", "from 0 to"),
        ([OPEN, WIND, "control.method=spacetime"], "wind", 'method "spacetime" has no wind'),
        (["smoke.drag=1", "control.method=spacetime"], "smoke.drag", 'method "spacetime"'),
        (["smoke.dissipation=1", "control.method=particles"], "smoke.dissipation", 'method "particles"'),
        (["smoke.initial.temperature=9", "control.method=particles"], "smoke.initial.temperature", "has no heat"),
    ],
)
def test_faults_name_their_key(overrides, key, words):
    faults = faults_of(LETTER, overrides)
    assert key in faults, faults
    for part in words.split(".*"):
        assert part in faults[key]


def test_a_liquid_has_no_wind_and_no_temperature():
    text = LETTER.replace("[smoke]", "[liquid]").replace(", density = 2.0", "") + '[[source]]\nshape = "disk"\n'
    faults = faults_of(text, [WIND, "source[0].temperature=5"])
    assert set(faults) == {"wind", "source[0].temperature"}


def test_one_wind_is_a_table_and_several_are_a_list():
    one = letter(OPEN, WIND)
    many = letter(OPEN, "wind=[{velocity=[1.0,0.0]},{velocity=[0.5,0.0],start=9,gust=0.2}]")
    assert (len(one.wind), len(many.wind)) == (1, 2)
    for scene in (one, many):
        assert load_scene(dump_scene(scene)) == scene


def test_a_wind_that_walls_hold_back_in_part_is_warned_of():
    problem = build(letter(OPEN, "wind={velocity=[1.0,0.3]}"))
    assert [line for line in problem.warnings if "does nothing between walls" in line]
    masked = build(letter("wind={velocity=[1.0,0.3],mask={shape='disk',radius=0.2}}"))
    assert not [line for line in masked.warnings if "walls" in line]


def test_a_region_reaches_the_open_side_it_touches():
    problem = build(letter(OPEN, "wind={velocity=[1.0,0.0],mask={shape='box',size=[0.4,0.2],center=[0.0,0.375]}}"))
    u, v = problem.winds[0].region.components()
    middle = problem.grid.cells[1] // 2
    assert u[0, middle] == u[1, middle] == 1
    assert u[-1, middle] == v[:, 0].max() == 0


@pytest.mark.parametrize("mass", ["resize", "match"])
def test_keyframes_of_smoke_that_dissipates_keep_their_size_and_thin_out(mass):
    """At frame 40 of 24 per second, exp(-0.6 * 40 / 24) = exp(-1) is left."""
    plain, thin = (build(letter(f"keyframe[0].mass={mass}", *more)) for more in ([], ["smoke.dissipation=0.6"]))
    np.testing.assert_allclose(thin.keyframes[0].target, math.exp(-1) * plain.keyframes[0].target, rtol=1e-6)
    assert thin.keyframes[0].bound == pytest.approx(plain.keyframes[0].bound)


def test_smoke_from_a_source_counts_by_its_age():
    """A rate for 20 of 40 frames: the integral of exp(-k age) over ages of 20 to 40 frames."""
    source = "source=[{shape='disk',center=[0.4,0.35],radius=0.15,rate=2.0,stop=20}]"
    plain, thin = (build(letter("smoke.initial=[]", source, *more)) for more in ([], ["smoke.dissipation=0.6"]))
    left = (math.exp(-0.6 * 20 / 24) - math.exp(-0.6 * 40 / 24)) / (0.6 * 20 / 24)
    assert thin.keyframes[0].mass == pytest.approx(left * plain.keyframes[0].mass, rel=1e-5)


def test_starts_and_sources_warm_the_air_and_nothing_else_does():
    assert build(letter()).temperature is None
    problem = build(letter("smoke.initial.temperature=40.0", "obstacle=[{shape='disk',center=[0.4,0.35],radius=0.05}]"))
    heat = problem.temperature.array
    inside = problem.densities["density"].array > 1.99
    assert np.all(heat[inside] == 40)
    assert heat[problem.solids(0.0).solid].max() == heat[0, 0] == 0
    fed = build(letter("source=[{shape='disk',temperature=-15.0}]"))
    assert np.all(fed.temperature.array == 0)
    assert fed.sources[0].temperature == -15
    assert fed.carried == ("density", "temperature")
