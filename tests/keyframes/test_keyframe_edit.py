"""Editing a run: what lies before the window keeps its bits, what is asked for comes, and bad windows are refused."""

from __future__ import annotations

import numpy as np
import pytest
from keyframe_scenes import problem_of
from PIL import Image

import keyfluid
from keyfluid.controllers.optimised.evaluation import Evaluation
from keyfluid.controllers.optimised.settings import SearchNumbers
from keyfluid.controllers.optimised.stages import plan_stages
from keyfluid.errors import KeyfluidError
from keyfluid.verify import observed_order

PLUME = """
name = "plume"
[domain]
size = [0.75, 1.0]
resolution = 24
[time]
frames = 9
fps = 12
[smoke]
initial = { shape = "disk", center = [0.35, 0.3], radius = 0.15 }
buoyancy = 1.5
[output]
vdb = false
video = false
size = 32
"""
STEERED = """
[[keyframe]]
frame = 7
shape = "box"
center = [0.4, 0.55]
size = [0.3, 0.25]
[control]
method = "spectral"
iterations = 10
paths = 0
"""
EDIT = """
[edit]
run = "{run}"
first = {first}
last = {last}
[[keyframe]]
frame = {frame}
run = "{run}"
{change}
[control]
method = "spectral"
iterations = 20
{control}
"""


@pytest.fixture(scope="module")
def plume(tmp_path_factory):
    return keyfluid.run(PLUME, tmp_path_factory.mktemp("edit") / "plume", threads=1)


@pytest.fixture(scope="module")
def steered(tmp_path_factory):
    return keyfluid.run(PLUME + STEERED, tmp_path_factory.mktemp("edit") / "steered", threads=1)


def edit_of(base, change="", first=3, last=8, frame=7, control=""):
    return PLUME + EDIT.format(run=base.folder, first=first, last=last, frame=frame, change=change, control=control)


def bits(frame):
    return frame.densities["density"].tobytes(), frame.velocity.data.tobytes()


@pytest.mark.parametrize("kind", ["free", "controlled"])
def test_before_the_window_nothing_changes(kind, request):
    base = request.getfixturevalue("plume" if kind == "free" else "steered")
    result = keyfluid.run(edit_of(base, "move = [0.1, 0.05]"), threads=1)
    for index in range(4):
        assert bits(result.frames[index]) == bits(base.frames[index])
    assert bits(result.frames[4]) != bits(base.frames[4])
    course = [entry["error"] for entry in result.metrics["history"] if "objective" in entry]
    (key,) = result.metrics["keyframes"]
    assert course[0] > 0.4
    assert key["relative_error"] < 0.5 * course[0]
    assert key["bound"] is None
    assert (key["transported_iou"] is None) == (kind == "free"), "a free run keeps no velocities that advected"


def test_asked_for_nothing_it_stays_as_it_was(steered):
    """The run's own forces act under the new ones: its own frame is reached before the first iteration."""
    result = keyfluid.run(edit_of(steered, control="coarse = 0"), threads=1)
    first = next(entry["error"] for entry in result.metrics["history"] if "objective" in entry)
    assert first < 1e-6
    for index in (5, 7):
        np.testing.assert_allclose(
            result.frames[index].densities["density"], steered.frames[index].densities["density"], atol=1e-5
        )


def test_a_film_along_paths_is_edited_along_paths(tmp_path):
    """Its smoke is read once more, at the window's first frame: it stays as it was but for that."""
    scene = (PLUME + STEERED).replace("paths = 0", "").replace("resolution = 24", "resolution = 48")
    before = keyfluid.run(scene, tmp_path / "run", threads=1)
    edited = edit_of(before, control="coarse = 0\niterations = 1").replace("resolution = 24", "resolution = 48")
    result = keyfluid.run(edited.replace("iterations = 20\n", ""), threads=1)
    assert next(entry["error"] for entry in result.metrics["history"] if entry.get("stage") == 1) < 0.1
    assert SearchNumbers.of(result.problem).paths == 4


def test_an_edit_is_resumed_to_the_same_bits(plume, tmp_path):
    text = edit_of(plume, "move = [0.1, 0.05]", control="coarse = 0")
    calls = iter([False] * 6 + [True] * 1000)
    assert not keyfluid.run(text, tmp_path / "run", threads=1, should_stop=lambda: next(calls)).finished
    resumed, whole = keyfluid.resume(tmp_path / "run", threads=1), keyfluid.run(text, threads=1)
    assert [bits(frame) for frame in resumed.frames] == [bits(frame) for frame in whole.frames]


def test_an_edit_has_a_preview(steered):
    result = keyfluid.run(edit_of(steered, "move = [0.1, 0.05]"), threads=1, overrides=["domain.resolution=12"])
    before = steered.frames[3].densities["density"]
    np.testing.assert_allclose(
        result.frames[3].densities["density"], before.reshape(9, 2, 12, 2).mean(axis=(1, 3)), atol=1e-6
    )
    assert result.metrics["keyframes"][0]["relative_error"] < 0.6


