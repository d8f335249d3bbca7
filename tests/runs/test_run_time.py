"""Time that is told: the estimate before a run, the time left during it, and the seconds in its results."""

from __future__ import annotations

from itertools import accumulate

import pytest
from run_scenes import BUSY

import keyfluid
from keyfluid.controllers.optimised.record import SearchWork
from keyfluid.io.run.checkpoints import Checkpoints
from keyfluid.runs import expected
from keyfluid.runs.expected import PaceReport, expected_seconds, known_pace, method_seconds
from keyfluid.runs.progress import Progress, Reporter
from keyfluid.runs.run import plan_run, run_problem
from keyfluid.runs.time_left import METHOD, TimeLeft
from keyfluid.scenes import load_scene
from keyfluid.scenes.build.problem import build


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self):
        self.now = 100.0

    def __call__(self):
        return self.now


def told_and_real(costs, expectation, later=0.0):
    """(time left as told, time really left, time passed) after every unit of a phase with these costs."""
    clock = Clock()
    left = TimeLeft({METHOD: expectation, "picture": later} if expectation is not None else {"picture": later}, clock)
    found, total = [], sum(costs)
    for done, passed in enumerate(accumulate(costs), 1):
        clock.now = 100.0 + passed
        found.append((left.at(METHOD, done, len(costs) - done), total - passed + later, passed))
    return found


def test_the_outputs_count_from_the_first_frame_on():
    """A simulation of 4.5 s and a drawing of 100 s: issue 21's liquid said "2 s left"."""
    for told, real, _ in told_and_real([0.1] * 45, 4.5, later=100.0):
        assert told == pytest.approx(real)


def test_without_an_estimate_the_pace_decides():
    told = [left for left, _, _ in told_and_real([5.0, 1.0, 1.0, 1.0], None)]
    assert told[0] is None, "the first unit may have been compilation"
    assert told[1:] == pytest.approx([2.0, 1.0, 0.0])


@pytest.mark.parametrize("guess", [0.67, 1.0, 1.5])
@pytest.mark.parametrize("growth", [lambda i: 1.0, lambda i: 1.0 + i, lambda i: 1.0 + 9.0 * (i > 20)])
def test_frames_that_become_dearer_do_not_surprise(growth, guess):
    """After the first fifth never less than half of the real time left, with an estimate within a factor of 1.5."""
    costs = [growth(i) for i in range(40)]
    total = sum(costs) + 20.0
    for told, real, passed in told_and_real(costs, guess * sum(costs), later=20.0):
        assert passed < 0.2 * total or real < 0.01 or told > 0.5 * real


def test_a_wrong_estimate_gives_way_to_the_pace():
    found = told_and_real([1.0] * 20, 4.0)
    assert found[0][0] < 4.0
    for told, real, passed in found:
        assert passed < 7.0 or told == pytest.approx(real)


def test_units_of_unlike_cost_are_weighed():
    """Ten cheap iterations, then ten that cost eight times as much."""
    clock = Clock()
    left = TimeLeft({}, clock)
    costs = [1.0] * 10 + [8.0] * 10
    for done in range(1, 21):
        clock.now = 100.0 + sum(costs[:done])
        told = left.at(METHOD, sum(costs[:done]), sum(costs[done:]))
        assert told is None or told == pytest.approx(sum(costs[done:]))


def test_a_pause_is_not_the_pace():
    """Ten seconds for pictures of an unfinished film, between two iterations."""
    clock = Clock()
    left = TimeLeft({}, clock)
    for done in range(1, 5):
        clock.now += 1.0
        left.at(METHOD, done, 20 - done)
    clock.now += 10.0
    left.pause(10.0)
    clock.now += 1.0
    assert left.at(METHOD, 5, 15) == pytest.approx(15.0)


def test_phases_follow_each_other():
    clock = Clock()
    left = TimeLeft({METHOD: 5.0, "vdb": 1.0, "picture": 10.0, "video": 3.0, "report": 1.0}, clock)
    assert left.at(METHOD, 1, 9) == pytest.approx(4.5 + 15.0)
    clock.now += 5.0
    assert left.at("picture", 0, 20) == pytest.approx(10.0 + 4.0)
    clock.now += 20.0
    assert left.at("picture", 20, 0) == pytest.approx(4.0)
    assert left.at("video", 0, 2) == pytest.approx(3.0 + 1.0)
    clock.now += 2.0
    assert left.at("video", 0, 2) == pytest.approx(1.0 + 1.0), "a phase that can't report halfway"
    assert left.at("report", 0, 1) == pytest.approx(1.0)


