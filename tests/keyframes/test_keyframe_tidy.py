"""`control.tidy`: what would be stray at a keyframe is taken back to it over some frames, and nothing else changes."""

from __future__ import annotations

from dataclasses import replace
from itertools import count

import numpy as np
import pytest

import keyfluid
from keyfluid.controllers.optimised.forces import JoinedForces
from keyfluid.controllers.optimised.replay import simulate
from keyfluid.controllers.optimised.settings import SearchNumbers
from keyfluid.controllers.optimised.tidying import Tidying
from keyfluid.controllers.stray import away_from, stray_share
from keyfluid.errors import SceneError
from keyfluid.fields import Field, density
from keyfluid.grid import Grid, Kind
from keyfluid.operators.take_back import TakeBack
from keyfluid.problem import FrameRecord
from keyfluid.runs.run import plan_run
from keyfluid.scenes import load_scene
from keyfluid.scenes.build.problem import build

SCENE = """
[domain]
resolution = 24
boundary = "{sides}"
[time]
frames = 12
fps = 12
[{fluid}]
initial = {{ shape = "disk", center = [0.3, 0.3], radius = 0.16 }}
[[keyframe]]
frame = 6
shape = "box"
center = [0.7, 0.62]
size = [0.28, 0.28]
{region}
[[keyframe]]
frame = 10
shape = "disk"
center = [0.4, 0.6]
radius = 0.16
[output]
vdb = false
video = false
size = 32
[control]
method = "adjoint"
iterations = 4
coarse = 0
paths = 0
gamma = "blur"
blur = [0.1]
schedule = "sequence"
tidy = {tidy}
"""
PARTS = (5 / 32, 1 / 2, 27 / 32, 1)
"""Taken back after one to four of four frames."""
FILM = {"sides": "walls", "fluid": "smoke", "region": ""}


def scene(tidy, **changes):
    return SCENE.format(tidy=tidy, **{**FILM, **changes})


def bits(result, last=12):
    return [frame.densities["density"].tobytes() for frame in list(result.frames)[: last + 1]]


def smoke_at(result, frame):
    return result.frames[frame].densities["density"]


@pytest.fixture(scope="module")
def plain():
    return keyfluid.run(scene(0), threads=1)


@pytest.fixture(scope="module")
def tidy():
    return keyfluid.run(scene(3), threads=1)


def test_no_smoke_is_stray_and_what_was_is_told(plain, tidy):
    before, after = plain.metrics["keyframes"], tidy.metrics["keyframes"]
    assert before[0]["stray"] > 0.1
    assert "gathered" not in before[0]
    assert [key["stray"] for key in after] == [0.0, 0.0]
    assert before[0]["stray"] < after[0]["gathered"] < 2 * before[0]["stray"], "some of what is nearer goes too"
    assert after[0]["relative_error"] < before[0]["relative_error"]
    assert after[0]["transported_iou"] == before[0]["transported_iou"], "no flow did that"


def test_until_the_keyframe_only_its_last_frames_differ_and_only_in_where_smoke_is(plain, tidy):
    assert bits(tidy, 3) == bits(plain, 3)
    taken = [0.0]
    for frame in range(4, 7):
        was, found = smoke_at(plain, frame), smoke_at(tidy, frame)
        assert found.min() >= 0
        assert found.sum(dtype=float) == pytest.approx(was.sum(dtype=float), rel=1e-6)
        taken.append(tidy.frames[frame].meta["numbers"]["gathered"])
        same = tidy.frames[frame].velocity.data == plain.frames[frame].velocity.data
        assert same.all()
    steps = np.diff(taken) / taken[-1]
    assert (steps > 0.1).all(), "a little in each frame"
    assert (steps < 0.6).all()


def test_the_film_goes_on_from_the_tidy_smoke(plain, tidy):
    """The next window is searched from there, so no stray smoke of the first keyframe comes back."""
    problem = tidy.problem
    far = away_from(problem.grid, problem.keyframes[0].target)
    assert stray_share(smoke_at(plain, 7), far) > 5 * stray_share(smoke_at(tidy, 7), far)
    assert tidy.metrics["history"] != plain.metrics["history"]


def test_threads_and_stops_change_no_bit(tidy, tmp_path):
    calls = count()
    stopped = keyfluid.run(scene(3), tmp_path / "run", threads=1, should_stop=lambda: next(calls) > 16)
    assert not stopped.finished
    resumed = keyfluid.resume(tmp_path / "run", threads=2)
    assert bits(resumed) == bits(tidy)
    assert resumed.metrics["keyframes"] == tidy.metrics["keyframes"]


def test_a_film_made_from_a_keyframe_on_is_that_made_in_one_go():
    problem = build(load_scene(scene(3), ["smoke.buoyancy=2.0"]))
    whole = list(simulate(problem, JoinedForces(1), 12))
    parts = list(simulate(problem, JoinedForces(1), 12, after=(6, whole[6].state)))
    assert [record.index for record in whole] == list(range(13))
    assert whole[6].numbers["gathered"] > 0.5
    for one, other in zip(whole[7:], parts, strict=True):
        assert all(one.state[name].data.tobytes() == other.state[name].data.tobytes() for name in one.state)


