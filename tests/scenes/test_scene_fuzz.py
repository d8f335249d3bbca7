"""Whatever the text, a scene or a KeyfluidError, and soon."""

from __future__ import annotations

import contextlib
import string
import time

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from scene_texts import LETTER, VOLUME

from keyfluid.errors import KeyfluidError
from keyfluid.scenes import Scene, dump_scene, load_scene, scene_from
from keyfluid.scenes.build.problem import build
from keyfluid.scenes.schema.bodies import KIND_KEYS
from keyfluid.scenes.schema.scene import KeyframeEntry, Obstacle

KEYS = sorted(
    {
        *Scene.model_fields,
        *KeyframeEntry.model_fields,
        *Obstacle.model_fields,
        *KIND_KEYS,
        "initial",
        "resolution",
    }
    | {"fps", "frames", "boundary", "method", "buoyancy", "x", "", "a b"}
)
scalars = (
    st.booleans()
    | st.integers(-(10**30), 10**30)
    | st.integers(-3, 50)
    | st.floats()
    | st.sampled_from(["disk", "box", "auto", "first-key", "resize", "none", "open", "density", "a\0b", "~x", "y", "z"])
    | st.text(max_size=8)
    | st.dates()
    | st.none()
)
values = st.recursive(
    scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner, max_size=5),
    max_leaves=25,
)
tables = {key: values for key in Scene.model_fields}
relaxed = settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.too_slow])


def check_load(text):
    started = time.perf_counter()
    scene = None
    with contextlib.suppress(KeyfluidError):
        scene = load_scene(text)
    assert time.perf_counter() - started < 5.0
    if scene is not None:
        assert load_scene(dump_scene(scene)) == scene


@relaxed
@given(st.text(max_size=400))
def test_any_text(text):
    check_load(text + "\n")


@relaxed
@given(st.text(alphabet=string.printable, max_size=60), st.integers(0, len(LETTER)), st.integers(0, 30))
def test_damaged_scenes(insert, at, cut):
    check_load(LETTER[:at] + insert + LETTER[at + cut :] + "\n")


@relaxed
@given(
    st.sampled_from(["[", "{a=", "[[", "a.", '"', "'''", "[a.", "-", "9", "\\u", "#", "\n[[x]]", "\nx.y.z = 1"]),
    st.integers(1, 40_000),
    st.text(alphabet="=]}\"'1a\n. ", max_size=12),
)
def test_repeated_pieces(piece, times, end):
    check_load("x = " * (times % 2) + piece * times + end + "\n")


@relaxed
@given(st.fixed_dictionaries({}, optional=tables))
def test_any_tables(data):
    with contextlib.suppress(KeyfluidError):
        assert isinstance(scene_from(data), Scene)


body = st.fixed_dictionaries(
    {"shape": st.sampled_from(["disk", "box", "star", "ring", "torus", "cone", "heart", "capsule"])},
    optional={
        "radius": st.floats(1e-9, 1e9),
        "thickness": st.floats(1e-9, 1e9),
        "center": st.lists(st.floats(-2, 2), min_size=2, max_size=3),
        "scale": st.floats(1e-9, 1e9),
        "fit": st.floats(1e-6, 1e6),
        "rotation": st.floats(-1e6, 1e6),
    },
)


@settings(deadline=None, max_examples=120, suppress_health_check=[HealthCheck.too_slow])
@given(
    start=body,
    key=body,
    obstacle=body,
    rule=st.sampled_from(["resize", "match", "keep"]),
    size=st.sampled_from([[1.0, 1.0], [1.0, 0.7, 0.5], [3e-6, 2e-6], [1e5, 1e5]]),
)
def test_any_bodies_build_or_say_why(start, key, obstacle, rule, size):
    data = {
        "domain": {"size": size, "resolution": 12},
        "smoke": {"initial": start},
        "keyframe": [{**key, "frame": 3, "mass": rule}],
        "obstacle": [obstacle],
    }
    try:
        problem = build(scene_from(data))
    except KeyfluidError:
        return
    assert problem.densities["density"].array.min() >= 0
    assert problem.keyframes[0].mass > 0


@pytest.mark.parametrize(("text", "name", "cells"), [(LETTER, "letter-f", (48, 36)), (VOLUME, "scene", (24, 30, 24))])
def test_the_texts_themselves_load(text, name, cells):
    """Else damage to them would be damage to what is already refused."""
    scene = load_scene(text)
    assert scene.name == name
    assert build(scene).grid.cells == cells
    check_load(text)