def test_the_reporter_tells_the_whole_run():
    clock, seen = Clock(), []
    reporter = Reporter(seen.append, time_left=TimeLeft({METHOD: 10.0, "picture": 30.0}, clock))
    reporter.step(Progress(5, 10, "frame"))
    reporter.wrote("picture", 10, 40)
    assert [p.seconds_left for p in seen] == pytest.approx([35.0, 22.5])


def test_a_try_ends_when_the_pace_is_known():
    first = PaceReport(2.0, 1, 39)
    assert not known_pace([])
    assert not known_pace([first])
    assert known_pace([PaceReport(6.0, 1, 39)]), "a frame that takes this long is not repeated"
    assert not known_pace([first, PaceReport(2.1, 2, 38)])
    assert known_pace([first, PaceReport(3.0, 2, 38)])
    assert known_pace([PaceReport(2.0 + 0.01 * i, i, 40 - i) for i in range(1, 6)])
    assert method_seconds([first, PaceReport(3.0, 3, 37)]) == pytest.approx(20.0), (
        "what loads before the first is left out"
    )
    assert method_seconds([PaceReport(6.0, 1, 39)]) == pytest.approx(240.0)
    assert method_seconds([]) == 0.0


SEARCH = """
name = "search"
[domain]
resolution = 64
[time]
frames = 3
[smoke]
initial = { shape = "disk", center = [0.45, 0.5], radius = 0.2 }
[[keyframe]]
frame = 3
shape = "disk"
center = [0.55, 0.5]
radius = 0.2
[control]
method = "spectral"
iterations = 6
cutoff = 4
[output]
vdb = false
video = false
size = 32
"""


def test_a_run_from_another_one_is_expected_to_be_shorter(tmp_path, monkeypatch):
    """It leaves out the stages on coarser grids."""
    keyfluid.run(SEARCH, tmp_path / "run", threads=1)
    work = []

    def seconds(reports):
        work.append(reports[0].done + reports[0].left)
        return 1.0

    monkeypatch.setattr(expected, "method_seconds", seconds)
    for sets in ((), (f'control.start="{tmp_path / "run"}"',)):
        problem = build(load_scene(SEARCH, sets))
        plan = plan_run(problem)
        expected_seconds(problem, plan, lambda: False)
        everything = sum(stage.iterations * stage.cost for stage in plan.stages[0])
        last = plan.stages[0][-1].iterations * plan.stages[0][-1].cost
        assert work[-1] == pytest.approx(last if sets else everything)
    assert work[1] < 0.9 * work[0]


def test_the_try_writes_no_large_checkpoint(monkeypatch):
    """An iteration of a search on a large grid leaves hundreds of megabytes."""
    problem = build(load_scene(SEARCH))
    written = []
    monkeypatch.setattr(Checkpoints, "save", lambda self, arrays, *others: written.append(len(arrays)))
    expected_seconds(problem, plan_run(problem), lambda: False)
    assert written
    written.clear()
    monkeypatch.setattr(expected, "_LARGE", 100)
    assert expected_seconds(problem, plan_run(problem), lambda: False)[METHOD] > 0
    assert not written


def test_stages_that_end_early_do_not_count_as_done():
    plan = plan_run(build(load_scene(SEARCH)))
    first, *along, second = plan.stages[0]
    work, later = SearchWork(plan.stages), sum(3 * stage.cost for stage in along) + 6 * second.cost
    assert work.at(0, 0, 0) == (0.0, 3 * first.cost + later)
    assert work.at(0, 0, 1) == (first.cost, 2 * first.cost + later)
    assert work.at(0, 1, 0) == (first.cost, later), "two iterations were spared"


def test_an_estimate_names_all_phases_and_leaves_nothing(tmp_path):
    """The frames of the try are not the run's."""
    scene = load_scene(BUSY.format(frames=12))
    told, seen = [], []
    result = run_problem(
        build(scene), tmp_path / "run", announce=lambda seconds: told.append(seconds), progress=seen.append
    )
    assert 0 < told[0] < 600
    assert seen[0].unit == "frame"
    assert seen[0].done == 1
    phases = list(dict.fromkeys(progress.unit for progress in seen if progress.unit != "note"))
    assert phases == ["frame", "vdb", "picture", "video", "report"]
    assert all(progress.seconds_left is not None for progress in seen if progress.unit != "note")
    again = keyfluid.run(scene)
    for one, other in zip(result.frames, again.frames, strict=True):
        assert one.densities["density"].tobytes() == other.densities["density"].tobytes()
