"""Whole optimisations: they arrive, they go on after a stop or a kill in the same bits, and say why they end."""

from __future__ import annotations

import json
import random
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
from keyframe_scenes import deep, flat

import keyfluid
from keyfluid.controllers.optimised.windows import plan_windows
from keyfluid.errors import KeyfluidError
from keyfluid.io.container import DiskError, load_arrays
from keyfluid.runs.recorder import Recorder
from keyfluid.scenes import load_scene
from keyfluid.scenes.build import problem as problem_module
from keyfluid.scenes.build.problem import build
from waiting import wait_until

METHODS = {
    "spectral": 'method = "spectral"\niterations = 12',
    "bands": 'method = "spectral"\npreset = "tang"\ntime = "integrated"\niterations = 5\ncutoff = 4',
    "winds": 'method = "adjoint"\nspacing = 0.2\niterations = 12\ncoarse = 0',
    "annealed": 'method = "adjoint"\nbasis = "dense"\ngamma = "blur"\niterations = 5\ncoarse = 0',
}
STEERED = """
name = "steered"
[domain]
resolution = 24
[time]
frames = 8
fps = 8
[smoke]
initial = { shape = "disk", center = [0.4, 0.4], radius = 0.18 }
[[keyframe]]
frame = 6
shape = "box"
center = [0.6, 0.55]
size = [0.32, 0.32]
[output]
vdb = false
video = false
size = 32
"""


def bits(frames):
    return {i: [frames[i].densities["density"].tobytes(), frames[i].velocity.data.tobytes()] for i in (3, 6)}


def errors(result):
    return [key["relative_error"] for key in result.metrics["keyframes"]]


@pytest.mark.parametrize("name", METHODS)
def test_every_control_steers(name):
    result = keyfluid.run(STEERED + "[control]\n" + METHODS[name], threads=1)
    history = [entry for entry in result.metrics["history"] if "objective" in entry]
    assert history[0]["error"] > 0.9
    assert errors(result)[0] < (0.3 if name == "spectral" else 0.5)
    assert result.metrics["iterations"] == sum(e["iteration"] > 0 for e in history) - history_restarts(history)
    assert result.metrics["evaluations"] >= result.metrics["iterations"]
    assert result.metrics["max_divergence"] < 1e-5
    assert abs(result.metrics["mass_drift"]) < 0.04, "24 cells and six long steps; a letter at 128^2 stays below 0.01"
    assert result.frames[7].force is None, "released after the last keyframe"
    assert result.frames[6].force is not None


def history_restarts(history):
    """Each stage after the first logs its starting point too."""
    return len({(entry["window"], entry["stage"]) for entry in history}) - 1


def test_three_dimensions():
    result = keyfluid.run(deep('method = "spectral"\niterations = 15\ncutoff = 3'), threads=1)
    assert errors(result)[0] < 0.5


def test_the_penalty_on_shear_keeps_the_flow_honest():
    carried = {}
    for shear in (0.0, 3.0):
        control = f'[control]\nmethod = "spectral"\ncoarse = 0\niterations = 60\nshear = {shear}'
        key = keyfluid.run(STEERED + control, threads=1).metrics["keyframes"][0]
        assert key["iou"] > 0.9
        carried[shear] = key["transported_iou"]
    assert carried[3.0] > carried[0.0] + 0.01


def test_threads_and_memory_change_no_bit():
    text = flat('method = "spectral"\niterations = 6')
    runs = [
        keyfluid.run(text, threads=1),
        keyfluid.run(text, threads=2),
        keyfluid.run(text, threads=1, overrides=["control.memory=0.25"]),
    ]
    first, *others = [[bits(run.frames)[3], run.metrics["history"]] for run in runs]
    for other in others:
        assert other == first


def frames_of(folder):
    found = {}
    for path in sorted((folder / "frames").glob("*.npz")):
        arrays, _ = load_arrays(path)
        found[path.name] = {name: array.tobytes() for name, array in arrays.items()}
    return found


def result_of(folder):
    result = json.loads((folder / "result.json").read_text())
    return {name: value for name, value in result.items() if name not in ("seconds", "peak_memory_mb")}


def parts_of(folder):
    """Names of the checkpoint's parts."""
    return {path.name for path in folder.glob("checkpoint.*.npz")}