def records(problem, smoke, speed, frames):
    """A film of smoke that a steady wind carries by whole cells."""
    wind = Field.zeros(problem.grid, Kind.FACES, problem.dtype)
    wind.component(0)[...] = speed * problem.grid.spacing * problem.fps
    for frame in range(1, frames + 1):
        smoke = np.roll(smoke, speed, 0)
        state = {"density": density(problem.grid, smoke, problem.dtype), "velocity": wind}
        yield FrameRecord(frame, state, carriers=[(1 / problem.fps, wind)])


def test_smoke_on_its_way_is_left_alone_and_what_strays_is_taken_along():
    problem = build(load_scene(scene(4, sides="periodic")))
    key = problem.keyframes[0]
    arriving, astray = np.roll(key.target, -12, 0), np.zeros_like(key.target)
    astray[0:3, 0:3] = 0.25
    share = float(astray.sum() / (arriving.sum() + astray.sum()))
    film = list(records(problem, arriving + astray, 2, 6))
    tidying = Tidying(problem)
    counts, ready = [], []
    for record in film:
        found = tidying.take(record)
        counts.append(len(found))
        ready += found
    assert counts == [1, 1, 0, 0, 0, 4]
    assert [record.index for record in ready] == [1, 2, 3, 4, 5, 6]
    assert [record.numbers.get("gathered", 0.0) for record in ready] == pytest.approx(
        [0, 0, *(share * part for part in PARTS)], abs=1e-3 * share
    )
    for record, frame, part in zip(ready[2:], (3, 4, 5, 6), PARTS):
        smoke, left = record.state["density"].array, 1 - part
        np.testing.assert_allclose(smoke[2 * frame : 2 * frame + 3, 0:3], 0.25 * left, atol=2e-3)
        here = np.roll(key.target, 2 * frame - 12, 0) > 0
        assert smoke[here].sum() == pytest.approx(key.target.sum() + astray.sum() * (1 - left), rel=2e-3)


def test_frames_before_another_key_are_not_touched():
    problem = build(load_scene(scene(100)))
    tidying = Tidying(problem)
    film = list(records(problem, problem.keyframes[0].target, 0, 12))
    assert [len(tidying.take(record)) for record in film] == [0] * 5 + [6] + [0] * 3 + [4] + [1] * 2
    early = Tidying(problem)
    assert not any(early.take(record) for record in film[:3])
    assert early.held == film[:3], "a film that ends there has them as they are"


def test_frames_that_wait_are_in_the_plan():
    def planned(tidy):
        return plan_run(build(load_scene(scene(tidy)))).memory_bytes

    state, faces = 4 * 24 * 24, 4 * 2 * 25 * 24
    assert planned(3) - planned(0) == 3 * (state + 3 * faces)
    assert planned(100) - planned(0) == 6 * (state + 3 * faces)


def test_only_a_region_is_tidied():
    region = 'mask = { shape = "box", center = [0.75, 0.5], size = [0.5, 1.0] }'
    problem = build(load_scene(scene(2, region=region)))
    key, tidying = problem.keyframes[0], Tidying(build(load_scene(scene(2, region=region))))
    smoke = key.target.copy()
    smoke[2, 2] = smoke[20, 2] = 1.0
    for record in records(problem, smoke, 0, 6):
        ready = tidying.take(record)
    found = ready[-1].state["density"].array
    assert found[2, 2] == 1.0
    assert found[20, 2] == 0.0
    assert found.sum(dtype=float) == pytest.approx(smoke.sum(dtype=float), rel=1e-6)


def test_each_keyframe_takes_its_own_field():
    problem = build(load_scene(scene(2)))
    other = replace(problem.keyframes[0], field="other")
    both = replace(problem, densities={"density": problem.densities["density"]}, keyframes=[other])
    record = next(records(both, other.target, 0, 1))
    astray = density(both.grid, np.roll(other.target, 12, 0), both.dtype)
    film = [replace(record, index=frame, state={**record.state, "other": astray}) for frame in (5, 6)]
    tidying = Tidying(both)
    ready = [*tidying.take(film[0]), *tidying.take(film[1])]
    assert ready[-1].state["density"] is record.state["density"]
    assert stray_share(ready[-1].state["other"].array, away_from(both.grid, other.target)) == 0.0


def test_what_is_taken_fills_holes_first():
    grid = Grid((4, 2))
    rows = (
        [[2.0, 1.0], [0.0, 0.5], [1.0, 0.0], [0.0, 0.0]],
        [[1, 1], [0, 0], [0, 0], [0, 0]],
        [[0, 0], [0, 1], [1, 1], [0, 0]],
    )
    rho, stray, target = (density(grid, np.array(values), np.float64) for values in rows)
    found = TakeBack(grid, 0.5).forward(rho, stray, target)[0].array
    np.testing.assert_allclose(found, [[1, 0.5], [0, 1], [1, 1], [0, 0]])
    assert TakeBack(grid, 0.5).moved(rho, stray) == pytest.approx(1.5 / 4.5)
    more = TakeBack(grid, 1.0).forward(rho, stray, target)[0].array
    np.testing.assert_allclose(more, [[0, 0], [0, 1.5], [1.5, 1.5], [0, 0]])
    assert TakeBack(grid, 1.0).forward(rho, stray, target.zeros_like())[0] is rho


def test_liquids_are_not_tidied():
    problem = build(load_scene(scene(2, fluid="liquid").replace('gamma = "blur"', "")))
    with pytest.raises(SceneError, match=r"^control.tidy: only stray smoke"):
        SearchNumbers.of(problem)
