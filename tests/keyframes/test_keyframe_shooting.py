"""Layered multiple shooting: how a scene is cut, that the seams close, and that neither stops nor workers show."""

from __future__ import annotations

import os
import pickle
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from keyframe_scenes import problem_of

import keyfluid
from keyfluid.controllers.optimised.closing import Closing
from keyfluid.controllers.optimised.layers import plan_layers
from keyfluid.controllers.optimised.settings import SearchNumbers
from keyfluid.controllers.optimised.window_task import WindowFound, WindowJob, WindowTask
from keyfluid.controllers.optimised.windows import Window
from keyfluid.controllers.optimised.workers import solving
from keyfluid.controls import Timing
from keyfluid.crew import LocalCrew
from keyfluid.errors import KeyfluidError, WorkerDied
from shooting_scene import shooting_scene
from waiting import wait_until

SCENE = shooting_scene(every=5, iterations=15, rounds=8)


def everything(result):
    frames = [(f.densities["density"].tobytes(), f.velocity.data.tobytes()) for f in result.frames]
    return frames, result.metrics["history"], result.metrics["evaluations"]


@pytest.fixture(scope="module")
def whole():
    return keyfluid.run(SCENE, threads=1)


def test_the_seams_close(whole):
    *rounds, closing = [entry for entry in whole.metrics["history"] if "seam_velocity" in entry]
    assert rounds[0]["seam_velocity"] > 0.5, "the first layer begins at rest"
    assert len(rounds) <= 8
    assert max(rounds[-1]["seam_density"], rounds[-1]["seam_velocity"]) < 0.01
    assert closing["closing"]
    assert closing["seam_density"] == closing["seam_velocity"] == 0
    errors = [key["relative_error"] for key in whole.metrics["keyframes"]]
    assert max(errors) < 0.45, "16 cells: smoke smears; it begins at 1"
    steps = [entry["iteration"] for entry in whole.metrics["history"] if "objective" in entry]
    assert steps == list(range(len(steps)))
    forces = [whole.frames[i].force for i in (3, 7, 12, 17)]
    assert all(force is not None and np.any(force.data) for force in forces)
    assert whole.frames[21].force is None, "released after the last keyframe"


def test_stopped_and_resumed_it_ends_in_the_same_bits(whole, tmp_path):
    folder = tmp_path / "run"
    for count in (20, 45):
        calls = iter([False] * count + [True] * 10000)
        go = keyfluid.resume if folder.exists() else lambda where, **rest: keyfluid.run(SCENE, where, **rest)
        part = go(folder, threads=1, should_stop=lambda calls=calls: next(calls))
        assert part.metrics["status"] == "stopped"
    assert everything(keyfluid.resume(folder, threads=1)) == everything(whole)


def test_processes_change_no_bit(whole):
    assert everything(keyfluid.run(SCENE, threads=2)) == everything(whole)


def test_a_stop_ends_the_processes_too(tmp_path):
    calls = iter([False] * 3 + [True] * 10000)
    before, seen = workers(), set()

    def should_stop():
        seen.update(workers() - before)
        return next(calls)

    stopped = keyfluid.run(SCENE, tmp_path / "run", threads=2, should_stop=should_stop)
    assert stopped.metrics["status"] == "stopped"
    assert len(seen) == 2, "two were at work"
    left = workers() - before
    for process in left:
        os.kill(process, signal.SIGKILL)
    assert not left


def test_a_worker_that_dies_is_told(tmp_path):
    """Killed while it works, as a machine does that runs out of memory; once before and once after a checkpoint."""
    before = workers()
    for checkpoints in (0, 1):
        folder = tmp_path / str(checkpoints)

        def kill_one(folder=folder, checkpoints=checkpoints):
            if len(list(folder.glob("checkpoint*"))) >= checkpoints:
                for process in workers() - before:
                    os.kill(process, signal.SIGKILL)
            return False

        with pytest.raises(WorkerDied, match=r"a worker process died, possibly out of memory; use --threads 1"):
            keyfluid.run(SCENE, folder, threads=2, should_stop=kill_one)
        assert not workers() - before


def workers():
    """Processes that solve windows for this one, the dead that nobody has waited for included."""
    found = set()
    for stat in Path("/proc").glob("[0-9]*/stat"):
        try:
            parent = int(stat.read_text().rpartition(")")[2].split()[1])
            command = (stat.parent / "cmdline").read_bytes().split(b"\0")
        except (FileNotFoundError, ProcessLookupError):
            continue
        if parent == os.getpid() and (b"keyfluid.controllers.optimised.workers" in command or command == [b""]):
            found.add(int(stat.parent.name))
    return found


def test_the_closing_begins_before_the_last_round_has_ended():
    """A window is closed once it and the next one are solved and the one before is closed, each of them once."""
    layer = [Window(0, 2), Window(2, 4), Window(4, 6)]
    solved, closed = ([WindowFound(np.full(1, i), {0: {}, 2: {}, 4: {}, 6: {}}) for i in range(3)] for _ in range(2))
    closing = Closing(layer, [], [], lambda *given: given)
    assert closing.follow(1, solved[1]) == []
    ((window, start, goal, guess),) = closing.follow(0, solved[0])
    assert (window, start, guess) == (layer[0], None, solved[0].vector)
    assert goal.state is solved[1].states[2]
    assert closing.follow(2, solved[2]) == [], "the first one is at work"
    ((window, start, goal, _),) = closing.follow(3, closed[0])
    assert window == layer[1]
    assert start is closed[0].states[2]
    assert goal.state is solved[2].states[4]
    ((window, start, goal, _),) = closing.follow(4, closed[1])
    assert (window, goal) == (layer[2], None)
    assert closing.follow(5, closed[2]) == []