def test_killed_at_random_moments_it_ends_in_the_same_bits(tmp_path):
    scene = tmp_path / "scene.toml"
    scene.write_text(STEERED + '[control]\nmethod = "spectral"\npreset = "tang"\ntime = "step"\niterations = 9\n')
    keyfluid.run(scene, tmp_path / "whole", threads=1)
    folder, chance = tmp_path / "run", random.Random(7)
    words = ["run", str(scene), "-o", str(folder)]
    for attempt in range(6):
        process = subprocess.Popen(
            [sys.executable, "-m", "keyfluid", *words, "--threads", "1"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
        )  # fmt: skip
        seen = parts_of(folder)
        wait_until(lambda run=process, old=seen: run.poll() is not None or parts_of(folder) - old, "a checkpoint")
        time.sleep(chance.uniform(0, 0.6))  # what is tested: a kill at any moment after that
        process.send_signal(signal.SIGKILL if attempt % 2 == 0 else signal.SIGINT)
        process.wait()
        words = ["resume", str(folder)]
    keyfluid.resume(folder, threads=1)
    assert frames_of(folder) == frames_of(tmp_path / "whole")
    assert result_of(folder) == result_of(tmp_path / "whole")
    assert len(list(folder.glob("checkpoint.*.npz"))) <= 13, "the slots of eleven parts and one more are used again"


def test_it_stops_when_asked_and_keeps_its_place(tmp_path):
    scene = STEERED + '[control]\nmethod = "spectral"\niterations = 10\n'
    calls = iter([False] * 9 + [True] * 1000)
    stopped = keyfluid.run(scene, tmp_path / "run", threads=1, should_stop=lambda: next(calls))
    assert stopped.metrics["status"] == "stopped"
    resumed = keyfluid.resume(tmp_path / "run", threads=1)
    whole = keyfluid.run(scene, threads=1)
    assert bits(resumed.frames) == bits(whole.frames)
    assert resumed.metrics["evaluations"] == whole.metrics["evaluations"]


LONG = (
    STEERED.replace("frames = 8", "frames = 14")
    + """
[[keyframe]]
frame = 12
shape = "disk"
center = [0.4, 0.55]
radius = 0.18
"""
)


@pytest.mark.parametrize("schedule", ["sequence", "halves"])
def test_windows_one_after_the_other_have_no_seam(schedule, tmp_path):
    control = f'[control]\nmethod = "spectral"\niterations = 20\nschedule = "{schedule}"\n'
    calls = iter([False] * 75 + [True] * 5000)
    run = keyfluid.run(LONG + control, tmp_path / "run", threads=1, should_stop=lambda: next(calls))
    assert run.metrics["status"] == "stopped"
    resumed = keyfluid.resume(tmp_path / "run", threads=1)
    whole = keyfluid.run(LONG + control, threads=1)
    assert bits(resumed.frames) == bits(whole.frames)
    assert resumed.metrics["history"] == whole.metrics["history"]
    windows = {entry["window"] for entry in whole.metrics["history"] if "window" in entry}
    assert windows == {0, 1}
    assert max(errors(whole)) < 0.5
    # The first window does not know of the second: alone it gives the same frames.
    alone = STEERED.replace("frames = 8", "frames = 14") + control
    assert bits(keyfluid.run(alone, threads=1).frames) == bits(whole.frames)


def test_a_preview_is_the_start_of_the_final_run(tmp_path):
    control = '[control]\nmethod = "spectral"\niterations = 20\n'
    keyfluid.run(STEERED + control, tmp_path / "preview", threads=1, overrides=["domain.resolution=12"])
    again = [f'control.start="{tmp_path / "preview"}"', "control.iterations=5"]
    warm = keyfluid.run(STEERED + control, threads=1, overrides=again)
    first = next(entry["error"] for entry in warm.metrics["history"] if "objective" in entry)
    assert first < 0.5, "from rest it is above 0.9"
    assert errors(warm)[0] < first
    assert warm.metrics["iterations"] == 5
    with pytest.raises(KeyfluidError, match=r"control\.start"):
        keyfluid.run(STEERED.replace("frame = 6", "frame = 5") + control, overrides=again)
    with pytest.raises(KeyfluidError, match="holds no run"):
        keyfluid.run(STEERED + control, overrides=[f'control.start="{tmp_path}"'])


def test_bands_leave_a_preview(tmp_path):
    shown = []
    keyfluid.run(
        STEERED + '[control]\nmethod = "spectral"\npreset = "tang"\niterations = 4\ncutoff = 4\n',
        tmp_path / "run",
        threads=1,
        progress=lambda p: shown.append((p.note, (tmp_path / "run" / "report.html").exists())),
    )
    assert shown[0][1] is False
    assert any(there and "k <= 3" in note for note, there in shown), "the report of band 1 is there during band 2"


@pytest.mark.parametrize(
    ("control", "words"),
    [
        ('method = "spectral"\ncutoff = 40', "control.cutoff: 40 waves"),
        ('method = "spectral"\nbands = "grow"\nfirst_band = 9\ncutoff = 4', "control.first_band"),
        ('method = "adjoint"\nradius = 0.001', "half a cell"),
        ('method = "adjoint"\nspacing = 5', "longer than the domain"),
        ('method = "spectral"\nwindow = 300', "control.window"),
        ('method = "spectral"\nmemory = 0.001', "too small"),
        ('method = "adjoint"\nbasis = "wind"', "control.basis"),
        ('method = "spectral"\nband = 3', "control.band"),
    ],
)
def test_bad_input_is_one_line(control, words):
    with pytest.raises(KeyfluidError) as error:
        keyfluid.run(STEERED + "[control]\n" + control)
    assert words in str(error.value)
    assert "\n" not in str(error.value).strip()


def test_auto_steps_and_no_keyframes_are_refused():
    with pytest.raises(KeyfluidError, match="steps_per_frame"):
        keyfluid.run(STEERED + '[control]\nmethod = "spectral"', overrides=['time.steps_per_frame="auto"'])
    empty = STEERED[: STEERED.index("[[keyframe]]")] + STEERED[STEERED.index("[output]") :]
    with pytest.raises(KeyfluidError, match="keyframe: there is none"):
        keyfluid.run(empty + '[control]\nmethod = "spectral"')


def test_no_frame_to_go_on_from(tmp_path):
    """What `--from` can't do it does not begin: the run stays as it was."""
    whole = keyfluid.run(STEERED + '[control]\nmethod = "spectral"\niterations = 2\n', tmp_path / "run", threads=1)
    before = bits(whole.frames)
    with pytest.raises(KeyfluidError, match=r"--from 3.*all frames together"):
        keyfluid.resume(tmp_path / "run", from_frame=3)
    assert bits(keyfluid.resume(tmp_path / "run").frames) == before
    assert bits(keyfluid.resume(tmp_path / "run").frames) == before


@pytest.mark.parametrize("keep", ["film", "all"])
def test_damaged_frames_are_filmed_again_from_the_checkpoint(keep, tmp_path):
    control = '[control]\nmethod = "spectral"\nschedule = "sequence"\niterations = 4\n'
    whole = keyfluid.run(LONG + control, tmp_path / "run", threads=1, overrides=[f"output.keep={keep}"])
    before, history = bits(whole.frames), whole.metrics["history"]
    (tmp_path / "run" / "frames" / "0002.npz").write_bytes(b"")
    again = keyfluid.resume(tmp_path / "run", threads=1)
    assert again.finished
    assert len(again.frames) == 15
    assert bits(again.frames) == before
    assert again.metrics["history"] == history
    if keep == "all":
        (tmp_path / "run" / "checkpoint.npz").unlink()
        (tmp_path / "run" / "frames" / "0002.npz").unlink()
        assert bits(keyfluid.resume(tmp_path / "run", threads=1).frames) == before, "from the checkpoint before"
    for path in (tmp_path / "run").glob("checkpoint*"):
        path.unlink()
    (tmp_path / "run" / "frames" / "0002.npz").unlink()
    with pytest.raises(KeyfluidError, match=r"0002\.npz: .*run the scene again with --overwrite"):
        keyfluid.resume(tmp_path / "run")


def test_a_search_that_can_not_move_is_resumed(tmp_path):
    """Its gradient is zero, so nothing is evaluated after the resume."""
    text = STEERED.replace("radius = 0.18", "radius = 3.0").replace("size = [0.32, 0.32]", "size = [3, 3]")
    text = text.replace("frame = 6", 'frame = 6\nmass = "keep"') + '[control]\nmethod = "spectral"'
    calls = iter([False] + [True] * 1000)
    keyfluid.run(text, tmp_path / "run", threads=1, should_stop=lambda: next(calls))
    resumed = keyfluid.resume(tmp_path / "run", threads=1)
    whole = keyfluid.run(text, threads=1)
    notes = [[entry["note"] for entry in r.metrics["history"] if "note" in entry] for r in (resumed, whole)]
    assert notes[0] == notes[1]


def test_a_run_that_fails_before_its_first_film_can_go_on(tmp_path, monkeypatch):
    control = '[control]\nmethod = "spectral"\niterations = 6\n'
    plain, calls = Recorder.checkpoint, []

    def full(self, *arguments, **named):
        calls.append(arguments)
        if len(calls) > 3:
            raise DiskError("checkpoint.npz: can't be written: No space left on device")
        plain(self, *arguments, **named)

    monkeypatch.setattr(Recorder, "checkpoint", full)
    with pytest.raises(KeyfluidError, match="then: keyfluid resume"):
        keyfluid.run(STEERED + control, tmp_path / "run", threads=1)
    monkeypatch.undo()
    resumed = keyfluid.resume(tmp_path / "run", threads=1)
    assert bits(resumed.frames) == bits(keyfluid.run(STEERED + control, threads=1).frames)


def test_a_run_is_not_replaced_by_one_that_reads_it_or_can_not_begin(tmp_path):
    control = '[control]\nmethod = "spectral"\niterations = 2\n'
    first = keyfluid.run(STEERED + control, tmp_path / "run", threads=1)
    start = f'control.start="{tmp_path / "run"}"'
    for overrides, words in (
        ([start], r"control\.start: .*choose another folder"),
        ([f'control.start="{tmp_path / "none"}"'], r"control\.start: .*holds no run"),
        ([start, "control.schedule=shooting"], r"control\.start"),
        (["time.steps_per_frame=auto"], r"time\.steps_per_frame"),
        (["control.window=50"], r"control\.window"),
        (["control.memory=0.001"], r"control\.memory: .*too small"),
        (["control={method='adjoint',radius=0.001}"], r"control\.radius"),
        (["control={method='target'}", "keyframe=[]"], "keyframe"),
        (["control={method='particles'}", "keyframe=[]"], "keyframe"),
    ):
        with pytest.raises(KeyfluidError, match=words):
            keyfluid.run(STEERED + control, tmp_path / "run", overrides=overrides, overwrite=True, threads=1)
    assert bits(keyfluid.resume(tmp_path / "run").frames) == bits(first.frames)


def test_a_run_goes_on_with_the_windows_it_began_with(tmp_path, monkeypatch):
    """The choice "auto" looks at the machine's memory; the machine may be another when the run goes on."""
    control = '[control]\nmethod = "spectral"\niterations = 4\nmemory = 50\n'
    calls = iter(range(1000))
    keyfluid.run(LONG + control, tmp_path / "run", threads=1, should_stop=lambda: next(calls) >= 3)
    monkeypatch.setattr(problem_module, "memory_of_machine", lambda: 100_000)
    monkeypatch.setattr(problem_module, "memory_fault", lambda scene, grid: None)
    assert len(plan_windows(build(load_scene(LONG + control)), "auto")) == 2
    resumed = keyfluid.resume(tmp_path / "run", threads=1)
    assert {entry["window"] for entry in resumed.metrics["history"] if "window" in entry} == {0}


def test_forces_on_other_points_or_of_another_kind_are_no_start(tmp_path):
    control = '[control]\nmethod = "adjoint"\niterations = 2\n'
    keyfluid.run(STEERED + control, tmp_path / "run", threads=1)
    start = f'control.start="{tmp_path / "run"}"'
    for change, words in (("control.spacing=0.2", "same control.spacing"), ("control.time=step", "no run of this")):
        with pytest.raises(KeyfluidError, match=rf"control\.start: .*{words}"):
            keyfluid.run(STEERED + control, overrides=[start, change], threads=1)


def test_a_corner_that_should_stay_empty_is_a_keyframe_too():
    masked = STEERED + '[[keyframe]]\nframe = 7\nshape = "disk"\ncenter = [0.7, 0.6]\nradius = 0.1\nmass = "keep"\n'
    masked += 'mask = { shape = "disk", center = [0.2, 0.2], radius = 0.15 }\n'
    result = keyfluid.run(masked + '[control]\nmethod = "spectral"\niterations = 6\n', threads=1)
    assert all(np.isfinite([key["relative_error"], key["mass_ratio"]]).all() for key in result.metrics["keyframes"])
    assert all(np.isfinite(entry["error"]) for entry in result.metrics["history"] if "error" in entry)


def test_it_says_why_it_can_not_go_on():
    """Smoke that fills the box: nothing that moves it changes it."""
    text = STEERED.replace("radius = 0.18", "radius = 3.0").replace("size = [0.32, 0.32]", "size = [3, 3]")
    text = text.replace("frame = 6", 'frame = 6\nmass = "keep"')
    result = keyfluid.run(text + '[control]\nmethod = "spectral"', threads=1)
    notes = [entry["note"] for entry in result.metrics["history"] if "note" in entry]
    assert notes
    assert all("gradient is zero" in note for note in notes)
    assert np.isfinite(errors(result)[0])


def test_smoke_that_does_not_meet_its_target_is_brought_there_not_dissolved():
    """Without a blur nothing pulls: the nearest way down, where the grid carries it, is to smear the smoke away."""
    text = STEERED.replace("center = [0.4, 0.4]", "center = [0.25, 0.3]").replace("[0.6, 0.55]", "[0.75, 0.7]")
    found = {}
    for gamma in ("auto", "none"):
        control = f'[control]\nmethod = "spectral"\niterations = 40\ngamma = "{gamma}"\npaths = 0'
        found[gamma] = keyfluid.run(text + control, threads=1).metrics["keyframes"][0]
    assert found["auto"]["iou"] > 0.85
    assert found["none"]["iou"] < 0.3