def test_the_gradient_of_an_edit(steered):
    text = edit_of(steered, "move = [0.1, 0.05]", control="coarse = 0\nbeta = 0.5")
    problem = problem_of(text.replace("[output]", '[simulation]\nprecision = "float32"\n[output]'))
    settings = SearchNumbers.of(problem)
    evaluate = Evaluation(plan_stages(problem, settings)[-1], settings)
    random = np.random.default_rng(5)
    x, p = (0.02 * random.standard_normal(evaluate.control.count).astype(np.float32) for _ in range(2))
    value, gradient = evaluate(x)
    steps = 10.0 ** np.arange(-0.5, -2.1, -0.5)
    slope = float(gradient.astype(float) @ p)
    gaps = [abs(evaluate(x + np.float32(h) * p)[0] - value - h * slope) for h in steps]
    assert observed_order(steps, gaps) == pytest.approx(2.0, abs=0.4), "single precision, as frames are"


def test_a_frame_painted_over(plume, tmp_path):
    pixels = np.zeros((32, 24), np.uint8)
    pixels[8:16, 6:12] = 255
    Image.fromarray(pixels).save(tmp_path / "paint.png")
    (key,) = problem_of(edit_of(plume, f'paint = "{tmp_path / "paint.png"}"')).keyframes
    assert key.target.max() == pytest.approx(plume.frames[7].densities["density"].max(), rel=1e-5)
    assert key.target[7, 14] > 0.5, "rows count from the top: 16 to 24 of 32 from below"
    assert key.target[7, 20] == 0
    assert key.target[12, 14] == 0


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"first": 8, "last": 8}, r"edit\.last: the window from frame 8 to 8 holds no frame"),
        ({"last": 12}, r"edit\.last"),
        ({"frame": 3}, r"keyframe\[0\]\.frame: lies outside the edit window, frames 4 to 8"),
        ({"change": "twist = 40.0"}, r"keyframe\[0\]\.twist"),
        ({"change": "run_frame = 40"}, r"keyframe\[0\]\.run: .*missing"),
        ({"change": "move = [3.0, 0.0]"}, r"keyframe\[0\]\.run: no smoke is left"),
        ({"change": "move = [0.1, 0.0, 0.0]"}, r"keyframe\[0\]\.move: has 3 numbers"),
    ],
)
def test_bad_input_is_one_line(plume, change, words):
    with pytest.raises(KeyfluidError, match=words) as error:
        problem_of(edit_of(plume, **change))
    assert "\n" not in str(error.value).strip()


def test_another_scene_is_no_edit(plume, tmp_path):
    with pytest.raises(KeyfluidError, match=r"edit\.run: .*another \[smoke\]"):
        problem_of(edit_of(plume).replace("buoyancy = 1.5", "buoyancy = 1.0"))
    with pytest.raises(KeyfluidError, match=r"edit\.run: .*24 cells"):
        problem_of(edit_of(plume).replace("resolution = 24", "resolution = 48"))
    with pytest.raises(KeyfluidError, match="holds no run"):
        problem_of(edit_of(plume).replace(str(plume.folder), str(tmp_path)))
    with pytest.raises(KeyfluidError, match="changes no other run"):
        problem_of(edit_of(plume).replace('method = "spectral"\niterations = 20', 'method = "target"'))


def test_a_run_sized_by_its_first_keyframe_can_be_edited(tmp_path):
    """Its smoke keeps the run's mass, whatever is asked of it now; a frame of it keeps its densities."""
    sized = PLUME.replace("radius = 0.15 }", 'radius = 0.1, mass = "first-key" }')
    base = keyfluid.run(sized + STEERED, tmp_path / "run", threads=1)
    change = sized + EDIT.format(run=base.folder, first=3, last=8, frame=7, change="bend = 10.0", control="")
    problem = problem_of(change)
    began = base.frames[0].densities["density"].sum()
    assert problem.densities["density"].data.sum() == pytest.approx(began, rel=1e-3)
    assert problem.keyframes[0].target.max() == pytest.approx(base.frames[7].densities["density"].max(), rel=0.05)


def test_a_hold_stays_inside_the_window_and_a_run_must_be_finished(plume, tmp_path):
    with pytest.raises(KeyfluidError, match=r"keyframe\[0\]\.hold: frame 9 lies after the edit window"):
        problem_of(edit_of(plume, "hold = 2", last=8, frame=7))
    calls = iter(range(1000))
    half = keyfluid.run(PLUME, tmp_path / "half", threads=1, should_stop=lambda: next(calls) >= 3)
    with pytest.raises(KeyfluidError, match=r"edit\.run: .*not finished"):
        problem_of(edit_of(half))


def test_a_coarser_grid_of_an_edit_hands_on_its_air(steered):
    """From the frame that the edit begins with, under the run's own forces."""
    text = edit_of(steered, "move = [0.1, 0.05]", control="coarse = 1\npaths = 4").replace(
        "resolution = 24", "resolution = 64"
    )
    base = (PLUME + STEERED).replace("resolution = 24", "resolution = 64")
    run = keyfluid.run(base, steered.folder.parent / "fine", threads=1)
    result = keyfluid.run(text.replace(str(steered.folder), str(run.folder)), threads=1)
    errors = {}
    for entry in result.metrics["history"]:
        if "objective" in entry:
            errors.setdefault(entry["stage"], []).append(entry["error"])
    coarse, *_, fine = errors.values()
    assert fine[0] < coarse[0], "it begins closer than the coarse grid did"