def test_what_follows_comes_first(monkeypatch, tmp_path):
    """A task takes long enough for what follows it to be queued, on a busy machine too."""
    doubler = "import time\nfrom keyfluid.crew import serve\nserve(lambda task, _: time.sleep(0.5) or 2 * task)\n"
    (tmp_path / "crew_doubler.py").write_text(doubler)
    monkeypatch.syspath_prepend(tmp_path)
    crew = LocalCrew("crew_doubler", 1, lambda: None)
    try:
        found = list(crew.finished([1, 2, 3], lambda place, answer: [10] if place == 0 else []))
    finally:
        crew.dismiss()
    assert found[0] == (0, 2)
    assert sorted(found) == [(0, 2), (1, 4), (2, 6), (3, 20)]
    assert found.index((3, 20)) < found.index((2, 6))


def test_a_fault_in_a_process_is_told():
    problem = problem_of(SCENE)
    poor = replace(SearchNumbers.of(problem), budget=1000)
    task = WindowTask(Window(0, 5), None, None, None, (5,))
    with (
        pytest.raises(KeyfluidError, match="too small"),
        solving(WindowJob(problem, poor), 2, lambda: False) as solve,
    ):
        list(solve([task]))


def test_a_worker_ends_with_its_parent(tmp_path):
    """A process is killed while its worker solves a window that would take an hour."""
    problem = problem_of(SCENE.replace("resolution = 16", "resolution = 160"))
    patient = replace(SearchNumbers.of(problem), iterations=10**6, tau=-1.0)
    task = WindowTask(Window(0, 5), None, None, None, (5,))
    (tmp_path / "task").write_bytes(pickle.dumps(WindowJob(problem, patient)) + pickle.dumps(task))
    parent = subprocess.Popen(
        [sys.executable, "-c", PARENT, str(tmp_path / "task"), WORKER, str(tmp_path / "at work")],
        stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    worker = int(parent.stdout.readline())
    try:
        wait_until((tmp_path / "at work").exists, "the worker's first evaluation")
        assert running(worker)
        parent.kill()
        parent.wait()
        wait_until(lambda: not running(worker), "the end of the worker")
    finally:
        if running(worker):
            os.kill(worker, signal.SIGKILL)


PARENT = """
import os, subprocess, sys
command = [sys.executable, "-c", sys.argv[2], str(os.getpid()), sys.argv[3]]
worker = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True)
print(worker.pid, flush=True)
worker.stdin.write(open(sys.argv[1], "rb").read())
worker.stdin.flush()
worker.stdout.read()
"""
WORKER = """
import pathlib, runpy, sys
from keyfluid.controllers.optimised.evaluation import Evaluation
evaluate = Evaluation.trial
def told(self, vector):
    found = evaluate(self, vector)
    pathlib.Path(sys.argv[2]).touch()
    return found
Evaluation.trial = told
runpy.run_module("keyfluid.controllers.optimised.workers", run_name="__main__")
"""
"""The worker's own module, which leaves a file when it has evaluated once."""


def running(process):
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def scene(*keys, masked=()):
    entries = [
        SimpleNamespace(frame=frame, hold=0, field="density", mask=1 if frame in masked else None) for frame in keys
    ]
    rest = {"pictures": [], "flows": [], "densities": {"density": 0}, "edit": None, "liquid": None}
    return SimpleNamespace(frames=keys[-1], keyframes=entries, **rest)


def spans(layer):
    return [(window.first, window.last) for window in layer]


def test_layers_overlap_and_are_cut_at_keyframes():
    even, odd = plan_layers(scene(30, 60, 90, 120, 150, 180, 210, 240), 60)
    assert spans(even) == [(0, 60), (60, 120), (120, 180), (180, 240)]
    assert spans(odd) == [(0, 30), (30, 90), (90, 150), (150, 210), (210, 240)]
    assert plan_layers(scene(30, 60, 90, 120, 150, 180, 210, 240), None) == (even, odd), "two keyframes' worth"
    even, odd = plan_layers(scene(10, 20, 31, 40, masked=[31]), 19)
    assert spans(even) == [(0, 20), (20, 40)]
    assert spans(odd) == [(0, 10), (10, 40)]


@pytest.mark.parametrize(
    ("control", "words"),
    [
        ("span = 20", "control.span: 20 frames are as long as the 20 that are controlled"),
        ("span = 40", "control.span"),
        ('start = "out/x"', "control.start"),
    ],
)
def test_bad_input_is_one_line(control, words):
    with pytest.raises(KeyfluidError) as error:
        keyfluid.run(SCENE + control)
    assert words in str(error.value)
    assert "\n" not in str(error.value).strip()


def test_too_few_places_to_cut():
    with pytest.raises(KeyfluidError, match=r"control\.schedule.*there are 1"):
        plan_layers(scene(10, 20, 30, masked=[20]), None)


@pytest.mark.parametrize("mode", ["constant", "step", "windows", "integrated"])
def test_forces_in_the_terms_of_another_window(mode):
    """What a timing can express comes back exactly: sets -> forces -> sets."""
    timing = Timing(mode, 6, 0.1, window=2 if mode in ("windows", "integrated") else 1, first=3)
    sets = np.random.default_rng(3).random((timing.count, 4))
    forces = np.stack([sum(weight * sets[k] for k, weight in timing.row(step)) for step in range(3, 9)])
    np.testing.assert_allclose(timing.sets_of(forces), sets, rtol=1e-12)
